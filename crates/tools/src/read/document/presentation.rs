//! PowerPoint: the slides in their order, with tables and notes.

use std::fmt::Write as _;

use super::container::{Container, DocumentError, TEXT};
use super::table::{Cell, Table};
use super::xml::{Node, relations, walk};

/// Slides at most.
const SLIDES: usize = 1_000;

pub(super) fn text(container: &mut Container<'_>) -> Result<String, DocumentError> {
    const MAIN: &str = "ppt/presentation.xml";
    let main = container.needed(MAIN)?;
    let mut ids = Vec::new();
    walk(&main, |node| {
        if let Node::Open(element) = node
            && element.name == "sldId"
        {
            // Two attributes have the local name `id`; that of the relation comes last and begins with a letter.
            ids.extend(
                element
                    .all("id")
                    .filter(|id| !starts_with_digit(id))
                    .map(str::to_owned),
            );
        }
    })?;
    let targets = relations(container, MAIN)?;
    let mut text = String::new();
    for (number, id) in (1..).zip(ids.iter().take(SLIDES)) {
        if text.len() > TEXT {
            break;
        }
        let Some(part) = targets.get(id) else {
            continue;
        };
        let Some(bytes) = container.part(part)? else {
            continue;
        };
        let slide = read(&bytes)?;
        let title = slide.title.trim();
        let colon = if title.is_empty() { "" } else { ": " };
        let hidden = if slide.is_hidden { " (hidden)" } else { "" };
        let _ = write!(
            text,
            "## Slide {number}{hidden}{colon}{title}\n\n{}",
            slide.body
        );
        let notes = relations(container, part)?;
        let notes = notes.values().find(|part| part.contains("notesSlides/"));
        if let Some(bytes) = notes
            .map(|part| container.part(part))
            .transpose()?
            .flatten()
        {
            let notes = read(&bytes)?.body;
            if !notes.trim().is_empty() {
                let _ = write!(text, "\nNotes:\n\n{notes}");
            }
        }
        text.push('\n');
    }
    Ok(text)
}

fn starts_with_digit(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_digit())
}

#[derive(Debug, Default)]
struct Slide {
    is_hidden: bool,
    title: String,
    body: String,
}

/// The text of a slide or of its notes.
fn read(bytes: &[u8]) -> Result<Slide, DocumentError> {
    let mut slide = Slide::default();
    let (mut paragraph, mut cell) = (String::new(), Cell::default());
    let (mut is_title, mut is_left_out, mut is_in_text) = (false, false, false);
    let (mut level, mut in_table) = (0, false);
    let mut table = Table::default();
    walk(bytes, |node| match node {
        Node::Open(element) => match element.name.as_str() {
            "sld" => slide.is_hidden = element.get("show") == Some("0"),
            "sp" => (is_title, is_left_out) = (false, false),
            "ph" => {
                let kind = element.get("type").unwrap_or_default();
                is_title = matches!(kind, "title" | "ctrTitle");
                is_left_out = matches!(kind, "sldNum" | "dt" | "ftr" | "hdr" | "sldImg");
            }
            "p" => {
                paragraph.clear();
                level = 0;
            }
            "pPr" => level = element.number("lvl").unwrap_or(0),
            "t" => is_in_text = true,
            "br" => paragraph.push(' '),
            "tbl" => in_table = true,
            "tr" => table.begin_row(),
            _ => {}
        },
        Node::Text(text) if is_in_text && !is_left_out => paragraph.push_str(text),
        Node::Close("t") => is_in_text = false,
        Node::Close("p") => {
            let line = paragraph.trim();
            if in_table {
                cell.push(line);
            } else if is_title {
                slide.title.push_str(line);
                slide.title.push(' ');
            } else if !line.is_empty() {
                let indent = "  ".repeat(level.min(9));
                let _ = writeln!(slide.body, "{indent}- {line}");
            }
            paragraph.clear();
        }
        Node::Close("tc") => table.add(&cell.take()),
        Node::Close("tbl") => {
            in_table = false;
            let table = std::mem::take(&mut table).markdown();
            let _ = write!(slide.body, "\n{table}\n");
        }
        Node::Text(_) | Node::Close(_) => {}
    })?;
    Ok(slide)
}
