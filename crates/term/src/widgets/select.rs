//! A list that is filtered by typing. The list knows labels, details and the selection; its owner knows the meaning of
//! an item by its index.

use std::cmp::Reverse;

use super::number_limits::NumberLimits;
use nucleo_matcher::pattern::{AtomKind, CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use super::columns::{Cell, ColumnLayout, ColumnWidths, Columns};
use crate::text::face::{Face, Token};
use crate::text::row::{Row, Span};
use osier_base::text::{graphemes, single_line, truncate};

/// An item of the list.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Item {
    pub label: String,
    /// One for each column of the list.
    pub details: Vec<Cell>,
    /// Additional text to match, never shown.
    pub keywords: String,
    /// Numbers that a query can limit by their names: `price<1`.
    pub numbers: Vec<(&'static str, f64)>,
    /// Queries that put it first, even if its text does not match.
    pub queries: Vec<&'static str>,
    /// Found only by the starts of its words, not by scattered letters.
    pub by_word: bool,
    /// Listed only if a query finds it.
    pub only_found: bool,
    /// Before all other items that match a query.
    pub first: bool,
    /// Shown dimmed: it can be selected, but something is missing.
    pub dimmed: bool,
}

/// The list.
///
/// ```
/// use osier_term::widgets::select::{Item, Select};
///
/// let item = |label: &str| Item { label: label.to_owned(), ..Item::default() };
/// let mut list = Select::new(vec![item("open file"), item("quit")]);
/// list.set_query("qu");
/// assert_eq!(list.selected(), Some(1));
/// ```
#[derive(Debug)]
pub struct Select {
    items: Vec<Item>,
    columns: Columns,
    widths: ColumnWidths,
    query: String,
    /// Indices of the matching items, best first, with the matched characters of their labels.
    shown: Vec<(usize, Vec<u32>)>,
    selected: usize,
    /// Index in `shown` of the first visible item.
    top: usize,
    matcher: Matcher,
    /// For each item whether it is listed only when all items are shown; empty when there is no such item.
    extra: Vec<bool>,
    lists_all: bool,
    /// Whether matching items contain the letters of the query only scattered.
    scattered: bool,
}

/// Minimum letters of a query that finds items by the starts of their words.
const WORD_QUERY: usize = 2;

impl Select {
    /// Creates a list with one detail at the right edge.
    pub fn new(items: Vec<Item>) -> Self {
        let mut select = Self {
            widths: ColumnWidths::default(),
            items,
            columns: Columns::DETAIL,
            query: String::new(),
            shown: Vec::new(),
            selected: 0,
            top: 0,
            matcher: Matcher::new(Config::DEFAULT),
            extra: Vec::new(),
            lists_all: false,
            scattered: false,
        };
        select.relist();
        select
    }

    /// Sets the columns of the details.
    pub fn set_columns(&mut self, columns: Columns) {
        self.columns = columns;
    }

    /// Replaces the items and selects one of them.
    pub fn set_items(&mut self, items: Vec<Item>, selected: Option<usize>) {
        self.items = items;
        self.extra.clear();
        self.relist();
        self.select(selected);
    }

    /// Lists these items only when [`Self::list_all`] asks for it.
    pub fn set_extra(&mut self, is_extra: impl FnMut(usize) -> bool) {
        self.extra = (0..self.items.len()).map(is_extra).collect();
        self.relist();
    }

    /// Lists the extra items, or leaves them out. The selection stays if its item is still there.
    pub fn list_all(&mut self, all: bool) {
        if self.lists_all != all {
            self.lists_all = all;
            let selected = self.selected();
            self.relist();
            self.select(selected);
        }
    }

    fn relist(&mut self) {
        self.widths = ColumnWidths::default();
        for index in self.listed() {
            let item = &self.items[index];
            self.widths.add(&item.label, &item.details);
        }
        self.filter_items();
    }

    pub fn set_query(&mut self, query: &str) {
        if self.query != query {
            query.clone_into(&mut self.query);
            self.filter_items();
        }
    }

    /// The index of the selected item.
    pub fn selected(&self) -> Option<usize> {
        self.shown.get(self.selected).map(|(index, _)| *index)
    }

    /// All items, also those that are not listed.
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// Indices of the items that a query searches, in their order.
    pub fn listed(&self) -> Vec<usize> {
        let is_extra = |index: &usize| self.extra.get(*index).copied().unwrap_or_default();
        let items = 0..self.items.len();
        items
            .filter(|index| self.lists_all || !is_extra(index))
            .collect()
    }

    /// The index of the selection among the matching items.
    pub fn selected_index(&self) -> usize {
        self.selected
    }

    /// Selects the item with this index, or the first one when it does not match.
    pub fn select(&mut self, item: Option<usize>) {
        let found = self
            .shown
            .iter()
            .position(|(index, _)| Some(*index) == item);
        self.selected = found.unwrap_or(0);
    }

    /// Number of matching items.
    pub fn len(&self) -> usize {
        self.shown.len()
    }

    pub fn is_empty(&self) -> bool {
        self.shown.is_empty()
    }

    /// Whether the matching items contain the letters of the query only scattered.
    pub fn is_scattered(&self) -> bool {
        self.scattered
    }

    /// Number of listed items.
    pub fn total(&self) -> usize {
        let listed = self.listed().into_iter();
        let usual = listed.filter(|index| !self.items[*index].only_found);
        usual.count().max(self.shown.len())
    }

    /// Moves the selection by one and wraps around.
    pub fn step(&mut self, down: bool) {
        let count = self.shown.len();
        if count > 0 {
            self.selected = (self.selected + if down { 1 } else { count - 1 }) % count;
        }
    }

    /// Moves the selection by a page and stops at the ends.
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

    /// Number of header rows.
    pub fn head_rows(&self) -> usize {
        usize::from(self.columns.have_header())
    }

    /// The header and the visible rows, scrolled to show the selection.
    pub fn rows(&mut self, columns: usize, height: usize) -> Vec<Row> {
        // The selection marker, and one cell after the details.
        let layout = self.widths.fit(self.columns, columns.saturating_sub(3));
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
        let items = visible.map(|(index, (item, matched))| {
            item_row(&self.items[*item], matched, index == self.selected, &layout)
        });
        head.into_iter().chain(items).collect()
    }

    fn filter_items(&mut self) {
        self.selected = 0;
        self.top = 0;
        self.scattered = false;
        let has_number = |name: &str| {
            let mut numbers = self.items.iter().flat_map(|item| &item.numbers);
            numbers.any(|(known, _)| *known == name)
        };
        let limits = NumberLimits::of(&self.query, has_number);
        let mut listed = self.listed();
        listed.retain(|index| limits.allow(&self.items[*index].numbers));
        let query = limits.words.trim();
        if query.is_empty() {
            listed.retain(|index| !self.items[*index].only_found);
            let listed = listed.into_iter();
            self.shown = listed.map(|index| (index, Vec::new())).collect();
            return;
        }
        let scattered = Pattern::parse(query, CaseMatching::Smart, Normalization::Smart);
        let mut together = scattered.clone();
        for atom in &mut together.atoms {
            if atom.kind == AtomKind::Fuzzy {
                atom.kind = AtomKind::Substring;
            }
        }
        // Scattered letters count only where no item has them together, and only in labels: in long descriptions they are
        // everywhere.
        let mut pattern = together;
        let mut scored = self.matches(query, &listed, &pattern, true);
        if scored.is_empty() {
            pattern = scattered;
            scored = self.matches(query, &listed, &pattern, false);
            self.scattered = !scored.is_empty();
        }
        let mut buffer = Vec::new();
        scored.sort_by_key(|(score, index)| {
            let first = self.items[*index].first;
            (!first, Reverse(*score), *index)
        });
        // Only items that may be visible need their matched characters.
        self.shown = scored
            .into_iter()
            .enumerate()
            .map(|(rank, (_, index))| {
                let mut matched = Vec::new();
                if rank < 200 {
                    let haystack = Utf32Str::new(&self.items[index].label, &mut buffer);
                    pattern.indices(haystack, &mut self.matcher, &mut matched);
                    matched.sort_unstable();
                    matched.dedup();
                }
                (index, matched)
            })
            .collect();
    }

    /// The `listed` items that match, with their scores; with their keywords too if these are searched.
    fn matches(
        &mut self,
        query: &str,
        listed: &[usize],
        pattern: &Pattern,
        in_keywords: bool,
    ) -> Vec<(Score, usize)> {
        let mut buffer = Vec::new();
        let mut text = String::new();
        let mut scored = Vec::new();
        for index in listed.iter().copied() {
            let item = &self.items[index];
            if item.queries.contains(&query) {
                scored.push(((MatchPlace::Label, u32::MAX), index));
                continue;
            }
            text.clear();
            // The columns before the label are searched as part of it.
            let before = self.columns.before(&item.details);
            for part in before.chain([item.label.as_str()]) {
                text.push_str(part);
                text.push(' ');
            }
            let name = text.len();
            text.push_str(&item.keywords);
            if item.by_word && !starts_words(query, &text) {
                continue;
            }
            let mut score =
                |text: &str| pattern.score(Utf32Str::new(text, &mut buffer), &mut self.matcher);
            let place = match score(&item.label) {
                Some(_) => MatchPlace::Label,
                None => MatchPlace::Columns,
            };
            let named = score(&text[..name]).map(|score| (place, score));
            let found = named.or_else(|| {
                let found = in_keywords.then(|| score(&text)).flatten();
                found.map(|score| (MatchPlace::Keywords, score))
            });
            scored.extend(found.map(|score| (score, index)));
        }
        scored
    }
}

/// The part of an item that matches, the best last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum MatchPlace {
    /// Only with the keywords.
    Keywords,
    /// The label with the columns before it.
    Columns,
    /// The label alone.
    Label,
}

/// The part that matches, and how well.
type Score = (MatchPlace, u32);

/// Whether every word of the query begins a word of the text.
fn starts_words(query: &str, text: &str) -> bool {
    let words = |text: &str| -> Vec<String> {
        let words = text.split(|char: char| !char.is_alphanumeric());
        let words = words.filter(|word| !word.is_empty());
        words.map(str::to_lowercase).collect()
    };
    let (query, text) = (words(query), words(text));
    query.iter().map(String::len).sum::<usize>() >= WORD_QUERY
        && query
            .iter()
            .all(|typed| text.iter().any(|word| word.starts_with(typed)))
}

fn item_row(item: &Item, matched: &[u32], selected: bool, layout: &ColumnLayout) -> Row {
    let background = selected.then_some(Token::Selected);
    let base = if item.dimmed {
        Token::Muted
    } else {
        Token::Text
    };
    let face = |token: Token| Face {
        token,
        background,
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

/// Appends the label with its matched characters highlighted.
fn push_marked(row: &mut Row, label: &str, matched: &[u32], plain: Face, marked: Face) {
    let mut run = String::new();
    let mut in_match = false;
    for (index, (_, grapheme)) in graphemes(label).enumerate() {
        let is_match =
            u32::try_from(index).is_ok_and(|index| matched.binary_search(&index).is_ok());
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
            label: (*label).into(),
            ..Item::default()
        };
        Select::new(labels.iter().map(item).collect())
    }

    fn label(list: &Select) -> Option<&str> {
        list.selected()
            .map(|index| list.items()[index].label.as_str())
    }

    #[test]
    fn first_items_are_before_better_matches() {
        let item = |label: &str, first| Item {
            label: label.to_owned(),
            first,
            ..Item::default()
        };
        let mut list = Select::new(vec![item("opus", false), item("my old opus", true)]);
        list.set_query("opus");
        assert_eq!(list.selected(), Some(1));
    }

    #[test]
    fn query_filters_items_best_match_first() {
        let mut list = select(&["anthropic/sonnet", "openai/gpt-5", "mistral/small"]);
        list.set_query("gpt");
        assert_eq!(label(&list), Some("openai/gpt-5"));
        assert_eq!(list.len(), 1);
        list.set_query("zzz");
        assert_eq!(list.selected(), None);
        list.set_query("");
        assert_eq!(list.len(), 3);
    }

    #[test]
    fn letters_together_win_over_scattered_ones_and_names_over_descriptions() {
        let item = |label: &str, keywords: &str| Item {
            label: label.into(),
            keywords: keywords.into(),
            ..Item::default()
        };
        let mut list = Select::new(vec![
            item("export", "the theme of exports"),
            item("max_retries", "times the model is tried again"),
            item("theme", "colours"),
        ]);
        for (query, found) in [
            ("theme", vec!["theme", "export"]),
            ("theme exp", vec!["export"]),
            ("mxretr", vec!["max_retries"]),
            ("zzz", vec![]),
            // Scattered over a description, not over a name.
            ("mdltd", vec![]),
        ] {
            list.set_query(query);
            let shown = list
                .shown
                .iter()
                .map(|(index, _)| &*list.items[*index].label);
            assert_eq!(shown.collect::<Vec<_>>(), found, "{query}");
        }
    }

    #[test]
    fn query_of_an_item_puts_it_first() {
        let item = |label: &str, queries| Item {
            label: label.into(),
            queries,
            ..Item::default()
        };
        let mut list = Select::new(vec![item("write a note", vec![]), item("quit", vec!["wq"])]);
        list.set_query("w");
        assert_eq!(label(&list), Some("write a note"));
        list.set_query("wq");
        assert_eq!(label(&list), Some("quit"));
    }

    #[test]
    fn item_that_is_only_found_is_listed_with_its_query() {
        let item = |label: &str, only_found| Item {
            label: label.into(),
            only_found,
            ..Item::default()
        };
        let mut list = Select::new(vec![item("keymap", false), item("keymap vim", true)]);
        let mut counts = |query| {
            list.set_query(query);
            (list.len(), list.total())
        };
        assert_eq!(counts(""), (1, 1));
        assert_eq!(counts("keymap vim"), (1, 1));
        assert_eq!(counts("keymap"), (2, 2));
    }

    #[test]
    fn scattered_letters_do_not_find_an_item_that_is_found_by_word() {
        let item = |label: &str, by_word| Item {
            label: label.into(),
            by_word,
            ..Item::default()
        };
        let mut list = Select::new(vec![item("run: retry now", true), item("show now", false)]);
        for (query, count) in [
            ("", 2),
            ("now", 2),
            ("ret", 1),
            ("run ret", 1),
            ("re", 1),
            ("r", 0),
            ("rnow", 0),
            ("unet", 0),
        ] {
            list.set_query(query);
            assert_eq!(list.len(), count, "{query}");
        }
    }

    #[test]
    fn selection_survives_the_extra_items_and_wraps_around() {
        let mut list = select(&["a", "b", "c"]);
        list.set_extra(|index| index == 1);
        assert_eq!((list.total(), list.len()), (2, 2));
        list.step(false);
        assert_eq!(label(&list), Some("c"));
        list.list_all(true);
        assert_eq!((list.total(), label(&list)), (3, Some("c")));
        list.page(false, 1);
        assert_eq!(label(&list), Some("b"));
        list.list_all(false);
        assert_eq!(label(&list), Some("a"));
        list.page(true, 10);
        assert_eq!(label(&list), Some("c"));
    }

    #[test]
    fn rows_fit_and_scroll_to_the_selection() {
        let mut list = select(&["one", "two", "three"]);
        list.last();
        let rows = list.rows(20, 2);
        let shown: Vec<String> = rows.iter().map(Row::text).collect();
        assert_eq!(shown, ["  two               ", "› three             "]);
    }
}
