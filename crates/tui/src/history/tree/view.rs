//! The state of the tree: selection, folding, filter and search.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use ratatui::layout::Position;

use super::flat::{Choice, Filter, Flat, HERE};
use osier_protocol::{ChangedLines, CheckpointOp, DiffRange, Glimpse, Op, Outline, Tag, TreeOp};
use osier_term::LineInput;

pub(crate) const ID: &str = "tree";

/// Bytes of an entry that are requested: enough for the preview.
const GLIMPSE: usize = 2_000;
/// Bytes of an entry in which the preview shows a hit.
const WHOLE: usize = 1024 * 1024;
/// The maximum number of previews in memory.
const KEPT: usize = 2_000;
/// The number of the request for the changes of the first entry: other requests count from 0.
const CHANGES: u64 = 1 << 32;
/// Columns of a level.
pub(super) const LEVEL: usize = 3;

/// The state that remains when the overlay closes.
#[derive(Debug, Default)]
pub(super) struct TreeMemory {
    /// Id of the session it belongs to.
    pub(super) session: String,
    pub(super) filter: Filter,
    /// The list of prompts, with a last row that stays where the conversation is.
    pub(super) is_rewind: bool,
}

/// The part of the conversation that a summary replaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Summarized {
    /// The branch that a move leaves.
    LeftBranch,
    /// The conversation before the selected entry.
    Before,
}

/// The text that the user is typing.
#[derive(Debug, Clone, Default)]
pub(super) enum Typing {
    #[default]
    Nothing,
    Query(LineInput),
    Label(LineInput),
    /// Instructions for a summary.
    Instructions(LineInput, Summarized),
}

/// An entry that the user has hidden or shown again.
#[derive(Debug, Clone, Copy)]
struct Hiding {
    number: u32,
    hidden: bool,
    /// The request whose outline contains it, once the session has stored it.
    read: Option<u64>,
}

/// The tree on the screen.
#[derive(Debug, Default)]
pub(crate) struct TreeView {
    pub(super) outline: Arc<Outline>,
    pub(super) flat: Flat,
    /// The rows must be computed again.
    pub(super) stale: bool,
    /// Shared with the feature, so that it remains when the overlay closes.
    pub(super) memory: Rc<RefCell<TreeMemory>>,
    folded: HashSet<u32>,
    found: Option<HashSet<u32>>,
    pub(super) searching: bool,
    /// Number of the search whose results are used.
    request: u64,
    pub(super) typing: Typing,
    pub(super) query: String,
    /// Number of the selected entry.
    pub(super) selected: Option<u32>,
    /// The id of the entry to select in the first outline.
    pub(super) expected: Option<String>,
    /// The words of the search that found it.
    pub(super) sought: String,
    /// Entries of which the complete text was requested.
    whole: HashSet<u32>,
    /// Why the last key did nothing.
    pub(super) remark: Cow<'static, str>,
    /// The last key requested a move with files, which the session can refuse: the tree closes when it is done.
    pub(super) is_moving: bool,
    /// A fork of an entry is being made: the tree closes when it is done, or says why it is not.
    pub(super) is_forking: bool,
    /// The conversation has moved: the next outline selects its entry.
    pub(super) has_moved: bool,
    /// Entries that the user has hidden or shown again, until an outline contains it.
    hiding: Vec<Hiding>,
    /// The number of the last request for the outline.
    reads: u64,
    /// The marked entry, to compare another one with it.
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
    /// The lines that the turn of each prompt changed, by file. An empty list is also a request without an answer yet.
    pub(super) changes: HashMap<u32, Vec<ChangedLines>>,
    ops: Vec<Op>,
    pub(super) cursor: Option<Position>,
    /// Rows of the lines of keys in the last frame.
    pub(super) foot: u16,
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

    /// Reads everything again, because known entries have changed.
    pub(crate) fn reload(&mut self) {
        self.outline = Arc::default();
        self.glimpses.clear();
        self.asked.clear();
        self.whole.clear();
        self.refresh();
    }

    /// Requests the entries that were stored since the last request.
    pub(crate) fn refresh(&mut self) {
        let since = self.outline.end();
        self.reads += 1;
        let request = self.reads;
        self.tell(TreeOp::ReadTree { request, since });
    }

    fn tell(&mut self, op: TreeOp) {
        self.ops.push(Op::Tree(op));
    }

    /// The requests of the view to the session.
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
    pub(crate) fn set_outline(&mut self, request: u64, outline: &Arc<Outline>) {
        self.take_outline(outline);
        self.hiding
            .retain(|hiding| hiding.read.is_none_or(|read| read > request));
        for hiding in self.hiding.clone() {
            self.apply_hidden(hiding.number, hiding.hidden);
        }
    }

    fn take_outline(&mut self, outline: &Arc<Outline>) {
        self.stale = true;
        if outline.first() > 0 {
            Arc::make_mut(&mut self.outline).extend((**outline).clone());
            self.folded = self.outline.folded.iter().copied().collect();
            if std::mem::take(&mut self.has_moved) {
                self.selected = self.outline.leaf;
            }
            return;
        }
        self.outline = Arc::clone(outline);
        if let Some(expected) = self.expected.take() {
            let mut all = 0..outline.end();
            let is_it = |number: &u32| {
                outline
                    .get(*number)
                    .is_some_and(|entry| entry.id == expected)
            };
            self.selected = all.find(is_it);
        }
        self.folded = outline.folded.iter().copied().collect();
        if self.selected.is_none() {
            let is_rewind = self.memory.borrow().is_rewind;
            self.selected = if is_rewind {
                Some(HERE)
            } else {
                self.outline.leaf
            };
        }
    }

    /// Stores the summaries of entries for the rows and the preview.
    pub(crate) fn set_glimpses(&mut self, entries: &[Glimpse]) {
        if self.glimpses.len() > KEPT {
            self.glimpses.clear();
            self.asked.clear();
            self.whole.clear();
        }
        let asked: Vec<(u32, String)> = self
            .asked
            .iter()
            .filter(|number| !self.glimpses.contains_key(number))
            .filter_map(|number| Some((*number, self.outline.get(*number)?.id.to_owned())))
            .collect();
        if let [whole] = entries {
            let same = |known: &&mut Glimpse| known.entry_id == whole.entry_id;
            if let Some(known) = self.glimpses.values_mut().find(same) {
                known.clone_from(whole);
            }
        }
        for (number, id) in asked {
            if let Some(glimpse) = entries.iter().find(|glimpse| glimpse.entry_id == id) {
                self.glimpses.insert(number, glimpse.clone());
            }
        }
    }

    /// The words of the search, whose first hit the preview shows.
    pub(super) fn words(&self) -> &str {
        if self.query.is_empty() {
            &self.sought
        } else {
            &self.query
        }
    }

    /// Requests the complete text of an entry of which only the start is known.
    pub(super) fn want_whole(&mut self, number: u32) {
        let known = self.glimpses.get(&number);
        // The start ends on a character boundary.
        if known.is_some_and(|known| known.text.len() + 4 > GLIMPSE)
            && let Some(entry_id) = self.id_of(Some(number))
            && self.whole.insert(number)
        {
            self.tell(TreeOp::ReadEntries {
                request: 0,
                entry_ids: vec![entry_id],
                bytes: WHOLE,
            });
        }
    }

    /// Stores the results of a search.
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
                has_here: self.memory.borrow().is_rewind && self.query.is_empty(),
            },
        );
        let is_gone = self
            .selected
            .is_some_and(|number| self.flat.is_hidden(number));
        // In place of a hidden entry the next one is selected.
        let last = self.flat.rows.len().saturating_sub(1);
        let row = match self.selected_row() {
            row if is_gone && row < before => before.min(last),
            row => row,
        };
        self.selected = self.flat.rows.get(row).map(|row| row.number);
        self.top = if was_empty {
            row.saturating_sub(self.height * 2 / 3)
        } else {
            row.saturating_sub(offset)
        };
    }

    /// The row of the selected entry, or of its nearest shown ancestor; else the last row.
    pub(super) fn selected_row(&self) -> usize {
        let last = self.flat.rows.len().saturating_sub(1);
        let row = self.selected.and_then(|number| self.flat.row_of(number));
        row.unwrap_or(last).min(last)
    }

    /// Requests what the turn of a prompt changed.
    pub(super) fn want_changes(&mut self, number: u32) {
        if !self.changes.contains_key(&number)
            && let Some(entry) = self.outline.get(number)
        {
            let range = DiffRange::Turn {
                entry_id: entry.id.to_owned(),
            };
            self.changes.insert(number, Vec::new());
            self.ops
                .push(Op::Checkpoint(CheckpointOp::CountChangedLines {
                    request: CHANGES + u64::from(number),
                    range,
                }));
        }
    }

    /// Sets what the turn of a prompt changed.
    pub(crate) fn set_changes(&mut self, request: u64, files: &[ChangedLines]) {
        let number = request.checked_sub(CHANGES);
        let known = number.and_then(|number| self.changes.get_mut(&u32::try_from(number).ok()?));
        if let Some(changes) = known {
            *changes = files.to_vec();
        }
    }

    pub(super) fn want(&mut self, number: u32) {
        if !self.glimpses.contains_key(&number) && !self.asked.contains(&number) {
            self.wanted.push(number);
        }
    }

    pub(super) fn select(&mut self, row: usize) {
        let row = row.min(self.flat.rows.len().saturating_sub(1));
        self.selected = self.flat.rows.get(row).map(|row| row.number);
        self.shift = 0;
    }

    pub(super) fn step(&mut self, rows: isize) {
        self.settle();
        self.select(self.selected_row().saturating_add_signed(rows));
    }

    /// The next prompt up or down.
    pub(super) fn step_prompt(&mut self, down: bool) {
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

    /// The entry before or after the selected one on its branch.
    pub(super) fn step_on_branch(&mut self, down: bool) {
        self.settle();
        let row = self.selected_row();
        let Some(shown) = self.flat.rows.get(row).copied() else {
            return;
        };
        if down {
            if shown.has_children && shown.folded == 0 {
                self.select(row + 1);
            }
        } else if shown.is_head {
            let mut above = self.flat.rows[..row].iter();
            if let Some(parent) = above.rposition(|other| other.level < shown.level) {
                self.select(parent);
            }
        } else {
            self.select(row.saturating_sub(1));
        }
    }

    /// The last entry of the branch: of the current one if the selected entry is on it, else of the newest one below it.
    pub(super) fn step_to_end(&mut self) {
        self.settle();
        let before = self.selected_row();
        let Some(shown) = self.flat.rows.get(before).copied() else {
            return;
        };
        let is_own = shown.number == HERE || self.flat.is_on_path(shown.number);
        let end = if let Some(leaf) = self.outline.leaf.filter(|_| is_own) {
            self.flat.row_of(leaf)
        } else {
            let later = self.flat.rows[before + 1..].iter();
            let below = later.take_while(|row| {
                row.level > shown.level || (row.level == shown.level && !row.is_head)
            });
            let newest = (before + 1..).zip(below).max_by_key(|(_, row)| row.number);
            newest.map(|(row, _)| row)
        };
        if let Some(row) = end {
            self.select(row);
        }
        if end.is_none_or(|row| row == before) {
            self.remark = match shown.folded {
                0 => "this is the end of the branch",
                _ => "the branch is collapsed: expand it first",
            }
            .into();
        }
    }

    /// Hides a branch or shows it again before the session answers, so that the next key finds it so.
    pub(super) fn set_hidden(&mut self, number: u32, hidden: bool) {
        self.hiding.push(Hiding {
            number,
            hidden,
            read: None,
        });
        self.apply_hidden(number, hidden);
    }

    /// The session has hidden an entry, or shown it again: the outline that is read next contains it.
    pub(crate) fn confirm_hidden(&mut self, entry_id: &str) {
        let next = self.reads + 1;
        let outline = &self.outline;
        let is_it = |hiding: &&mut Hiding| {
            let entry = outline.get(hiding.number);
            hiding.read.is_none() && entry.is_some_and(|entry| entry.id == entry_id)
        };
        if let Some(hiding) = self.hiding.iter_mut().find(is_it) {
            hiding.read = Some(next);
        }
    }

    /// The session has refused a request: reads again which branches are hidden.
    pub(crate) fn forget_hiding(&mut self) {
        if !std::mem::take(&mut self.hiding).is_empty() {
            self.refresh();
        }
    }

    fn apply_hidden(&mut self, number: u32, hidden: bool) {
        let outline = Arc::make_mut(&mut self.outline);
        outline.hidden.retain(|other| *other != number);
        if hidden {
            outline.hidden.push(number);
        }
        self.stale = true;
    }

    /// The first entry of the next or previous branch that begins at the same entry.
    pub(super) fn step_sibling(&mut self, down: bool) {
        self.settle();
        let row = self.selected_row();
        let Some(level) = self.flat.rows.get(row).map(|shown| shown.level) else {
            return;
        };
        let rows = &self.flat.rows;
        let begins = |at: &usize| rows[*at].is_head && rows[*at].level == level;
        let inside = |at: &usize| rows[*at].level >= level;
        let own = (0..=row).rev().find(begins).unwrap_or(row);
        let found = if down {
            (own + 1..rows.len()).take_while(inside).find(begins)
        } else {
            (0..own).rev().take_while(inside).find(begins)
        };
        match found {
            Some(row) => self.select(row),
            None => self.remark = "no other branch begins here in this direction".into(),
        }
    }

    pub(super) fn fold(&mut self, fold: bool) {
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
        let Some(entry_id) = self.id_of(Some(number)) else {
            return;
        };
        if fold {
            self.folded.insert(number);
        } else {
            self.folded.remove(&number);
        }
        self.tell(TreeOp::FoldBranch {
            entry_id,
            folded: fold,
        });
        self.stale = true;
    }

    pub(super) fn id_of(&self, number: Option<u32>) -> Option<String> {
        Some(self.outline.get(number?)?.id.to_owned())
    }

    pub(super) fn selected_id(&self) -> Option<String> {
        self.id_of(self.selected)
    }

    /// The last entry that was stored below an entry: the end of its newest branch.
    pub(super) fn newest_below(&self, number: u32) -> u32 {
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

    pub(super) fn hangs_on(&self, number: u32, ancestor: u32) -> bool {
        let mut next = Some(number);
        while let Some(number) = next.filter(|number| *number >= ancestor) {
            if number == ancestor {
                return true;
            }
            next = self.outline.get(number).and_then(|entry| entry.parent);
        }
        false
    }

    pub(super) fn search(&mut self, query: &str) {
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

    /// The name of an entry.
    pub(super) fn label(&self, number: u32) -> Option<&str> {
        let labels = &self.outline.labels;
        let place = labels.binary_search_by_key(&number, |(number, _)| *number);
        Some(labels[place.ok()?].1.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree of prompts by their parents, open at `leaf`.
    fn view(parents: &[Option<u32>], leaf: u32) -> TreeView {
        let entries: Vec<_> = parents
            .iter()
            .enumerate()
            .map(|(number, parent)| (format!("{number:08x}"), parent, "user"))
            .collect();
        let wire = serde_json::json!({
            "first": 0, "entries": entries, "labels": [], "hidden": [], "leaf": leaf,
        });
        let outline: Outline = serde_json::from_value(wire).unwrap();
        let mut view = TreeView::new(Rc::default());
        view.set_outline(0, &Arc::new(outline));
        view.settle();
        view
    }

    /// Two branches at 1, of which that of 4 is the current one; its end forks again.
    const PARENTS: [Option<u32>; 7] = [None, Some(0), Some(1), Some(2), Some(1), Some(4), Some(4)];

    #[test]
    fn steps_lead_along_the_branch_and_to_its_siblings() {
        let mut view = view(&PARENTS, 6);
        let numbers: Vec<u32> = view.flat.rows.iter().map(|row| row.number).collect();
        assert_eq!(numbers, [0, 1, 4, 6, 5, 2, 3]);
        let mut selected = |step: fn(&mut TreeView)| {
            step(&mut view);
            view.selected
        };
        assert_eq!(selected(|view| view.step_on_branch(false)), Some(4));
        assert_eq!(selected(|view| view.step_on_branch(false)), Some(1));
        assert_eq!(selected(|view| view.step_on_branch(true)), Some(4));
        assert_eq!(selected(|view| view.step_sibling(true)), Some(2));
        // From inside of a branch, too.
        assert_eq!(selected(|view| view.step_on_branch(true)), Some(3));
        assert_eq!(selected(|view| view.step_sibling(false)), Some(4));
        assert_eq!(selected(|view| view.step_sibling(false)), Some(4));
        assert!(!view.remark.is_empty());
    }

    #[test]
    fn collapsed_branches_are_stored_in_the_session() {
        let mut view = view(&PARENTS, 6);
        view.take_ops();
        let numbers =
            |view: &TreeView| -> Vec<u32> { view.flat.rows.iter().map(|row| row.number).collect() };
        view.selected = Some(4);
        view.fold(true);
        view.settle();
        let fold = TreeOp::FoldBranch {
            entry_id: "00000004".to_owned(),
            folded: true,
        };
        assert_eq!(view.take_ops(), [Op::Tree(fold)]);
        assert_eq!(numbers(&view), [0, 1, 4, 2, 3]);
        // Another client has expanded it and collapsed another one.
        let mut outline = (*view.outline).clone();
        outline.folded = vec![2];
        view.set_outline(0, &Arc::new(outline));
        view.settle();
        assert_eq!(numbers(&view), [0, 1, 4, 6, 5, 2]);
    }

    #[test]
    fn a_key_selects_the_end_of_the_branch() {
        let mut view = view(&PARENTS, 6);
        let mut end_from = |selected| {
            view.selected = Some(selected);
            view.step_to_end();
            view.selected
        };
        assert_eq!(end_from(0), Some(6));
        assert_eq!(end_from(2), Some(3));
        assert_eq!(end_from(5), Some(5));
        assert_eq!(view.remark, "this is the end of the branch");
    }

    #[test]
    fn hidden_branches_are_known_before_the_session_answers() {
        let mut view = view(&PARENTS, 6);
        view.set_hidden(5, true);
        view.set_hidden(2, true);
        // An answer of the session from before.
        let mut outline = (*view.outline).clone();
        outline.hidden = vec![5];
        view.confirm_hidden("00000005");
        view.confirm_hidden("00000002");
        view.set_outline(view.reads, &Arc::new(outline.clone()));
        assert_eq!(view.outline.hidden, [5, 2]);
        // The session refuses the next request.
        view.set_hidden(3, true);
        view.forget_hiding();
        outline.hidden.push(2);
        view.set_outline(view.reads, &Arc::new(outline));
        assert_eq!(view.outline.hidden, [5, 2]);
    }

    #[test]
    fn the_row_after_a_hidden_one_is_selected() {
        let mut view = view(&PARENTS, 6);
        view.selected = Some(5);
        let mut outline = (*view.outline).clone();
        outline.hidden = vec![5];
        view.set_outline(0, &Arc::new(outline));
        view.settle();
        assert_eq!(view.selected, Some(2));
    }

    #[test]
    fn tree_opens_at_the_entry_that_a_search_found() {
        let outline = view(&PARENTS, 6).outline;
        let mut view = TreeView::new(Rc::default());
        view.expected = Some("00000003".to_owned());
        view.set_outline(0, &outline);
        view.settle();
        assert_eq!(view.selected, Some(3));
    }

    #[test]
    fn list_of_prompts_opens_at_the_row_that_changes_nothing() {
        let memory = TreeMemory {
            is_rewind: true,
            ..TreeMemory::default()
        };
        let outline = view(&PARENTS, 6).outline;
        let mut view = TreeView::new(Rc::new(RefCell::new(memory)));
        view.set_outline(0, &outline);
        view.settle();
        assert_eq!((view.selected, view.selected_id()), (Some(HERE), None));
        view.step(-1);
        assert_eq!(view.selected, Some(6));
    }
}
