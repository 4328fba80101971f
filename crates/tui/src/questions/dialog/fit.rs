//! What of a dialog fits: rows that are cut, with a count of the others.

use super::{Painted, cut, grouped};
use osier_base::text;
use osier_term::face::Token;
use osier_term::row::Row;

/// At most `most` rows: the last one counts those that are not shown.
pub(super) fn truncate(mut rows: Vec<Row>, most: usize) -> Vec<Row> {
    if rows.len() > most {
        let hidden = rows.len() - most + 1;
        rows.truncate(most - 1);
        rows.push(more_lines(hidden));
    }
    rows
}

/// The first row only, with the count of the others behind it.
pub(super) fn first_row(mut rows: Vec<Row>, inner: usize) -> Vec<Row> {
    let hidden = rows.len().saturating_sub(1);
    rows.truncate(1);
    if let Some(row) = rows.first_mut().filter(|_| hidden > 0) {
        let more = more_lines(hidden);
        cut(row, inner.saturating_sub(text::width(&more.text()) + 1));
        row.push(" ", Token::Text);
        row.spans.extend(more.spans);
    }
    rows
}

pub(super) fn more_lines(count: usize) -> Row {
    let count = text::counted(grouped(count), "line", "lines");
    Row::plain(format!("… +{count}"), Token::Warning)
}

/// Which rows of the body are shown: the first and how many, the one with the focus among them.
pub(super) fn window(body: &Painted, room: usize) -> (usize, usize) {
    let shown = body.rows.len().min(room.max(1));
    let first = (body.focus + 1).saturating_sub(shown);
    (first.min(body.rows.len() - shown), shown)
}
