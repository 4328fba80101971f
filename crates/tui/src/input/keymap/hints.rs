//! Keys with their meanings in columns above the last rows: the ones that can follow a prefix, or the ones of a view.

use ratatui::layout::Rect;

use crate::actions::Command;
use crate::drawing::{Surface, frame};
use crate::input::plugins;
use osier_base::text;
use osier_protocol::PluginKey;
use osier_term::keymap::KeyHint;
use osier_term::{Row, Token};

/// Minimum columns of one key and its meaning; the second value is for a page that would be too long with the first.
const COLUMN: usize = 38;
const NARROW_COLUMN: usize = 20;

/// Cells around a key and its meaning.
const AROUND: usize = 3;

/// The keys that can follow a prefix.
pub(crate) fn after_prefix(
    hints: &[KeyHint<Command>],
    plugin_keys: &[PluginKey],
) -> Vec<(String, String)> {
    let told = |hint: &KeyHint<Command>| {
        let description = plugins::description(hint.action, plugin_keys);
        (hint.keys.clone(), description.to_owned())
    };
    hints.iter().map(told).collect()
}

/// The page of keys that is shown, if any, and how many pages there are.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct KeysShown {
    page: Option<usize>,
    count: usize,
}

impl KeysShown {
    pub(crate) fn open(&mut self) {
        self.page = Some(0);
        self.count = 1;
    }

    pub(crate) fn close(&mut self) {
        self.page = None;
    }

    pub(crate) fn page(self) -> Option<usize> {
        self.page
    }

    pub(crate) fn set_count(&mut self, count: usize) {
        self.count = count;
        self.page = self.page.map(|page| page.min(count.saturating_sub(1)));
    }

    /// Shows the next or the previous page; false if there is none.
    pub(crate) fn turn(&mut self, forward: bool) -> bool {
        let next = match (self.page, forward) {
            (Some(page), true) => Some(page + 1).filter(|next| *next < self.count),
            (Some(page), false) => page.checked_sub(1),
            (None, _) => None,
        };
        self.page = next.or(self.page);
        next.is_some()
    }
}

/// Keys and their meanings, laid out for an area.
#[derive(Debug)]
pub(crate) struct KeysPage {
    rows: Vec<Row>,
    /// The number of pages.
    pub(crate) count: usize,
}

impl KeysPage {
    /// The page `number` of the keys, below a line with `title`; in one column for a screen reader. Without a number there is
    /// only one page.
    pub(crate) fn new(
        title: &str,
        hints: Vec<(String, String)>,
        number: Option<usize>,
        within: Rect,
        linear: bool,
    ) -> Self {
        let width = usize::from(within.width);
        let room = usize::from(within.height).saturating_sub(1).max(1);
        if hints.is_empty() || width < 24 {
            return Self {
                rows: Vec::new(),
                count: 1,
            };
        }
        let hints = merge_pairs(merge_numbered(hints));
        let Layout {
            columns,
            rows,
            pages,
            is_complete,
        } = Layout::best(&hints, width, room, (linear, number.is_none()));
        let at = number.unwrap_or_default().min(pages - 1);
        let page = hints.chunks(rows * columns).nth(at).unwrap_or_default();
        let remark = match (pages, number) {
            (1, _) => String::new(),
            (_, None) => format!("… and {} more", hints.len() - page.len()),
            (pages, Some(_)) => format!("{} of {pages} · pageup, pagedown", at + 1),
        };
        let mut shown = vec![if linear {
            Row::plain(
                format!("{:<width$}", format!("{title} {remark}")),
                Token::Title,
            )
        } else {
            frame::rule(
                title,
                Token::Title.into(),
                (&remark, Token::Muted.into()),
                width,
            )
        }];
        let mut widths = widths(page, rows, is_complete);
        shorten(&mut widths, width);
        for row in 0..rows {
            let mut line = Row::default();
            for (column, (keys, text)) in page.chunks(rows).zip(&widths) {
                let Some((hint, meaning)) = column.get(row) else {
                    continue;
                };
                line.push(format!(" {hint:>keys$} "), Token::Accent);
                let left = width.saturating_sub(line.width() + 1).min(*text);
                let meaning = told(meaning, is_complete);
                let meaning = text::truncate(&meaning, left);
                let gap = left.saturating_sub(text::width(&meaning)) + 1;
                line.push(format!("{meaning}{}", " ".repeat(gap)), Token::Text);
            }
            let rest = width.saturating_sub(line.width());
            line.push(" ".repeat(rest), Token::Text);
            shown.push(line);
        }
        Self {
            rows: shown,
            count: pages,
        }
    }

    /// Rows of the page with its title.
    pub(crate) fn height(&self) -> u16 {
        u16::try_from(self.rows.len()).unwrap_or(u16::MAX)
    }

    /// Draws the page at the bottom of `within`.
    pub(crate) fn draw(&self, within: Rect, surface: &mut Surface<'_>) {
        let height = self.height().min(within.height);
        let area = Rect {
            y: within.bottom().saturating_sub(height),
            height,
            ..within
        };
        surface.paint(&self.rows, area);
    }
}

/// The arrangement of keys in pages, rows and columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Layout {
    columns: usize,
    rows: usize,
    pages: usize,
    /// Meanings are complete; else they are their first clauses.
    is_complete: bool,
}

impl Layout {
    /// Of the layouts that cut no meaning: the one with the fewest pages, with complete meanings, and with the fewest rows. A
    /// single page may cut meanings, so that it has all keys.
    fn best(
        hints: &[(String, String)],
        width: usize,
        room: usize,
        (linear, is_single): (bool, bool),
    ) -> Self {
        let most = if linear {
            1
        } else {
            (width / NARROW_COLUMN).max(1)
        };
        let layout = |columns: usize, is_complete| {
            let rows = hints.len().div_ceil(columns).min(room);
            Self {
                columns,
                rows,
                pages: hints.len().div_ceil(rows * columns),
                is_complete,
            }
        };
        if is_single {
            let mut complete = (1..=most).map(|columns| layout(columns, true));
            let last = layout((width / COLUMN).max(1), false);
            let single = complete.find(|layout| layout.pages == 1).unwrap_or(last);
            return Self {
                is_complete: single.pages == 1 && fits(&single, hints, width),
                ..single
            };
        }
        let all = (1..=most).flat_map(|columns| [layout(columns, true), layout(columns, false)]);
        let cost = |layout: &Self| {
            let is_narrow = layout.columns > (width / COLUMN).max(1);
            (layout.pages, !layout.is_complete, is_narrow, layout.rows)
        };
        all.filter(|layout| fits(layout, hints, width))
            .min_by_key(cost)
            .unwrap_or(layout(1, false))
    }
}

/// Whether no page of the layout cuts a meaning.
fn fits(layout: &Layout, hints: &[(String, String)], width: usize) -> bool {
    let mut pages = hints.chunks(layout.rows * layout.columns);
    pages.all(|page| taken(&widths(page, layout.rows, layout.is_complete)) <= width)
}

fn taken(widths: &[(usize, usize)]) -> usize {
    let taken = widths.iter().map(|(keys, text)| keys + text + AROUND);
    taken.sum()
}

/// Removes cells from the widest meanings until the columns fit.
fn shorten(widths: &mut [(usize, usize)], width: usize) {
    while taken(widths) > width {
        match widths.iter_mut().max_by_key(|(_, text)| *text) {
            Some((_, text)) if *text > 1 => *text -= 1,
            _ => return,
        }
    }
}

/// Cells of the keys and of the meanings of each column.
fn widths(page: &[(String, String)], rows: usize, is_complete: bool) -> Vec<(usize, usize)> {
    let columns = page.chunks(rows.max(1)).map(|column| {
        let keys = column.iter().map(|(keys, _)| text::width(keys)).max();
        let meanings = column.iter();
        let meanings = meanings.map(|(_, meaning)| text::width(&told(meaning, is_complete)));
        (keys.unwrap_or_default(), meanings.max().unwrap_or_default())
    });
    columns.collect()
}

/// The complete meaning, or its first clause.
fn told(meaning: &str, is_complete: bool) -> String {
    let clause = meaning.find([';', ':', ',']).filter(|_| !is_complete);
    text::unticked(&meaning[..clause.unwrap_or(meaning.len())])
}

/// Words in which the meanings of two keys of a pair differ.
const PAIRS: &[(&str, &str)] = &[
    ("previous", "next"),
    ("before", "after"),
    ("outer", "inner"),
    ("up", "down"),
    ("first", "last"),
];

/// Merges two keys of one character, such as `[` for `Previous prompt` and `]` for `Next prompt`, into one entry.
fn merge_pairs(entries: Vec<(String, String)>) -> Vec<(String, String)> {
    let mut merged: Vec<(String, String)> = Vec::with_capacity(entries.len());
    for entry in entries {
        let both = merged.last().and_then(|last| pair(last, &entry));
        match (both, merged.last_mut()) {
            (Some(both), Some(last)) => *last = both,
            _ => merged.push(entry),
        }
    }
    merged
}

fn pair(one: &(String, String), other: &(String, String)) -> Option<(String, String)> {
    if text::width(&one.0) != 1 || text::width(&other.0) != 1 {
        return None;
    }
    let (words, others): (Vec<_>, Vec<_>) =
        (one.1.split(' ').collect(), other.1.split(' ').collect());
    let differ = |at: &usize| words[*at] != others[*at];
    let mut differing = (0..words.len().min(others.len())).filter(differ);
    let at = differing.next()?;
    let is_pair = |(first, second): &(&str, &str)| {
        words[at].eq_ignore_ascii_case(first) && others[at].eq_ignore_ascii_case(second)
    };
    if differing.next().is_some() || words.len() != others.len() || !PAIRS.iter().any(is_pair) {
        return None;
    }
    let both = format!("{}/{}", words[at], others[at].to_lowercase());
    let mut words = words;
    words[at] = &both;
    Some((format!("{}/{}", one.0, other.0), words.join(" ")))
}

/// Merges numbered entries, such as `alt+1` for `Go to tab 1`, into one.
pub(crate) fn merge_numbered(entries: Vec<(String, String)>) -> Vec<(String, String)> {
    let mut folded: Vec<(String, String)> = Vec::with_capacity(entries.len());
    // The first entry of those that count, and the last so far.
    let mut run: Option<[(String, String); 2]> = None;
    for entry in entries {
        if let Some([first, last]) = &mut run
            && follows(&last.0, &entry.0)
            && follows(&last.1, &entry.1)
            && let Some(told) = folded.last_mut()
        {
            let end = entry.1.len() - 1;
            *told = (
                format!("{} … {}", first.0, entry.0),
                format!("{} … {}", first.1, &entry.1[end..]),
            );
            *last = entry;
        } else {
            run = Some([entry.clone(), entry.clone()]);
            folded.push(entry);
        }
    }
    folded
}

/// Whether `next` is `last` with the next digit at its end.
fn follows(last: &str, next: &str) -> bool {
    let cut = |text: &str| {
        let digit = text.chars().next_back()?.to_digit(10)?;
        Some((text[..text.len() - 1].to_owned(), digit))
    };
    match (cut(last), cut(next)) {
        (Some(last), Some(next)) => last.0 == next.0 && last.1 + 1 == next.1,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(all: &[(&str, &str)]) -> Vec<(String, String)> {
        let all = all.iter();
        let all = all.map(|(keys, what)| ((*keys).to_owned(), (*what).to_owned()));
        all.collect()
    }

    #[test]
    fn meanings_are_complete_or_their_first_clause_and_never_cut() {
        let hints = entries(&[
            ("u", "Undo"),
            ("s", "Stash the prompt; in an empty prompt, restore one"),
            ("t", "List tabs and their state: go to one, close one"),
            ("f1", "Help"),
        ]);
        let shown = |width, height| {
            let within = Rect::new(0, 0, width, height);
            let page = KeysPage::new("Keys", hints.clone(), Some(0), within, false);
            let rows = page.rows.iter().map(|row| row.text().trim_end().to_owned());
            (rows.skip(1).collect::<Vec<_>>(), page.count)
        };
        let complete = [
            "  u Undo",
            "  s Stash the prompt; in an empty prompt, restore one",
            "  t List tabs and their state: go to one, close one",
            " f1 Help",
        ];
        assert_eq!(shown(60, 5), (complete.map(str::to_owned).into(), 1));
        let clauses = [
            " u Undo               t List tabs and their state",
            " s Stash the prompt  f1 Help",
        ];
        assert_eq!(shown(60, 3), (clauses.map(str::to_owned).into(), 1));
        let first = [" u Undo", " s Stash the prompt"];
        assert_eq!(shown(40, 3), (first.map(str::to_owned).into(), 2));
    }

    #[test]
    fn pages_turn_as_far_as_there_are_some() {
        let mut keys = KeysShown::default();
        assert!(!keys.turn(true));
        keys.open();
        keys.set_count(2);
        assert!(keys.turn(true) && !keys.turn(true));
        assert_eq!(keys.page(), Some(1));
        assert!(keys.turn(false) && !keys.turn(false));
        assert_eq!(keys.page(), Some(0));
    }

    #[test]
    fn keys_of_a_pair_are_one_entry() {
        let all = entries(&[
            ("[", "Previous prompt"),
            ("]", "Next prompt"),
            ("h", "Collapse the branch"),
            ("l", "Expand the branch"),
            ("up", "Move up"),
            ("down", "Move down"),
        ]);
        let mut expected = all.clone();
        expected.splice(0..2, entries(&[("[/]", "Previous/next prompt")]));
        assert_eq!(merge_pairs(all), expected);
    }

    #[test]
    fn numbered_entries_are_merged() {
        let entry = |keys: &str, what: &str| (keys.to_owned(), what.to_owned());
        let numbered =
            |number: u32| entry(&format!("alt+{number}"), &format!("Go to tab {number}"));
        let mut entries = vec![entry("f1", "Help")];
        entries.extend((1..=9).map(numbered));
        entries.push(entry("alt+0", "List tabs"));
        assert_eq!(
            merge_numbered(entries),
            [
                entry("f1", "Help"),
                entry("alt+1 … alt+9", "Go to tab 1 … 9"),
                entry("alt+0", "List tabs"),
            ]
        );
        // With other bindings they are not merged.
        let others = vec![numbered(1), entry("f7", "Go to tab 2"), numbered(3)];
        assert_eq!(merge_numbered(others.clone()), others);
    }
}
