//! Changes of files at known places, such as the edits of a language server. They are written like the changes of a
//! patch.

use super::change::{Change, Changes, Kind, Update};
use crate::edit::file::{self, changed_on_disk};
use crate::edit::matching::{Applied, Match};
use crate::edit::stale::Planned;
use crate::files::diff::unified;
use crate::files::ledger::Freshness;
use crate::workspace::Workspace;
use osier_agent::FileTarget;
use osier_lsp::Lines;

/// The changes of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PlacedFile {
    pub(crate) file_path: String,
    /// In the order of their places.
    pub(crate) edits: Vec<PlacedEdit>,
}

/// A replaced text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PlacedEdit {
    /// From 1.
    pub(crate) line: usize,
    /// In characters, from 1.
    pub(crate) column: usize,
    /// The old text at this position.
    pub(crate) old: String,
    pub(crate) new: String,
}

/// Checks all files. `targets` has the target of each file, in the same order.
pub(crate) fn placed(
    workspace: &Workspace,
    files: &[PlacedFile],
    targets: Vec<FileTarget>,
) -> Result<Changes, String> {
    let changes = files.iter().zip(targets).map(|(file, target)| {
        let original = file::load(workspace, target).map_err(|error| error.to_string())?;
        let name = original.name.clone();
        if original.freshness == Freshness::OtherFile {
            return Err(changed_on_disk(&name));
        }
        let text = apply(&original.text, &file.edits).ok_or_else(|| {
            format!("`{name}` has changed meanwhile; nothing was changed. Call the tool again")
        })?;
        let diff = unified(&name, Some(&original.text), &text);
        let applied = Applied {
            text,
            matches: vec![Match::exact(file.edits.len())],
        };
        let update = Update {
            original,
            planned: Planned::new(applied),
            moved_to: None,
        };
        let kind = Kind::Update(Box::new(update));
        Ok(Change { name, diff, kind })
    });
    let files = changes.collect::<Result<Vec<_>, String>>()?;
    Ok(Changes {
        files,
        notes: Vec::new(),
    })
}

/// The text after the edits; `None` if something else is at their places.
fn apply(text: &str, edits: &[PlacedEdit]) -> Option<String> {
    let lines = Lines::new(text);
    let (mut changed, mut end) = (String::with_capacity(text.len()), 0);
    for edit in edits {
        let start = lines.start(edit.line, edit.column)?;
        let is_there = start >= end && text.get(start..)?.starts_with(&edit.old);
        changed.push_str(text.get(end..start).filter(|_| is_there)?);
        changed.push_str(&edit.new);
        end = start + edit.old.len();
    }
    changed.push_str(text.get(end..)?);
    Some(changed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_apply_only_where_their_text_is() {
        let edit = |line, column, old: &str, new: &str| PlacedEdit {
            line,
            column,
            old: old.to_owned(),
            new: new.to_owned(),
        };
        let text = "é é\r\nx\n";
        let edits = [
            edit(1, 1, "é", "a"),
            edit(1, 3, "é", "bb"),
            edit(2, 2, "", "!"),
        ];
        assert_eq!(apply(text, &edits).as_deref(), Some("a bb\r\nx!\n"));
        for edits in [
            vec![edit(1, 1, "x", "")],
            vec![edit(9, 1, "", "")],
            vec![edit(1, 3, "é", ""), edit(1, 1, "é", "")],
        ] {
            assert_eq!(apply(text, &edits), None);
        }
    }
}
