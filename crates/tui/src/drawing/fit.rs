//! Fits rows into their space: what is cut is counted.

use osier_base::text;
use osier_base::visible::{grouped, one_line};
use osier_term::{Row, Token};

/// At most `most` rows: the last one counts those that are not shown.
pub(crate) fn truncate(mut rows: Vec<Row>, most: usize) -> Vec<Row> {
    if rows.len() > most {
        let hidden = rows.len() - most + 1;
        rows.truncate(most - 1);
        rows.push(more_lines(hidden));
    }
    rows
}

/// Cuts a row at `width`, and counts what does not fit if there is room for the count.
pub(crate) fn cut(row: &mut Row, width: usize) {
    let mut left = width;
    for span in &mut row.spans {
        if text::width(&span.text) > left {
            let counted = one_line(&span.text, left);
            span.text = if text::width(&counted) <= left {
                counted.into()
            } else {
                text::truncate(&span.text, left).into_owned().into()
            };
        }
        left -= text::width(&span.text);
    }
}

/// The first row only, with the count of the hidden rows behind it.
pub(crate) fn first_row(mut rows: Vec<Row>, inner: usize) -> Vec<Row> {
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

/// A text on a line. Characters that do not fit are counted in the middle of the line, because patterns differ at their
/// ends.
pub(crate) fn cut_middle(line: &str, columns: usize) -> String {
    let line = one_line(line, usize::MAX);
    if text::width(&line) <= columns {
        return line;
    }
    let length = line.chars().count();
    let count = |hidden: usize| format!("…+{}…", grouped(hidden));
    let room = columns.saturating_sub(text::width(&count(length)));
    let head = text::prefix_of_width(&line, room / 3);
    // The first column is the sign of the cut.
    let tail = text::truncate_start(&line[head.len()..], room - text::width(head) + 1);
    let tail = tail.trim_start_matches('…');
    let hidden = length - head.chars().count() - tail.chars().count();
    format!("{head}{}{tail}", count(hidden))
}

pub(crate) fn more_lines(count: usize) -> Row {
    let count = text::counted(grouped(count), "line", "lines");
    Row::plain(format!("… +{count}"), Token::Warning)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_pattern_shows_both_ends() {
        let file = format!("write(src/{}file_one.txt)", "deep/".repeat(20));
        let folder = format!("write(src/{}*)", "deep/".repeat(20));
        assert_eq!(
            cut_middle(&file, 40),
            "write(src/d…+89…deep/deep/file_one.txt)"
        );
        assert_eq!(
            cut_middle(&folder, 40),
            "write(src/d…+78…/deep/deep/deep/deep/*)"
        );
        assert_eq!(cut_middle("write(a)", 8), "write(a)");
        for columns in 0..60 {
            let cut = cut_middle(&file, columns);
            assert!(text::width(&cut) <= columns.max(7), "{columns}: {cut}");
        }
    }
}
