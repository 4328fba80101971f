//! The selection in the transcript, by cell of the screen, and its text: wrapped lines are joined; gutters, bullets
//! and borders are left out.

use std::ops::RangeInclusive;

use super::state::{Place, Position, Seen, Selection, Transcript, Unit};
use osier_base::text;
use osier_term::{Emphasis, Row, Span, Token};

/// The first and the last place of the selection, both included.
#[derive(Debug, Clone, Copy)]
pub(super) struct Selected {
    from: Place,
    to: Place,
}

impl Selected {
    /// The columns of a row that are selected.
    pub(super) fn columns(&self, cell: usize, row: usize) -> Option<RangeInclusive<u16>> {
        let (from, to) = ((self.from.cell, self.from.row), (self.to.cell, self.to.row));
        let at = (cell, row);
        if at < from || at > to {
            return None;
        }
        let first = if at == from { self.from.column } else { 0 };
        let last = if at == to { self.to.column } else { u16::MAX };
        Some(first..=last)
    }
}

impl Transcript {
    /// Begins a selection on screen row `y`; false when nothing is there.
    pub fn select_from(&mut self, x: u16, y: u16, unit: Unit) -> bool {
        let place = self.place_at(x, y);
        self.selection = place.map(|place| Selection {
            anchor: place,
            head: place,
            unit,
            is_shown: true,
        });
        place.is_some()
    }

    /// Extends the selection to a cell of the screen; beyond the content, to its ends.
    pub fn select_to(&mut self, x: u16, y: u16) {
        let last = self.viewport.1.saturating_sub(1);
        let place = (0..=y.min(last))
            .rev()
            .find_map(|row| self.place_at(if row == y { x } else { u16::MAX }, row));
        if let (Some(selection), Some(place)) = (&mut self.selection, place) {
            selection.head = place;
            selection.is_shown = true;
        }
    }

    /// Selects the line in the middle of the screen, or where the picked block begins.
    pub fn select_line(&mut self) {
        let picked = self.picked_rows().map(|(cell, rows)| Place {
            cell,
            row: rows.start,
            column: 0,
        });
        let middle = self.viewport.1 / 2;
        let rows = (middle..self.viewport.1).chain((0..middle).rev());
        let place = picked.or_else(|| rows.into_iter().find_map(|row| self.place_at(0, row)));
        self.selection = place.map(|place| Selection {
            anchor: place,
            head: place,
            unit: Unit::Line,
            is_shown: true,
        });
    }

    /// Moves the end of the selection by a row, keeping it on the screen.
    pub fn select_by(&mut self, down: bool) {
        let Some(Selection { head, .. }) = self.selection else {
            return;
        };
        let Some(next) = self.neighbour(head, down) else {
            return;
        };
        if let Some(selection) = &mut self.selection {
            selection.head = next;
        }
        self.reveal(next.cell, next.row..next.row + 1);
    }

    pub fn clear_selection(&mut self) -> bool {
        self.selection
            .take()
            .is_some_and(|selection| selection.is_shown)
    }

    /// Starts a selection that is empty until it is extended.
    pub fn hide_selection(&mut self) {
        if let Some(selection) = &mut self.selection {
            selection.is_shown = false;
        }
    }

    /// Stops following the end, so that the text stays where it is while it is selected.
    pub fn stay(&mut self) {
        let (cell, row) = self.top();
        self.position = Position::At { cell, row };
    }

    /// Rows of the screen that the transcript has.
    pub fn rows_shown(&self) -> u16 {
        self.viewport.1
    }

    pub fn has_selection(&self) -> bool {
        self.selection.is_some_and(|selection| selection.is_shown)
    }

    /// The selection as it is shown: whole words and lines, in the order of the rows.
    pub(super) fn selected(&mut self) -> Option<Selected> {
        let Selection {
            anchor, head, unit, ..
        } = self.selection.filter(|selection| selection.is_shown)?;
        let (mut from, mut to) = (anchor.min(head), anchor.max(head));
        let cells = self.strip().cells.len();
        if to.cell >= cells {
            return None;
        }
        match unit {
            Unit::Cell => {}
            Unit::Word => {
                from.column = *self.word_at(from).start();
                to.column = *self.word_at(to).end();
            }
            Unit::Line => {
                while from.row > 0 && self.row_at(from).is_some_and(|row| row.continues) {
                    from.row -= 1;
                }
                from.column = 0;
                to.column = u16::MAX;
                let below = |place: Place| Place {
                    row: place.row + 1,
                    ..place
                };
                while self.row_at(below(to)).is_some_and(|row| row.continues) {
                    to = below(to);
                }
            }
        }
        Some(Selected { from, to })
    }

    /// The text of the selection.
    pub fn selected_text(&mut self) -> Option<String> {
        let selected = self.selected()?;
        let (width, style) = (self.viewport.0, self.style);
        let mut text = Written::default();
        for cell in selected.from.cell..=selected.to.cell {
            let strip = self.strip_mut();
            let gap = strip.gap(cell, style) > 0 && !strip.cells[cell].continues;
            let height = strip.height(cell, width, style);
            let first = if cell == selected.from.cell {
                selected.from.row
            } else {
                0
            };
            if cell > selected.from.cell && gap {
                text.line("");
            }
            let mut row_number = first;
            strip.each_row(cell, (width, style), first..height, &mut |row| {
                if let Some(columns) = selected.columns(cell, row_number) {
                    text.row(row, &columns);
                }
                row_number += 1;
            });
        }
        let text = text.finish();
        (!text.trim().is_empty()).then_some(text)
    }

    /// The address of the link at a cell of the screen.
    pub fn link_at(&mut self, x: u16, y: u16) -> Option<String> {
        let place = self.place_at(x, y)?;
        let row = self.row_at(place)?;
        let mut end = 0;
        let span = row.spans.iter().find(|span| {
            end += text::width(&span.text);
            usize::from(place.column) < end
        })?;
        Some(span.link.as_deref()?.to_owned())
    }

    /// The place in the conversation at a cell of the screen.
    fn place_at(&mut self, x: u16, y: u16) -> Option<Place> {
        match self.seen_at(y)? {
            Seen::Row { cell, row } => Some(Place {
                cell,
                row,
                column: x.saturating_sub(self.strip().cells[cell].indent(self.style)),
            }),
            Seen::Gap => None,
        }
    }

    /// The row above or below a place, also in another cell.
    fn neighbour(&mut self, place: Place, down: bool) -> Option<Place> {
        let (width, style) = (self.viewport.0, self.style);
        let strip = self.strip_mut();
        let Place { cell, row, column } = place;
        if down {
            if row + 1 < strip.height(cell, width, style) {
                let row = row + 1;
                return Some(Place { cell, row, column });
            }
            let cell =
                (cell + 1..strip.cells.len()).find(|cell| strip.height(*cell, width, style) > 0)?;
            return Some(Place {
                cell,
                row: 0,
                column,
            });
        }
        if row > 0 {
            let row = row - 1;
            return Some(Place { cell, row, column });
        }
        let cell = (0..cell)
            .rev()
            .find(|cell| strip.height(*cell, width, style) > 0)?;
        let row = strip.height(cell, width, style) - 1;
        Some(Place { cell, row, column })
    }

    fn row_at(&mut self, place: Place) -> Option<Row> {
        let (width, style) = (self.viewport.0, self.style);
        let strip = self.strip_mut();
        strip.cells.get(place.cell)?;
        let mut found = None;
        strip.each_row(
            place.cell,
            (width, style),
            place.row..place.row + 1,
            &mut |row| {
                found = Some(row.clone());
            },
        );
        found
    }

    /// The columns of the word at a place.
    fn word_at(&mut self, place: Place) -> RangeInclusive<u16> {
        let none = place.column..=place.column;
        let Some(row) = self.row_at(place) else {
            return none;
        };
        word_columns(&row.text(), place.column).unwrap_or(none)
    }
}

/// The columns of the word that covers `column`: letters, digits and the characters of paths and
/// names; or blanks; or other characters.
fn word_columns(line: &str, column: u16) -> Option<RangeInclusive<u16>> {
    #[derive(PartialEq)]
    enum Class {
        Word,
        Blank,
        Mark,
    }
    let class = |cluster: &str| match cluster.chars().next() {
        Some(char) if char.is_alphanumeric() || "_-./~:@%+#".contains(char) => Class::Word,
        Some(char) if char.is_whitespace() => Class::Blank,
        _ => Class::Mark,
    };
    let mut at = 0;
    let clusters: Vec<(u16, u16, Class)> = text::graphemes(line)
        .map(|(_, cluster)| {
            let start = at;
            at += text::grapheme_width(cluster) as u16;
            (start, at, class(cluster))
        })
        .collect();
    let here = clusters.iter().position(|(_, end, _)| column < *end)?;
    let same = |(_, _, is): &&(u16, u16, Class)| *is == clusters[here].2;
    let (start, ..) = clusters[..=here].iter().rev().take_while(same).last()?;
    let (_, end, _) = clusters[here..].iter().take_while(same).last()?;
    Some(*start..=end.saturating_sub(1))
}

/// Text that is put together from rows.
#[derive(Default)]
struct Written {
    text: String,
    begun: bool,
}

impl Written {
    fn line(&mut self, line: &str) {
        if self.begun {
            let kept = self.text.trim_end_matches(' ').len();
            self.text.truncate(kept);
            self.text.push('\n');
        }
        self.text.push_str(line);
        self.begun = true;
    }

    fn row(&mut self, row: &Row, columns: &RangeInclusive<u16>) {
        if is_drawn(row) {
            return;
        }
        let first = (*columns.start()).max(row.decoration);
        let shown = written(&row.spans, first..=*columns.end());
        if row.continues && self.begun {
            self.text.push_str(&shown);
        } else {
            self.line(&shown);
        }
    }

    fn finish(self) -> String {
        self.text.trim_end().to_owned()
    }
}

/// Whether the row has no text of the conversation: a border of a table, or the label of a code
/// block.
fn is_drawn(row: &Row) -> bool {
    let shows = |span: &&Span| !span.text.trim().is_empty();
    let mut shown = row.spans.iter().filter(shows).peekable();
    let is_bar =
        |span: &Span| span.face.token != Token::TableBorder && span.face.background.is_none();
    let covered = usize::from(row.decoration) >= row.width();
    let border = |span: &Span| span.face.token == Token::TableBorder;
    match shown.peek() {
        None => false,
        Some(_) if covered => !shown.all(is_bar),
        Some(_) => shown.all(border),
    }
}

/// The text of the columns without borders: cells of a table have a tab between them.
fn written(spans: &[Span], columns: RangeInclusive<u16>) -> String {
    let mut line = String::new();
    let mut at: u16 = 0;
    let mut borders = false;
    for span in spans {
        let start = at;
        at = at.saturating_add(text::width(&span.text) as u16);
        if at <= *columns.start() || start > *columns.end() {
            continue;
        }
        if span.face.token == Token::TableBorder {
            borders = true;
            if !line.trim().is_empty() {
                line.truncate(line.trim_end().len());
                line.push('\t');
            }
            continue;
        }
        let (from, to) = (
            columns.start().saturating_sub(start),
            columns.end().saturating_sub(start),
        );
        line.push_str(&span.text[text::column_range(&span.text, from..=to)]);
    }
    if borders {
        line.truncate(line.trim_end().len());
    }
    line
}

/// The row with the selected columns marked, except decoration.
pub(super) fn with_selection(row: &Row, columns: &RangeInclusive<u16>) -> Row {
    let first = (*columns.start()).max(row.decoration);
    let mut shown = Row {
        spans: Vec::with_capacity(row.spans.len() + 2),
        ..row.clone()
    };
    let mut at: u16 = 0;
    for span in &row.spans {
        let start = at;
        at = at.saturating_add(text::width(&span.text) as u16);
        let (from, to) = (
            first.saturating_sub(start),
            columns.end().saturating_sub(start),
        );
        let inside = if at <= first || start > *columns.end() {
            0..0
        } else {
            text::column_range(&span.text, from..=to)
        };
        let parts = [
            (0..inside.start, false),
            (inside.clone(), true),
            (inside.end..span.text.len(), false),
        ];
        for (range, is_selected) in parts {
            if range.is_empty() {
                continue;
            }
            let mut part = Span {
                text: span.text[range].into(),
                ..span.clone()
            };
            if is_selected {
                part.face = part.face.emphasised(Emphasis::REVERSE);
            }
            shown.spans.push(part);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_what_paths_and_names_are_made_of() {
        let line = "see src/main.rs:12 (漢字), ok";
        for (column, expected) in [
            (0, "see"),
            (4, "src/main.rs:12"),
            (17, "src/main.rs:12"),
            (18, " "),
            (19, "("),
            (21, "漢字"),
            (24, "),"),
            (28, "ok"),
        ] {
            let columns = word_columns(line, column).unwrap();
            assert_eq!(
                &line[text::column_range(line, columns)],
                expected,
                "{column}"
            );
        }
        assert_eq!(word_columns(line, 40), None);
    }

    #[test]
    fn tables_lose_their_borders_and_gutters_are_left_out() {
        let border = |text: &str| Span::new(text, Token::TableBorder);
        let plain = |text: &str| Span::new(text, Token::Text);
        let cells = [
            border("│ "),
            plain("a  "),
            border(" │ "),
            plain("b "),
            border(" │"),
        ];
        assert_eq!(written(&cells, 0..=u16::MAX), "a\tb");
        assert!(is_drawn(&Row::new(vec![border("├──┤")])));
        assert!(!is_drawn(&Row::default()));
        let row = Row {
            decoration: 2,
            ..Row::new(vec![plain("▌ "), plain("said")])
        };
        let shown = with_selection(&row, &(0..=3));
        let parts: Vec<(&str, bool)> = shown
            .spans
            .iter()
            .map(|span| (&*span.text, span.face.emphasis.contains(Emphasis::REVERSE)))
            .collect();
        assert_eq!(parts, [("▌ ", false), ("sa", true), ("id", false)]);
    }
}
