//! Tables: box rules, aligned columns, cells that wrap when the table is too wide, and a list of
//! `header: value` lines when even that does not fit.

use pulldown_cmark::Alignment;

use osier_base::text;
use osier_term::face::{Emphasis, Token};
use osier_term::row::{Row, Span};
use osier_term::wrap::{Wrap, clusters};

/// Minimum width of a column with longer text.
const MIN_COLUMN: usize = 6;

/// Minimum width of the column with the longest cell: if it is narrower, a list of `header: value`
/// lines is easier to read.
const LONGEST_COLUMN: usize = 20;

/// The lines of one cell.
pub(super) type Cell = Vec<Vec<Span>>;

/// A table as it was parsed. The first row is the header.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) alignments: Vec<Alignment>,
    pub(super) rows: Vec<Vec<Cell>>,
}

impl Table {
    /// Appends the table's rows, each after `prefix`, as a box if `boxed` and if it fits.
    pub(super) fn rows(&self, prefix: &[Span], width: usize, boxed: bool, out: &mut Vec<Row>) {
        let Some((header, body)) = self.rows.split_first() else {
            return;
        };
        let mut needs = Needs::new(self.alignments.len());
        self.rows.iter().for_each(|row| needs.add(row));
        let columns = boxed.then(|| needs.columns(room(prefix, width))).flatten();
        let grid = Grid {
            alignments: &self.alignments,
            header,
            columns: columns.as_deref(),
            ruled: columns.as_ref().is_some_and(|columns| needs.ruled(columns)),
            prefix,
            width,
        };
        grid.header(body.is_empty(), out);
        for (index, row) in body.iter().enumerate() {
            grid.row(index, row, out);
        }
        grid.end(out);
    }
}

/// The columns of a row after its prefix.
pub(super) fn room(prefix: &[Span], width: usize) -> usize {
    let decoration: usize = prefix.iter().map(|span| text::width(&span.text)).sum();
    width.saturating_sub(decoration)
}

/// The number of lines of a row in which nothing wraps.
pub(super) fn lines(row: &[Cell]) -> usize {
    row.iter().map(Vec::len).max().unwrap_or(1).max(1)
}

/// The widths that the cells of a table need, column by column.
#[derive(Debug, Clone, Default)]
pub(super) struct Needs {
    /// The widths at which nothing wraps.
    natural: Vec<usize>,
    /// The widths at which nothing below the header wraps.
    body: Vec<usize>,
    /// Whether the first row, the header, was added.
    has_header: bool,
    /// The widths at which no word is broken.
    least: Vec<usize>,
    /// Whether a row has several lines.
    tall: bool,
}

impl Needs {
    pub(super) fn new(columns: usize) -> Self {
        Self {
            natural: vec![1; columns],
            body: vec![1; columns],
            has_header: false,
            least: vec![1; columns],
            tall: false,
        }
    }

    pub(super) fn add(&mut self, row: &[Cell]) {
        self.tall |= lines(row) > 1;
        let is_body = std::mem::replace(&mut self.has_header, true);
        for (column, cell) in row.iter().enumerate().take(self.natural.len()) {
            for line in cell {
                let width = line.iter().map(|span| text::width(&span.text)).sum();
                self.natural[column] = self.natural[column].max(width);
                self.least[column] = self.least[column].max(longest_word(line));
                if is_body {
                    self.body[column] = self.body[column].max(width);
                }
            }
        }
    }

    /// Whether nothing below the header wraps in columns of these widths.
    pub(super) fn fit(&self, columns: &[usize]) -> bool {
        let mut needs = self.body.iter().zip(columns);
        needs.all(|(natural, width)| natural <= width)
    }

    /// Whether rules separate the rows: all of them, if one has several lines.
    pub(super) fn ruled(&self, columns: &[usize]) -> bool {
        self.tall || !self.fit(columns)
    }

    /// Widths of the columns, or `None` when the table cannot be drawn in `room` columns.
    pub(super) fn columns(&self, room: usize) -> Option<Vec<usize>> {
        let room = room.checked_sub(3 * self.natural.len() + 1)?;
        let total: usize = self.natural.iter().sum();
        if total <= room {
            return Some(self.natural.clone());
        }
        // Words are broken only if there is no room.
        let mut least = self.least.clone();
        if least.iter().sum::<usize>() > room {
            for width in &mut least {
                *width = (*width).min(MIN_COLUMN);
            }
        }
        // A long header wraps before the content of any column does.
        let content = self.body.iter().zip(&least);
        let content: Vec<usize> = content.map(|(body, least)| *body.max(least)).collect();
        let columns = match shrink(self.natural.clone(), &content, room) {
            Some(columns) => columns,
            None => shrink(content, &least, room)?,
        };
        let widths = self.natural.iter().zip(&columns);
        let longest = widths.max_by_key(|(natural, _)| **natural);
        let is_readable =
            longest.is_none_or(|(natural, width)| *width >= LONGEST_COLUMN.min(*natural));
        is_readable.then_some(columns)
    }
}

/// How the rows of a table are drawn: in a box with columns of these widths, or as lines.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grid<'a> {
    pub(super) alignments: &'a [Alignment],
    pub(super) header: &'a [Cell],
    pub(super) columns: Option<&'a [usize]>,
    /// Whether rules separate all rows of the body.
    pub(super) ruled: bool,
    pub(super) prefix: &'a [Span],
    pub(super) width: usize,
}

impl Grid<'_> {
    /// Appends the header, `alone` if there is no other row.
    pub(super) fn header(&self, alone: bool, out: &mut Vec<Row>) {
        let start = out.len();
        if let Some(columns) = self.columns {
            out.push(rule(columns, ["┌", "┬", "┐"]));
            self.boxed(self.header, columns, true, out);
        } else {
            let cells = self.header.iter().filter(|_| alone);
            cells.for_each(|cell| self.line(&joined(cell), out));
        }
        self.prefixed(start, out);
    }

    /// Appends a row of the body and the rule that separates it from the row above.
    pub(super) fn row(&self, index: usize, row: &[Cell], out: &mut Vec<Row>) {
        let start = out.len();
        if let Some(columns) = self.columns {
            if index == 0 || self.ruled {
                out.push(rule(columns, ["├", "┼", "┤"]));
            }
            self.boxed(row, columns, false, out);
        } else {
            if index > 0 {
                out.push(Row::default());
            }
            self.listed(row, out);
        }
        self.prefixed(start, out);
    }

    /// Appends the border below the last row.
    pub(super) fn end(&self, out: &mut Vec<Row>) {
        let start = out.len();
        if let Some(columns) = self.columns {
            out.push(rule(columns, ["└", "┴", "┘"]));
        }
        self.prefixed(start, out);
    }

    fn prefixed(&self, start: usize, out: &mut [Row]) {
        let decoration = self.width - room(self.prefix, self.width);
        for row in out[start..].iter_mut().filter(|_| !self.prefix.is_empty()) {
            row.spans.splice(0..0, self.prefix.iter().cloned());
            row.decoration += decoration as u16;
        }
    }

    /// Appends a row of cells.
    fn boxed(&self, row: &[Cell], columns: &[usize], header: bool, out: &mut Vec<Row>) {
        let cells: Vec<Vec<Row>> = columns
            .iter()
            .enumerate()
            .map(|(column, width)| lay_out(row.get(column), *width, header))
            .collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(1);
        for line in 0..height {
            let mut shown = Row {
                decoration: 2,
                ..Row::default()
            };
            for (column, width) in columns.iter().enumerate() {
                shown.push(if column == 0 { "│ " } else { " │ " }, Token::TableBorder);
                let cell = cells[column].get(line);
                let free = width.saturating_sub(cell.map_or(0, Row::width));
                let left = match self.alignments[column] {
                    Alignment::Right => free,
                    Alignment::Center => free / 2,
                    Alignment::Left | Alignment::None => 0,
                };
                pad(&mut shown, left);
                shown
                    .spans
                    .extend(cell.into_iter().flat_map(|row| row.spans.iter().cloned()));
                pad(&mut shown, free - left);
            }
            shown.push(" │", Token::TableBorder);
            out.push(shown);
        }
    }

    /// Appends a row as `header: value` lines.
    fn listed(&self, row: &[Cell], out: &mut Vec<Row>) {
        for (column, cell) in row.iter().enumerate() {
            let header = self.header.get(column);
            let mut line = header.map(|cell| bold(joined(cell))).unwrap_or_default();
            line.push(Span::new(": ", Token::Muted));
            line.extend(joined(cell));
            self.line(&line, out);
        }
    }

    fn line(&self, line: &[Span], out: &mut Vec<Row>) {
        let rest = [Span::new("  ", Token::Text)];
        Wrap::new(room(self.prefix, self.width))
            .hanging(&[], &rest)
            .line(line, out);
    }
}

/// Narrows the widest columns until all fit into `room`.
fn shrink(mut widths: Vec<usize>, least: &[usize], room: usize) -> Option<Vec<usize>> {
    let least_sum: usize = least.iter().sum();
    if least_sum > room {
        return None;
    }
    let mut total: usize = widths.iter().sum();
    while total > room {
        let widest = (0..widths.len())
            .filter(|column| widths[*column] > least[*column])
            .max_by_key(|column| widths[*column])?;
        let level = (0..widths.len())
            .filter(|column| *column != widest && widths[*column] > least[*column])
            .map(|column| widths[column])
            .max()
            .unwrap_or(0);
        let target = level.saturating_sub(1).max(least[widest]);
        let cut = (widths[widest] - target.min(widths[widest] - 1)).min(total - room);
        widths[widest] -= cut;
        total -= cut;
    }
    Some(widths)
}

fn longest_word(line: &[Span]) -> usize {
    let mut longest = 0;
    let mut word = 0;
    for (_, cluster, width) in line.iter().flat_map(|span| clusters(&span.text)) {
        word = if cluster == " " { 0 } else { word + width };
        longest = longest.max(word);
    }
    longest
}

fn lay_out(cell: Option<&Cell>, width: usize, header: bool) -> Vec<Row> {
    let wrap = Wrap {
        trim: true,
        ..Wrap::new(width)
    };
    let mut rows = Vec::new();
    for line in cell.into_iter().flatten() {
        if header {
            wrap.line(&bold(line.clone()), &mut rows);
        } else {
            wrap.line(line, &mut rows);
        }
    }
    rows
}

fn bold(mut line: Vec<Span>) -> Vec<Span> {
    for span in &mut line {
        span.face = span.face.emphasised(Emphasis::BOLD);
    }
    line
}

fn joined(cell: &Cell) -> Vec<Span> {
    let mut line = Vec::new();
    for (index, spans) in cell.iter().enumerate() {
        if index > 0 {
            line.push(Span::new(" ", Token::Text));
        }
        line.extend(spans.iter().cloned());
    }
    line
}

fn pad(row: &mut Row, columns: usize) {
    if columns > 0 {
        row.push(" ".repeat(columns), Token::Text);
    }
}

fn rule(columns: &[usize], [left, middle, right]: [&str; 3]) -> Row {
    let bars: Vec<String> = columns.iter().map(|width| "─".repeat(width + 2)).collect();
    let text = format!("{left}{}{right}", bars.join(middle));
    let mut row = Row::plain(text, Token::TableBorder);
    row.decoration = row.width() as u16;
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_content_and_a_narrow_table_is_a_list() {
        let needs = |natural: &[usize]| Needs {
            natural: natural.to_vec(),
            body: natural.to_vec(),
            least: natural.iter().map(|width| *width.min(&5)).collect(),
            ..Needs::default()
        };
        for (natural, room, expected) in [
            (&[5, 9][..], 30, Some(vec![5, 9])),
            (&[5, 5, 18, 40, 5], 76, Some(vec![5, 5, 18, 27, 5])),
            (&[5, 60], 32, Some(vec![5, 20])),
            (&[5, 60], 31, None),
            (&[40; 7], 76, None),
            (&[19, 19, 19], 60, None),
            (&[12, 12, 12], 46, Some(vec![12, 12, 12])),
        ] {
            assert_eq!(needs(natural).columns(room), expected, "{natural:?} {room}");
        }
        // The first column has a long header and short numbers.
        let mut headed = needs(&[30, 60]);
        headed.body[0] = 4;
        assert_eq!(headed.columns(57), Some(vec![5, 45]));
    }
}
