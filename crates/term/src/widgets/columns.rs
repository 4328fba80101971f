//! Details that stand below each other: every row of a list has them at the same columns. Where there is
//! little room whole columns are left out, the least important first; none is cut in the middle.

use crate::face::{Face, Token};
use crate::row::Row;
use osier_base::text::{head_bytes, single_line, truncate, width};

/// Cells between columns.
const GAP: usize = 2;
/// Cells that the labels keep, when they are as long as that, before any column is shown.
const LABEL: usize = 32;
/// Bytes of a label that its width is measured by.
const MEASURED: usize = 200;

/// One column.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    name: &'static str,
    align: Align,
    /// Columns of a rank come and go together; 0 goes last.
    rank: u8,
    /// Narrowest it gets when there is no room for its longest text: the texts end with `…` then.
    least: usize,
    /// Widest it gets, however long its longest text is.
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
    /// A column of words; `name` stands above it, unless it is empty.
    pub const fn words(name: &'static str, rank: u8) -> Self {
        Self {
            name,
            align: Align::Left,
            rank,
            least: usize::MAX,
            most: usize::MAX,
        }
    }

    /// A column of numbers, or of anything else that ends at its right side.
    pub const fn numbers(name: &'static str, rank: u8) -> Self {
        Self {
            align: Align::Right,
            ..Self::words(name, rank)
        }
    }

    /// Sentences and values: they may be cut, down to this many cells.
    #[must_use]
    pub const fn at_least(self, least: usize) -> Self {
        Self { least, ..self }
    }

    /// Takes at most this many cells: few texts are longer, and the labels need the room more.
    #[must_use]
    pub const fn at_most(self, most: usize) -> Self {
        Self { most, ..self }
    }

    /// Stands before the labels.
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
    /// Stands above the labels.
    pub label: &'static str,
    /// In the order of the cells of its rows.
    pub details: &'static [Column],
}

impl Columns {
    /// One detail at the right edge.
    pub const DETAIL: Self = Self {
        label: "",
        details: &[Column::numbers("", 0).at_least(8)],
    };

    /// A sentence behind each label.
    pub const SENTENCE: Self = Self {
        label: "",
        details: &[Column::words("", 0).at_least(12)],
    };

    /// Whether the last one stands at the right edge, however short the labels are.
    fn end_at_the_edge(&self) -> bool {
        let last = self.details.last();
        !self.are_named() && last.is_some_and(|column| column.align == Align::Right)
    }

    /// Texts of a row that stand before its label.
    pub fn before<'a>(&'a self, details: &'a [Cell]) -> impl Iterator<Item = &'a str> {
        let columns = self.details.iter().zip(details);
        let before = columns.filter(|(column, _)| column.align == Align::Before);
        before.map(|(_, cell)| cell.text.as_str())
    }

    /// Whether there is a row of names above.
    pub fn are_named(&self) -> bool {
        self.details.iter().any(|column| !column.name.is_empty())
    }
}

/// What stands in one column of one row.
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
        Self::new(text, Token::Muted)
    }
}

/// The widest of each column in all rows of a list, in cells.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Measure {
    label: usize,
    details: Vec<usize>,
}

impl Measure {
    pub fn add(&mut self, label: &str, details: &[Cell]) {
        self.label = self.label.max(width(head_bytes(label, MEASURED)));
        if self.details.len() < details.len() {
            self.details.resize(details.len(), 0);
        }
        for (widest, cell) in self.details.iter_mut().zip(details) {
            *widest = (*widest).max(width(&cell.text));
        }
    }

    /// What fits in `room` cells.
    pub fn fit(&self, columns: Columns, room: usize) -> Layout {
        let wanted = |place: usize| match self.details.get(place) {
            // A column that is empty everywhere takes no room.
            None | Some(0) => 0,
            Some(widest) => {
                let column = &columns.details[place];
                (*widest).max(width(column.name)).min(column.most)
            }
        };
        let labels = self.label.min(room * 3 / 5);
        let mut left = room.saturating_sub(labels.min(LABEL));
        // What may be cut leaves the labels their room.
        let kept = labels.saturating_sub(LABEL);
        let mut widths = vec![0; columns.details.len()];
        let mut ranks: Vec<u8> = columns.details.iter().map(|column| column.rank).collect();
        ranks.sort_unstable();
        ranks.dedup();
        for rank in ranks {
            let group = columns.details.iter().enumerate();
            let group = group.filter(|(place, column)| column.rank == rank && wanted(*place) > 0);
            let group: Vec<(usize, &Column)> = group.collect();
            let needed: usize = group.iter().map(|(place, _)| wanted(*place) + GAP).sum();
            let spare = |(place, column): &(usize, &Column)| {
                wanted(*place).saturating_sub(column.least.min(wanted(*place)))
            };
            let spares: usize = group.iter().map(spare).sum();
            if needed.saturating_sub(left) > spares {
                break;
            }
            let mut missing = (needed + kept).saturating_sub(left).min(spares);
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
        let behind = if columns.end_at_the_edge() {
            0
        } else {
            // The columns stand near to what they belong to.
            label.saturating_sub(self.label.max(LABEL))
        };
        Layout {
            columns,
            widths,
            label: label - behind,
            behind,
        }
    }
}

/// Where everything stands in a row.
#[derive(Debug)]
pub struct Layout {
    columns: Columns,
    /// Zero for a column that is not shown.
    widths: Vec<usize>,
    label: usize,
    /// Blank cells behind the last column.
    behind: usize,
}

impl Layout {
    /// Puts a row's label between its details. `label` writes it into the cells that it is told, and may take
    /// fewer; `face` says how a token looks here.
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
        let behind: Vec<_> = self
            .shown(details)
            .filter(|(column, ..)| column.align != Align::Before)
            .collect();
        // What a detail at the right edge leaves free in this row is the label's.
        let free = behind
            .first()
            .filter(|(column, ..)| column.align == Align::Right && !self.columns.are_named())
            .map_or(0, |(_, cell, columns)| {
                columns.saturating_sub(width(&cell.text))
            });
        let begin = row.width();
        label(row, self.label + free);
        let mut gap = (begin + self.label).saturating_sub(row.width());
        let mut over = row.width().saturating_sub(begin + self.label);
        for (column, cell, columns) in behind {
            let columns = columns - std::mem::take(&mut over);
            row.push(" ".repeat(gap + GAP), face(Token::Text));
            row.push(aligned(&cell.text, columns, column.align), face(cell.token));
            gap = 0;
        }
        row.push(" ".repeat(gap + self.behind), face(Token::Text));
    }

    /// The names of what is shown, when the columns have any.
    pub fn head(&self) -> Option<Row> {
        if !self.columns.are_named() {
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
        let mut measure = Measure::default();
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
    fn columns_align_and_the_least_important_go_first_and_whole() {
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
    fn sentences_are_cut_before_they_are_dropped_and_a_label_takes_what_is_free() {
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
