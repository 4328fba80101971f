//! Reads commands: an action or a character, with the count, register and operator before it.

use super::super::TextArea;
use super::super::undo::EditKind;
use super::motion::{Cursor, Find, MotionSpan, Operator, Target, line_of, right, to};
use super::object::TextRange;
use super::register::is_name;
use super::search::Search;
use super::state::{Command, Edit, MAX_COUNT, Modal, Mode, Outcome, SearchPrompt};
use super::table::Action;
use super::text::{Class, above, at_column, below, class, last, line_start, runs};

impl Modal {
    /// Runs an action.
    pub fn run(&mut self, area: &mut TextArea, edit: Edit) -> Outcome {
        self.awaiting = false;
        self.prompt = None;
        self.unused = false;
        self.begin(area);
        let mut counted = false;
        match edit.info().map(|info| info.action) {
            Some(Action::Prefix(start)) => start(self, area),
            Some(action) => {
                let times = self.take_times();
                counted = times.is_some();
                self.command.count = times.or(self.command.count);
                self.command.edit = Some(edit);
                if self.step(area, action) {
                    self.settle(area);
                }
            }
            None => {}
        }
        if self.unused && !counted {
            return Outcome::Unused;
        }
        Outcome::Done
    }

    /// Handles a character outside of insert mode: an argument, a digit of a count, or an unbound
    /// key.
    pub fn char(&mut self, area: &mut TextArea, char: char) {
        self.begin(area);
        if let Some(mut prompt) = self.prompt.take() {
            prompt.typed.push(char);
            return self.update_prompt(area, prompt);
        }
        if std::mem::take(&mut self.awaiting) {
            self.command.argument = Some(char);
            self.run_again(area);
        } else if let Some(digit) = self.count_digit(char) {
            let count = self.command.count.unwrap_or(0) * 10 + digit;
            self.command.count = Some(count.min(MAX_COUNT));
            return;
        } else {
            self.cancel();
        }
        if self.command.edit != Some(Edit("register")) {
            self.settle(area);
        }
    }

    /// Runs the action of the command, which is complete.
    fn run_again(&mut self, area: &mut TextArea) {
        let info = self.command.edit.and_then(Edit::info);
        match (info.map(|info| info.action), self.command.argument) {
            (Some(Action::Argument(run)), Some(char)) => run(self, area, char),
            (Some(action), _) => {
                self.step(area, action);
            }
            (None, _) => {}
        }
    }

    /// The value of a digit of a count, which does not start with zero.
    fn count_digit(&self, char: char) -> Option<usize> {
        let counts = self.mode != Mode::Insert || self.universal;
        let digit = char.to_digit(10).filter(|_| counts)?;
        let starts = digit > 0 || self.command.count.is_some() || self.universal;
        starts.then_some(digit as usize)
    }

    /// Groups the changes of a command into one undo step.
    pub(super) fn begin(&mut self, area: &mut TextArea) {
        if self.modes && self.mode != Mode::Insert {
            area.undo.open_group_once();
        }
    }

    /// Ends a command: moves the cursor onto the text and records a change for `.`.
    pub(super) fn settle(&mut self, area: &mut TextArea) {
        // An edit next to the cursor may have joined two clusters.
        area.cursor = area.buffer.clamp(area.cursor);
        let command = std::mem::take(&mut self.command);
        let changed = std::mem::take(&mut self.changed);
        if self.mode == Mode::Insert {
            return;
        }
        let line = area.line(area.cursor.line);
        area.cursor.byte = area.cursor.byte.min(last(line, 0));
        area.undo.close_group();
        if changed {
            self.last_change = Some(command);
        }
    }

    /// Runs an action with the count, register and operator of the command; returns false if the
    /// command is incomplete.
    fn step(&mut self, area: &mut TextArea, action: Action) -> bool {
        let text = area.marked_text();
        let mut cursor = self.cursor(area, &text);
        match action {
            Action::Go(target) => self.go(area, target(&cursor), false),
            Action::Jump(target) => self.go(area, target(&cursor), true),
            Action::Inner(find) => self.object(area, find(&cursor)),
            Action::Around(find) => {
                cursor.around = true;
                self.object(area, find(&cursor));
            }
            Action::Operate(operator) => return self.operator(area, operator),
            // Modes do not change while an operator waits for its motion.
            Action::Select(_) if self.command.operator.is_some() => return false,
            Action::Select(mode) => self.visual(area, mode),
            Action::Search { back, incremental } => {
                let origin = incremental.then_some(area.cursor);
                let typed = String::new();
                self.prompt = Some(SearchPrompt {
                    back,
                    typed,
                    origin,
                });
                return false;
            }
            Action::Argument(_) => {
                self.awaiting = true;
                return false;
            }
            Action::Chars(_) | Action::Short(..) | Action::Lines(_) | Action::Change(_)
                if self.command.operator.is_some() =>
            {
                self.cancel();
            }
            Action::Chars(operator) if self.operate_selection(area, operator, false) => {}
            Action::Short(operator, _) | Action::Lines(operator)
                if self.operate_selection(area, operator, true) => {}
            Action::Chars(operator) => self.operate_short(area, operator, right),
            Action::Short(operator, motion) => self.operate_short(area, operator, motion),
            Action::Lines(operator) => self.operate_lines(area, operator),
            Action::Local(run) => (0..self.times()).for_each(|_| run(area)),
            Action::Change(run) | Action::Prefix(run) | Action::Do(run) => run(self, area),
        }
        true
    }

    pub(super) fn normal_mode(&mut self, area: &mut TextArea) {
        match self.mode {
            Mode::Insert if self.modes => self.leave_insert(area),
            Mode::Visual | Mode::VisualLine => self.leave_visual(area),
            _ => self.unused = self.command.is_bare(),
        }
    }

    /// Applies an operator to the selection, or to lines if it is repeated; otherwise waits for a
    /// motion.
    fn operator(&mut self, area: &mut TextArea, operator: Operator) -> bool {
        if self.operate_selection(area, operator, false) {
        } else if self.command.operator == Some(operator) {
            self.operate_lines(area, operator);
        } else if self.command.operator.is_some() {
            self.cancel();
        } else {
            self.command.operator = Some(operator);
            self.command.operator_name = self.command.edit.map_or("", |edit| edit.0);
            self.command.multiplier = self.command.count.take();
            return false;
        }
        true
    }

    /// Applies an operator to a motion.
    fn operate_short(
        &mut self,
        area: &mut TextArea,
        operator: Operator,
        motion: fn(&Cursor<'_>) -> Option<Target>,
    ) {
        let text = area.marked_text();
        let mut cursor = self.cursor(area, &text);
        cursor.operator = Some(operator);
        match motion(&cursor) {
            Some(target) => self.operate_to(area, operator, target),
            None => self.cancel(),
        }
    }

    /// Goes to a target, or applies the operator up to it. Without a target, cancels the command.
    fn go(&mut self, area: &mut TextArea, target: Option<Target>, jumps: bool) {
        self.command.jumps = jumps;
        let is_line_end = self.command.edit == Some(Edit("go_line_end"));
        self.column = is_line_end.then_some(usize::MAX);
        match (target, self.command.operator) {
            (None, _) => self.cancel(),
            (Some(target), Some(operator)) => self.operate_to(area, operator, target),
            (Some(target), None) => {
                if jumps && target.at != area.at() {
                    self.marks.insert('\'', area.cursor);
                }
                area.go(target.at);
                area.undo.seal();
            }
        }
    }

    pub(super) fn vertical(&mut self, area: &mut TextArea, up: bool) {
        let (text, at) = (area.marked_text(), area.at());
        let step = if up { above } else { below };
        let end = if up { 0 } else { text.len() };
        let here = line_start(&text, at);
        let line = step(&text, at, self.times()).unwrap_or_else(|| line_start(&text, end));
        if line == here {
            self.unused = self.command.is_bare() && self.mode == Mode::Normal;
            return self.cancel();
        }
        let width = osier_base::text::width(&text[here..at]);
        let column = self.column.unwrap_or(width);
        let at = at_column(&text, line, column);
        let span = MotionSpan::Lines;
        self.go(area, Some(Target { at, span }), false);
        self.column = Some(column);
    }

    pub(super) fn set_register(&mut self, _: &mut TextArea, name: char) {
        self.command.register = is_name(name).then_some(name);
    }

    pub(super) fn set_mark(&mut self, area: &mut TextArea, name: char) {
        self.marks.insert(name, area.cursor);
    }

    pub(super) fn go_to_mark(&mut self, area: &mut TextArea, name: char, line: bool) {
        let name = if name == '`' { '\'' } else { name };
        let start = (name == '\'').then_some(0);
        let mark = self.marks.get(&name).map(|mark| area.offset(*mark));
        let text = area.marked_text();
        let cursor = self.cursor(area, &text);
        let target_of = |at| if line { line_of(&cursor, at) } else { to(at) };
        let target = mark.or(start).and_then(target_of);
        self.go(area, target, true);
    }

    pub(super) fn find(&mut self, area: &mut TextArea, char: char, back: bool, till: bool) {
        self.find = Some(Find { char, back, till });
        self.go_to_char(area, false, false);
    }

    pub(super) fn go_to_char(&mut self, area: &mut TextArea, reverse: bool, again: bool) {
        let text = area.marked_text();
        let target = self.find.and_then(|mut find| {
            find.back ^= reverse;
            find.target(&self.cursor(area, &text), again)
        });
        self.go(area, target, false);
    }

    fn object(&mut self, area: &mut TextArea, found: Option<TextRange>) {
        match (found, self.command.operator) {
            (Some(range), Some(operator)) => {
                area.go(range.start);
                self.apply(area, operator, range);
            }
            (Some(range), None) if self.anchor.is_some() => self.select(area, range),
            _ => self.cancel(),
        }
    }

    /// Repeats the last change. A count replaces the recorded one.
    pub(super) fn repeat(&mut self, area: &mut TextArea) {
        let Some(mut command) = self.last_change.clone() else {
            return self.cancel();
        };
        if let Some(count) = self.count() {
            (command.count, command.multiplier) = (Some(count), None);
        }
        let typed = command.typed.clone();
        if let Some(extent) = command.extent {
            self.select_extent(area, extent);
        }
        if let Some(search) = &command.search {
            self.search.clone_from(search);
        }
        self.command = command;
        self.run_again(area);
        if self.mode == Mode::Insert {
            area.edit(area.cursor..area.cursor, typed, EditKind::Other);
            self.leave_insert(area);
        }
    }
}

/// Search.
impl Modal {
    /// Accepts the typed search, or removes its last character.
    pub fn search_key(&mut self, area: &mut TextArea, accept: bool) {
        let Some(mut prompt) = self.prompt.take() else {
            return;
        };
        match prompt.origin {
            Some(_) if accept => self.end_search(),
            None if accept => {
                self.search.set(&prompt.typed, prompt.back, false);
                self.command.edit = Some(Edit("search_next"));
                self.command.search = Some(self.search.clone());
                self.search_step(area, false);
                self.settle(area);
            }
            origin => {
                if prompt.typed.pop().is_none() && origin.is_none() {
                    return self.cancel();
                }
                if let Some(origin) = origin {
                    area.set_cursor(origin);
                }
                self.update_prompt(area, prompt);
            }
        }
    }

    /// Cancels the typed search. An incremental search moves the cursor back to its start.
    pub fn leave_search(&mut self, area: &mut TextArea) {
        if let Some(origin) = self.prompt.take().and_then(|prompt| prompt.origin) {
            area.set_cursor(origin);
        }
        self.cancel();
    }

    /// Ends the typed search at the cursor.
    pub fn end_search(&mut self) {
        self.prompt = None;
        self.command = Command::default();
    }

    /// Goes to the next match of an incremental search.
    pub fn find_more(&mut self, area: &mut TextArea, back: bool) {
        if let Some(prompt) = &mut self.prompt
            && prompt.origin.is_some()
        {
            let found = self
                .search
                .find(&area.marked_text(), area.at(), back, false);
            area.go(found.unwrap_or(area.at()));
            prompt.back = back;
            prompt.origin = Some(area.cursor);
        }
    }

    /// Stores the typed search. An incremental search moves the cursor to the match.
    fn update_prompt(&mut self, area: &mut TextArea, prompt: SearchPrompt) {
        if let Some(origin) = prompt.origin {
            self.search.set(&prompt.typed, prompt.back, true);
            let (text, origin) = (area.marked_text(), area.offset(origin));
            let found = self.search.find(&text, origin, prompt.back, true);
            if let Some(found) = found.filter(|_| !prompt.typed.is_empty()) {
                area.go(found);
            }
        }
        self.prompt = Some(prompt);
    }

    /// Goes to the next match, or applies the operator up to it.
    pub(super) fn search_step(&mut self, area: &mut TextArea, reverse: bool) {
        let (text, back) = (area.marked_text(), self.search.back != reverse);
        let found =
            (0..self.times()).try_fold(area.at(), |at, _| self.search.find(&text, at, back, false));
        self.go(area, found.and_then(to), true);
    }

    /// Searches for the word under the cursor, or for the next one in the line.
    pub(super) fn search_word(&mut self, area: &mut TextArea, back: bool) {
        let (text, at) = (area.marked_text(), area.at());
        let word = runs(&text, at, false).into_iter().find(|run| {
            let class = class(&text, run.range.start, false);
            run.range.end > at && matches!(class, Class::Word | Class::Script(_))
        });
        let Some(word) = word else {
            return self.cancel();
        };
        area.go(word.range.start);
        self.search = Search::word(&text[word.range], back);
        self.search_step(area, false);
    }
}
