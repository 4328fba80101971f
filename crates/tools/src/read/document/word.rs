//! Word: headings, lists, tables and paragraphs of the body. Deleted text of tracked changes is left out.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::container::{Container, DocumentError};
use super::table::Table;
use super::xml::{Node, walk};

pub(super) fn text(container: &mut Container<'_>) -> Result<String, DocumentError> {
    let levels = match container.part("word/styles.xml")? {
        Some(styles) => heading_levels(&styles)?,
        None => BTreeMap::new(),
    };
    let body = container.needed("word/document.xml")?;
    let mut writer = Writer {
        levels,
        ..Writer::default()
    };
    walk(&body, |node| writer.on_node(&node))?;
    Ok(writer.text)
}

/// The levels of heading styles by their id, which depends on the language of Word.
fn heading_levels(styles: &[u8]) -> Result<BTreeMap<String, usize>, DocumentError> {
    let mut levels = BTreeMap::new();
    let mut style = String::new();
    walk(styles, |node| {
        let Node::Open(element) = node else { return };
        match element.name.as_str() {
            "style" => element
                .get("styleId")
                .unwrap_or_default()
                .clone_into(&mut style),
            "name" => {
                let name = element.get("val").unwrap_or_default().to_lowercase();
                let level = match name.as_str() {
                    "title" => Some(1),
                    name => name
                        .strip_prefix("heading ")
                        .and_then(|level| level.parse().ok()),
                };
                levels.extend(level.map(|level| (style.clone(), level)));
            }
            _ => {}
        }
    })?;
    Ok(levels)
}

#[derive(Debug, Default)]
struct Writer {
    levels: BTreeMap<String, usize>,
    text: String,
    paragraph: String,
    /// The level of the heading, and the depth of the list item, that the paragraph is.
    heading: Option<usize>,
    item: Option<usize>,
    is_in_text: bool,
    /// The tables around; only the outermost is a table, the others are text in its cells.
    depth: usize,
    table: Table,
    cell: String,
    was_item: bool,
}

impl Writer {
    fn on_node(&mut self, node: &Node<'_>) {
        match node {
            Node::Open(element) => match element.name.as_str() {
                "p" => {
                    self.paragraph.clear();
                    (self.heading, self.item) = (None, None);
                }
                "pStyle" => {
                    let style = element.get("val").unwrap_or_default();
                    self.heading = self.levels.get(style).copied();
                }
                "outlineLvl" => {
                    let level = element.number("val").map(|level| level + 1);
                    self.heading = self.heading.or(level.filter(|level| *level <= 9));
                }
                "numPr" => self.item = Some(0),
                "ilvl" => self.item = self.item.and(element.number("val")),
                "t" => self.is_in_text = true,
                "tab" => self.paragraph.push('\t'),
                "br" | "cr" => self.paragraph.push('\n'),
                "tbl" => self.depth += 1,
                "tr" if self.depth == 1 => self.table.begin_row(),
                _ => {}
            },
            Node::Text(text) if self.is_in_text => self.paragraph.push_str(text),
            Node::Text(_) => {}
            Node::Close(name) => match *name {
                "t" => self.is_in_text = false,
                "p" => self.end_paragraph(),
                "tc" if self.depth == 1 => {
                    let cell = std::mem::take(&mut self.cell);
                    self.table.add(&cell);
                }
                "tbl" => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        let table = std::mem::take(&mut self.table).markdown();
                        self.text.push_str(&table);
                        self.text.push('\n');
                    }
                }
                _ => {}
            },
        }
    }

    fn end_paragraph(&mut self) {
        let paragraph = std::mem::take(&mut self.paragraph);
        let line = paragraph.trim();
        if self.depth > 0 {
            self.cell.push_str(line);
            self.cell.push(' ');
            return;
        }
        if line.is_empty() {
            return;
        }
        let is_item = self.item.is_some() && self.heading.is_none();
        if self.was_item && !is_item {
            self.text.push('\n');
        }
        self.was_item = is_item;
        match (self.heading, self.item) {
            (Some(level), _) => {
                let marks = "#".repeat(level.clamp(1, 6));
                let _ = write!(self.text, "{marks} {line}\n\n");
            }
            (None, Some(depth)) => {
                let indent = "  ".repeat(depth.min(9));
                let _ = writeln!(self.text, "{indent}- {line}");
            }
            (None, None) => {
                let _ = write!(self.text, "{line}\n\n");
            }
        }
    }
}
