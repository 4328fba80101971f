//! The rows of the editor's text at one width. Only edited lines are laid out again.
//!
//! A tab is an element of fixed width. It stays a tab in the text, and an edit before it only moves
//! it. The last column stays free for the cursor after a full row.

use std::borrow::Cow;
use std::ops::Range;

use super::buffer::{Buffer, Line, Position};
use crate::text::face::{Face, Token};
use crate::text::row::{Row, Span};
use crate::text::wrap::row_starts;
use osier_base::text;

/// The display of a tab.
const TAB: &str = "    ";

/// Row breaks of each logical line.
#[derive(Debug, Clone, Default)]
pub(super) struct Layout {
    width: usize,
    /// Per line, the byte offsets of the rows after the first.
    breaks: Vec<Vec<u32>>,
    rows: usize,
}

impl Layout {
    /// Total number of rows.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Lays out everything if the width changed.
    pub(super) fn set_width(&mut self, width: usize, buffer: &Buffer) {
        if self.width != width {
            self.width = width;
            self.reset(buffer);
        }
    }

    pub(super) fn reset(&mut self, buffer: &Buffer) {
        self.breaks = buffer
            .lines()
            .iter()
            .map(|line| self.lay_out(line))
            .collect();
        self.rows = self.breaks.iter().map(|breaks| breaks.len() + 1).sum();
    }

    /// Updates the layout after lines `old` were replaced with lines `new`.
    pub(super) fn replaced(&mut self, old: Range<usize>, new: Range<usize>, buffer: &Buffer) {
        if self.width == 0 {
            return;
        }
        let fresh: Vec<Vec<u32>> = buffer.lines()[new]
            .iter()
            .map(|line| self.lay_out(line))
            .collect();
        self.rows += fresh.iter().map(|breaks| breaks.len() + 1).sum::<usize>();
        let gone = self.breaks.splice(old, fresh);
        let gone: usize = gone.map(|breaks| breaks.len() + 1).sum();
        self.rows -= gone;
    }

    /// Row and column of a position.
    pub(super) fn locate(&self, position: Position, buffer: &Buffer) -> (usize, usize) {
        let before: usize = self
            .breaks
            .iter()
            .take(position.line)
            .map(|breaks| breaks.len() + 1)
            .sum();
        let Some(breaks) = self.breaks.get(position.line) else {
            return (before, 0);
        };
        let row = breaks.partition_point(|start| *start as usize <= position.byte);
        let line = &buffer.lines()[position.line];
        let start = row_bytes(breaks, row, line).start;
        (before + row, self.columns(line, start..position.byte))
    }

    /// The position nearest to a row and column.
    pub(super) fn position(&self, row: usize, column: usize, buffer: &Buffer) -> Position {
        let (line, row) = self.line_of(row);
        let Some(breaks) = self.breaks.get(line) else {
            return buffer.end();
        };
        let bytes = row_bytes(breaks, row, &buffer.lines()[line]);
        let last = row == breaks.len();
        let mut at = 0;
        let mut best = bytes.start;
        for (start, element, chip) in buffer.lines()[line].elements() {
            if start < bytes.start {
                continue;
            }
            if start >= bytes.end {
                break;
            }
            best = start;
            let width = self.element_width(element, chip.map(|chip| &*chip.label));
            if at + width > column {
                break;
            }
            at += width;
            // The end of a row that continues is displayed at the start of the next one.
            if last || start + element.len() < bytes.end {
                best = start + element.len();
            }
        }
        Position::new(line, best)
    }

    /// The first and last position of the row that shows `position`.
    pub(super) fn row_ends(&self, position: Position, buffer: &Buffer) -> (Position, Position) {
        let (row, _) = self.locate(position, buffer);
        (
            self.position(row, 0, buffer),
            self.position(row, usize::MAX, buffer),
        )
    }

    /// Builds a range of rows with the selection highlighted.
    pub(super) fn build(
        &self,
        rows: Range<usize>,
        buffer: &Buffer,
        selection: Option<&Range<Position>>,
    ) -> Vec<Row> {
        let mut built = Vec::with_capacity(rows.len());
        let (mut line, mut row) = self.line_of(rows.start);
        while built.len() < rows.len() {
            let Some(breaks) = self.breaks.get(line) else {
                break;
            };
            let source = &buffer.lines()[line];
            let bytes = row_bytes(breaks, row, source);
            let range = selection.filter(|range| range.end.line >= line);
            let marked = range.and_then(|range| on_line(range, line, source, &bytes));
            let built_row = match marked {
                None => self.build_row(source, bytes),
                Some(marked) => self.build_marked(source, bytes, marked),
            };
            built.push(Row {
                continues: row > 0,
                ..built_row
            });
            row += 1;
            if row > breaks.len() {
                (line, row) = (line + 1, 0);
            }
        }
        built
    }

    fn build_row(&self, line: &Line, bytes: Range<usize>) -> Row {
        let mut row = Row::default();
        let mut plain = bytes.start;
        if line.has_no_chips() {
            row.push(shown(&line.text[bytes]), Token::Text);
            return row;
        }
        for (start, element, chip) in line.elements() {
            let Some(chip) = chip.filter(|_| bytes.contains(&start)) else {
                continue;
            };
            if plain < start {
                row.push(shown(&line.text[plain..start]), Token::Text);
            }
            plain = start + element.len();
            let label = text::truncate(&chip.label, self.text_width());
            row.spans.push(Span::new(&*label, Token::Chip));
        }
        if plain < bytes.end {
            row.push(shown(&line.text[plain..bytes.end]), Token::Text);
        }
        row
    }

    /// Builds a row in three parts: before, in and after the selection.
    fn build_marked(&self, line: &Line, bytes: Range<usize>, marked: Range<usize>) -> Row {
        let mut row = self.build_row(line, bytes.start..marked.start);
        let mut inside = self.build_row(line, marked.clone());
        for span in &mut inside.spans {
            span.face = Face::from(Token::Selected);
        }
        // A selected line break is shown as one cell.
        if marked.is_empty() {
            inside.push(" ", Token::Selected);
        }
        row.spans.append(&mut inside.spans);
        let mut rest = self.build_row(line, marked.end..bytes.end);
        row.spans.append(&mut rest.spans);
        row
    }

    /// The line that a row belongs to, and the row's index within it.
    fn line_of(&self, row: usize) -> (usize, usize) {
        let mut left = row;
        for (line, breaks) in self.breaks.iter().enumerate() {
            if left <= breaks.len() {
                return (line, left);
            }
            left -= breaks.len() + 1;
        }
        (self.breaks.len(), 0)
    }

    fn lay_out(&self, line: &Line) -> Vec<u32> {
        let width = self.text_width();
        if line.text.len() <= width && line.has_no_chips() && !line.text.contains('\t') {
            return Vec::new();
        }
        let mut starts = Vec::new();
        let elements = line.elements().map(|(start, element, chip)| {
            let width = self.element_width(element, chip.map(|chip| &*chip.label));
            (start, element, width)
        });
        row_starts(elements, width, false, &mut starts);
        starts.into_iter().map(|start| start as u32).collect()
    }

    fn columns(&self, line: &Line, bytes: Range<usize>) -> usize {
        if line.has_no_chips() && !line.text.contains('\t') {
            return text::width(&line.text[bytes]);
        }
        line.elements()
            .filter(|(start, _, _)| bytes.contains(start))
            .map(|(_, element, chip)| self.element_width(element, chip.map(|chip| &*chip.label)))
            .sum()
    }

    fn element_width(&self, element: &str, chip: Option<&str>) -> usize {
        match chip {
            Some(label) => text::width(label).clamp(1, self.text_width()),
            None if element == "\t" => TAB.len(),
            None => text::grapheme_width(element),
        }
    }

    fn text_width(&self) -> usize {
        self.width.saturating_sub(1).max(1)
    }
}

/// The text with tabs expanded.
fn shown(text: &str) -> Cow<'_, str> {
    if text.contains('\t') {
        Cow::Owned(text.replace('\t', TAB))
    } else {
        Cow::Borrowed(text)
    }
}

/// The selected bytes of a row, if any.
fn on_line(
    range: &Range<Position>,
    line: usize,
    source: &Line,
    row: &Range<usize>,
) -> Option<Range<usize>> {
    if line < range.start.line || line > range.end.line {
        return None;
    }
    let from = if line == range.start.line {
        range.start.byte
    } else {
        0
    };
    let to = if line == range.end.line {
        range.end.byte
    } else {
        source.text.len()
    };
    let marked = from.clamp(row.start, row.end)..to.clamp(row.start, row.end);
    let goes_on = line < range.end.line && row.end == source.text.len();
    (from <= row.end && to >= row.start && (!marked.is_empty() || goes_on)).then_some(marked)
}

fn row_bytes(breaks: &[u32], row: usize, line: &Line) -> Range<usize> {
    let start = match row {
        0 => 0,
        _ => breaks[row - 1] as usize,
    };
    let end = breaks.get(row).map_or(line.text.len(), |end| *end as usize);
    start..end
}
