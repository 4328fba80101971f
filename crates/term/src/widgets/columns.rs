//! Aligned detail columns for the rows of a list. If space is short, complete columns are dropped,
//! the least important first; none is cut.

use crate::text::face::{Face, Token};
use crate::text::row::Row;
use osier_base::text::{head_bytes, single_line, truncate, width};

/// Cells between columns.
const GAP: usize = 2;
/// Cells reserved for labels of that length before any column is shown.
const MIN_LABEL: usize = 32;
/// Only this many bytes of a label count for its width.
const MEASURED_BYTES: usize = 200;

/// A column.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    name: &'static str,
    align: Align,
    /// Columns with the same rank appear and disappear together; 0 disappears last.
    rank: u8,
    /// Minimum width if there is no space for the longest text. Longer texts then end with `…`.
    least: usize,
    /// Maximum width, regardless of the longest text.
    most: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Align {
    /// Before the labels.
    Before,
    Left,
    Right,
}

impl Column {
    /// A column of words with the header `name`, which may be empty.
    pub const fn words(name: &'static str, rank: u8) -> Self {
        Self {
            name,
            align: Align::Left,
            rank,
            least: usize::MAX,
            most: usize::MAX,
        }
    }

    /// A right-aligned column, for example of numbers.
    pub const fn numbers(name: &'static str, rank: u8) -> Self {
        Self {
            align: Align::Right,
            ..Self::words(name, rank)
        }
    }

    /// Allows cutting the texts down to `least` cells: for sentences and values.
    #[must_use]
    pub const fn at_least(self, least: usize) -> Self {
        Self { least, ..self }
    }

    /// Limits the width to `most` cells, to leave more space for the labels.
    #[must_use]
    pub const fn at_most(self, most: usize) -> Self {
        Self { most, ..self }
    }

    /// Places the column before the labels.
    #[must_use]
    pub const fn first(self) -> Self {
        Self {
            align: Align::Before,
            ..self
        }
    }
}

/// The columns of a list.
#[derive(Debug, Clone, Copy)]
pub struct Columns {
    /// The header of the labels.
    pub label: &'static str,
    /// In the order of the cells of a row.
    pub details: &'static [Column],
}

impl Columns {
    /// One detail at the right edge.
    pub(crate) const DETAIL: Self = Self {
        label: "",
        details: &[Column::numbers("", 0).at_least(8)],
    };

    /// A sentence after each label.
    pub const SENTENCE: Self = Self {
        label: "",
        details: &[Column::words("", 0).at_least(12)],
    };

    /// Whether the last column is at the right edge, however short the labels are.
    fn end_at_right_edge(&self) -> bool {
        let last = self.details.last();
        !self.have_header() && last.is_some_and(|column| column.align == Align::Right)
    }

    /// The texts of a row before its label.
    pub(crate) fn before<'a>(&'a self, details: &'a [Cell]) -> impl Iterator<Item = &'a str> {
        let columns = self.details.iter().zip(details);
        let before = columns.filter(|(column, _)| column.align == Align::Before);
        before.map(|(_, cell)| cell.text.as_str())
    }

    /// Whether the columns have a header row.
    pub(super) fn have_header(&self) -> bool {
        self.details.iter().any(|column| !column.name.is_empty())
    }
}

/// The content of one column in one row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    pub text: String,
    pub token: Token,
}

impl Cell {
    pub fn new(text: impl Into<String>, token: Token) -> Self {
        let text = text.into();
        Self { text, token }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::new(text, Token::Text)
    }
}

/// The maximum width of each column over all rows of a list, in cells.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct ColumnWidths {
    label: usize,
    details: Vec<usize>,
}

impl ColumnWidths {
    pub fn add(&mut self, label: &str, details: &[Cell]) {
        self.label = self.label.max(width(head_bytes(label, MEASURED_BYTES)));
        if self.details.len() < details.len() {
            self.details.resize(details.len(), 0);
        }
        for (widest, cell) in self.details.iter_mut().zip(details) {
            *widest = (*widest).max(width(&cell.text));
        }
    }

    /// Chooses the columns that fit into `room` cells.
    pub fn fit(&self, columns: Columns, room: usize) -> ColumnLayout {
        let wanted = |index: usize| match self.details.get(index) {
            // A column that is empty in every row takes no space.
            None | Some(0) => 0,
            Some(widest) => {
                let column = &columns.details[index];
                (*widest).max(width(column.name)).min(column.most)
            }
        };
        let labels = self.label.min(room * 3 / 5);
        let mut left = room.saturating_sub(labels.min(MIN_LABEL));
        // Columns that may be cut leave the labels their space.
        let reserved = labels.saturating_sub(MIN_LABEL);
        let mut widths = vec![0; columns.details.len()];
        let mut ranks: Vec<u8> = columns.details.iter().map(|column| column.rank).collect();
        ranks.sort_unstable();
        ranks.dedup();
        for rank in ranks {
            let group = columns.details.iter().enumerate();
            let group = group.filter(|(index, column)| column.rank == rank && wanted(*index) > 0);
            let group: Vec<(usize, &Column)> = group.collect();
            let needed: usize = group.iter().map(|(index, _)| wanted(*index) + GAP).sum();
            let spare = |(index, column): &(usize, &Column)| {
                wanted(*index).saturating_sub(column.least.min(wanted(*index)))
            };
            let spares: usize = group.iter().map(spare).sum();
            if needed.saturating_sub(left) > spares {
                break;
            }
            let mut missing = (needed + reserved).saturating_sub(left).min(spares);
            for shown in group {
                let given = missing.min(spare(&shown));
                missing -= given;
                widths[shown.0] = wanted(shown.0) - given;
                left -= widths[shown.0] + GAP;
            }
        }
        let shown = widths.iter().filter(|width| **width > 0);
        let taken: usize = shown.map(|width| width + GAP).sum();
        let label = room.saturating_sub(taken);
        let trailing = if columns.end_at_right_edge() {
            0
        } else {
            // Keep the columns close to their labels.
            label.saturating_sub(self.label.max(MIN_LABEL))
        };
        ColumnLayout {
            columns,
            widths,
            label: label - trailing,
            trailing,
        }
    }
}

/// The positions of the columns in a row.
#[derive(Debug)]
pub struct ColumnLayout {
    columns: Columns,
    /// Zero for a hidden column.
    widths: Vec<usize>,
    label: usize,
    /// Blank cells after the last column.
    trailing: usize,
}

impl ColumnLayout {
    /// Appends a row's label and details. `label` writes the label into at most the given number of
    /// cells; `face` is the face of a token.
    pub fn write(
        &self,
        row: &mut Row,
        details: &[Cell],
        face: impl Fn(Token) -> Face,
        label: impl FnOnce(&mut Row, usize),
    ) {
        for (column, cell, columns) in self.shown(details) {
            if column.align == Align::Before {
                let text = aligned(&cell.text, columns, Align::Left);
                row.push(text, face(cell.token));
                row.push(" ".repeat(GAP), face(Token::Text));
            }
        }
        let trailing: Vec<_> = self
            .shown(details)
            .filter(|(column, ..)| column.align != Align::Before)
            .collect();
        // The label may use the space that a detail at the right edge leaves free in this row.
        let free = trailing
            .first()
            .filter(|(column, ..)| column.align == Align::Right && !self.columns.have_header())
            .map_or(0, |(_, cell, columns)| {
                columns.saturating_sub(width(&cell.text))
            });
        let begin = row.width();
        label(row, self.label + free);
        let mut gap = (begin + self.label).saturating_sub(row.width());
        let mut over = row.width().saturating_sub(begin + self.label);
        for (column, cell, columns) in trailing {
            let columns = columns - std::mem::take(&mut over);
            row.push(" ".repeat(gap + GAP), face(Token::Text));
            row.push(aligned(&cell.text, columns, column.align), face(cell.token));
            gap = 0;
        }
        row.push(" ".repeat(gap + self.trailing), face(Token::Text));
    }

    /// The header row, if the columns have names.
    pub(crate) fn head(&self) -> Option<Row> {
        if !self.columns.have_header() {
            return None;
        }
        let names = self.columns.details.iter();
        let names: Vec<Cell> = names.map(|column| column.name.into()).collect();
        let mut row = Row::default();
        self.write(&mut row, &names, Face::from, |row, room| {
            row.push(truncate(self.columns.label, room), Token::Muted);
        });
        Some(row)
    }

    fn shown<'a>(
        &'a self,
        details: &'a [Cell],
    ) -> impl Iterator<Item = (&'a Column, &'a Cell, usize)> {
        let columns = self.columns.details.iter().zip(details).zip(&self.widths);
        let columns = columns.filter(|(_, columns)| **columns > 0);
        columns.map(|((column, cell), columns)| (column, cell, *columns))
    }
}

fn aligned(text: &str, columns: usize, align: Align) -> String {
    let text = single_line(text);
    let text = truncate(&text, columns);
    let gap = " ".repeat(columns.saturating_sub(width(&text)));
    match align {
        Align::Right => gap + &text,
        _ => text.into_owned() + &gap,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: Columns = Columns {
        label: "model",
        details: &[
            Column::words("where", 2).first(),
            Column::words("key", 1),
            Column::numbers("$ in", 0),
            Column::numbers("$ out", 0),
        ],
    };

    fn shown(columns: Columns, rows: &[(&str, &[&str])], room: usize) -> Vec<String> {
        let rows: Vec<(&str, Vec<Cell>)> = rows
            .iter()
            .map(|(label, cells)| (*label, cells.iter().map(|cell| (*cell).into()).collect()))
            .collect();
        let mut measure = ColumnWidths::default();
        for (label, cells) in &rows {
            measure.add(label, cells);
        }
        let layout = measure.fit(columns, room);
        let mut lines: Vec<String> = layout.head().iter().map(Row::text).collect();
        for (label, cells) in &rows {
            let mut row = Row::default();
            layout.write(&mut row, cells, Face::from, |row, room| {
                row.push(truncate(label, room), Token::Text);
            });
            lines.push(row.text());
        }
        lines
    }

    #[test]
    fn least_important_columns_are_dropped_first() {
        let rows: &[(&str, &[&str])] = &[
            ("anthropic/opus", &["here", "none", "5", "25"]),
            ("a/small", &["away", "", "0.1", "0.5"]),
        ];
        for (room, expected) in [
            (
                44,
                [
                    "where  model               key   $ in  $ out",
                    "here   anthropic/opus      none     5     25",
                    "away   a/small                    0.1    0.5",
                ],
            ),
            (
                33,
                [
                    "model           key   $ in  $ out",
                    "anthropic/opus  none     5     25",
                    "a/small                0.1    0.5",
                ],
            ),
            (
                30,
                [
                    "model              $ in  $ out",
                    "anthropic/opus        5     25",
                    "a/small             0.1    0.5",
                ],
            ),
            (
                20,
                [
                    "model               ",
                    "anthropic/opus      ",
                    "a/small             ",
                ],
            ),
        ] {
            assert_eq!(shown(COLUMNS, rows, room), expected, "{room}");
        }
    }

    #[test]
    fn sentences_are_cut_before_they_are_dropped_and_labels_use_free_space() {
        let rows: &[(&str, &[&str])] = &[
            ("one of a few", &["a sentence that goes on"]),
            ("a label that is longer still", &["x"]),
        ];
        assert_eq!(
            shown(Columns::DETAIL, rows, 30),
            [
                "one of a few        a sentenc…",
                "a label that is longer sti…  x",
            ]
        );
        assert_eq!(shown(Columns::DETAIL, rows, 15)[1], "a label that i…");
    }
}
