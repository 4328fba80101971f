//! A list that one picks from: fuzzy filtering, a selection that survives new items, and rows for what is
//! visible.
//!
//! A longer query only looks at what the shorter one left. Equal scores keep the order of `rank`, so the
//! recently used come first.

use std::cmp::Reverse;

use nucleo_matcher::pattern::{AtomKind, CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32String};

use super::line_input::{LineInput, Step};
use crate::base::text;
use crate::term::face::{Emphasis, Face, Token};
use crate::term::row::{Row, Span};

/// Columns between two columns of a list.
const COLUMN_GAP: usize = 2;

/// Columns in front of a label: the mark of the selected item.
const MARK: &str = "› ";

/// Something to pick.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Item {
    /// What tells it apart from others when the list is renewed.
    pub id: String,
    pub label: String,
    /// Columns on the right.
    pub details: Vec<String>,
    /// Further text that the query is matched with.
    pub keywords: String,
    /// Order among equals: the lowest comes first.
    pub rank: u32,
}

/// The items, the query and the selection.
pub struct Select {
    items: Vec<Item>,
    haystacks: Vec<Utf32String>,
    /// Ranks side by side, for the sort.
    ranks: Vec<u32>,
    /// Widest text of each detail column.
    columns: Vec<usize>,
    input: LineInput,
    pattern: Pattern,
    matcher: Matcher,
    /// Indices and scores of the items that match, best first.
    matches: Vec<(u32, u32)>,
    selected: usize,
    top: usize,
}

impl std::fmt::Debug for Select {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Select")
            .field("items", &self.items.len())
            .field("query", &self.input.text())
            .field("matches", &self.matches.len())
            .field("selected", &self.selected)
            .finish_non_exhaustive()
    }
}

impl Default for Select {
    fn default() -> Self {
        Self::new(Vec::new())
    }
}

impl Select {
    pub fn new(items: Vec<Item>) -> Self {
        let mut select = Self {
            items: Vec::new(),
            haystacks: Vec::new(),
            ranks: Vec::new(),
            columns: Vec::new(),
            input: LineInput::default(),
            pattern: Pattern::default(),
            matcher: Matcher::new(Config::DEFAULT),
            matches: Vec::new(),
            selected: 0,
            top: 0,
        };
        select.set_items(items);
        select
    }

    /// Replaces the items; the selected one stays selected if it is still there.
    pub fn set_items(&mut self, items: Vec<Item>) {
        let selected = self.selected().map(|item| item.id.clone());
        self.haystacks = items.iter().map(haystack).collect();
        self.ranks = items.iter().map(|item| item.rank).collect();
        let count = items
            .iter()
            .map(|item| item.details.len())
            .max()
            .unwrap_or(0);
        self.columns = vec![0; count];
        for item in &items {
            for (column, detail) in self.columns.iter_mut().zip(&item.details) {
                *column = (*column).max(text::width(detail));
            }
        }
        self.items = items;
        self.filter(false);
        let kept = selected.and_then(|id| {
            let is_kept = |(index, _): &(u32, u32)| self.items[*index as usize].id == id;
            self.matches.iter().position(is_kept)
        });
        self.selected = kept.unwrap_or(self.selected).min(self.last());
    }

    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// The selected item; none when nothing matches.
    pub fn selected(&self) -> Option<&Item> {
        let (index, _) = self.matches.get(self.selected)?;
        self.items.get(*index as usize)
    }

    /// Selects an item by its id; false when it is not among the matches.
    pub fn select(&mut self, id: &str) -> bool {
        let found = self
            .matches
            .iter()
            .position(|(index, _)| self.items[*index as usize].id == id);
        self.selected = found.unwrap_or(self.selected);
        found.is_some()
    }

    /// Number of the selected match, matches, and items.
    pub fn position(&self) -> (usize, usize, usize) {
        let number = (self.selected + 1).min(self.matches.len());
        (number, self.matches.len(), self.items.len())
    }

    pub fn input(&self) -> &LineInput {
        &self.input
    }

    pub fn set_query(&mut self, query: &str) {
        self.edit(|input| input.set(query));
    }

    /// Types into the query.
    pub fn insert(&mut self, text: &str) {
        self.edit(|input| input.insert(text));
    }

    /// Deletes in the query.
    pub fn delete(&mut self, step: Step) {
        self.edit(|input| {
            input.delete(step);
        });
    }

    /// Moves the cursor of the query.
    pub fn move_cursor(&mut self, step: Step) {
        self.input.move_by(step);
    }

    /// Up by one; from the first item to the last.
    pub fn up(&mut self) {
        self.selected = self.selected.checked_sub(1).unwrap_or(self.last());
    }

    /// Down by one; from the last item to the first.
    pub fn down(&mut self) {
        self.selected = if self.selected < self.last() {
            self.selected + 1
        } else {
            0
        };
    }

    pub fn page_up(&mut self, rows: usize) {
        self.selected = self.selected.saturating_sub(rows.max(1));
    }

    pub fn page_down(&mut self, rows: usize) {
        self.selected = (self.selected + rows.max(1)).min(self.last());
    }

    pub fn first(&mut self) {
        self.selected = 0;
    }

    pub fn end(&mut self) {
        self.selected = self.last();
    }

    /// Selects the item of a visible row; false when the row shows none.
    pub fn click(&mut self, row: u16) -> bool {
        let index = self.top + usize::from(row);
        let some = index < self.matches.len();
        if some {
            self.selected = index;
        }
        some
    }

    /// The visible rows, one an item, scrolled as little as needed to show the selected one.
    pub fn rows(&mut self, width: usize, height: usize) -> Vec<Row> {
        let height = height.max(1);
        self.top = self
            .top
            .min(self.matches.len().saturating_sub(height))
            .clamp((self.selected + 1).saturating_sub(height), self.selected);
        let columns = self.visible_columns(width);
        let end = self.matches.len().min(self.top + height);
        (self.top..end)
            .map(|index| self.row(index, columns, width))
            .collect()
    }

    /// The first visible match.
    pub fn top(&self) -> usize {
        self.top
    }

    fn last(&self) -> usize {
        self.matches.len().saturating_sub(1)
    }

    fn edit(&mut self, change: impl FnOnce(&mut LineInput)) {
        let before = self.input.text().to_owned();
        change(&mut self.input);
        let query = self.input.text();
        if query == before {
            return;
        }
        let narrower = query.starts_with(&before);
        self.pattern = Pattern::new(
            query,
            CaseMatching::Smart,
            Normalization::Smart,
            AtomKind::Fuzzy,
        );
        self.filter(narrower);
        self.selected = 0;
    }

    /// Finds the matches, among the present ones when the query only grew.
    fn filter(&mut self, narrower: bool) {
        if !narrower {
            self.matches = (0..self.items.len() as u32)
                .map(|index| (index, 0))
                .collect();
        }
        let Self {
            ranks,
            haystacks,
            pattern,
            matcher,
            matches,
            ..
        } = self;
        matches.retain_mut(|(index, score)| {
            let haystack = haystacks[*index as usize].slice(..);
            let found = pattern.score(haystack, matcher);
            *score = found.unwrap_or(0);
            found.is_some()
        });
        matches.sort_unstable_by_key(|(index, score)| {
            (Reverse(*score), ranks[*index as usize], *index)
        });
    }

    /// How many of the detail columns there is room for.
    fn visible_columns(&self, width: usize) -> usize {
        let mut room = width.saturating_sub(text::width(MARK)) / 2;
        let fits = |column: &&usize| {
            let needed = **column + COLUMN_GAP;
            let fits = needed <= room;
            room = room.saturating_sub(needed);
            fits
        };
        self.columns.iter().take_while(fits).count()
    }

    fn row(&mut self, index: usize, columns: usize, width: usize) -> Row {
        let (item, _) = self.matches[index];
        let marked = self.marked(item as usize);
        let item = &self.items[item as usize];
        let selected = index == self.selected;
        let face = |token: Token| {
            if selected {
                Face::from(token).on(Token::Selected)
            } else {
                Face::from(token)
            }
        };
        let used: usize = self.columns[..columns]
            .iter()
            .map(|column| column + COLUMN_GAP)
            .sum();
        let room = width.saturating_sub(text::width(MARK) + used);
        let mark = if selected { MARK } else { "  " };
        let mut row = Row::new(vec![Span::new(mark, face(Token::Accent))]);
        let label = text::single_line(&item.label);
        let shown = text::truncate(&label, room);
        let text_token = if selected {
            Token::Selected
        } else {
            Token::Text
        };
        for (matches, run) in runs(&shown, &marked) {
            let face = if matches {
                face(Token::Match).emphasised(Emphasis::BOLD)
            } else {
                face(text_token)
            };
            row.push(run, face);
        }
        let mut gap = room - text::width(&shown);
        for (column, detail) in self.columns[..columns].iter().zip(&item.details) {
            let detail = text::single_line(detail);
            let free = column.saturating_sub(text::width(&detail));
            row.push(" ".repeat(gap + COLUMN_GAP), face(Token::Muted));
            row.push(detail, face(Token::Muted));
            gap = free;
        }
        row.fill = selected.then_some(Token::Selected.into());
        row
    }

    /// The clusters of an item's label that the query matches.
    fn marked(&mut self, item: usize) -> Vec<u32> {
        let mut marked = Vec::new();
        let haystack = self.haystacks[item].slice(..);
        self.pattern
            .indices(haystack, &mut self.matcher, &mut marked);
        marked.sort_unstable();
        marked
    }
}

/// The label comes first, so that positions in it are positions in the whole.
fn haystack(item: &Item) -> Utf32String {
    let label = text::single_line(&item.label);
    let details = item.details.join(" ");
    Utf32String::from(format!("{label} {details} {}", item.keywords))
}

/// Pieces of a text: whether they match, and the text.
fn runs<'a>(text: &'a str, marked: &[u32]) -> Vec<(bool, &'a str)> {
    let mut runs: Vec<(bool, &str)> = Vec::new();
    let mut start = 0;
    for (number, (offset, cluster)) in text::graphemes(text).enumerate() {
        let matches = marked.binary_search(&(number as u32)).is_ok();
        let end = offset + cluster.len();
        match runs.last_mut() {
            Some((same, run)) if *same == matches => *run = &text[start..end],
            _ => {
                start = offset;
                runs.push((matches, cluster));
            }
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    fn item(label: &str, detail: &str, rank: u32) -> Item {
        Item {
            id: label.into(),
            label: label.into(),
            details: vec![detail.into()],
            keywords: String::new(),
            rank,
        }
    }

    fn labels(select: &mut Select) -> Vec<String> {
        let found = select.matches.iter();
        found
            .map(|(index, _)| select.items[*index as usize].label.clone())
            .collect()
    }

    fn sample() -> Select {
        Select::new(vec![
            item("src/main.rs", "12", 3),
            item("src/term/row.rs", "7", 1),
            item("漢字 notes", "120", 2),
        ])
    }

    #[test]
    fn the_query_filters_and_rank_orders_equals() {
        let mut select = sample();
        assert_eq!(
            labels(&mut select),
            ["src/term/row.rs", "漢字 notes", "src/main.rs"]
        );
        select.insert("main");
        assert_eq!(labels(&mut select), ["src/main.rs"]);
        select.insert(" zzz");
        assert_eq!(select.selected(), None);
        assert_eq!(select.position(), (0, 0, 3));
        select.delete(Step::Start);
        assert_eq!(select.position(), (1, 3, 3));
        select.set_query("字");
        assert_eq!(labels(&mut select), ["漢字 notes"]);
    }

    #[test]
    fn the_selection_survives_new_items() {
        let mut select = sample();
        select.down();
        let mut items = select.items().to_vec();
        items.insert(0, item("first", "", 0));
        select.set_items(items);
        assert_eq!(select.selected().map(|item| &*item.id), Some("漢字 notes"));
        select.set_items(vec![item("only", "", 0)]);
        assert_eq!(select.selected().map(|item| &*item.id), Some("only"));
        select.up();
        select.page_down(5);
        assert_eq!(select.position(), (1, 1, 1));
    }

    #[test]
    fn rows_mark_matches_and_the_selection() {
        let mut select = sample();
        select.insert("row");
        let on = |token: Token| Face::from(token).on(Token::Selected);
        let mut expected = Row::new(vec![
            Span::new("› ", on(Token::Accent)),
            Span::new("src/term/", on(Token::Selected)),
            Span::new("row", on(Token::Match).emphasised(Emphasis::BOLD)),
            Span::new(".rs", on(Token::Selected)),
            Span::new("    ", on(Token::Muted)),
            Span::new("7", on(Token::Muted)),
        ]);
        expected.fill = Some(Token::Selected.into());
        assert_eq!(select.rows(24, 5), [expected]);
        select.set_query("");
        let texts = |select: &mut Select, width, height| -> Vec<String> {
            select.rows(width, height).iter().map(Row::text).collect()
        };
        assert_eq!(
            texts(&mut select, 22, 2),
            ["› src/term/row.rs  7", "  漢字 notes       120"]
        );
        select.end();
        assert_eq!(texts(&mut select, 12, 2), ["  漢字…  120", "› src/…  12"]);
        assert_eq!(texts(&mut select, 9, 1), ["› src/ma…"]);
    }

    #[test]
    #[ignore = "measurement"]
    fn ten_thousand_items() {
        let items = (0..10_000).map(|index| {
            item(
                &format!("src/some/module_{index}/file_{}.rs", index * 7),
                "1 kB",
                index,
            )
        });
        let mut select = Select::new(items.collect());
        for key in ["f", "i", "l", "7"] {
            let start = Instant::now();
            select.insert(key);
            println!(
                "{:?}: {:?}, {} matches",
                select.input.text(),
                start.elapsed(),
                select.matches.len()
            );
        }
    }
}
