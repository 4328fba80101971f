//! Word: headings, lists, tables, paragraphs and notes of the body. Deleted text of tracked changes is left out.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::container::{Container, DocumentError};
use super::lists::Lists;
use super::notes::Notes;
use super::table::{Cell, Table};
use super::xml::{Node, walk};

pub(super) fn text(container: &mut Container<'_>) -> Result<String, DocumentError> {
    let styles = match container.part("word/styles.xml")? {
        Some(styles) => read_styles(&styles)?,
        None => BTreeMap::new(),
    };
    let lists = match container.part("word/numbering.xml")? {
        Some(numbering) => numbered_lists(&numbering)?,
        None => Lists::default(),
    };
    let body = container.needed("word/document.xml")?;
    let mut writer = Writer {
        styles,
        lists,
        ..Writer::default()
    };
    walk(&body, |node| writer.on_node(&node))?;
    if !writer.notes.is_empty() {
        for (part, kind) in [
            ("word/footnotes.xml", "footnote"),
            ("word/endnotes.xml", "endnote"),
        ] {
            if let Some(bytes) = container.part(part)? {
                read_notes(&bytes, kind, &mut writer.notes)?;
            }
        }
    }
    writer.notes.write(&mut writer.text);
    Ok(writer.text)
}

/// A paragraph style, whose id depends on the language of Word.
#[derive(Debug, Clone, Default)]
struct Style {
    heading: Option<usize>,
    list: Option<String>,
    level: usize,
}

fn read_styles(styles: &[u8]) -> Result<BTreeMap<String, Style>, DocumentError> {
    let mut known: BTreeMap<String, Style> = BTreeMap::new();
    let mut id = String::new();
    walk(styles, |node| {
        let Node::Open(element) = node else { return };
        let value = element.get("val").unwrap_or_default();
        match element.name.as_str() {
            "style" => element
                .get("styleId")
                .unwrap_or_default()
                .clone_into(&mut id),
            "name" => {
                let name = value.to_lowercase();
                let level = match name.as_str() {
                    "title" => Some(1),
                    name => name
                        .strip_prefix("heading ")
                        .and_then(|level| level.parse().ok()),
                };
                known.entry(id.clone()).or_default().heading = level;
            }
            "numId" => known.entry(id.clone()).or_default().list = Some(value.to_owned()),
            "ilvl" => {
                let level = element.number("val").unwrap_or(0);
                known.entry(id.clone()).or_default().level = level;
            }
            _ => {}
        }
    })?;
    Ok(known)
}

/// Which levels of the lists have numbers.
fn numbered_lists(numbering: &[u8]) -> Result<Lists, DocumentError> {
    let (mut styles, mut lists) = (Lists::default(), Lists::default());
    let (mut id, mut level) = (String::new(), 0);
    walk(numbering, |node| {
        let Node::Open(element) = node else { return };
        let value = element.get("val").unwrap_or_default();
        match element.name.as_str() {
            "abstractNum" => {
                let number = element.get("abstractNumId");
                number.unwrap_or_default().clone_into(&mut id);
            }
            "lvl" => level = element.number("ilvl").unwrap_or(0),
            "numFmt" if !matches!(value, "bullet" | "none") => styles.add_numbered(&id, level),
            "num" => element.get("numId").unwrap_or_default().clone_into(&mut id),
            "abstractNumId" => {
                for level in (0..9).filter(|level| styles.is_numbered(value, *level)) {
                    lists.add_numbered(&id, level);
                }
            }
            _ => {}
        }
    })?;
    Ok(lists)
}

/// Reads the texts of the notes that the body refers to.
fn read_notes(bytes: &[u8], kind: &str, notes: &mut Notes) -> Result<(), DocumentError> {
    let (mut name, mut paragraph, mut is_in_text) = (String::new(), String::new(), false);
    walk(bytes, |node| match node {
        Node::Open(element) if element.name == kind => {
            name = format!("{kind} {}", element.get("id").unwrap_or_default());
        }
        Node::Open(element) => is_in_text |= element.name == "t",
        Node::Text(text) if is_in_text => paragraph.push_str(text),
        Node::Close("t") => is_in_text = false,
        Node::Close("p") => notes.add(&name, &std::mem::take(&mut paragraph)),
        Node::Text(_) | Node::Close(_) => {}
    })
}

#[derive(Debug, Default)]
struct Writer {
    styles: BTreeMap<String, Style>,
    lists: Lists,
    text: String,
    paragraph: String,
    /// The level of the heading, and the list and level of the item, that the paragraph is.
    heading: Option<usize>,
    list: Option<String>,
    level: usize,
    is_in_text: bool,
    /// The tables around; only the outermost is a table, the others are text in its cells.
    depth: usize,
    table: Table,
    cell: Cell,
    /// Columns of the cell.
    columns: usize,
    notes: Notes,
    was_item: bool,
    /// The number of surrounding elements whose content is left out.
    left_out: usize,
}

/// Whether an element repeats content that is elsewhere, too: alternatives for programs that do not
/// know the first form, and text that was moved.
fn is_copy(name: &str) -> bool {
    matches!(name, "Fallback" | "moveFrom")
}

impl Writer {
    fn on_node(&mut self, node: &Node<'_>) {
        match node {
            Node::Open(element) if is_copy(&element.name) => self.left_out += 1,
            Node::Close(name) if is_copy(name) => self.left_out = self.left_out.saturating_sub(1),
            _ if self.left_out > 0 => {}
            Node::Open(element) => {
                let value = element.get("val").unwrap_or_default();
                match element.name.as_str() {
                    "p" => {
                        self.paragraph.clear();
                        (self.heading, self.list, self.level) = (None, None, 0);
                    }
                    "pStyle" => {
                        let style = self.styles.get(value).cloned().unwrap_or_default();
                        (self.heading, self.list, self.level) =
                            (style.heading, style.list, style.level);
                    }
                    "outlineLvl" => {
                        let level = element.number("val").map(|level| level + 1);
                        self.heading = self.heading.or(level.filter(|level| *level <= 9));
                    }
                    "ilvl" => self.level = element.number("val").unwrap_or(0),
                    "numId" => self.list = Some(value.to_owned()),
                    "t" => self.is_in_text = true,
                    "tab" => self.paragraph.push('\t'),
                    "br" | "cr" => self.paragraph.push('\n'),
                    "noBreakHyphen" => self.paragraph.push('-'),
                    "footnoteReference" | "endnoteReference" => {
                        let kind = element.name.trim_end_matches("Reference");
                        let name = format!("{kind} {}", element.get("id").unwrap_or_default());
                        let mark = self.notes.mark(name);
                        self.paragraph.push_str(&mark);
                    }
                    "tbl" => self.depth += 1,
                    "tr" if self.depth == 1 => self.table.begin_row(),
                    "tc" if self.depth == 1 => self.columns = 1,
                    "gridSpan" if self.depth == 1 => {
                        self.columns = element.number("val").unwrap_or(1);
                    }
                    _ => {}
                }
            }
            Node::Text(text) if self.is_in_text => self.paragraph.push_str(text),
            Node::Text(_) => {}
            Node::Close(name) => self.close(name),
        }
    }

    fn close(&mut self, name: &str) {
        match name {
            "t" => self.is_in_text = false,
            "p" => self.end_paragraph(),
            "tc" if self.depth == 1 => {
                let cell = self.cell.take();
                self.table.add(&cell);
                self.table.add_empty(self.columns.saturating_sub(1));
            }
            "tc" => self.cell.end_cell(),
            "tr" if self.depth > 1 => self.cell.end_row(),
            "tbl" => {
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

    fn end_paragraph(&mut self) {
        let paragraph = std::mem::take(&mut self.paragraph);
        let line = paragraph.trim();
        if self.depth > 0 {
            return self.cell.push(line);
        }
        if line.is_empty() {
            return;
        }
        // A style without a list has the number 0.
        let list = self.list.take().filter(|list| list != "0");
        let list = list.filter(|_| self.heading.is_none());
        if self.was_item && list.is_none() {
            self.text.push('\n');
        }
        self.was_item = list.is_some();
        // Only a paragraph of its own can have several lines.
        let one_line = (self.was_item || self.heading.is_some()).then(|| line.replace('\n', " "));
        let line = one_line.as_deref().unwrap_or(line);
        match (self.heading, list) {
            (Some(level), _) => {
                let marks = "#".repeat(level.clamp(1, 6));
                let _ = write!(self.text, "{marks} {line}\n\n");
            }
            (None, Some(list)) => {
                let mark = self.lists.item(&list, self.level);
                let _ = writeln!(self.text, "{mark}{line}");
            }
            (None, None) => {
                let _ = write!(self.text, "{line}\n\n");
            }
        }
    }
}
