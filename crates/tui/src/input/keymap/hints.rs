//! Keys with their meanings in columns above the last rows: the ones that can follow a prefix, or the ones of a view.

use ratatui::layout::Rect;

use crate::actions::Command;
use crate::drawing::{Surface, frame};
use crate::input::plugins;
use osier_base::text;
use osier_protocol::PluginKey;
use osier_term::keymap::KeyHint;
use osier_term::{Row, Token};

/// Minimum columns of one key and its meaning; the second value is for a page that would be cut
/// with the first.
const COLUMN: usize = 38;
const NARROW_COLUMN: usize = 28;

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

/// Columns of so many keys in an area.
fn columns(count: usize, within: Rect, linear: bool) -> usize {
    let (width, room) = (usize::from(within.width), usize::from(within.height));
    let columns = (width / COLUMN).max(1);
    match (linear, count.div_ceil(columns) < room) {
        (true, _) => 1,
        (false, true) => columns,
        (false, false) => (width / NARROW_COLUMN).max(1),
    }
}

/// Rows that a page of so many keys takes of `within`, with its title.
pub(crate) fn height(count: usize, within: Rect, linear: bool) -> u16 {
    let rows = count.div_ceil(columns(count, within, linear)) + 1;
    u16::try_from(rows).unwrap_or(u16::MAX).min(within.height)
}

/// Draws keys and their meanings at the bottom of `within`, below a line with `title`; in one column for a screen reader.
pub(crate) fn draw(
    title: &str,
    hints: Vec<(String, String)>,
    within: Rect,
    linear: bool,
    surface: &mut Surface<'_>,
) {
    if hints.is_empty() || within.width < 24 {
        return;
    }
    let width = usize::from(within.width);
    let hints = merge_numbered(hints);
    let columns = columns(hints.len(), within, linear);
    let keys = hints.iter().map(|(keys, _)| text::width(keys)).max();
    let keys = keys.unwrap_or_default();
    let room = within.height.saturating_sub(1);
    let rows = hints.len().div_ceil(columns).min(usize::from(room));
    let meanings: Vec<&str> = hints.iter().map(|(_, meaning)| meaning.as_str()).collect();
    let shown = &meanings[..meanings.len().min(rows * columns)];
    let widths = widths(shown, rows, width.saturating_sub(columns * (keys + 3)));
    let heading = if linear {
        Row::plain(format!("{title:<width$}"), Token::Title)
    } else {
        frame::rule(title, Token::Title.into(), ("", Token::Muted.into()), width)
    };
    let mut shown = vec![heading];
    for row in 0..rows {
        let mut line = Row::default();
        for column in 0..columns {
            let Some((hint, _)) = hints.get(column * rows + row) else {
                continue;
            };
            line.push(format!(" {hint:>keys$} "), Token::Accent);
            let room = widths.get(column).copied().unwrap_or_default();
            let meaning = shortened(meanings[column * rows + row], room);
            let meaning = text::truncate(&meaning, room);
            let gap = room.saturating_sub(text::width(&meaning)) + 1;
            line.push(format!("{meaning}{}", " ".repeat(gap)), Token::Text);
        }
        let rest = width.saturating_sub(line.width());
        line.push(" ".repeat(rest), Token::Text);
        shown.push(line);
    }
    let hidden = hints.len().saturating_sub(rows * columns);
    if hidden > 0 {
        let more = format!(" … and {} more", hidden + columns);
        shown.pop();
        shown.push(Row::plain(format!("{more:<width$}"), Token::Muted));
    }
    let height = u16::try_from(shown.len()).unwrap_or(u16::MAX);
    let area = Rect {
        y: within.bottom().saturating_sub(height),
        height,
        ..within
    };
    surface.paint(&shown, area);
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

/// Cells for the texts of each column: as many as the longest of it needs, less where that is more than there is.
fn widths(meanings: &[&str], rows: usize, room: usize) -> Vec<usize> {
    let columns = meanings.chunks(rows.max(1));
    let whole = columns.clone().map(|column| widest(column, text::width));
    let mut widths: Vec<usize> = whole.collect();
    if widths.iter().sum::<usize>() > room {
        let short = |meaning: &str| text::width(&clause(meaning));
        widths = columns.map(|column| widest(column, short)).collect();
    }
    while widths.iter().sum::<usize>() > room {
        let Some(most) = widths.iter_mut().max() else {
            break;
        };
        *most -= 1;
    }
    widths
}

fn widest(meanings: &[&str], measure: impl Fn(&str) -> usize) -> usize {
    let widths = meanings.iter().map(|meaning| measure(meaning));
    widths.max().unwrap_or_default()
}

/// The complete meaning if there is room, else its first clause.
fn shortened(meaning: &str, room: usize) -> String {
    let whole = text::unticked(meaning);
    if text::width(&whole) <= room {
        return whole;
    }
    clause(meaning)
}

/// The text before the first punctuation mark.
fn clause(meaning: &str) -> String {
    let end = meaning.find([';', ':', ',']).unwrap_or(meaning.len());
    text::unticked(&meaning[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_are_shown_complete_or_by_their_first_clause() {
        let meanings = [
            "Undo",
            "Stash the prompt; in an empty prompt, restore one",
            "List tabs and their state: go to one, close one",
            "Help",
        ];
        let told = |room: usize| -> Vec<Vec<String>> {
            let widths = widths(&meanings, 2, room);
            let columns = meanings.chunks(2).zip(widths);
            columns
                .map(|(column, room)| {
                    let short = column.iter().map(|meaning| shortened(meaning, room));
                    short
                        .map(|text| text::truncate(&text, room).into_owned())
                        .collect()
                })
                .collect()
        };
        assert_eq!(told(120), [["Undo", meanings[1]], [meanings[2], "Help"]]);
        assert_eq!(
            told(60),
            [
                ["Undo", "Stash the prompt"],
                ["List tabs and their state", "Help"]
            ]
        );
        assert_eq!(
            told(30),
            [["Undo", "Stash the prom…"], ["List tabs and …", "Help"]]
        );
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
