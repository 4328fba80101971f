//! OpenDocument: texts, sheets and presentations. Deleted text of tracked changes is left out.

use std::fmt::Write as _;

use super::container::{Container, DocumentError};
use super::table::{ROWS, Table};
use super::xml::{Element, Node, walk};

/// Repeated cells that are written: programs fill a sheet with one empty cell that is repeated.
const REPEATS: usize = 200;

pub(super) fn text(container: &mut Container<'_>) -> Result<String, DocumentError> {
    let content = container.needed("content.xml")?;
    let mut writer = Writer::default();
    walk(&content, |node| writer.on_node(&node))?;
    Ok(writer.text)
}

#[derive(Debug, Default)]
struct Writer {
    text: String,
    paragraph: String,
    /// Paragraphs and headings around the position.
    in_paragraph: usize,
    heading: Option<usize>,
    /// The lists around the position.
    lists: usize,
    /// Whether the next paragraph begins an item.
    begins_item: bool,
    was_item: bool,
    /// Annotations and deleted text around the position.
    left_out: usize,
    slides: usize,
    in_notes: bool,
    depth: usize,
    table: Table,
    is_sheet: bool,
    cell: String,
    /// The value of a cell, which it shows if it has no text.
    value: String,
    repeats: usize,
    row_repeats: usize,
}

impl Writer {
    fn on_node(&mut self, node: &Node<'_>) {
        match node {
            Node::Open(element) => self.open(element),
            Node::Close(name) => self.close(name),
            Node::Text(text) => {
                if self.in_paragraph > 0 && self.left_out == 0 {
                    self.paragraph.push_str(text);
                }
            }
        }
    }

    fn open(&mut self, element: &Element) {
        match element.name.as_str() {
            "annotation" | "tracked-changes" => self.left_out += 1,
            "spreadsheet" => self.is_sheet = true,
            "h" => {
                self.in_paragraph += 1;
                self.heading = Some(element.number("outline-level").unwrap_or(1));
            }
            "p" => self.in_paragraph += 1,
            "s" => {
                let blanks = element.number("c").unwrap_or(1).min(100);
                self.paragraph.push_str(&" ".repeat(blanks));
            }
            "tab" => self.paragraph.push('\t'),
            "line-break" => self.paragraph.push(' '),
            "list" => self.lists += 1,
            "list-item" => self.begins_item = true,
            "page" => {
                self.slides += 1;
                let (number, name) = (self.slides, element.get("name").unwrap_or_default());
                let line = format!("## Slide {number}: {name}\n\n");
                self.text.push_str(&line);
            }
            "notes" => self.in_notes = true,
            "table" => {
                self.depth += 1;
                if self.depth == 1 && self.is_sheet {
                    let name = element.get("name").unwrap_or_default();
                    let _ = write!(self.text, "## {name}\n\n");
                }
            }
            "table-row" if self.depth == 1 => {
                self.row_repeats = element.number("number-rows-repeated").unwrap_or(1);
                if !self.table.is_full() {
                    self.table.begin_row();
                }
            }
            "table-cell" | "covered-table-cell" if self.depth == 1 => {
                self.repeats = element.number("number-columns-repeated").unwrap_or(1);
                let value = ["date-value", "time-value", "boolean-value", "value"];
                let value = value.iter().find_map(|name| element.get(name));
                value.unwrap_or_default().clone_into(&mut self.value);
                self.cell.clear();
            }
            _ => {}
        }
    }

    fn close(&mut self, name: &str) {
        match name {
            "annotation" | "tracked-changes" => self.left_out = self.left_out.saturating_sub(1),
            "h" | "p" => {
                self.in_paragraph = self.in_paragraph.saturating_sub(1);
                if self.in_paragraph == 0 {
                    self.end_paragraph();
                }
            }
            "list" => self.lists = self.lists.saturating_sub(1),
            "page" => self.text.push('\n'),
            "notes" => self.in_notes = false,
            "table-cell" | "covered-table-cell" if self.depth == 1 => {
                let text = if self.cell.trim().is_empty() {
                    std::mem::take(&mut self.value)
                } else {
                    std::mem::take(&mut self.cell)
                };
                for _ in 0..self.repeats.min(REPEATS) {
                    self.table.add(&text);
                }
            }
            "table-row" if self.depth == 1 && self.row_repeats > 1 => {
                self.table.repeat_row((self.row_repeats - 1).min(ROWS));
            }
            "table" => {
                self.depth = self.depth.saturating_sub(1);
                if self.depth == 0 {
                    let table = std::mem::take(&mut self.table).markdown();
                    self.text.push_str(&table);
                    self.text.push('\n');
                }
            }
            _ => {}
        }
    }

    fn end_paragraph(&mut self) {
        let paragraph = std::mem::take(&mut self.paragraph);
        let heading = self.heading.take();
        let line = paragraph.trim();
        if self.left_out > 0 || line.is_empty() {
            return;
        }
        if self.depth > 0 {
            self.cell.push_str(line);
            self.cell.push(' ');
            return;
        }
        let is_item = self.lists > 0 && heading.is_none();
        if self.was_item && !is_item {
            self.text.push('\n');
        }
        self.was_item = is_item;
        let notes = if self.in_notes { "Notes: " } else { "" };
        let line = match heading {
            Some(level) => format!("{} {line}\n\n", "#".repeat(level.clamp(1, 6))),
            None if is_item => {
                let indent = "  ".repeat((self.lists - 1).min(9));
                let mark = if std::mem::take(&mut self.begins_item) {
                    "- "
                } else {
                    "  "
                };
                format!("{indent}{mark}{line}\n")
            }
            None => format!("{notes}{line}\n\n"),
        };
        self.text.push_str(&line);
    }
}
