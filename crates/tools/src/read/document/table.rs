//! Tables as Markdown.

/// Columns and rows of one table at most, and bytes of one cell.
const COLUMNS: usize = 200;
pub(super) const ROWS: usize = 20_000;
const CELL: usize = 2_000;

/// The rows of a table, cell by cell.
#[derive(Debug, Default)]
pub(super) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn begin_row(&mut self) {
        self.rows.push(Vec::new());
    }

    /// Adds a cell to the last row.
    pub(super) fn add(&mut self, text: &str) {
        if let Some(row) = self.rows.last_mut()
            && row.len() < COLUMNS
        {
            let words: Vec<&str> = text.split_whitespace().collect();
            let mut cell = words.join(" ").replace('|', "\\|");
            cell.truncate(cell.floor_char_boundary(CELL));
            row.push(cell);
        }
    }

    /// Repeats the last row so many times, unless it is empty.
    pub(super) fn repeat_row(&mut self, times: usize) {
        let last = self
            .rows
            .last()
            .filter(|row| row.iter().any(|cell| !cell.is_empty()));
        if let Some(row) = last.cloned() {
            let times = times.min(ROWS.saturating_sub(self.rows.len()));
            self.rows.extend(std::iter::repeat_n(row, times));
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.rows.len() >= ROWS
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
        text
    }
}
