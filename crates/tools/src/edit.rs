//! `edit`: replaces text in a file. `edit_match` does the matching; this module protects the file against
//! concurrent changes and reports the result.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};

use super::arguments::{self, Refusal};
use super::details::{EditDetails, SingleEdit, to_value};
use super::diff::{FileDiff, unified};
use super::edit_file::{EditError, Original, load, other_changes, record, snippet, store};
use super::edit_match::{Applied, Edit, Match, apply};
use super::edit_refusal::{Terms, explain_match};
use super::edit_stale::merge;
use super::file_access::FileTarget;
use super::file_states::Freshness;
use super::spellings;
use super::workspace::Workspace;
use super::write::other_names;
use osier_agent::{Concurrency, Spellings, Tool, ToolContext, ToolOutput, ToolStatus};
use osier_base::atomic_file::Replaced;
use osier_base::text::counted;
use osier_llm::ToolSpec;

/// Shared by all sessions.
static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    ToolSpec {
        freeform: None,
        name: "edit".to_owned(),
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
                        "required": ["old_string", "new_string"],
                    },
                },
            },
            "required": ["file_path"],
        }),
    }
});

#[derive(Debug)]
pub(super) struct EditTool {
    workspace: Arc<Workspace>,
}

#[derive(Debug, Deserialize)]
struct Arguments {
    file_path: String,
    #[serde(default)]
    old_string: Option<String>,
    #[serde(default)]
    new_string: Option<String>,
    #[serde(default)]
    replace_all: Option<bool>,
    #[serde(default)]
    edits: Option<Vec<EditArguments>>,
    /// The line after which `new_string` is inserted, from other programs.
    #[serde(default, deserialize_with = "arguments::count")]
    insert_line: Option<u64>,
    /// How often the text must occur, from other programs.
    #[serde(default, deserialize_with = "arguments::count")]
    expected_replacements: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct EditArguments {
    old_string: String,
    new_string: String,
    #[serde(default)]
    replace_all: Option<bool>,
}

impl EditTool {
    pub(super) fn new(workspace: Arc<Workspace>) -> Self {
        Self { workspace }
    }
}

impl Tool for EditTool {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn spellings(&self) -> &'static Spellings {
        &spellings::EDIT
    }

    fn concurrency(&self, arguments: &Value) -> Concurrency {
        self.workspace
            .file_concurrency("edit", arguments)
            .unwrap_or(Concurrency::Exclusive)
    }

    fn run(&self, arguments: Value, cx: ToolContext) -> BoxFuture<'_, ToolOutput> {
        let workspace = Arc::clone(&self.workspace);
        let work = move |arguments: Arguments| {
            let change = Change::of(&arguments).map_err(Refusal::invalid)?;
            if cx.cancel.is_cancelled() {
                let text = "interrupted; nothing was changed";
                return Ok(ToolOutput::failed(ToolStatus::Aborted, text));
            }
            let given = Some(arguments.file_path.as_str());
            let target = workspace.approved_target(&cx.call_id, "edit", given)?;
            edit(&workspace, target, &change).map_err(|error| Refusal::Failed(error.to_string()))
        };
        Box::pin(arguments::carry_out(arguments, "editing", work))
    }
}

/// What a call asks for.
enum Change {
    Edits {
        edits: Vec<Edit>,
        /// The number of replacements.
        expected: Option<u64>,
    },
    Insertion {
        after: u64,
        text: String,
    },
}

impl Change {
    fn of(arguments: &Arguments) -> Result<Self, &'static str> {
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

    fn edits(&self) -> &[Edit] {
        match self {
            Self::Edits { edits, .. } => edits,
            Self::Insertion { .. } => &[],
        }
    }
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

/// What a call makes of a file.
struct Planned {
    applied: Applied,
    /// The text that the model knew, after the edits, and what another program changed in it.
    stale: Option<(String, FileDiff)>,
}

fn edit(
    workspace: &Workspace,
    target: FileTarget,
    change: &Change,
) -> Result<ToolOutput, EditError> {
    let original = load(workspace, target)?;
    let Planned { applied, stale } = plan(workspace, &original, change)?;
    let in_place = store(workspace, &original, &applied.text)?;
    let diff = unified(&original.name, Some(&original.text), &applied.text);
    let mut text = report(&original.name, &applied, &diff);
    if let Some((known, changes)) = stale {
        let note = other_changes(&changes);
        text.push_str(&note.text);
        // What was left out stays unknown.
        let known = if note.is_complete {
            &applied.text
        } else {
            &known
        };
        record(workspace, &original, known, !note.is_complete);
    } else if original.freshness != Freshness::Unread {
        // A file that was never read stays unread: the model saw only its changes.
        record(workspace, &original, &applied.text, false);
    }
    text.push_str(in_place.note());
    if in_place == Replaced::Atomically {
        text.push_str(&other_names(original.links));
    }
    let details = details(&original.target.named, change, &applied, diff);
    Ok(ToolOutput::success(text, to_value(&details)))
}

fn plan(workspace: &Workspace, original: &Original, change: &Change) -> Result<Planned, EditError> {
    let path = || original.name.clone();
    let is_known = matches!(original.freshness, Freshness::Fresh | Freshness::ByCommand);
    let (edits, expected) = match change {
        Change::Insertion { after, text } => {
            if original.freshness != Freshness::Fresh {
                return Err(EditError::UnknownLines { path: path() });
            }
            let applied =
                insert(&original.text, *after, text).map_err(|total| EditError::NoLine {
                    path: path(),
                    line: *after,
                    total,
                })?;
            let stale = None;
            return Ok(Planned { applied, stale });
        }
        Change::Edits { edits, expected } => (edits, *expected),
    };
    let planned = match original.freshness {
        Freshness::OtherFile => return Err(EditError::Changed { path: path() }),
        Freshness::Changed => {
            let known = workspace.ledger.known_text(&original.target);
            let known = known.ok_or_else(|| EditError::Changed { path: path() })?;
            let merged = merge(&known, &original.text, edits);
            let merged = merged.map_err(|lines| EditError::Conflict {
                path: path(),
                lines,
            })?;
            let changes = unified(&original.name, Some(&known), &original.text);
            Planned {
                applied: merged.applied,
                stale: Some((merged.known, changes)),
            }
        }
        _ => {
            let applied = apply(&original.text, edits, is_known).map_err(|error| {
                let message =
                    explain_match(&error, edits, &original.name, &original.text, Terms::EDIT);
                EditError::Match(message)
            })?;
            let stale = None;
            Planned { applied, stale }
        }
    };
    let found = planned
        .applied
        .matches
        .iter()
        .map(|found| found.count)
        .sum();
    match expected {
        Some(expected) if expected != found as u64 => Err(EditError::Count {
            path: path(),
            found,
            expected,
        }),
        _ => Ok(planned),
    }
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
    let found = Match {
        count: 1,
        actual: None,
        notes: Vec::new(),
    };
    Ok(Applied {
        text: [&before, &text, lines[count..].concat().as_str()].concat(),
        matches: vec![found],
    })
}

/// The change that a call would make, as a diff; `None` when it would fail.
pub(super) fn preview(
    workspace: &Workspace,
    target: &FileTarget,
    arguments: &Value,
) -> Option<String> {
    let arguments: Arguments = serde_json::from_value(arguments.clone()).ok()?;
    let change = Change::of(&arguments).ok()?;
    let original = load(workspace, target.clone()).ok()?;
    let planned = plan(workspace, &original, &change).ok()?;
    Some(unified(&original.name, Some(&original.text), &planned.applied.text).text)
}

/// The result for the model: one line. An edit that did not match exactly is followed by what it changed, so that the
/// model can check it.
fn report(name: &str, applied: &Applied, diff: &FileDiff) -> String {
    let count: usize = applied.matches.iter().map(|found| found.count).sum();
    let places = counted(count, "place", "places");
    let mut text = format!(
        "Changed {places} in `{name}` (+{} -{} lines)",
        diff.added, diff.removed
    );
    let several = applied.matches.len() > 1;
    for (index, found) in applied.matches.iter().enumerate() {
        if !found.notes.is_empty() {
            let which = if several {
                format!("edit {}: ", index + 1)
            } else {
                String::new()
            };
            let _ = write!(text, "; {which}{}", found.notes.join(", "));
        }
    }
    text.push('\n');
    let hunks = diff.text.split_once("\n@@").map_or("", |(_, hunks)| hunks);
    let inexact = applied.matches.iter().any(|found| found.actual.is_some());
    if inexact && !hunks.is_empty() {
        text.push_str("@@");
        text.push_str(&snippet(hunks));
    }
    text
}

fn details(path: &Path, change: &Change, applied: &Applied, diff: FileDiff) -> EditDetails {
    let inserted = match change {
        Change::Insertion { text, .. } => Some(Edit {
            new: text.clone(),
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
        fuzzy: applied.matches.iter().any(|found| found.actual.is_some()),
        edits: singles,
    }
}

#[cfg(test)]
mod tests;
