//! Runs one input: an action or a character, with the count before it. Records changes for `.`.

use super::super::TextArea;
use super::super::buffer::Position;
use super::cluster::{at_column, last};
use super::motion::{self, Find, MotionSpan, Target};
use super::register::{self, StoreKind};
use super::table::{Edit, Move, Object};
use super::{Input, Modal, Mode, Outcome, SearchPrompt, object};
use osier_base::text;

/// The highest count.
const MAX_COUNT: usize = 9_999;

impl Modal {
    /// Runs an action.
    pub fn run(&mut self, area: &mut TextArea, edit: Edit) -> Outcome {
        self.awaiting = None;
        self.prompt = None;
        self.begin(area);
        let takes_count = !matches!(edit, Edit::Times | Edit::Digit);
        let times = if takes_count { self.take_times() } else { None };
        self.recording.push(Input::Edit(edit));
        let mut outcome = Outcome::Done;
        if let (Some(times), Edit::Local(_)) = (times, edit) {
            for _ in 0..times {
                outcome = self.step(area, edit);
            }
        } else {
            self.count = times.or(self.count);
            outcome = self.step(area, edit);
            // An action that ignores the count still consumes it.
            if times.is_some() && self.awaiting.is_none() {
                self.count = None;
            }
        }
        self.settle(area);
        if times.is_some() {
            Outcome::Done
        } else {
            outcome
        }
    }

    /// Handles a character outside of insert mode: an argument, a digit of a count, or an unbound
    /// key.
    pub fn char(&mut self, area: &mut TextArea, char: char) {
        self.begin(area);
        if let Some(mut prompt) = self.prompt.take() {
            self.recording.push(Input::Char(char));
            prompt.typed.push(char);
            self.update_prompt(area, prompt);
        } else if let Some(edit) = self.awaiting.take() {
            self.recording.push(Input::Char(char));
            self.argument(area, edit, char);
        } else if let Some(digit) = self.count_digit(char) {
            self.recording.push(Input::Digit(char));
            let count = self.count.unwrap_or(0) * 10 + digit;
            self.count = Some(count.min(MAX_COUNT));
            return;
        } else {
            self.cancel();
        }
        self.settle(area);
    }

    /// The value of a digit of a count, which does not start with zero.
    fn count_digit(&self, char: char) -> Option<usize> {
        let counts = self.mode != Mode::Insert || self.universal;
        let digit = char.to_digit(10).filter(|_| counts)?;
        (digit > 0 || self.count.is_some() || self.universal).then_some(digit as usize)
    }

    /// Groups the changes of a command into one undo step.
    pub(super) fn begin(&mut self, area: &mut TextArea) {
        if self.modes && self.mode != Mode::Insert {
            area.undo.open_group_once();
        }
    }

    pub(super) fn cancel(&mut self) {
        self.universal = false;
        self.count = None;
        self.pending = None;
        self.awaiting = None;
        self.prompt = None;
        self.register = None;
        self.recording.clear();
    }

    /// Moves the cursor onto the text and records a completed change for `.`.
    pub(super) fn settle(&mut self, area: &mut TextArea) {
        // An edit next to the cursor may have joined two clusters.
        area.cursor = area.buffer.clamp(area.cursor);
        if self.mode == Mode::Insert {
            return;
        }
        let line = area.line(area.cursor.line);
        if area.cursor.byte >= line.len() {
            area.cursor.byte = last(line);
        }
        let is_pending = self.pending.is_some()
            || self.count.is_some()
            || self.register.is_some()
            || self.is_awaiting();
        if is_pending {
            return;
        }
        area.undo.close_group();
        let recording = std::mem::take(&mut self.recording);
        if std::mem::take(&mut self.changed) && !self.replaying {
            self.last_change = recording;
        }
    }

    pub(super) fn step(&mut self, area: &mut TextArea, edit: Edit) -> Outcome {
        match edit {
            Edit::NormalMode => return self.normal_mode(area),
            Edit::Up | Edit::Down => return self.vertical(area, edit == Edit::Up),
            Edit::Region(edit) => return self.region(area, edit),
            Edit::Local(edit) => area.change_locally(edit),
            Edit::Find { .. }
            | Edit::SetMark
            | Edit::GoToMark { .. }
            | Edit::Replace
            | Edit::Register
            | Edit::ZapToChar => self.awaiting = Some(edit),
            Edit::Search { back } | Edit::IncrementalSearch { back } => {
                let is_incremental = edit == Edit::IncrementalSearch { back };
                let origin = is_incremental.then_some(area.cursor);
                let typed = String::new();
                self.prompt = Some(SearchPrompt {
                    back,
                    typed,
                    origin,
                });
            }
            Edit::Move(motion) => self.motion(area, motion),
            Edit::FindAgain { reverse } => match self.find {
                Some(find) => {
                    let back = find.back != reverse;
                    self.find_char(area, Find { back, ..find }, true);
                }
                None => self.cancel(),
            },
            Edit::SearchAgain { reverse } => self.search_step(area, reverse),
            Edit::SearchWord { back } => self.search_word(area, back),
            Edit::Visual => self.visual(area, Mode::Visual),
            Edit::VisualLine => self.visual(area, Mode::VisualLine),
            Edit::VisualAgain => self.select_again(area),
            Edit::OtherEnd => {
                self.swap_ends(area);
            }
            Edit::Inner(object) => self.object(area, object, false),
            Edit::Around(object) => self.object(area, object, true),
            Edit::Operator(operator) => self.operator(area, operator),
            Edit::Repeat => self.repeat(area),
            Edit::Undo | Edit::Redo => {
                let times = self.count.take().unwrap_or(1);
                self.step_undo(area, edit == Edit::Redo, times);
            }
            Edit::Times => self.multiply_count(),
            Edit::Digit => self.universal = true,
            Edit::Insert(_)
            | Edit::Chars(_)
            | Edit::ToEnd(_)
            | Edit::Lines(_)
            | Edit::DeleteCharBefore
            | Edit::Join { .. }
            | Edit::Put { .. } => self.change(area, edit),
        }
        Outcome::Done
    }

    fn normal_mode(&mut self, area: &mut TextArea) -> Outcome {
        let is_pending = self.pending.is_some() || self.count.is_some() || self.register.is_some();
        match self.mode {
            Mode::Insert if self.modes => self.leave_insert(area),
            Mode::Visual | Mode::VisualLine => self.leave_visual(area),
            _ if !is_pending => {
                self.recording.clear();
                return Outcome::Unused;
            }
            _ => {}
        }
        self.count = None;
        self.pending = None;
        self.register = None;
        Outcome::Done
    }

    /// Moves, or applies the pending operator.
    fn motion(&mut self, area: &mut TextArea, motion: Move) {
        let operator = self.pending.map(|pending| pending.operator);
        let target = motion::target(&area.buffer, area.cursor, motion, self.total(), operator);
        let kind = if motion::is_jump(motion) {
            StoreKind::DeletedByJump
        } else {
            StoreKind::Deleted
        };
        self.go(area, target, kind);
        self.column = (motion == Move::LineEnd).then_some(usize::MAX);
    }

    /// Goes to a target, or applies the pending operator up to it. Without a target, cancels the
    /// command.
    pub(super) fn go(&mut self, area: &mut TextArea, target: Option<Target>, kind: StoreKind) {
        self.column = None;
        self.count = None;
        match (target, self.pending.take()) {
            (None, _) => self.cancel(),
            (Some(target), Some(pending)) => self.operate_to(area, pending.operator, target, kind),
            (Some(target), None) => {
                if kind == StoreKind::DeletedByJump && target.at != area.cursor {
                    self.marks.insert('\'', area.cursor);
                }
                area.cursor = area.buffer.clamp(target.at);
                area.undo.seal();
            }
        }
    }

    /// The product of the counts before and after an operator.
    pub(super) fn total(&self) -> Option<usize> {
        let before = self.pending.and_then(|pending| pending.count);
        if before.is_none() && self.count.is_none() {
            return None;
        }
        let product = before.unwrap_or(1) * self.count.unwrap_or(1);
        Some(product.clamp(1, MAX_COUNT))
    }

    fn vertical(&mut self, area: &mut TextArea, up: bool) -> Outcome {
        let times = self.total().unwrap_or(1);
        let from = area.cursor;
        let line = if up {
            from.line.saturating_sub(times)
        } else {
            (from.line + times).min(area.line_count() - 1)
        };
        if line == from.line {
            let used = self.pending.is_some() || self.count.is_some() || self.mode != Mode::Normal;
            self.cancel();
            return if used { Outcome::Done } else { Outcome::Unused };
        }
        let before = &area.line(from.line)[..from.byte];
        let column = self.column.unwrap_or_else(|| text::width(before));
        let target = Target {
            at: Position::new(line, at_column(area.line(line), column)),
            span: MotionSpan::Lines,
        };
        self.go(area, Some(target), StoreKind::Deleted);
        self.column = Some(column);
        Outcome::Done
    }

    /// Runs the action that waited for this character.
    fn argument(&mut self, area: &mut TextArea, edit: Edit, char: char) {
        match edit {
            Edit::Find { back, till } => {
                let find = Find { char, back, till };
                self.find = Some(find);
                self.find_char(area, find, false);
            }
            Edit::SetMark => {
                self.marks.insert(char, area.cursor);
            }
            Edit::GoToMark { line } => {
                let name = if char == '`' { '\'' } else { char };
                let start = (name == '\'').then(Position::default);
                let mark = self.marks.get(&name).copied().or(start);
                let target = mark.map(|mark| {
                    let at = area.buffer.clamp(mark);
                    if line {
                        Target::line(&area.buffer, at.line)
                    } else {
                        Target::exclusive(at)
                    }
                });
                self.go(area, target, StoreKind::DeletedByJump);
            }
            Edit::Replace => self.replace(area, char),
            Edit::Register => self.register = register::is_name(char).then_some(char),
            Edit::ZapToChar => self.zap(area, char),
            _ => self.cancel(),
        }
    }

    fn find_char(&mut self, area: &mut TextArea, find: Find, again: bool) {
        let times = self.total().unwrap_or(1);
        let Position { line, byte } = area.cursor;
        let found = motion::find(area.line(line), byte, find, times, again);
        let target = found.map(|byte| {
            let at = Position::new(line, byte);
            if find.back {
                Target::exclusive(at)
            } else {
                Target::inclusive(at)
            }
        });
        self.go(area, target, StoreKind::Deleted);
    }

    fn object(&mut self, area: &mut TextArea, object: Object, around: bool) {
        let times = self.total().unwrap_or(1);
        let found = object::find(&area.buffer, area.cursor, object, around, times);
        self.count = None;
        match (found, self.pending.take()) {
            (Some(range), Some(pending)) => {
                let range = match object {
                    Object::Sentence => object::with_lines(&area.buffer, range),
                    _ => range,
                };
                area.cursor = range.start;
                self.apply(area, pending.operator, range, StoreKind::Deleted);
            }
            (Some(range), None) if self.anchor.is_some() => self.select(area, range),
            _ => self.cancel(),
        }
    }
}
