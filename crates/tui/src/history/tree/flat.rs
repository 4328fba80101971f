//! The rows of the tree: which entries are shown, in which order, and how far each is indented.
//!
//! Entries of one branch have the same indent; each branch adds a level. The rows are built in
//! passes over the entries by number, without recursion: the cost depends on the number of entries,
//! not on the shape of the tree.

use std::collections::HashSet;

use osier_protocol::{Outline, Tag};

/// The number that stands for no row or no entry.
const NONE: u32 = u32::MAX;

/// The number of the row that stays where the conversation is.
pub(crate) const HERE: u32 = u32::MAX - 1;

/// Which entries are shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Filter {
    /// The conversation.
    #[default]
    Default,
    NoTools,
    UserOnly,
    Labelled,
    /// Everything that was stored, deleted branches too.
    All,
}

impl Filter {
    pub(crate) const ALL: [Self; 5] = [
        Self::Default,
        Self::NoTools,
        Self::UserOnly,
        Self::Labelled,
        Self::All,
    ];

    /// The word for people.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Default => "conversation",
            Self::NoTools => "no tools",
            Self::UserOnly => "prompts",
            Self::Labelled => "labelled",
            Self::All => "everything",
        }
    }

    /// The filter after this one.
    #[must_use]
    pub(crate) fn next(self) -> Self {
        let place = Self::ALL.iter().position(|filter| *filter == self);
        Self::ALL[(place.unwrap_or(0) + 1) % Self::ALL.len()]
    }

    fn shows(self, tag: Tag, is_labelled: bool) -> bool {
        let is_seen = tag.is_shown() && tag != Tag::Reminder;
        match self {
            Self::Default => is_seen,
            Self::NoTools => is_seen && tag != Tag::ToolResult,
            Self::UserOnly => tag == Tag::User,
            Self::Labelled => is_labelled,
            Self::All => tag != Tag::Leaf,
        }
    }
}

/// One row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FlatRow {
    /// Number of the entry.
    pub number: u32,
    /// The number of branches that contain the entry.
    pub level: u32,
    /// The row that the entry's branch begins with; `NONE` outside of every branch.
    head: u32,
    /// For heads: the row that the branch around this one begins with.
    outer: u32,
    /// A branch begins at this row.
    pub is_head: bool,
    /// For heads: no branch begins after this one at the same entry.
    is_last: bool,
    /// Entries below it that are folded away.
    pub folded: u32,
    /// The entry has children that are shown, or would be if it were not folded.
    pub has_children: bool,
}

/// The rows, and facts about entries by number.
#[derive(Debug, Clone, Default)]
pub(crate) struct Flat {
    pub rows: Vec<FlatRow>,
    /// The row of an entry, or of the nearest one above it that has a row.
    row_of: Vec<u32>,
    on_path: Vec<bool>,
    hidden: Vec<bool>,
}

/// The options that select the rows.
#[derive(Debug)]
pub(crate) struct Choice<'a> {
    pub filter: Filter,
    pub folded: &'a HashSet<u32>,
    /// The entries that a search has found; all when there is none.
    pub found: Option<&'a HashSet<u32>>,
    /// A row after the current entry stays there.
    pub has_here: bool,
}

impl Flat {
    pub(crate) fn new(outline: &Outline, choice: &Choice<'_>) -> Self {
        let count = outline.end() as usize;
        let mut building = Building::new(outline, choice, count);
        building.size();
        building.link();
        building.walk(choice);
        building.finish()
    }

    /// The row of the entry, or of the nearest one above it that is shown.
    pub(crate) fn row_of(&self, number: u32) -> Option<usize> {
        if number == HERE {
            return self.rows.iter().position(|row| row.number == HERE);
        }
        let row = *self.row_of.get(number as usize)?;
        (row != NONE).then_some(row as usize)
    }

    /// Whether the entry is on the path to the current leaf.
    pub(crate) fn is_on_path(&self, number: u32) -> bool {
        self.on_path.get(number as usize).copied().unwrap_or(false)
    }

    /// Whether the entry or one of its ancestors was hidden.
    pub(crate) fn is_hidden(&self, number: u32) -> bool {
        self.hidden.get(number as usize).copied().unwrap_or(false)
    }

    /// Whether lines continue below a row, at each of its levels, the outermost first.
    pub(crate) fn rails(&self, row: usize) -> Vec<bool> {
        let Some(first) = self.rows.get(row) else {
            return Vec::new();
        };
        let mut rails = vec![false; first.level as usize];
        let mut head = first.head;
        while let Some(row) = self.rows.get(head as usize) {
            if let Some(rail) = rails.get_mut(row.level as usize - 1) {
                *rail = !row.is_last;
            }
            head = row.outer;
        }
        rails
    }

    /// The rails of a row, made from the rails of the row before it.
    pub(crate) fn next_rails(&self, row: usize, rails: &mut Vec<bool>) {
        let Some(row) = self.rows.get(row) else {
            return;
        };
        rails.truncate(row.level as usize);
        if row.is_head {
            rails.truncate((row.level as usize).saturating_sub(1));
            rails.push(!row.is_last);
        }
    }
}

/// The arrays that the passes share, all by number of the entry.
struct Building<'a> {
    outline: &'a Outline,
    shown: Vec<bool>,
    /// The nearest shown ancestor of each entry.
    parents: Vec<u32>,
    first_child: Vec<u32>,
    next_sibling: Vec<u32>,
    children: Vec<u32>,
    /// Entries below it that are shown.
    below: Vec<u32>,
    roots: Siblings,
    on_path: Vec<bool>,
    hidden: Vec<bool>,
    rows: Vec<FlatRow>,
    row_of: Vec<u32>,
}

/// The row that stays where the conversation is.
fn here(level: u32, head: u32) -> FlatRow {
    FlatRow {
        number: HERE,
        level,
        head,
        outer: NONE,
        is_head: false,
        is_last: true,
        folded: 0,
        has_children: false,
    }
}

/// Entries with one parent, or without any.
#[derive(Clone, Copy)]
struct Siblings {
    first: u32,
    count: u32,
}

/// A row that is still to be made.
struct Waiting {
    number: u32,
    level: u32,
    head: u32,
    is_head: bool,
    is_last: bool,
}

impl<'a> Building<'a> {
    fn new(outline: &'a Outline, choice: &Choice<'_>, count: usize) -> Self {
        let labelled: HashSet<u32> = outline.labels.iter().map(|(number, _)| *number).collect();
        let mut hidden = vec![false; count];
        for number in &outline.hidden {
            if let Some(hidden) = hidden.get_mut(*number as usize) {
                *hidden = true;
            }
        }
        let mut shown = vec![false; count];
        let mut parents = vec![NONE; count];
        // Deleted, or below a deleted entry.
        let mut gone = vec![false; count];
        // A parent has a smaller number than its children.
        for number in 0..count {
            let Some(entry) = outline.get(number as u32) else {
                continue;
            };
            gone[number] = entry.tag == Tag::Deleted;
            if let Some(parent) = entry.parent {
                let parent = parent as usize;
                hidden[number] |= hidden[parent];
                gone[number] |= gone[parent];
                parents[number] = if shown[parent] {
                    parent as u32
                } else {
                    parents[parent]
                };
            }
            let number = number as u32;
            let wanted = choice.filter.shows(entry.tag, labelled.contains(&number));
            let found = choice.found.is_none_or(|found| found.contains(&number));
            // A search finds hidden entries, too.
            let visible =
                choice.filter == Filter::All || choice.found.is_some() || !hidden[number as usize];
            shown[number as usize] = wanted && found && visible && !gone[number as usize];
        }
        let mut on_path = vec![false; count];
        let mut next = outline.leaf;
        while let Some(number) = next {
            if let Some(on_path) = on_path.get_mut(number as usize) {
                *on_path = true;
            }
            next = outline.get(number).and_then(|entry| entry.parent);
        }
        Self {
            outline,
            shown,
            parents,
            first_child: vec![NONE; count],
            next_sibling: vec![NONE; count],
            children: vec![0; count],
            below: vec![0; count],
            roots: Siblings {
                first: NONE,
                count: 0,
            },
            on_path,
            hidden,
            rows: Vec::new(),
            row_of: vec![NONE; count],
        }
    }

    /// Counts the entries below each entry.
    fn size(&mut self) {
        for number in (0..self.shown.len()).rev() {
            let parent = self.parents[number];
            if self.shown[number] && parent != NONE {
                self.below[parent as usize] += self.below[number] + 1;
            }
        }
    }

    /// Lists the children of each entry, the oldest first.
    fn link(&mut self) {
        for number in (0..self.shown.len()).rev() {
            if !self.shown[number] {
                continue;
            }
            let (first, count) = match self.parents[number] {
                NONE => (&mut self.roots.first, &mut self.roots.count),
                parent => {
                    let parent = parent as usize;
                    (&mut self.first_child[parent], &mut self.children[parent])
                }
            };
            *count += 1;
            self.next_sibling[number] = std::mem::replace(first, number as u32);
        }
    }

    /// Makes the rows, a branch behind the other.
    fn walk(&mut self, choice: &Choice<'_>) {
        let own = self.current();
        let mut stack = Vec::new();
        if choice.has_here && own.is_none() {
            self.rows.push(here(0, NONE));
        }
        self.wait_for(self.roots, 0, NONE, &mut stack);
        while let Some(waiting) = stack.pop() {
            let number = waiting.number;
            let row = self.rows.len() as u32;
            let head = if waiting.is_head { row } else { waiting.head };
            let place = number as usize;
            let children = Siblings {
                first: self.first_child[place],
                count: self.children[place],
            };
            // A search shows what it has found, also below collapsed entries.
            let is_folded =
                children.count > 0 && choice.found.is_none() && choice.folded.contains(&number);
            self.row_of[place] = row;
            self.rows.push(FlatRow {
                number,
                level: waiting.level,
                head,
                outer: waiting.head,
                is_head: waiting.is_head,
                is_last: waiting.is_last,
                folded: if is_folded { self.below[place] } else { 0 },
                has_children: children.count > 0,
            });
            if choice.has_here && own == Some(number) {
                self.rows.push(here(waiting.level, head));
            }
            if !is_folded {
                self.wait_for(children, waiting.level, head, &mut stack);
            }
        }
    }

    /// The shown entry that the conversation continues after.
    fn current(&self) -> Option<u32> {
        let leaf = self.outline.leaf?;
        let place = leaf as usize;
        let shown = if self.shown[place] {
            leaf
        } else {
            self.parents[place]
        };
        (shown != NONE).then_some(shown)
    }

    /// The branch of the conversation comes first, so that the rows above the current entry are its own path.
    fn wait_for(&self, siblings: Siblings, level: u32, head: u32, stack: &mut Vec<Waiting>) {
        let branches = siblings.count > 1;
        let from = stack.len();
        let mut own = None;
        let mut number = siblings.first;
        while number != NONE {
            let next = self.next_sibling[number as usize];
            if self.on_path[number as usize] {
                own = Some(stack.len());
            }
            stack.push(Waiting {
                number,
                level: level + u32::from(branches),
                head,
                is_head: branches,
                is_last: false,
            });
            number = next;
        }
        if let Some(own) = own {
            stack[from..=own].rotate_right(1);
        }
        let last = stack.len() - usize::from(stack.len() > from);
        for (place, waiting) in stack.iter_mut().enumerate().skip(from) {
            waiting.is_last = place == last;
        }
        stack[from..].reverse();
    }

    fn finish(mut self) -> Flat {
        // An entry without a row belongs to the row of its parent.
        for number in 0..self.row_of.len() {
            if self.row_of[number] == NONE
                && let Some(entry) = self.outline.get(number as u32)
                && let Some(parent) = entry.parent
            {
                self.row_of[number] = self.row_of[parent as usize];
            }
        }
        Flat {
            rows: self.rows,
            row_of: self.row_of,
            on_path: self.on_path,
            hidden: self.hidden,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An outline of prompts out of parents by number; every entry is a prompt unless said otherwise.
    fn outline(parents: &[Option<u32>], leaf: u32) -> Outline {
        let entries: Vec<_> = parents
            .iter()
            .enumerate()
            .map(|(number, parent)| (format!("{number:08x}"), parent, "user"))
            .collect();
        let wire = serde_json::json!({
            "first": 0, "entries": entries, "labels": [], "hidden": [], "leaf": leaf,
        });
        serde_json::from_value(wire).unwrap()
    }

    fn flat(outline: &Outline, folded: &[u32]) -> Flat {
        let folded = folded.iter().copied().collect();
        let choice = Choice {
            filter: Filter::Default,
            folded: &folded,
            found: None,
            has_here: false,
        };
        Flat::new(outline, &choice)
    }

    #[test]
    fn a_search_shows_its_hits_in_hidden_and_collapsed_branches() {
        let mut outline = outline(&[None, Some(0), Some(1), Some(2), Some(1)], 4);
        outline.hidden = vec![2];
        let folded = HashSet::from([1]);
        let found = HashSet::from([1, 3]);
        let choice = Choice {
            filter: Filter::Default,
            folded: &folded,
            found: Some(&found),
            has_here: false,
        };
        let flat = Flat::new(&outline, &choice);
        let rows: Vec<u32> = flat.rows.iter().map(|row| row.number).collect();
        assert_eq!(rows, [1, 3]);
        assert!(flat.is_hidden(3) && !flat.is_hidden(1));
    }

    /// Rows as `number`, indented by their levels, behind the lines of the tree.
    fn drawn(flat: &Flat) -> Vec<String> {
        let mut rails = Vec::new();
        let rows = flat.rows.iter().enumerate().map(|(place, row)| {
            flat.next_rails(place, &mut rails);
            assert_eq!(rails, flat.rails(place));
            let lines: String = rails
                .iter()
                .map(|rail| if *rail { '|' } else { ' ' })
                .collect();
            let head = if row.is_head { "+" } else { "" };
            let folded = if row.folded > 0 {
                format!(" ({})", row.folded)
            } else {
                String::new()
            };
            format!("{lines}{head}{}{folded}", row.number)
        });
        rows.collect()
    }

    #[test]
    fn reminders_for_the_model_are_shown_with_everything_only() {
        let shown = Filter::ALL.map(|filter| filter.shows(Tag::Reminder, false));
        assert_eq!(shown, [false, false, false, false, true]);
    }

    #[test]
    fn deleted_branches_have_no_rows() {
        let wire = serde_json::json!({
            "first": 0, "labels": [], "hidden": [], "leaf": 3,
            "entries": [["a", null, "user"], ["b", 0, "deleted"], ["c", 1, "checkpoint"], ["d", 0, "user"]],
        });
        let outline: Outline = serde_json::from_value(wire).unwrap();
        let flat = Flat::new(
            &outline,
            &Choice {
                filter: Filter::All,
                folded: &HashSet::new(),
                found: None,
                has_here: false,
            },
        );
        assert_eq!(drawn(&flat), ["0", "3"]);
    }

    #[test]
    fn chains_do_not_indent_and_branches_do() {
        let tree = [
            None,
            Some(0),
            Some(1),
            Some(1),
            Some(2),
            Some(3),
            Some(5),
            Some(5),
        ];
        let outline = outline(&tree, 6);
        let flat_tree = flat(&outline, &[]);
        assert_eq!(
            drawn(&flat_tree),
            ["0", "1", "|+3", "|5", "||+6", "| +7", " +2", " 4"]
        );
        let on_path: Vec<u32> = (0..8)
            .filter(|number| flat_tree.is_on_path(*number))
            .collect();
        assert_eq!(on_path, [0, 1, 3, 5, 6]);
        let folded = flat(&outline, &[3]);
        assert_eq!(drawn(&folded), ["0", "1", "|+3 (3)", " +2", " 4"]);
        assert_eq!(folded.row_of(7), Some(2));
    }

    #[test]
    fn a_search_keeps_who_hangs_on_whom() {
        let tree = [None, Some(0), Some(1), Some(1), Some(3)];
        let outline = outline(&tree, 4);
        let found = [0, 2, 4].into_iter().collect();
        let choice = Choice {
            filter: Filter::Default,
            folded: &HashSet::new(),
            found: Some(&found),
            has_here: false,
        };
        let flat = Flat::new(&outline, &choice);
        assert_eq!(drawn(&flat), ["0", "|+4", " +2"]);
        assert_eq!((flat.row_of(1), flat.row_of(3)), (Some(0), Some(0)));
    }

    #[test]
    fn a_path_of_100000_entries_and_10000_siblings_are_walked_without_recursion() {
        let path: Vec<Option<u32>> = (0..100_000_u32)
            .map(|number| number.checked_sub(1))
            .collect();
        let flat_path = flat(&outline(&path, 99_999), &[]);
        assert_eq!(flat_path.rows.len(), 100_000);
        assert!(flat_path.rows.iter().all(|row| row.level == 0));
        let fan: Vec<Option<u32>> = (0..10_001_u32)
            .map(|number| (number > 0).then_some(0))
            .collect();
        let flat_fan = flat(&outline(&fan, 10_000), &[]);
        assert_eq!(flat_fan.rows.len(), 10_001);
        assert_eq!(flat_fan.rails(10_000), [false]);
        assert_eq!(flat_fan.rails(5_000), [true]);
        // Every second entry is a branch of its own: as deep as a tree can be.
        let comb: Vec<Option<u32>> = (0..100_000_u32)
            .map(|number| number.checked_sub(1).map(|before| before - before % 2))
            .collect();
        let flat_comb = flat(&outline(&comb, 99_998), &[]);
        let deepest = flat_comb.rows.iter().map(|row| row.level).max();
        assert_eq!((flat_comb.rows.len(), deepest), (100_000, Some(49_999)));
        let last = flat_comb
            .rows
            .iter()
            .position(|row| row.level == 49_999)
            .unwrap();
        assert_eq!(flat_comb.rails(last).len(), 49_999);
    }
}
