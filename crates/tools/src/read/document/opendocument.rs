//! OpenDocument: texts, sheets and presentations. Deleted text of tracked changes is left out.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::container::{Container, DocumentError, TEXT};
use super::lists::Lists;
use super::notes::Notes;
use super::table::{Cell, Table};
use super::xml::{Element, Node, walk};

/// Repeated cells that are written: programs fill a sheet with one empty cell that is repeated.
const REPEATS: usize = 200;
/// The style of the title of a text.
const TITLE: &str = "Title";

pub(super) fn text(container: &mut Container<'_>) -> Result<String, DocumentError> {
    let mut writer = Writer::default();
    if let Some(styles) = container.part("styles.xml")? {
        walk(&styles, |node| {
            if let Node::Open(element) = node {
                writer.styles.open(element);
            }
        })?;
    }
    let content = container.needed("content.xml")?;
    walk(&content, |node| writer.on_node(&node))?;
    writer.notes.write(&mut writer.text);
    Ok(writer.text)
}

/// The styles that change the text.
#[derive(Debug, Default)]
struct Styles {
    name: String,
    lists: Lists,
    /// The names of the styles of hidden sheets and slides.
    hidden: BTreeSet<String>,
    /// The names of the styles of the title of a text.
    titles: BTreeSet<String>,
}

impl Styles {
    fn open(&mut self, element: &Element) {
        match element.name.as_str() {
            "style" | "list-style" => {
                let name = element.get("name").unwrap_or_default();
                name.clone_into(&mut self.name);
                if name == TITLE || element.get("parent-style-name") == Some(TITLE) {
                    self.titles.insert(name.to_owned());
                }
            }
            "list-level-style-number" => {
                let level = element.number("level").unwrap_or(1);
                self.lists.add_numbered(&self.name, level.saturating_sub(1));
            }
            "table-properties" if element.get("display") == Some("false") => self.hide(),
            "drawing-page-properties" if element.get("visibility") == Some("hidden") => self.hide(),
            _ => {}
        }
    }

    fn hide(&mut self) {
        self.hidden.insert(self.name.clone());
    }

    /// The text after the name of a sheet or slide.
    fn mark(&self, element: &Element) -> &'static str {
        let style = element.get("style-name").unwrap_or_default();
        if self.hidden.contains(style) {
            " (hidden)"
        } else {
            ""
        }
    }
}

/// A slide until its end, when its title is known.
#[derive(Debug, Default)]
struct Slide {
    /// Where its text begins.
    start: usize,
    number: usize,
    name: String,
    hidden: &'static str,
    title: Cell,
}

/// A frame of a slide.
#[derive(Debug)]
struct Frame {
    is_title: bool,
    /// A number, a date, or the header or footer of every page.
    is_left_out: bool,
}

#[derive(Debug, Default)]
struct Writer {
    styles: Styles,
    text: String,
    paragraph: String,
    /// Paragraphs and headings around the position.
    in_paragraph: usize,
    heading: Option<usize>,
    /// The styles of the lists around the position.
    lists: Vec<String>,
    /// Whether the next paragraph begins an item.
    begins_item: bool,
    was_item: bool,
    /// Annotations, deleted text and marks of notes around the position.
    left_out: usize,
    notes: Notes,
    notes_marked: usize,
    /// The text of the note around the position.
    note: Option<String>,
    slide: Slide,
    /// The frames around the position.
    frames: Vec<Frame>,
    /// Whether the position is in the notes of a slide.
    in_notes: bool,
    has_notes: bool,
    depth: usize,
    table: Table,
    is_sheet: bool,
    cell: Cell,
    /// The value of a cell, which the cell shows if it has no text.
    value: String,
    repeats: usize,
    row_repeats: usize,
}

impl Writer {
    fn on_node(&mut self, node: &Node<'_>) {
        match node {
            Node::Open(element) => {
                self.styles.open(element);
                self.open(element);
            }
            Node::Close(name) => self.close(name),
            Node::Text(text) => self.push(text),
        }
    }

    fn push(&mut self, text: &str) {
        if self.left_out > 0 {
            return;
        }
        if let Some(note) = &mut self.note {
            note.push_str(text);
        } else if self.in_paragraph > 0 && self.paragraph.len() <= TEXT {
            self.paragraph.push_str(text);
        }
    }

    fn open(&mut self, element: &Element) {
        match element.name.as_str() {
            "annotation" | "tracked-changes" | "note-citation" => self.left_out += 1,
            "spreadsheet" => self.is_sheet = true,
            "h" => {
                self.in_paragraph += 1;
                self.heading = Some(element.number("outline-level").unwrap_or(1));
            }
            "p" => {
                self.in_paragraph += 1;
                let style = element.get("style-name").unwrap_or_default();
                if self.in_paragraph == 1 && self.styles.titles.contains(style) {
                    self.heading = Some(1);
                }
            }
            "s" => {
                let blanks = element.number("c").unwrap_or(1).min(100);
                self.push(&" ".repeat(blanks));
            }
            "tab" => self.push("\t"),
            "line-break" => self.push("\n"),
            "note" if self.left_out == 0 => {
                let number = self.notes_marked;
                self.notes_marked += 1;
                let mark = self.notes.mark(number.to_string());
                self.push(&mark);
            }
            "note-body" => self.note = Some(String::new()),
            "list" => {
                let own = element.get("style-name").map(str::to_owned);
                let style = own.or_else(|| self.lists.last().cloned());
                let style = style.unwrap_or_default();
                let continues = element.get("continue-numbering") == Some("true")
                    || element.get("continue-list").is_some();
                if self.lists.is_empty() && !continues {
                    self.styles.lists.restart(&style);
                }
                self.lists.push(style);
            }
            "list-item" => self.begins_item = true,
            "page" => {
                self.slide = Slide {
                    start: self.text.len(),
                    number: self.slide.number + 1,
                    name: element.get("name").unwrap_or_default().to_owned(),
                    hidden: self.styles.mark(element),
                    title: Cell::default(),
                };
                (self.was_item, self.has_notes) = (false, false);
            }
            "frame" | "custom-shape" => {
                let class = element.get("class").unwrap_or_default();
                let is_left_out =
                    matches!(class, "page-number" | "date-time" | "header" | "footer");
                self.left_out += usize::from(is_left_out);
                self.frames.push(Frame {
                    is_title: class == "title",
                    is_left_out,
                });
            }
            "notes" => self.in_notes = true,
            "table" | "table-row" | "table-cell" | "covered-table-cell" => self.open_table(element),
            _ => {}
        }
    }

    fn open_table(&mut self, element: &Element) {
        match element.name.as_str() {
            "table" => {
                self.depth += 1;
                if self.depth == 1 && self.is_sheet {
                    let name = element.get("name").unwrap_or_default();
                    let _ = write!(self.text, "## {name}{}\n\n", self.styles.mark(element));
                }
            }
            _ if self.depth != 1 => {}
            "table-row" => {
                self.row_repeats = element.number("number-rows-repeated").unwrap_or(1);
                self.table.begin_row();
            }
            _ => {
                self.repeats = element.number("number-columns-repeated").unwrap_or(1);
                let value = ["date-value", "time-value", "boolean-value", "value"];
                let value = value.iter().find_map(|name| element.get(name));
                value.unwrap_or_default().clone_into(&mut self.value);
                self.cell = Cell::default();
            }
        }
    }

    fn close(&mut self, name: &str) {
        match name {
            "annotation" | "tracked-changes" | "note-citation" => {
                self.left_out = self.left_out.saturating_sub(1);
            }
            "h" | "p" => {
                self.in_paragraph = self.in_paragraph.saturating_sub(1);
                if let Some(note) = &mut self.note {
                    let paragraph = std::mem::take(note);
                    self.notes.add_to_last(&paragraph);
                } else if self.in_paragraph == 0 {
                    self.end_paragraph();
                }
            }
            "note-body" => self.note = None,
            "list" => drop(self.lists.pop()),
            "frame" | "custom-shape" => {
                let is_left_out = self.frames.pop().is_some_and(|frame| frame.is_left_out);
                self.left_out = self.left_out.saturating_sub(usize::from(is_left_out));
            }
            "page" => self.end_slide(),
            "notes" => self.in_notes = false,
            "table-cell" | "covered-table-cell" if self.depth == 1 => {
                let text = self.cell.take();
                let value = std::mem::take(&mut self.value);
                let text = if text.is_empty() { value } else { text };
                for _ in 0..self.repeats.min(REPEATS) {
                    self.table.add(&text);
                }
            }
            "table-cell" => self.cell.end_cell(),
            "table-row" if self.depth > 1 => self.cell.end_row(),
            "table-row" => self.table.repeat_row(self.row_repeats.saturating_sub(1)),
            "table" => {
                self.depth = self.depth.saturating_sub(1);
                self.cell.end_table();
                if self.depth == 0 {
                    let table = std::mem::take(&mut self.table);
                    table.write(&mut self.text, &mut self.was_item);
                }
            }
            _ => {}
        }
    }

    /// Writes the heading of a slide: its title, or the name that the user gave it.
    fn end_slide(&mut self) {
        let Slide {
            start,
            number,
            name,
            hidden,
            title,
        } = &mut self.slide;
        let is_default = name
            .strip_prefix("page")
            .is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
        let mut title = title.take();
        if title.is_empty() && !is_default {
            title.clone_from(name);
        }
        let colon = if title.is_empty() { "" } else { ": " };
        let heading = format!("## Slide {number}{hidden}{colon}{title}\n\n");
        self.text.insert_str(*start, &heading);
        self.text.push('\n');
    }

    fn end_paragraph(&mut self) {
        let paragraph = std::mem::take(&mut self.paragraph);
        let heading = self.heading.take();
        let line = paragraph.trim();
        if self.left_out > 0 || line.is_empty() {
            return;
        }
        if self.depth > 0 {
            return self.cell.push(line);
        }
        if self.frames.last().is_some_and(|frame| frame.is_title) {
            return self.slide.title.push(&line.replace('\n', " "));
        }
        let is_item = !self.lists.is_empty() && heading.is_none();
        // Only a paragraph of its own can have several lines.
        let one_line = (is_item || heading.is_some()).then(|| line.replace('\n', " "));
        let line = one_line.as_deref().unwrap_or(line);
        if self.was_item && !is_item {
            self.text.push('\n');
        }
        self.was_item = is_item;
        if self.in_notes && !std::mem::replace(&mut self.has_notes, true) {
            self.text.push_str("Notes:\n\n");
        }
        let line = match (heading, self.lists.last()) {
            (Some(level), _) => format!("{} {line}\n\n", "#".repeat(level.clamp(1, 6))),
            (None, Some(style)) => {
                let level = self.lists.len() - 1;
                let mark = if std::mem::take(&mut self.begins_item) {
                    self.styles.lists.item(style, level)
                } else {
                    "  ".repeat(level.min(9) + 1)
                };
                format!("{mark}{line}\n")
            }
            (None, None) => format!("{line}\n\n"),
        };
        self.text.push_str(&line);
    }
}
