//! Tables: box rules, aligned columns, cells that wrap when the table is too wide, and a list of
//! `header: value` lines when even that does not fit.

use pulldown_cmark::Alignment;

use crate::base::text;
use crate::term::face::{Emphasis, Token};
use crate::term::row::{Row, Span};
use crate::term::wrap::{Wrap, clusters};

/// The narrowest that a column with longer text gets.
const MIN_COLUMN: usize = 6;

/// The lines of one cell.
pub(super) type Cell = Vec<Vec<Span>>;

/// A table as it was parsed. The first row is the header.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) alignments: Vec<Alignment>,
    pub(super) rows: Vec<Vec<Cell>>,
}

impl Table {
    /// Appends the table's rows, each behind `prefix`.
    pub(super) fn rows(&self, prefix: &[Span], width: usize, out: &mut Vec<Row>) {
        let decoration: usize = prefix.iter().map(|span| text::width(&span.text)).sum();
        let available = width.saturating_sub(decoration);
        let start = out.len();
        match self.columns(available) {
            Some(columns) => self.boxed(&columns, out),
            None => self.listed(available, out),
        }
        for row in &mut out[start..] {
            row.spans.splice(0..0, prefix.iter().cloned());
            row.decoration += decoration as u16;
        }
    }

    /// Widths of the columns, or `None` when the table cannot be drawn in `available` columns.
    fn columns(&self, available: usize) -> Option<Vec<usize>> {
        let count = self.alignments.len();
        let room = available.checked_sub(3 * count + 1)?;
        let mut natural = vec![1; count];
        let mut least = vec![1; count];
        for (column, cell) in self.cells() {
            for line in cell {
                let widths = line.iter().map(|span| text::width(&span.text));
                natural[column] = natural[column].max(widths.sum());
                least[column] = least[column].max(longest_word(line));
            }
        }
        let total: usize = natural.iter().sum();
        if total <= room {
            return Some(natural);
        }
        // Words stay whole while there is room for that.
        if least.iter().sum::<usize>() > room {
            for width in &mut least {
                *width = (*width).min(MIN_COLUMN);
            }
        }
        shrink(natural, &least, room)
    }

    fn cells(&self) -> impl Iterator<Item = (usize, &Cell)> {
        let count = self.alignments.len();
        self.rows
            .iter()
            .flat_map(move |row| row.iter().take(count).enumerate())
    }

    fn boxed(&self, columns: &[usize], out: &mut Vec<Row>) {
        out.push(rule(columns, ["┌", "┬", "┐"]));
        for (index, row) in self.rows.iter().enumerate() {
            let tall = self.boxed_row(row, columns, index == 0, out);
            let Some(next) = self.rows.get(index + 1) else {
                break;
            };
            // Rows of several lines are told apart by rules.
            if index == 0 || tall || next.iter().any(|cell| cell.len() > 1) {
                out.push(rule(columns, ["├", "┼", "┤"]));
            }
        }
        out.push(rule(columns, ["└", "┴", "┘"]));
    }

    /// One row of cells; says whether it took more than one line.
    fn boxed_row(&self, row: &[Cell], columns: &[usize], header: bool, out: &mut Vec<Row>) -> bool {
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
        height > 1
    }

    /// `header: value` lines, a blank row between two rows of the table.
    fn listed(&self, width: usize, out: &mut Vec<Row>) {
        let Some((header, body)) = self.rows.split_first() else {
            return;
        };
        let rest = [Span::new("  ", Token::Text)];
        let wrap = Wrap::new(width).hanging(&[], &rest);
        if body.is_empty() {
            for cell in header {
                wrap.line(&joined(cell), out);
            }
        }
        for (index, row) in body.iter().enumerate() {
            if index > 0 {
                out.push(Row::default());
            }
            for (column, cell) in row.iter().enumerate() {
                let mut line = header
                    .get(column)
                    .map(|cell| bold(joined(cell)))
                    .unwrap_or_default();
                line.push(Span::new(": ", Token::Muted));
                line.extend(joined(cell));
                wrap.line(&line, out);
            }
        }
    }
}

/// Takes columns from the widest until the sum fits.
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
