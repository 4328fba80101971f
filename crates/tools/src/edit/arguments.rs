//! The arguments of `edit`, and the change that they request.

use serde::Deserialize;
use serde_json::Value;

use super::matching::Edit;
use super::notebook::{CellChange, CellEdit};
use crate::call::arguments;

#[derive(Debug, Deserialize)]
pub(crate) struct Arguments {
    pub(crate) file_path: String,
    old_string: Option<String>,
    new_string: Option<String>,
    replace_all: Option<bool>,
    edits: Option<Vec<EditArguments>>,
    /// The line after which `new_string` is inserted, from other programs.
    #[serde(default, deserialize_with = "arguments::count")]
    insert_line: Option<u64>,
    /// How often the text must occur, from other programs.
    #[serde(default, deserialize_with = "arguments::count")]
    expected_replacements: Option<u64>,
    /// The cell of a notebook, the kind of its edit, and the type of a new cell.
    cell_id: Option<Value>,
    edit_mode: Option<String>,
    cell_type: Option<String>,
}

#[derive(Debug, Deserialize)]
struct EditArguments {
    old_string: String,
    new_string: String,
    replace_all: Option<bool>,
}

/// The change that a call requests.
pub(crate) enum Change {
    Edits {
        edits: Vec<Edit>,
        /// The number of replacements.
        expected: Option<u64>,
    },
    Insertion {
        after: u64,
        text: String,
    },
    Cell(CellChange),
}

impl Change {
    pub(crate) fn of(arguments: &Arguments) -> Result<Self, &'static str> {
        if let Some(change) = cell(arguments)? {
            return Ok(Self::Cell(change));
        }
        let is_empty = |text: &Option<String>| text.as_deref().is_none_or(str::is_empty);
        if let Some(after) = arguments.insert_line
            && let Some(text) = &arguments.new_string
            && is_empty(&arguments.old_string)
            && arguments.edits.is_none()
        {
            let text = text.clone();
            return Ok(Self::Insertion { after, text });
        }
        let expected = arguments.expected_replacements;
        let mut edits = edits(arguments)?;
        for edit in &mut edits {
            edit.replace_all |= expected.is_some_and(|count| count > 1);
        }
        Ok(Self::Edits { edits, expected })
    }

    pub(crate) fn edits(&self) -> &[Edit] {
        match self {
            Self::Edits { edits, .. } => edits,
            Self::Insertion { .. } | Self::Cell(_) => &[],
        }
    }
}

/// The change of a cell, if the call names one and has no text to replace in it.
fn cell(arguments: &Arguments) -> Result<Option<CellChange>, &'static str> {
    let edit = match arguments.edit_mode.as_deref() {
        None | Some("" | "replace") => CellEdit::Replace,
        Some("insert") => CellEdit::Insert,
        Some("delete") => CellEdit::Delete,
        Some(_) => return Err("unknown edit_mode; expected `replace`, `insert` or `delete`"),
    };
    let id = match &arguments.cell_id {
        Some(Value::String(id)) if !id.is_empty() => Some(id.clone()),
        Some(Value::Number(number)) => Some(number.to_string()),
        _ => None,
    };
    let has_old = arguments
        .old_string
        .as_deref()
        .is_some_and(|old| !old.is_empty());
    let is_cell = edit != CellEdit::Replace || (id.is_some() && !has_old);
    if !is_cell || arguments.edits.is_some() {
        return Ok(None);
    }
    let source = arguments.new_string.clone();
    if source.is_none() && edit != CellEdit::Delete {
        return Err("set new_string to the source of the cell");
    }
    Ok(Some(CellChange {
        id,
        edit,
        source: source.unwrap_or_default(),
        kind: arguments.cell_type.clone(),
    }))
}

/// The edits of a call: its own strings, then `edits`.
fn edits(arguments: &Arguments) -> Result<Vec<Edit>, &'static str> {
    let single = match (&arguments.old_string, &arguments.new_string) {
        (Some(old), Some(new)) => Some(Edit {
            old: old.clone(),
            new: new.clone(),
            replace_all: arguments.replace_all.unwrap_or(false),
        }),
        (None, None) => None,
        _ => return Err("old_string and new_string must be set together"),
    };
    let several = arguments.edits.iter().flatten().map(|edit| Edit {
        old: edit.old_string.clone(),
        new: edit.new_string.clone(),
        replace_all: edit.replace_all.or(arguments.replace_all).unwrap_or(false),
    });
    // Some models set both forms and leave one of them empty.
    let unused = |edit: &Edit| edit.old.is_empty() && edit.new.is_empty();
    let mut edits: Vec<Edit> = several.collect();
    if let Some(single) = single
        && (edits.is_empty() || !unused(&single))
    {
        edits.insert(0, single);
    }
    if edits.is_empty() {
        return Err("set old_string and new_string, or edits");
    }
    Ok(edits)
}
