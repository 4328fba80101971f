//! Tables as Markdown.

use super::container::TEXT;

/// Columns and rows of one table at most, and bytes of one cell.
const COLUMNS: usize = 200;
const ROWS: usize = 20_000;
const CELL: usize = 2_000;

/// The rows of a table, cell by cell. What exceeds a limit is left out, and the table says so.
#[derive(Debug, Default)]
pub(super) struct Table {
    rows: Vec<Vec<String>>,
    /// Bytes of all cells as Markdown.
    size: usize,
    is_cut: bool,
}

impl Table {
    pub(super) fn begin_row(&mut self) {
        self.is_cut |= self.rows.len() >= ROWS || self.size > TEXT;
        if !self.is_cut {
            self.rows.push(Vec::new());
        }
    }

    /// Adds a cell to the last row.
    pub(super) fn add(&mut self, text: &str) {
        if let Some(row) = self.rows.last_mut().filter(|_| !self.is_cut)
            && row.len() < COLUMNS
        {
            let words: Vec<&str> = text.split_whitespace().collect();
            let mut cell = words.join(" ").replace('|', "\\|");
            cell.truncate(cell.floor_char_boundary(CELL));
            self.size += cell.len() + 2;
            row.push(cell);
        }
    }

    /// Adds empty cells: those that a merged cell covers.
    pub(super) fn add_empty(&mut self, count: usize) {
        for _ in 0..count.min(COLUMNS) {
            self.add("");
        }
    }

    /// Repeats the last row so many times, unless it is empty.
    pub(super) fn repeat_row(&mut self, times: usize) {
        let last = self
            .rows
            .last()
            .filter(|row| row.iter().any(|cell| !cell.is_empty()));
        let Some(row) = last.cloned() else { return };
        let size: usize = row.iter().map(|cell| cell.len() + 2).sum();
        for _ in 0..times {
            self.begin_row();
            if self.is_cut {
                return;
            }
            self.size += size;
            if let Some(last) = self.rows.last_mut() {
                last.clone_from(&row);
            }
        }
    }

    /// Appends the table to `text`, unless that is long enough. `was_item`: the text ends with an item of a list.
    pub(super) fn write(self, text: &mut String, was_item: &mut bool) {
        if text.len() <= TEXT {
            if std::mem::take(was_item) {
                text.push('\n');
            }
            text.push_str(&self.markdown());
            text.push('\n');
        }
    }

    /// The table with its first row as the header; empty cells and rows at the ends are left out.
    pub(super) fn markdown(mut self) -> String {
        for row in &mut self.rows {
            while row.last().is_some_and(String::is_empty) {
                row.pop();
            }
        }
        while self.rows.last().is_some_and(Vec::is_empty) {
            self.rows.pop();
        }
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let mut text = String::new();
        for (number, row) in self.rows.iter().enumerate() {
            text.push('|');
            for column in 0..columns {
                let cell = row.get(column).map_or("", String::as_str);
                text.push(' ');
                text.push_str(cell);
                text.push_str(if cell.is_empty() { "|" } else { " |" });
            }
            text.push('\n');
            if number == 0 {
                text.push('|');
                text.push_str(&"---|".repeat(columns));
                text.push('\n');
            }
        }
        if self.is_cut {
            text.push_str("\n[the rest of the table is left out]\n");
        }
        text
    }
}

/// The text of a cell, with the cells of a table in it as text: `a, b; c, d`.
#[derive(Debug, Default)]
pub(super) struct Cell {
    text: String,
    separator: &'static str,
}

impl Cell {
    /// Adds a paragraph.
    pub(super) fn push(&mut self, line: &str) {
        if !line.is_empty() {
            if !self.text.is_empty() {
                self.text.push_str(self.separator);
            }
            self.text.push_str(line);
            self.separator = " ";
        }
    }

    /// An inner cell ended.
    pub(super) fn end_cell(&mut self) {
        self.separator = ", ";
    }

    /// A row of an inner table ended.
    pub(super) fn end_row(&mut self) {
        self.separator = "; ";
    }

    /// An inner table ended.
    pub(super) fn end_table(&mut self) {
        self.separator = " ";
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn take(&mut self) -> String {
        std::mem::take(&mut self.text)
    }
}
