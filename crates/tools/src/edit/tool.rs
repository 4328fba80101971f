//! `edit`: replaces text in a file. `matching` finds the text; this module protects the file against
//! concurrent changes and reports the result.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use serde::Serialize;
use serde_json::{Value, json};

use super::arguments::{Arguments, Change};
use super::file::{EditError, Original, load, other_names, snippet, store};
use super::matching::{Applied, Edit, Match, apply};
use super::notebook::{self, CellChange, CellEditError};
use super::refusal::{Terms, explain_match};
use super::stale::{Planned, merge};
use crate::built_in::{
    BuiltIn, Collapsed, GeminiForm, Part, PeerTool, ToolEffect, ToolView, Verbs, peer,
};
use crate::call::spellings;
use crate::call::to_value;
use crate::files::diff::{FileDiff, unified};
use crate::files::ledger::Freshness;
use crate::files::target::FileArgument;
use crate::read::notebook::{Notebook, is_notebook as is_notebook_name};
use crate::workspace::Workspace;
use osier_agent::{
    FileTarget, FileUse, OtherName, PreparedCall, Preparing, Preview, Refusal, Spellings,
    ToolContext, ToolOutput, prepare_typed,
};
use osier_base::atomic_file::Replaced;
use osier_base::text::counted;
use osier_llm::ToolSpec;

const FILE: FileArgument = FileArgument::new("file_path", FileUse::Edit);

/// The name of the tool.
pub const EDIT: &str = "edit";

pub(crate) const ROW: BuiltIn = BuiltIn {
    file: Some(FILE),
    spellings: &SPELLINGS,
    peers: &[
        PeerTool::claude(
            "Edit",
            &[
                peer::FILE,
                ("old_string", "old_string"),
                ("new_string", "new_string"),
                ("replace_all", "replace_all"),
                peer::EDITS,
            ],
        ),
        PeerTool::claude("MultiEdit", &[peer::FILE, peer::EDITS]),
        PeerTool::claude(
            "NotebookEdit",
            &[
                ("notebook_path", "file_path"),
                ("cell_id", "cell_id"),
                ("cell_type", "cell_type"),
                ("edit_mode", "edit_mode"),
                ("new_source", "new_source"),
            ],
        )
        .of_files("ipynb"),
        PeerTool::pi(
            "edit",
            &[
                ("path", "file_path"),
                peer::FILE,
                ("oldText", "old_string"),
                ("newText", "new_string"),
                peer::EDITS,
            ],
        ),
        // A patch is imported as edits of its files.
        PeerTool::codex("apply_patch", &[("input", "input")]),
        PeerTool::opencode(
            "edit",
            &[
                ("filePath", "file_path"),
                ("oldString", "old_string"),
                ("newString", "new_string"),
                ("replaceAll", "replace_all"),
            ],
        ),
        PeerTool::opencode("multiedit", &[("filePath", "file_path"), peer::EDITS]),
        PeerTool::opencode("apply_patch", &[("patchText", "input")]),
        PeerTool::opencode("patch", &[("patchText", "input")]),
    ],
    gemini: Some(GeminiForm {
        name: "replace",
        arguments: &[("replace_all", "allow_multiple")],
    }),
    view: ToolView {
        question: "Make this change?",
        collapsed: Collapsed::Nothing,
        ..ToolView::new(
            Verbs::new("Editing", "Edited", "edit"),
            &[Part::path(FILE.name)],
        )
    },
    does: "replaces text that occurs once, all occurrences, or several passages in one call",
    ..BuiltIn::new(EDIT, ToolEffect::Changes, || &SPEC, prepare)
};

const OLD: &[&str] = &[
    "old_str",
    "old_text",
    "old",
    "search",
    "search_string",
    "search_text",
    "find",
    "original",
    "original_text",
    "old_content",
];

const NEW: &[&str] = &[
    "new_str",
    "new_text",
    "new",
    "replace",
    "replacement",
    "replace_string",
    "replacement_text",
    "replace_with",
    "updated",
    "updated_text",
    "new_content",
    "insert_text",
    "new_source",
];

const ALL: &[&str] = &["all", "allow_multiple", "replace_all_occurrences", "global"];

static SPELLINGS: Spellings = Spellings {
    names: &[
        OtherName::of("multi_edit"),
        OtherName::of("notebook_edit"),
        OtherName::of("edit_notebook"),
        OtherName::of("edit_notebook_cell"),
        OtherName::of("edit_file"),
        OtherName::of("file_edit"),
        OtherName::of("str_replace"),
        OtherName::of("string_replace"),
        OtherName::of("replace"),
        OtherName::of("replace_in_file"),
        OtherName::of("replace_string_in_file"),
        OtherName::of("multi_replace_string_in_file"),
        OtherName::of("search_replace"),
        OtherName::of("search_and_replace"),
        OtherName::with_command("str_replace_based_edit_tool", "str_replace"),
        OtherName::with_command("str_replace_editor", "str_replace"),
        OtherName::with_command("text_editor", "str_replace"),
        OtherName::with_command("str_replace_based_edit_tool", "insert"),
        OtherName::with_command("str_replace_editor", "insert"),
        OtherName::with_command("text_editor", "insert"),
    ],
    arguments: &[
        ("file_path", spellings::FILE),
        ("old_string", OLD),
        ("new_string", NEW),
        ("replace_all", ALL),
        ("edits", &["replacements", "changes", "edit"]),
        ("edits.old_string", OLD),
        ("edits.new_string", NEW),
        ("edits.replace_all", ALL),
        ("insert_line", &[]),
        ("cell_id", &["cell", "cell_number"]),
        ("edit_mode", &[]),
        ("cell_type", &[]),
        ("expected_replacements", &["expected_occurrences"]),
    ],
    without_effect: &[
        "description",
        "explanation",
        "instruction",
        "reason",
        "thought",
        // Checked by the tool.
        "expected_replacements",
        "insert_line",
        "cell_id",
        "edit_mode",
        "cell_type",
    ],
    ..Spellings::NONE
};

/// Shared by all sessions.
static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    ToolSpec {
        freeform: None,
        name: EDIT.to_owned(),
        description: "Replace text in a file. old_string must occur once unless replace_all. For several places give edits; all refer to the original file.".to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "file_path": {"type": "string"},
                "old_string": {"type": "string"},
                "new_string": {"type": "string"},
                "replace_all": {"type": "boolean"},
                "edits": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "old_string": {"type": "string"},
                            "new_string": {"type": "string"},
                            "replace_all": {"type": "boolean"},
                        },
                    },
                },
            },
            "required": ["file_path"],
        }),
    }
});

fn prepare(workspace: Arc<Workspace>, arguments: Value) -> Preparing {
    prepare_typed(arguments, async move |arguments: Arguments| {
        let change = Arc::new(Change::of(&arguments).map_err(Refusal::invalid)?);
        let target = workspace.target(FILE, Some(&arguments.file_path)).await?;
        let shown = (Arc::clone(&workspace), target.clone(), Arc::clone(&change));
        let file = target.clone();
        let run = move |cx: ToolContext| {
            if cx.cancel.is_cancelled() {
                return Err(Refusal::Interrupted("interrupted; nothing was changed"));
            }
            edit(&workspace, file, &change).map_err(Refusal::from)
        };
        let show = move || {
            let (workspace, target, change) = &shown;
            preview(workspace, target.clone(), change).map_err(Refusal::from)
        };
        Ok(PreparedCall::blocking("editing", run)
            .alone_on(target)
            .shown_by(show))
    })
}

fn edit(
    workspace: &Workspace,
    target: FileTarget,
    change: &Change,
) -> Result<ToolOutput, EditError> {
    let original = load(workspace, target)?;
    let planned = plan(workspace, &original, change)?;
    let applied = &planned.applied;
    let in_place = store(workspace, &original, &applied.text)?;
    let diff = unified(&original.name, Some(&original.text), &applied.text);
    let mut text = report(&original.name, applied, &diff);
    text.push_str(&planned.record(workspace, &original));
    text.push_str(&original.encoding.note());
    text.push_str(in_place.note());
    if in_place == Replaced::Atomically {
        text.push_str(&other_names(original.links));
    }
    let details = details(&original.target.named, change, applied, diff);
    Ok(ToolOutput::success(text, to_value(&details)))
}

fn plan(workspace: &Workspace, original: &Original, change: &Change) -> Result<Planned, EditError> {
    let path = || original.name.clone();
    let (edits, expected) = match change {
        Change::Insertion { after, text } => {
            if original.freshness != Freshness::Fresh {
                return Err(EditError::UnknownLines { path: path() });
            }
            let applied = insert(&original.text, *after, text);
            let no_line = |total| EditError::NoLine {
                path: path(),
                line: *after,
                total,
            };
            return applied.map_err(no_line).map(Planned::new);
        }
        Change::Cell(change) => return change_cell(original, change).map(Planned::new),
        Change::Edits { edits, expected } => (edits, *expected),
    };
    let merged = |known: &str| {
        merge(known, &original.text, edits).map_err(|lines| EditError::Conflict {
            path: path(),
            lines,
        })
    };
    let applied = |is_known: bool| {
        let in_text = || {
            apply(&original.text, edits, is_known).map_err(|error| {
                let (name, text) = (&original.name, &original.text);
                EditError::Match(explain_match(&error, edits, name, text, Terms::EDIT))
            })
        };
        if is_notebook(original) {
            edit_cells(original, edits, is_known, in_text)
        } else {
            in_text()
        }
    };
    let planned = Planned::of(workspace, original, merged, applied)?;
    let found = planned.applied.places();
    match expected {
        Some(expected) if expected != found as u64 => Err(EditError::Count {
            path: path(),
            found,
            expected,
        }),
        _ => Ok(planned),
    }
}

/// Whether the model saw the cells of the file, not its JSON.
fn is_notebook(original: &Original) -> bool {
    is_notebook_name(&original.target.named) && Notebook::parse(&original.text).is_some()
}

/// The notebook with edits of its cells, or of its JSON if the text is in no cell.
fn edit_cells(
    original: &Original,
    edits: &[Edit],
    is_known: bool,
    in_text: impl Fn() -> Result<Applied, EditError>,
) -> Result<Applied, EditError> {
    let refuse = |text: String| EditError::Match(format!("{text}; nothing was changed"));
    match notebook::apply_edits(&original.text, edits, is_known) {
        Ok(applied) => Ok(applied),
        Err(CellEditError::NotFound(error)) => {
            let Ok(applied) = in_text() else {
                let sources = Notebook::parse(&original.text).map(|notebook| notebook.sources());
                let text = sources.as_ref().unwrap_or(&original.text);
                let message = explain_match(&error, edits, &original.name, text, Terms::EDIT);
                return Err(EditError::Match(message));
            };
            if Notebook::parse(&applied.text).is_none() {
                let path = &original.name;
                return Err(refuse(format!(
                    "`{path}` would be no valid notebook any more"
                )));
            }
            Ok(applied)
        }
        Err(error) => Err(refuse(error.to_string())),
    }
}

/// The notebook with one changed, new or deleted cell.
fn change_cell(original: &Original, change: &CellChange) -> Result<Applied, EditError> {
    let path = || original.name.clone();
    if original.freshness != Freshness::Fresh {
        return Err(EditError::UnknownCells { path: path() });
    }
    let notebook = Notebook::parse(&original.text);
    let notebook = notebook.ok_or_else(|| EditError::NoNotebook { path: path() })?;
    notebook::apply_cell(&notebook, change)
        .map_err(|error| EditError::Match(format!("{error}; nothing was changed")))
}

/// `original` with `text` after the line `after`, or the number of its lines if it has fewer.
fn insert(original: &str, after: u64, text: &str) -> Result<Applied, u64> {
    let lines: Vec<&str> = original.split_inclusive('\n').collect();
    let count = usize::try_from(after).unwrap_or(usize::MAX);
    if count > lines.len() {
        return Err(lines.len() as u64);
    }
    let is_crlf = original.contains("\r\n");
    let mut text = text.replace("\r\n", "\n");
    if !text.ends_with('\n') {
        text.push('\n');
    }
    let before = lines[..count].concat();
    if !before.is_empty() && !before.ends_with('\n') {
        text.pop();
        text.insert(0, '\n');
    }
    if is_crlf {
        text = text.replace('\n', "\r\n");
    }
    Ok(Applied {
        text: [&before, &text, lines[count..].concat().as_str()].concat(),
        matches: vec![Match::exact(1)],
    })
}

/// The change that a call would make, as a diff.
fn preview(
    workspace: &Workspace,
    target: FileTarget,
    change: &Change,
) -> Result<Preview, EditError> {
    let original = load(workspace, target)?;
    let planned = plan(workspace, &original, change)?;
    original.contents(&planned.applied.text)?;
    let diff = unified(&original.name, Some(&original.text), &planned.applied.text).text;
    let path = original.name;
    Ok(Preview::Diff { path, diff })
}

/// The result for the model: one line. An edit that did not match exactly is followed by what it changed, so that the
/// model can check it.
fn report(name: &str, applied: &Applied, diff: &FileDiff) -> String {
    let places = counted(applied.places(), "place", "places");
    let is_one = applied.matches.len() == 1;
    let notes = applied.notes(|index| {
        if is_one {
            String::new()
        } else {
            format!("edit {}: ", index + 1)
        }
    });
    let (added, removed) = (diff.added, diff.removed);
    let mut text = format!("Changed {places} in `{name}` (+{added} -{removed} lines){notes}\n");
    if applied.is_inexact() {
        text.push_str(&snippet(diff.hunks()));
    }
    text
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct EditDetails {
    /// Absolute path.
    file_path: String,
    /// The text of the first edit; `edits` contains all when there are several.
    old_string: String,
    new_string: String,
    /// Number of replacements, over all edits.
    match_count: u64,
    /// Lines added or removed; a replaced line counts once.
    lines_changed: u64,
    /// Unified diff; long ones are cut, see `diff::unified`.
    diff: String,
    lines_added: u64,
    lines_removed: u64,
    /// Line number in the new file, from 1.
    first_changed_line: Option<u64>,
    /// Some text matched only after normalisation.
    fuzzy: bool,
    /// All edits, when there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    edits: Vec<SingleEdit>,
}

#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct SingleEdit {
    old_string: String,
    new_string: String,
    match_count: u64,
}

fn details(path: &Path, change: &Change, applied: &Applied, diff: FileDiff) -> EditDetails {
    let inserted = match change {
        Change::Insertion { text, .. } => Some(Edit {
            new: text.clone(),
            ..Edit::default()
        }),
        Change::Cell(change) => Some(Edit {
            new: change.source.clone(),
            ..Edit::default()
        }),
        Change::Edits { .. } => None,
    };
    let singles = change
        .edits()
        .iter()
        .chain(&inserted)
        .zip(&applied.matches)
        .map(|(edit, found)| SingleEdit {
            old_string: edit.old.clone(),
            new_string: edit.new.clone(),
            match_count: found.count as u64,
        });
    let mut singles: Vec<SingleEdit> = singles.collect();
    let first = singles.first().cloned().unwrap_or_default();
    let match_count = singles.iter().map(|edit| edit.match_count).sum();
    if singles.len() == 1 {
        singles.clear();
    }
    EditDetails {
        file_path: path.display().to_string(),
        old_string: first.old_string,
        new_string: first.new_string,
        match_count,
        lines_changed: diff.changed,
        diff: diff.text,
        lines_added: diff.added,
        lines_removed: diff.removed,
        first_changed_line: diff.first_changed_line,
        fuzzy: applied.is_inexact(),
        edits: singles,
    }
}

#[cfg(test)]
mod tests;
