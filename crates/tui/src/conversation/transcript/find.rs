//! Shows the results of a search: scrolls to the message, expands it as far as the match, and marks
//! every row with a match.

use std::sync::Arc;

use super::cell::Body;
use super::state::{Position, Purpose, Transcript};
use osier_protocol::PageAt;
use osier_store::Needle;
use osier_term::{Emphasis, Row, Span, Token};

impl Transcript {
    /// Marks `needle` wherever it is visible; `None` removes the marks.
    pub fn set_needle(&mut self, needle: Option<Needle>) {
        self.needle = needle;
        self.found = None;
    }

    /// Scrolls to a match in the message stored as `entry_id`, at once if it is loaded. `nth` counts from its end.
    pub fn go_match(&mut self, entry_id: &str, nth: usize) {
        if self.strip().cells_of(entry_id).is_none() && self.near.cells_of(entry_id).is_some() {
            self.leave_away();
        }
        let entry: Arc<str> = entry_id.into();
        if self.strip().cells_of(entry_id).is_some() {
            self.show(&entry, nth);
            return;
        }
        let entry_id = entry_id.to_owned();
        self.ask(Purpose::Show { entry, nth }, PageAt::Around { entry_id });
    }

    /// Scrolls to a match in a loaded message and puts it at a third of the screen. `nth` counts
    /// from the end of the message; if fewer matches are visible, the first one is used.
    pub(super) fn show(&mut self, entry: &str, nth: usize) {
        let Some(cells) = self.strip().cells_of(entry) else {
            return;
        };
        self.found = Some((entry.into(), nth));
        let start = cells.start;
        let found: Vec<(usize, usize)> = cells
            .flat_map(|cell| {
                let rows = self.matching_rows(cell, nth).into_iter();
                rows.map(move |row| (cell, row))
            })
            .collect();
        let place = found.len().saturating_sub(nth + 1);
        let (cell, row) = found.get(place).copied().unwrap_or((start, 0));
        let row = row + self.strip().gap(cell, self.style);
        let above = usize::from(self.viewport.1) / 3;
        let (cell, row) = self.moved_up((cell, row), above);
        self.position = Position::At { cell, row };
        self.scroll(0);
    }

    /// The match that the search is at: its cell, its row, and its number in the row, as `show`
    /// finds it at the current width.
    pub(super) fn found_match(&mut self) -> Option<(usize, usize, usize)> {
        let ((entry, nth), needle) = (self.found.clone()?, self.needle.clone()?);
        let cells = self.strip().cells_of(&entry)?;
        let mut found = Vec::new();
        for cell in cells {
            let rows = self.rows_of_matches(cell, &needle).into_iter();
            found.extend(rows.map(|row| (cell, row)));
        }
        let place = found.len().saturating_sub(nth + 1);
        let at = *found.get(place)?;
        let before = found[..place].iter().filter(|other| **other == at);
        Some((at.0, at.1, before.count()))
    }

    /// The row of each match that a cell shows.
    fn rows_of_matches(&mut self, cell: usize, needle: &Needle) -> Vec<usize> {
        let ((width, _), style) = (self.viewport, self.style);
        let strip = self.strip_mut();
        let height = strip.height(cell, width, style);
        let (mut place, mut rows) = (0, Vec::new());
        strip.each_row(cell, (width, style), 0..height, &mut |shown| {
            let count = needle.find_all(&shown.text()).len();
            rows.extend(std::iter::repeat_n(place, count));
            place += 1;
        });
        rows
    }

    /// The row of each match in a cell. Unfolds the cell if more than `nth` matches are visible only then.
    fn matching_rows(&mut self, cell: usize, nth: usize) -> Vec<usize> {
        let Some(needle) = self.needle.clone() else {
            return Vec::new();
        };
        let number = cell;
        let cell = &mut self.strip_mut().cells[number];
        let folds = matches!(
            cell.body,
            Body::Tool(_) | Body::Shell(_) | Body::Thinking { .. } | Body::User(_)
        );
        let collapsed = cell.expanded;
        for expanded in [collapsed, Some(true)] {
            let cell = &mut self.strip_mut().cells[number];
            if cell.expanded != expanded {
                cell.expanded = expanded;
                cell.changed();
            }
            let rows = self.rows_of_matches(number, &needle);
            if rows.len() > nth || !folds || expanded == Some(true) && !rows.is_empty() {
                return rows;
            }
        }
        let cell = &mut self.strip_mut().cells[number];
        cell.expanded = collapsed;
        cell.changed();
        Vec::new()
    }
}

/// The row with its matches marked, if it has any. `current` is the number of the one that the search is at.
pub(super) fn with_marks(
    needle: &Needle,
    row: &Row,
    current: Option<usize>,
    linear: bool,
) -> Option<Row> {
    let matches = needle.find_all(&row.text());
    let mark = if linear { Mark::Spoken } else { Mark::Current };
    (!matches.is_empty()).then(|| Row {
        spans: marked(&row.spans, &matches, current.map(|number| (number, mark))),
        ..row.clone()
    })
}

/// The spans, cut where a match begins or ends.
fn marked(
    spans: &[Span],
    matches: &[std::ops::Range<usize>],
    current: Option<(usize, Mark)>,
) -> Vec<Span> {
    let mut out = Vec::with_capacity(spans.len() + 2 * matches.len());
    let mut start = 0;
    for span in spans {
        let end = start + span.text.len();
        let mut at = start;
        for (number, found) in matches
            .iter()
            .enumerate()
            .filter(|(_, found)| found.start < end && found.end > start)
        {
            let current = current.filter(|(current, _)| *current == number);
            let mark = current.map_or(Mark::Other, |(_, mark)| mark);
            let (from, to) = (found.start.max(start), found.end.min(end));
            out.extend(part(span, at - start..from - start, None));
            out.extend(part(span, from - start..to - start, Some(mark)));
            at = to;
        }
        out.extend(part(span, at - start..end - start, None));
        start = end;
    }
    out
}

/// How a match is marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    /// The search is at the match.
    Current,
    /// The search is at the match, and the cursor of a screen reader goes to it.
    Spoken,
    Other,
}

fn part(span: &Span, range: std::ops::Range<usize>, mark: Option<Mark>) -> Option<Span> {
    let text = span.text.get(range).filter(|text| !text.is_empty())?;
    let mut part = Span {
        text: text.into(),
        ..span.clone()
    };
    if let Some(mark) = mark {
        part.face.token = Token::Match;
        if mark == Mark::Spoken {
            part.face.background = Some(Token::Selected);
        }
        if mark != Mark::Other {
            // Underlined, too: without colours every match is reversed.
            part.face = part.face.emphasised(Emphasis::REVERSE);
            part.face = part.face.emphasised(Emphasis::UNDERLINE);
        }
    }
    Some(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_match_over_two_spans_is_marked_in_both() {
        let spans = vec![
            Span::new("say he", Token::Text),
            Span::new("llo to", Token::Code),
        ];
        let marked = marked(&spans, &[4..9, 10..12], Some((0, Mark::Current)));
        let is_current = |span: &Span| span.face.emphasis.contains(Emphasis::REVERSE);
        let shown: Vec<(&str, Token, bool)> = marked
            .iter()
            .map(|span| (&*span.text, span.face.token, is_current(span)))
            .collect();
        assert_eq!(
            shown,
            [
                ("say ", Token::Text, false),
                ("he", Token::Match, true),
                ("llo", Token::Match, true),
                (" ", Token::Code, false),
                ("to", Token::Match, false),
            ]
        );
    }
}
