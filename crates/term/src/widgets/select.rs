//! A list that is narrowed by typing. It knows labels, details and what is selected; what an item
//! means is its owner's business.

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use super::columns::{Cell, Columns, Layout, Measure};
use crate::face::{Face, Token};
use crate::row::{Row, Span};
use osier_base::text::{graphemes, single_line, truncate};

/// One line of the list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Item {
    /// Tells items apart when the list changes under the selection.
    pub key: String,
    pub label: String,
    /// One for each column of the list.
    pub details: Vec<Cell>,
    /// Also matched, never shown.
    pub keywords: String,
    /// Shown dimmed: it can be chosen, but something is missing.
    pub dimmed: bool,
}

/// The list.
#[derive(Debug)]
pub struct Select {
    items: Vec<Item>,
    columns: Columns,
    measure: Measure,
    query: String,
    /// Places of the items that match, best first, with the matched characters of their labels.
    shown: Vec<(usize, Vec<u32>)>,
    selected: usize,
    /// First visible place of `shown`.
    top: usize,
    matcher: Matcher,
}

impl Select {
    /// A list with one detail at the right edge.
    pub fn new(items: Vec<Item>) -> Self {
        let mut select = Self {
            measure: measure(&items),
            items,
            columns: Columns::DETAIL,
            query: String::new(),
            shown: Vec::new(),
            selected: 0,
            top: 0,
            matcher: Matcher::new(Config::DEFAULT),
        };
        select.narrow();
        select
    }

    /// Shows its details in these columns.
    #[must_use]
    pub fn with_columns(self, columns: Columns) -> Self {
        Self { columns, ..self }
    }

    /// Other items; what is selected stays selected when it is still there.
    pub fn set_items(&mut self, items: Vec<Item>) {
        let key = self.selected().map(|item| item.key.clone());
        self.measure = measure(&items);
        self.items = items;
        self.narrow();
        if let Some(key) = key {
            self.select_key(&key);
        }
    }

    pub fn set_query(&mut self, query: &str) {
        if self.query != query {
            query.clone_into(&mut self.query);
            self.narrow();
        }
    }

    /// The item that would be taken.
    pub fn selected(&self) -> Option<&Item> {
        self.shown
            .get(self.selected)
            .map(|(place, _)| &self.items[*place])
    }

    /// How many items stand above it.
    pub fn place(&self) -> usize {
        self.selected
    }

    pub fn select_key(&mut self, key: &str) {
        let found = self
            .shown
            .iter()
            .position(|(place, _)| self.items[*place].key == key);
        self.selected = found.unwrap_or(0);
    }

    /// Items that match.
    pub fn len(&self) -> usize {
        self.shown.len()
    }

    pub fn is_empty(&self) -> bool {
        self.shown.is_empty()
    }

    /// All items, matching or not.
    pub fn total(&self) -> usize {
        self.items.len()
    }

    /// Moves the selection; past an end it comes back at the other.
    pub fn step(&mut self, down: bool) {
        let count = self.shown.len();
        if count > 0 {
            self.selected = (self.selected + if down { 1 } else { count - 1 }) % count;
        }
    }

    /// Moves the selection by a page, stopping at the ends.
    pub fn page(&mut self, down: bool, rows: usize) {
        let last = self.shown.len().saturating_sub(1);
        self.selected = if down {
            (self.selected + rows).min(last)
        } else {
            self.selected.saturating_sub(rows)
        };
    }

    pub fn first(&mut self) {
        self.selected = 0;
    }

    pub fn last(&mut self) {
        self.selected = self.shown.len().saturating_sub(1);
    }

    /// Rows above the items that name the columns.
    pub fn head_rows(&self) -> usize {
        usize::from(self.columns.are_named())
    }

    /// The visible rows for a viewport, the selected one among them, below the names of the columns.
    pub fn rows(&mut self, columns: usize, height: usize) -> Vec<Row> {
        // The mark before a row, and a cell behind it.
        let layout = self.measure.fit(self.columns, columns.saturating_sub(3));
        let head = layout.head().filter(|_| height > 1).map(|mut head| {
            head.spans.insert(0, Span::new("  ", Token::Muted));
            head
        });
        let height = height - usize::from(head.is_some());
        if self.selected < self.top {
            self.top = self.selected;
        } else if self.selected >= self.top + height {
            self.top = self.selected + 1 - height.max(1);
        }
        self.top = self.top.min(self.shown.len().saturating_sub(height));
        let visible = self.shown.iter().enumerate().skip(self.top).take(height);
        let items = visible.map(|(place, (item, matched))| {
            item_row(&self.items[*item], matched, place == self.selected, &layout)
        });
        head.into_iter().chain(items).collect()
    }

    fn narrow(&mut self) {
        self.selected = 0;
        self.top = 0;
        if self.query.trim().is_empty() {
            self.shown = (0..self.items.len())
                .map(|place| (place, Vec::new()))
                .collect();
            return;
        }
        let pattern = Pattern::parse(&self.query, CaseMatching::Smart, Normalization::Smart);
        let mut buffer = Vec::new();
        let mut text = String::new();
        let mut scored: Vec<(u32, usize)> = Vec::new();
        for (place, item) in self.items.iter().enumerate() {
            text.clear();
            // What stands before the label is searched as a part of it.
            let before = self.columns.before(&item.details);
            for part in before.chain([item.label.as_str(), &item.keywords]) {
                text.push_str(part);
                text.push(' ');
            }
            let haystack = Utf32Str::new(&text, &mut buffer);
            if let Some(score) = pattern.score(haystack, &mut self.matcher) {
                scored.push((score, place));
            }
        }
        scored.sort_by(|one, other| other.0.cmp(&one.0).then(one.1.cmp(&other.1)));
        // Only what can be on screen needs its matched characters.
        self.shown = scored
            .into_iter()
            .enumerate()
            .map(|(rank, (_, place))| {
                let mut matched = Vec::new();
                if rank < 200 {
                    let haystack = Utf32Str::new(&self.items[place].label, &mut buffer);
                    pattern.indices(haystack, &mut self.matcher, &mut matched);
                    matched.sort_unstable();
                    matched.dedup();
                }
                (place, matched)
            })
            .collect();
    }
}

fn measure(items: &[Item]) -> Measure {
    let mut measure = Measure::default();
    for item in items {
        measure.add(&item.label, &item.details);
    }
    measure
}

fn item_row(item: &Item, matched: &[u32], selected: bool, layout: &Layout) -> Row {
    let ground = selected.then_some(Token::Selected);
    let base = if item.dimmed {
        Token::Muted
    } else {
        Token::Text
    };
    let face = |token: Token| Face {
        token,
        ground,
        ..Face::default()
    };
    let mut row = Row::default();
    row.push(if selected { "› " } else { "  " }, face(Token::Accent));
    let details = &item.details;
    layout.write(&mut row, details, face, |row, room| {
        let label = single_line(&item.label);
        let label = truncate(&label, room);
        push_marked(row, &label, matched, face(base), face(Token::Match));
    });
    row.push(" ", face(base));
    row.fill = selected.then(|| Face::from(Token::Selected));
    row
}

/// The label with its matched characters marked.
fn push_marked(row: &mut Row, label: &str, matched: &[u32], plain: Face, marked: Face) {
    let mut run = String::new();
    let mut in_match = false;
    for (place, (_, grapheme)) in graphemes(label).enumerate() {
        let is_match =
            u32::try_from(place).is_ok_and(|place| matched.binary_search(&place).is_ok());
        if is_match != in_match && !run.is_empty() {
            row.push(
                std::mem::take(&mut run),
                if in_match { marked } else { plain },
            );
        }
        in_match = is_match;
        run.push_str(grapheme);
    }
    if !run.is_empty() {
        row.push(run, if in_match { marked } else { plain });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn select(labels: &[&str]) -> Select {
        let item = |label: &&str| Item {
            key: (*label).into(),
            label: (*label).into(),
            ..Item::default()
        };
        Select::new(labels.iter().map(item).collect())
    }

    #[test]
    fn typing_narrows_and_the_best_comes_first() {
        let mut list = select(&["anthropic/sonnet", "openai/gpt-5", "mistral/small"]);
        list.set_query("gpt");
        assert_eq!(
            list.selected().map(|item| item.label.as_str()),
            Some("openai/gpt-5")
        );
        assert_eq!(list.len(), 1);
        list.set_query("zzz");
        assert_eq!(list.selected(), None);
        list.set_query("");
        assert_eq!(list.len(), 3);
    }

    #[test]
    fn the_selection_survives_new_items_and_goes_round() {
        let mut list = select(&["a", "b", "c"]);
        list.step(false);
        assert_eq!(list.selected().map(|item| item.key.as_str()), Some("c"));
        let item = |key: &str| Item {
            key: key.into(),
            label: key.into(),
            ..Item::default()
        };
        list.set_items(vec![item("x"), item("c"), item("y")]);
        assert_eq!(list.selected().map(|item| item.key.as_str()), Some("c"));
        list.page(true, 10);
        assert_eq!(list.selected().map(|item| item.key.as_str()), Some("y"));
    }

    #[test]
    fn rows_fit_and_follow_the_selection() {
        let mut list = select(&["one", "two", "three"]);
        list.last();
        let rows = list.rows(20, 2);
        let shown: Vec<String> = rows.iter().map(Row::text).collect();
        assert_eq!(shown, ["  two               ", "› three             "]);
    }
}
