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

    /// Scrolls to the message stored as `entry_id`, at once if it is loaded.
    pub fn go_entry(&mut self, entry_id: &str) {
        if self.strip().cells_of(entry_id).is_none() && self.near.cells_of(entry_id).is_some() {
            self.leave_away();
        }
        let entry: Arc<str> = entry_id.into();
        if self.strip().cells_of(entry_id).is_some() {
            self.show(&entry);
            return;
        }
        let entry_id = entry_id.to_owned();
        self.ask(Purpose::Show { entry }, PageAt::Around { entry_id });
    }

    /// Puts the first match in a message that is here at a third of the screen.
    pub(super) fn show(&mut self, entry: &str) {
        let Some(cells) = self.strip().cells_of(entry) else {
            return;
        };
        let found = cells
            .clone()
            .find_map(|cell| Some((cell, self.matching_row(cell)?)));
        let (cell, row) = found.unwrap_or((cells.start, 0));
        let row = row + self.strip().gap(cell);
        let above = usize::from(self.viewport.1) / 3;
        self.position = self.moved_up((cell, row), above);
        self.scroll(0);
    }

    /// The first row of a cell with a match; unfolds it when that is what it takes.
    fn matching_row(&mut self, cell: usize) -> Option<usize> {
        let needle = self.needle.clone()?;
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
            let (mut place, mut row) = (0, None);
            cell.each_row(width, style, 0..height, &mut |shown| {
                if row.is_none() && needle.find(&shown.text()).is_some() {
                    row = Some(place);
                }
                place += 1;
            });
            if row.is_some() || !folds {
                return row;
            }
        }
        cell.expanded = collapsed;
        cell.changed();
        None
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
