//! Showing what a search has found: the message comes onto the screen, unfolded as far as the match, and
//! every row that has one is marked.

use std::sync::Arc;

use super::Transcript;
use super::cell::Body;
use super::pages::Purpose;
use osier_protocol::PageAt;
use osier_store::Needle;
use osier_term::face::{Emphasis, Token};
use osier_term::row::{Row, Span};

impl Transcript {
    /// Marks `needle` wherever it shows; `None` takes the marks away.
    pub fn set_needle(&mut self, needle: Option<Needle>) {
        self.needle = needle;
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

    /// Puts a match in a message that is here at a third of the screen. `nth` counts from the end of the message; where
    /// fewer are shown, the first match.
    pub(super) fn show(&mut self, entry: &str, nth: usize) {
        let Some(cells) = self.strip().cells_of(entry) else {
            return;
        };
        let start = cells.start;
        let found: Vec<(usize, usize)> = cells
            .flat_map(|cell| {
                let rows = self.matching_rows(cell, nth).into_iter();
                rows.map(move |row| (cell, row))
            })
            .collect();
        let place = found.len().saturating_sub(nth + 1);
        let (cell, row) = found.get(place).copied().unwrap_or((start, 0));
        let row = row + self.strip().gap(cell);
        let above = usize::from(self.viewport.1) / 3;
        self.position = self.moved_up((cell, row), above);
        self.scroll(0);
    }

    /// The row of each match in a cell; unfolds it when that is what it takes to show more than `nth`.
    fn matching_rows(&mut self, cell: usize, nth: usize) -> Vec<usize> {
        let Some(needle) = self.needle.clone() else {
            return Vec::new();
        };
        let ((width, _), style) = (self.viewport, self.style);
        let cell = &mut self.strip_mut().cells[cell];
        let folds = matches!(
            cell.body,
            Body::Tool(_) | Body::Shell(_) | Body::Thinking { .. } | Body::User(_)
        );
        let collapsed = cell.expanded;
        for expanded in [collapsed, Some(true)] {
            if cell.expanded != expanded {
                cell.expanded = expanded;
                cell.changed();
            }
            let height = cell.height(width, style);
            let (mut place, mut rows) = (0, Vec::new());
            cell.each_row(width, style, 0..height, &mut |shown| {
                let count = needle.find_all(&shown.text()).len();
                rows.extend(std::iter::repeat_n(place, count));
                place += 1;
            });
            if rows.len() > nth || !folds || expanded == Some(true) && !rows.is_empty() {
                return rows;
            }
        }
        cell.expanded = collapsed;
        cell.changed();
        Vec::new()
    }
}

/// The row with its matches marked, if it has any.
pub(super) fn with_marks(needle: &Needle, row: &Row) -> Option<Row> {
    let matches = needle.find_all(&row.text());
    (!matches.is_empty()).then(|| Row {
        spans: marked(&row.spans, &matches),
        ..row.clone()
    })
}

/// The spans, cut where a match begins or ends.
fn marked(spans: &[Span], matches: &[std::ops::Range<usize>]) -> Vec<Span> {
    let mut out = Vec::with_capacity(spans.len() + 2 * matches.len());
    let mut start = 0;
    for span in spans {
        let end = start + span.text.len();
        let mut at = start;
        for found in matches
            .iter()
            .filter(|found| found.start < end && found.end > start)
        {
            let (from, to) = (found.start.max(start), found.end.min(end));
            out.extend(part(span, at - start..from - start, false));
            out.extend(part(span, from - start..to - start, true));
            at = to;
        }
        out.extend(part(span, at - start..end - start, false));
        start = end;
    }
    out
}

fn part(span: &Span, range: std::ops::Range<usize>, is_match: bool) -> Option<Span> {
    let text = span.text.get(range).filter(|text| !text.is_empty())?;
    let mut part = Span {
        text: text.into(),
        ..span.clone()
    };
    if is_match {
        part.face.token = Token::Match;
        part.face = part.face.emphasised(Emphasis::REVERSE);
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
        let marked = marked(&spans, &[4..9, 10..12]);
        let shown: Vec<(&str, Token)> = marked
            .iter()
            .map(|span| (&*span.text, span.face.token))
            .collect();
        assert_eq!(
            shown,
            [
                ("say ", Token::Text),
                ("he", Token::Match),
                ("llo", Token::Match),
                (" ", Token::Code),
                ("to", Token::Match),
            ]
        );
    }
}
