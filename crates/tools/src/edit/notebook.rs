//! Edits of cells. Only the text of the changed cells is replaced, in the format of the file.

use std::ops::Range;

use serde::Serialize as _;
use serde_json::ser::{PrettyFormatter, Serializer};
use serde_json::{Value, json};
use thiserror::Error;

use super::matching::{Applied, Edit, Match, MatchError, apply};
use crate::read::notebook::{Cell, Notebook};

/// The kind of an edit of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum CellEdit {
    #[default]
    Replace,
    /// Adds a new cell after the named one.
    Insert,
    Delete,
}

/// A change of one cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CellChange {
    /// The cell; without it, a new cell comes first.
    pub(crate) id: Option<String>,
    pub(crate) edit: CellEdit,
    pub(crate) source: String,
    /// `code`, `markdown` or `raw`, for a new cell.
    pub(crate) kind: Option<String>,
}

/// Why no cell was changed.
#[derive(Debug, PartialEq, Eq, Error)]
pub(crate) enum CellEditError {
    #[error("no cell has the id `{id}`; the ids are {known}")]
    UnknownCell { id: String, known: String },
    #[error("name the cell with `cell_id`; the ids are {known}")]
    NoCell { known: String },
    #[error("unknown cell type `{kind}`; expected `code`, `markdown` or `raw`")]
    UnknownType { kind: String },
    #[error("old_string fits in the cells {ids}; add more of the text around it, or set `cell_id`")]
    Several { ids: String },
    /// The text is in no cell.
    #[error("old_string is in no cell")]
    NotFound(MatchError),
}

/// Applies edits one after the other, each to the only cell in which it fits; to all with `replace_all`.
pub(crate) fn apply_edits(
    text: &str,
    edits: &[Edit],
    allow_inexact: bool,
) -> Result<Applied, CellEditError> {
    let mut text = text.to_owned();
    let mut matches = Vec::new();
    for edit in edits {
        let (changed, found) = apply_edit(&text, edit, allow_inexact)?;
        text = changed;
        matches.push(found);
    }
    Ok(Applied { text, matches })
}

fn apply_edit(
    text: &str,
    edit: &Edit,
    allow_inexact: bool,
) -> Result<(String, Match), CellEditError> {
    let not_found = || CellEditError::NotFound(MatchError::NotFound { index: 0 });
    let notebook = Notebook::parse(text).ok_or_else(not_found)?;
    let single = std::slice::from_ref(edit);
    // An exact match in one cell is better than an inexact match in another.
    for inexact in [false, true] {
        if inexact && !allow_inexact {
            break;
        }
        let mut fits = Vec::new();
        for cell in &notebook.cells {
            match apply(&cell.source, single, inexact) {
                Ok(applied) => fits.push((cell, applied)),
                Err(MatchError::NotFound { .. }) => {}
                Err(error) => return Err(CellEditError::NotFound(error)),
            }
        }
        if fits.len() > 1 && !edit.replace_all {
            let ids: Vec<&str> = fits.iter().map(|(cell, _)| cell.id.as_str()).collect();
            let ids = ids.join(", ");
            return Err(CellEditError::Several { ids });
        }
        if !fits.is_empty() {
            let mut found = Match::default();
            let mut changes = Vec::new();
            for (cell, applied) in fits {
                for one in applied.matches {
                    found.count += one.count;
                    found.actual = found.actual.or(one.actual);
                    found.notes = one.notes;
                }
                changes.push((cell, applied.text));
            }
            return Ok((notebook.with_sources(&changes), found));
        }
    }
    Err(not_found())
}

/// Applies a change of one cell.
pub(crate) fn apply_cell(
    notebook: &Notebook<'_>,
    change: &CellChange,
) -> Result<Applied, CellEditError> {
    let ids = || {
        let ids: Vec<&str> = notebook.cells.iter().map(|cell| cell.id.as_str()).collect();
        ids.join(", ")
    };
    let place = match &change.id {
        None => None,
        Some(id) => {
            let place = notebook.cells.iter().position(|cell| cell.id == *id);
            let place = place.or_else(|| {
                let index = id.strip_prefix("cell-").unwrap_or(id).parse().ok();
                index.filter(|index| *index < notebook.cells.len())
            });
            let unknown = || CellEditError::UnknownCell {
                id: id.clone(),
                known: ids(),
            };
            Some(place.ok_or_else(unknown)?)
        }
    };
    if let Some(kind) = &change.kind
        && !matches!(kind.as_str(), "code" | "markdown" | "raw")
    {
        return Err(CellEditError::UnknownType { kind: kind.clone() });
    }
    let no_cell = || CellEditError::NoCell { known: ids() };
    let text = match change.edit {
        CellEdit::Replace => {
            let cell = &notebook.cells[place.ok_or_else(no_cell)?];
            notebook.with_sources(&[(cell, change.source.clone())])
        }
        CellEdit::Delete => notebook.without(place.ok_or_else(no_cell)?),
        CellEdit::Insert => notebook.with_cell(place, change),
    };
    Ok(Applied {
        text,
        matches: vec![Match::exact(1)],
    })
}

impl Notebook<'_> {
    /// The file with other sources of some cells.
    fn with_sources(&self, changes: &[(&Cell<'_>, String)]) -> String {
        let mut text = String::with_capacity(self.text.len());
        let mut end = 0;
        for (cell, source) in changes {
            let Range { start, end: after } = cell.source_place;
            text.push_str(&self.text[end..start]);
            text.push_str(&self.written(source, start, &self.text[start..after]));
            end = after;
        }
        text.push_str(&self.text[end..]);
        text
    }

    /// `source` as the value that begins at `start`, in the form of `before`.
    fn written(&self, source: &str, start: usize, before: &str) -> String {
        if before.starts_with('"') {
            return json!(source).to_string();
        }
        let lines = source.split_inclusive('\n');
        let lines: Vec<String> = lines.map(|line| json!(line).to_string()).collect();
        if lines.is_empty() {
            return "[]".to_owned();
        }
        if !self.text.trim_end().contains('\n') {
            return format!("[{}]", lines.join(", "));
        }
        let outer = self.indentation(start);
        let inner = format!("{outer}{}", self.unit());
        let lines = lines.join(&format!(",\n{inner}"));
        format!("[\n{inner}{lines}\n{outer}]")
    }

    /// The white space at the start of the line of `place`.
    fn indentation(&self, place: usize) -> &str {
        let line = self.text[..place].rfind('\n').map_or(0, |at| at + 1);
        let rest = &self.text[line..];
        let end = rest.find(|char| char != ' ' && char != '\t');
        &rest[..end.unwrap_or(0)]
    }

    /// The indentation of one level.
    fn unit(&self) -> &str {
        self.indentation(self.list.start)
    }

    fn without(&self, place: usize) -> String {
        let cell = &self.cells[place].whole;
        let range = match (place, self.cells.get(place + 1)) {
            (_, Some(next)) => cell.start..next.whole.start,
            (0, None) => self.list.start + 1..self.list.end - 1,
            (place, None) => self.cells[place - 1].whole.end..cell.end,
        };
        [&self.text[..range.start], &self.text[range.end..]].concat()
    }

    /// The file with a new cell after the cell `place`, or at the start.
    fn with_cell(&self, place: Option<usize>, change: &CellChange) -> String {
        let kind = change.kind.as_deref().unwrap_or("code");
        let lines: Vec<&str> = change.source.split_inclusive('\n').collect();
        let mut cell = json!({"cell_type": kind});
        if kind == "code" {
            cell["execution_count"] = Value::Null;
        }
        if self.has_ids {
            let id = uuid::Uuid::new_v4().simple().to_string();
            cell["id"] = json!(id[..8]);
        }
        cell["metadata"] = json!({});
        if kind == "code" {
            cell["outputs"] = json!([]);
        }
        cell["source"] = json!(lines);
        let is_one_line = !self.text.trim_end().contains('\n');
        let (break_before, cell) = if is_one_line {
            (" ".to_owned(), one_line(&cell))
        } else {
            let indent = self.unit().repeat(2);
            let cell = pretty(&cell, self.unit(), &indent);
            (format!("\n{indent}"), cell)
        };
        let (start, end) = match (place, self.cells.first()) {
            (Some(place), _) => {
                let end = self.cells[place].whole.end;
                (end, format!(",{break_before}{cell}"))
            }
            (None, Some(first)) => (first.whole.start, format!("{cell},{break_before}")),
            (None, None) if is_one_line => (self.list.start + 1, cell),
            (None, None) => {
                let cells = format!("[{break_before}{cell}\n{}]", self.unit());
                let list = &self.list;
                return [&self.text[..list.start], &cells, &self.text[list.end..]].concat();
            }
        };
        [&self.text[..start], &end, &self.text[start..]].concat()
    }
}

/// JSON on one line, with the blanks of Python.
fn one_line(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let field =
                |(key, value): (&String, &Value)| format!("{}: {}", json!(key), one_line(value));
            let fields: Vec<String> = fields.iter().map(field).collect();
            format!("{{{}}}", fields.join(", "))
        }
        Value::Array(values) => {
            let values: Vec<String> = values.iter().map(one_line).collect();
            format!("[{}]", values.join(", "))
        }
        value => value.to_string(),
    }
}

/// JSON with the indentation `unit` for each level, for a value that begins after `indent`.
fn pretty(value: &Value, unit: &str, indent: &str) -> String {
    let mut bytes = Vec::new();
    let formatter = PrettyFormatter::with_indent(unit.as_bytes());
    // Writing to memory cannot fail.
    let _ = value.serialize(&mut Serializer::with_formatter(&mut bytes, formatter));
    String::from_utf8_lossy(&bytes).replace('\n', &format!("\n{indent}"))
}
