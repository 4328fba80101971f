//! The overlay: what is selected, folded, filtered and sought, and what the keys do to it.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::flat::{Choice, Filter, Flat};
use crate::actions::{Action, Command, command::preview};
use crate::drawing::preview_pane::edit;
use osier_protocol::{FilesAt, Glimpse, Op, Outline, Tag, TreeOp};
use osier_term::{Component, Cx, Handled, KeyPress, LineInput, View};

pub(crate) const ID: &str = "tree";

/// Bytes of an entry that are requested: enough for the preview.
const GLIMPSE: usize = 2_000;
/// The maximum number of previews in memory.
const KEPT: usize = 2_000;
/// Columns of a level.
pub(super) const LEVEL: usize = 3;

/// The state that remains when the overlay closes.
#[derive(Debug, Default)]
pub(super) struct TreeMemory {
    /// Id of the session it belongs to.
    pub(super) session: String,
    /// Ids of the entries below which all is folded away.
    pub(super) folded: HashSet<String>,
    pub(super) filter: Filter,
}

/// What is being typed.
#[derive(Debug, Clone, Default)]
pub(super) enum Typing {
    #[default]
    Nothing,
    Query(LineInput),
    Label(LineInput),
}

/// The tree on the screen.
#[derive(Debug, Default)]
pub(crate) struct TreeView {
    pub(super) outline: Arc<Outline>,
    pub(super) flat: Flat,
    /// The rows must be computed again.
    stale: bool,
    /// Shared with the feature, so that it remains when the overlay closes.
    pub(super) memory: Rc<RefCell<TreeMemory>>,
    folded: HashSet<u32>,
    found: Option<HashSet<u32>>,
    pub(super) searching: bool,
    /// Number of the search whose answers count.
    request: u64,
    pub(super) typing: Typing,
    pub(super) query: String,
    /// Number of the selected entry.
    pub(super) selected: Option<u32>,
    /// An entry to compare another with.
    pub(super) marked: Option<u32>,
    /// The first row on the screen.
    pub(super) top: usize,
    /// Rows of the list in the last frame.
    pub(super) height: usize,
    /// Levels the view is shifted by hand.
    pub(super) shift: isize,
    pub(super) glimpses: HashMap<u32, Glimpse>,
    asked: HashSet<u32>,
    wanted: Vec<u32>,
    ops: Vec<Op>,
    pub(super) cursor: Option<Position>,
}

impl TreeView {
    /// An empty tree that asks for its outline.
    pub(super) fn new(memory: Rc<RefCell<TreeMemory>>) -> Self {
        let mut view = Self {
            stale: true,
            memory,
            height: 10,
            ..Self::default()
        };
        view.refresh();
        view
    }

    /// Asks for what has been stored since.
    pub(crate) fn refresh(&mut self) {
        let since = self.outline.end();
        self.tell(TreeOp::ReadTree { request: 0, since });
    }

    fn tell(&mut self, op: TreeOp) {
        self.ops.push(Op::Tree(op));
    }

    /// What the view wants from the host.
    pub(crate) fn take_ops(&mut self) -> Vec<Op> {
        if !self.wanted.is_empty() {
            let wanted = std::mem::take(&mut self.wanted);
            let entry_ids = wanted
                .iter()
                .filter_map(|number| Some(self.outline.get(*number)?.id.to_owned()))
                .collect();
            self.asked.extend(wanted);
            self.tell(TreeOp::ReadEntries {
                request: 0,
                entry_ids,
                bytes: GLIMPSE,
            });
        }
        std::mem::take(&mut self.ops)
    }

    /// Sets the outline, or appends to it.
    pub(crate) fn set_outline(&mut self, outline: &Arc<Outline>) {
        self.stale = true;
        if outline.first() > 0 {
            // What is folded is known by number already.
            Arc::make_mut(&mut self.outline).extend((**outline).clone());
            return;
        }
        self.outline = Arc::clone(outline);
        let memory = self.memory.borrow();
        let numbers: HashMap<&str, u32> = if memory.folded.is_empty() {
            HashMap::new()
        } else {
            let all = 0..self.outline.end();
            all.filter_map(|number| Some((self.outline.get(number)?.id, number)))
                .collect()
        };
        let folded = memory.folded.iter();
        self.folded = folded
            .filter_map(|id| numbers.get(id.as_str()).copied())
            .collect();
        drop(memory);
        if self.selected.is_none() {
            self.selected = self.outline.leaf;
        }
    }

    /// Stores the summaries of entries for the rows and the preview.
    pub(crate) fn set_glimpses(&mut self, entries: &[Glimpse]) {
        if self.glimpses.len() > KEPT {
            self.glimpses.clear();
            self.asked.clear();
        }
        let asked: Vec<(u32, String)> = self
            .asked
            .iter()
            .filter(|number| !self.glimpses.contains_key(number))
            .filter_map(|number| Some((*number, self.outline.get(*number)?.id.to_owned())))
            .collect();
        for (number, id) in asked {
            if let Some(glimpse) = entries.iter().find(|glimpse| glimpse.entry_id == id) {
                self.glimpses.insert(number, glimpse.clone());
            }
        }
    }

    /// Takes what a search has found.
    pub(crate) fn set_hits(&mut self, request: u64, entries: &[u32], done: bool) {
        if request != self.request {
            return;
        }
        if let Some(found) = &mut self.found {
            found.extend(entries);
        }
        self.searching = !done;
        self.stale = true;
    }

    /// Brings the rows up to date. The selected row stays where it is on the screen.
    pub(super) fn settle(&mut self) {
        if !std::mem::take(&mut self.stale) {
            return;
        }
        let before = self.selected_row();
        let offset = before.saturating_sub(self.top);
        let was_empty = self.flat.rows.is_empty();
        self.flat = Flat::new(
            &self.outline,
            &Choice {
                filter: self.memory.borrow().filter,
                folded: &self.folded,
                found: self.found.as_ref(),
            },
        );
        let row = self.selected_row();
        self.selected = self.flat.rows.get(row).map(|row| row.number);
        self.top = if was_empty {
            row.saturating_sub(self.height * 2 / 3)
        } else {
            row.saturating_sub(offset)
        };
    }

    /// The row of the selected entry, or of what it hangs on; else the last one.
    pub(super) fn selected_row(&self) -> usize {
        let last = self.flat.rows.len().saturating_sub(1);
        let row = self.selected.and_then(|number| self.flat.row_of(number));
        row.unwrap_or(last).min(last)
    }

    /// Wants a look at the entry.
    pub(super) fn want(&mut self, number: u32) {
        if !self.glimpses.contains_key(&number) && !self.asked.contains(&number) {
            self.wanted.push(number);
        }
    }

    fn select(&mut self, row: usize) {
        let row = row.min(self.flat.rows.len().saturating_sub(1));
        self.selected = self.flat.rows.get(row).map(|row| row.number);
        self.shift = 0;
    }

    fn step(&mut self, rows: isize) {
        self.settle();
        self.select(self.selected_row().saturating_add_signed(rows));
    }

    /// The next prompt up or down.
    fn step_prompt(&mut self, down: bool) {
        self.settle();
        let here = self.selected_row();
        let is_prompt = |row: &usize| {
            let number = self.flat.rows[*row].number;
            self.outline
                .get(number)
                .is_some_and(|entry| entry.tag == Tag::User)
        };
        let row = if down {
            (here + 1..self.flat.rows.len()).find(is_prompt)
        } else {
            (0..here).rev().find(is_prompt)
        };
        if let Some(row) = row {
            self.select(row);
        }
    }

    fn fold(&mut self, fold: bool) {
        self.settle();
        let row = self.selected_row();
        let Some(shown) = self.flat.rows.get(row).copied() else {
            return;
        };
        let number = shown.number;
        let is_folded = shown.folded > 0;
        if fold && (is_folded || !shown.has_children) {
            // Already folded: up to where its branch began.
            let begin = self.flat.rows[..row]
                .iter()
                .rposition(|other| other.level < shown.level || other.is_head);
            self.select(begin.unwrap_or(0));
            return;
        }
        if !fold && !is_folded {
            self.step(1);
            return;
        }
        let Some(id) = self.outline.get(number).map(|entry| entry.id.to_owned()) else {
            return;
        };
        if fold {
            self.folded.insert(number);
            self.memory.borrow_mut().folded.insert(id);
        } else {
            self.folded.remove(&number);
            self.memory.borrow_mut().folded.remove(&id);
        }
        self.stale = true;
    }

    fn id_of(&self, number: Option<u32>) -> Option<String> {
        Some(self.outline.get(number?)?.id.to_owned())
    }

    fn selected_id(&self) -> Option<String> {
        self.id_of(self.selected)
    }

    /// The last entry that was stored below an entry: the end of its newest branch.
    fn newest_below(&self, number: u32) -> u32 {
        let mut below = vec![true];
        let mut newest = number;
        // Children come behind their parents: one pass is enough.
        for later in number + 1..self.outline.end() {
            let parent = self.outline.get(later).and_then(|entry| entry.parent);
            let place = parent.and_then(|parent| parent.checked_sub(number));
            let is_below = place.is_some_and(|place| below[place as usize]);
            below.push(is_below);
            if is_below {
                newest = later;
            }
        }
        newest
    }

    fn hangs_on(&self, number: u32, ancestor: u32) -> bool {
        let mut next = Some(number);
        while let Some(number) = next.filter(|number| *number >= ancestor) {
            if number == ancestor {
                return true;
            }
            next = self.outline.get(number).and_then(|entry| entry.parent);
        }
        false
    }

    /// Marks an entry, or compares the marked one with the selected one.
    fn compare(&mut self, cx: &mut Cx<'_, Action>) {
        let Some(selected) = self.selected else {
            return;
        };
        let Some(marked) = self.marked.take() else {
            self.marked = Some(selected);
            return;
        };
        if marked == selected {
            return;
        }
        // On one branch, the later entry is compared; on two, where each of them has come to.
        let is_one_branch = self.hangs_on(marked, selected) || self.hangs_on(selected, marked);
        let end = |number| {
            if is_one_branch {
                number
            } else {
                self.newest_below(number)
            }
        };
        let left = self.id_of(Some(end(marked)));
        let right = self.id_of(Some(end(selected)));
        cx.push(TreeOp::CompareBranches {
            request: 0,
            left,
            right,
        });
    }

    fn go(&mut self, summarize: bool, files: bool, cx: &mut Cx<'_, Action>) {
        let entry_id = self.selected_id();
        if entry_id.is_some() {
            let op = TreeOp::MoveTo {
                entry_id,
                summarize,
                instructions: None,
            };
            cx.push(Action::CloseLayer);
            cx.push(Action::Move { op, files });
        }
    }

    fn preview_files(&mut self, cx: &mut Cx<'_, Action>) {
        if let Some(entry_id) = self.selected_id() {
            cx.push(preview(FilesAt::Entry { entry_id }));
        }
    }

    fn on_entry(&mut self, op: impl FnOnce(String) -> TreeOp, cx: &mut Cx<'_, Action>) {
        if let Some(id) = self.selected_id() {
            cx.push(op(id));
        }
    }

    fn hide(&mut self, hidden: bool, cx: &mut Cx<'_, Action>) {
        let target = if hidden {
            self.selected
        } else {
            // The entry that was hidden last is restored first.
            let selected = self.selected.filter(|number| self.flat.is_hidden(*number));
            let above = selected.and_then(|number| {
                let hidden = &self.outline.hidden;
                hidden
                    .iter()
                    .rev()
                    .find(|other| self.hangs_on(number, **other))
            });
            above.or(self.outline.hidden.last()).copied()
        };
        if let Some(entry_id) = self.id_of(target) {
            cx.push(TreeOp::HideBranch { entry_id, hidden });
        }
    }

    fn search(&mut self, query: &str) {
        query.clone_into(&mut self.query);
        self.request += 1;
        self.searching = !query.trim().is_empty();
        self.found = self.searching.then(HashSet::new);
        self.stale = true;
        self.tell(TreeOp::SearchTree {
            request: self.request,
            query: query.to_owned(),
        });
    }

    /// A command while a line is typed.
    fn type_command(&mut self, command: Command, cx: &mut Cx<'_, Action>) -> Handled {
        let (line, is_query) = match &mut self.typing {
            Typing::Nothing => return Handled::No,
            Typing::Query(line) => (line, true),
            Typing::Label(line) => (line, false),
        };
        let before = line.text().to_owned();
        match command {
            Command::Up if is_query => self.step(-1),
            Command::Down if is_query => self.step(1),
            Command::Accept => {
                if !is_query {
                    self.on_entry(
                        |entry_id| TreeOp::LabelEntry {
                            entry_id,
                            label: before.clone(),
                        },
                        cx,
                    );
                }
                self.typing = Typing::Nothing;
                return Handled::Yes;
            }
            Command::Cancel | Command::Interrupt | Command::ClearOrExit => {
                self.typing = Typing::Nothing;
                if is_query {
                    self.search("");
                }
                return Handled::Yes;
            }
            command => {
                // What the line does not know does nothing while it is typed.
                let _ = edit(line, command);
            }
        }
        if let Typing::Query(line) = &self.typing
            && line.text() != before
        {
            let query = line.text().to_owned();
            self.search(&query);
        }
        Handled::Yes
    }

    fn type_text(&mut self, text: &str) {
        match &mut self.typing {
            Typing::Nothing => {}
            Typing::Label(line) => line.insert(text),
            Typing::Query(line) => {
                line.insert(text);
                let query = line.text().to_owned();
                self.search(&query);
            }
        }
    }

    fn begin_label(&mut self) {
        let Some(selected) = self.selected else {
            return;
        };
        let label = self.label(selected).unwrap_or_default().to_owned();
        self.typing = Typing::Label(LineInput::new(label));
    }

    /// The name of an entry.
    pub(super) fn label(&self, number: u32) -> Option<&str> {
        let labels = &self.outline.labels;
        let place = labels.binary_search_by_key(&number, |(number, _)| *number);
        Some(labels[place.ok()?].1.as_str())
    }
}

impl Component<Command, Action> for TreeView {
    fn render(&mut self, area: Rect, buffer: &mut Buffer, view: &View<'_, Command>) {
        self.draw(area, buffer, view);
    }

    fn on_key(&mut self, key: KeyPress, _cx: &mut Cx<'_, Action>) -> Handled {
        if let Some(character) = key.typed() {
            self.type_text(character.encode_utf8(&mut [0; 4]));
        }
        Handled::Yes
    }

    fn on_paste(&mut self, text: &str, _cx: &mut Cx<'_, Action>) -> Handled {
        self.type_text(text.trim_end());
        Handled::Yes
    }

    fn on_command(&mut self, command: Command, cx: &mut Cx<'_, Action>) -> Handled {
        if !matches!(self.typing, Typing::Nothing) {
            return self.type_command(command, cx);
        }
        let page = isize::try_from(self.height.saturating_sub(1).max(1)).unwrap_or(1);
        match command {
            Command::Up => self.step(-1),
            Command::Down => self.step(1),
            Command::PageUp => self.step(-page),
            Command::PageDown => self.step(page),
            Command::First => self.select(0),
            Command::Last => self.select(usize::MAX),
            Command::PreviousPrompt => self.step_prompt(false),
            Command::NextPrompt => self.step_prompt(true),
            Command::Fold => self.fold(true),
            Command::Unfold => self.fold(false),
            Command::PanLeft => self.shift -= 1,
            Command::PanRight => self.shift += 1,
            Command::Accept => self.go(false, false, cx),
            Command::TreeSummarize => self.go(true, false, cx),
            Command::TreeWithFiles => self.go(false, true, cx),
            Command::TreeFiles => self.preview_files(cx),
            Command::TreeFork => {
                cx.push(Action::CloseLayer);
                let fork = |id| TreeOp::Fork { entry_id: Some(id) };
                self.on_entry(fork, cx);
            }
            Command::TreeCompare => self.compare(cx),
            Command::TreeLabel => self.begin_label(),
            Command::TreeDelete => self.hide(true, cx),
            Command::TreeRestore => self.hide(false, cx),
            Command::TreeFilter => {
                let mut memory = self.memory.borrow_mut();
                memory.filter = memory.filter.next();
                self.stale = true;
            }
            Command::Search => self.typing = Typing::Query(LineInput::new(self.query.clone())),
            Command::Cancel | Command::Interrupt | Command::ClearOrExit
                if !self.query.is_empty() =>
            {
                self.search("");
            }
            Command::Cancel if self.marked.is_some() => self.marked = None,
            Command::Cancel | Command::Interrupt | Command::ClearOrExit | Command::Tree => {
                cx.push(Action::CloseLayer);
            }
            // The keys below belong to what is covered.
            _ => return Handled::Yes,
        }
        Handled::Yes
    }

    fn context(&self) -> &'static str {
        match self.typing {
            Typing::Nothing => "tree",
            _ => "list",
        }
    }

    fn cursor(&self) -> Option<Position> {
        self.cursor
    }

    fn typed(&self) -> Option<&str> {
        match &self.typing {
            Typing::Query(line) => Some(line.text()),
            _ => None,
        }
    }
}
