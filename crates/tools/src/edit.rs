//! `edit`: replaces text in a file. `edit_match` does the matching; this module protects the file against
//! concurrent changes and reports the result.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};
use thiserror::Error;

use super::arguments::{self, Refusal};
use super::details::{EditDetails, SingleEdit, to_value};
use super::diff::{FileDiff, unified};
use super::edit_closest::closest;
use super::edit_match::{Applied, Edit, MatchError, apply};
use super::file_access::{FileTarget, reason};
use super::file_states::{Freshness, MAX_HASHED, Stamp};
use super::read::{is_missing, suggestion};
use super::workspace::Workspace;
use super::write::{changed_on_disk, explain, other_names};
use osier_agent::{Concurrency, Tool, ToolContext, ToolOutput, ToolStatus};
use osier_base::atomic_file;
use osier_base::atomic_file::{Expected, Options, WriteError};
use osier_base::text::{counted, head_bytes};
use osier_llm::ToolSpec;

/// Limits of the diff that the model receives.
const SNIPPET_LINES: usize = 40;
const SNIPPET_BYTES: usize = 4 * 1024;

/// Shared by all sessions.
static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    ToolSpec {
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
}

#[derive(Debug, Deserialize)]
struct EditArguments {
    old_string: String,
    new_string: String,
    #[serde(default)]
    replace_all: Option<bool>,
}

/// Why nothing was changed. The model receives the message.
#[derive(Debug, Error)]
enum EditError {
    #[error("`{path}` does not exist{suggestion}")]
    Missing { path: String, suggestion: String },
    #[error("`{path}` is not a regular file")]
    NotRegular { path: String },
    #[error("`{path}` is too large to edit ({size} bytes); use bash: `sed -i`")]
    TooLarge { path: String, size: u64 },
    #[error("`{path}` is not UTF-8 text (first invalid byte at {offset}); use bash to change it")]
    NotText { path: String, offset: usize },
    #[error("{}", changed_on_disk(path))]
    Changed { path: String },
    #[error("{0}")]
    Match(String),
    #[error("{0}")]
    Write(String),
    #[error("cannot read `{path}`: {}", reason(source))]
    Io { path: String, source: io::Error },
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

    fn concurrency(&self, arguments: &Value) -> Concurrency {
        self.workspace
            .file_concurrency("edit", arguments)
            .unwrap_or(Concurrency::Exclusive)
    }

    fn run(&self, arguments: Value, cx: ToolContext) -> BoxFuture<'_, ToolOutput> {
        let workspace = Arc::clone(&self.workspace);
        let work = move |arguments: Arguments| {
            let edits = edits(&arguments).map_err(Refusal::invalid)?;
            if cx.cancel.is_cancelled() {
                let text = "interrupted; nothing was changed";
                return Ok(ToolOutput::failed(ToolStatus::Aborted, text));
            }
            let given = Some(arguments.file_path.as_str());
            let target = workspace.approved_target(&cx.call_id, "edit", given)?;
            edit(&workspace, target, &edits).map_err(|error| Refusal::Failed(error.to_string()))
        };
        Box::pin(arguments::carry_out(arguments, "editing", work))
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

/// A file before the edit.
struct Original {
    target: FileTarget,
    /// The name for messages.
    name: String,
    text: String,
    freshness: Freshness,
    stamp: Stamp,
    /// Number of hard links.
    links: u64,
}

fn edit(
    workspace: &Workspace,
    target: FileTarget,
    edits: &[Edit],
) -> Result<ToolOutput, EditError> {
    let original = load(workspace, target)?;
    if original.freshness == Freshness::Changed {
        return Err(EditError::Changed {
            path: original.name,
        });
    }
    let known = original.freshness == Freshness::Fresh;
    let applied = apply(&original.text, edits, known).map_err(|error| {
        let message = explain_match(&error, edits, &original);
        EditError::Match(message)
    })?;
    store(workspace, &original, &applied.text)?;
    let diff = unified(&original.name, Some(&original.text), &applied.text);
    let mut text = report(&original.name, &applied, &diff);
    text.push_str(&other_names(original.links));
    let details = details(&original.target.named, edits, &applied, diff);
    Ok(ToolOutput::success(text, to_value(&details)))
}

/// The change that a call would make, as a diff; `None` when it would fail.
pub(super) fn preview(
    workspace: &Workspace,
    target: &FileTarget,
    arguments: &Value,
) -> Option<String> {
    let arguments: Arguments = serde_json::from_value(arguments.clone()).ok()?;
    let edits = edits(&arguments).ok()?;
    let original = load(workspace, target.clone()).ok()?;
    let known = original.freshness == Freshness::Fresh;
    let applied = apply(&original.text, &edits, known).ok()?;
    Some(unified(&original.name, Some(&original.text), &applied.text).text)
}

fn load(workspace: &Workspace, target: FileTarget) -> Result<Original, EditError> {
    let name = workspace.display(&target.named);
    let failed = |source: io::Error| {
        let path = name.clone();
        if is_missing(&source) {
            let suggestion = suggestion(workspace, &target.named);
            EditError::Missing { path, suggestion }
        } else {
            EditError::Io { path, source }
        }
    };
    let (file, metadata) = target.open().map_err(failed)?;
    let Some(mut file) = file else {
        return Err(EditError::NotRegular { path: name });
    };
    if metadata.len() > MAX_HASHED {
        return Err(EditError::TooLarge {
            path: name,
            size: metadata.len(),
        });
    }
    let bytes = if let Some(text) = workspace.text_in_editor(&target, &metadata) {
        text.into_bytes()
    } else {
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed)?;
        bytes
    };
    let stamp = Stamp::of(&metadata, &bytes);
    let text = String::from_utf8(bytes).map_err(|error| EditError::NotText {
        path: name.clone(),
        offset: error.utf8_error().valid_up_to(),
    })?;
    Ok(Original {
        freshness: workspace.ledger.freshness(&target, &stamp),
        target,
        name,
        text,
        stamp,
        links: metadata.nlink(),
    })
}

fn store(workspace: &Workspace, original: &Original, text: &str) -> Result<(), EditError> {
    match workspace.write_in_editor(&original.target, text) {
        Some(written) => written.map_err(EditError::Write)?,
        None => store_on_disk(original, text)?,
    }
    // A file that was never read stays unread: the model saw only its changes.
    if original.freshness == Freshness::Fresh
        && let Ok(metadata) = fs::symlink_metadata(&original.target.host)
    {
        let stamp = Stamp::of(&metadata, text.as_bytes());
        workspace.ledger.record(&original.target, stamp);
    }
    Ok(())
}

fn store_on_disk(original: &Original, text: &str) -> Result<(), EditError> {
    // Matching and writing take time, so another process may have written meanwhile.
    let content = Some(original.text.as_bytes());
    let is_same = |path: &Path, name| original.stamp.matches(path, name, content);
    let expected = Expected {
        content,
        is_same: &is_same,
    };
    let options = Options {
        no_links: true,
        ..Options::default()
    };
    let written = atomic_file::write_if(&original.target.host, text.as_bytes(), options, &expected);
    written.map_err(|error| match error {
        WriteError::Changed { .. } => EditError::Changed {
            path: original.name.clone(),
        },
        error => EditError::Write(explain(&error)),
    })
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

fn snippet(hunks: &str) -> String {
    let short = head_bytes(hunks, SNIPPET_BYTES);
    let lines: Vec<&str> = short.lines().take(SNIPPET_LINES).collect();
    let mut snippet = lines.join("\n");
    if snippet.len() + 1 < hunks.len() {
        snippet.push_str("\n[…]");
    }
    snippet
}

fn details(path: &Path, edits: &[Edit], applied: &Applied, diff: FileDiff) -> EditDetails {
    let singles = edits
        .iter()
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

/// What went wrong and what to do next, with the prefix `edit 2: ` when there are several edits.
fn explain_match(error: &MatchError, edits: &[Edit], original: &Original) -> String {
    let name = &original.name;
    let (index, message) = match error {
        MatchError::EmptyOld { index } => (
            index,
            "old_string is empty; use write to replace the complete file, or set old_string to the text before which to insert".to_owned(),
        ),
        MatchError::NoChange { index } => {
            (index, "old_string and new_string are the same; nothing to change".to_owned())
        }
        MatchError::NotFound { index } => (index, not_found(original, &edits[*index].old)),
        MatchError::NotExact { index } => (
            index,
            format!("old_string does not occur exactly in `{name}`, which was not read in this session; read it first"),
        ),
        MatchError::Ambiguous { index, lines, more } => {
            let lines: Vec<String> = lines.iter().map(usize::to_string).collect();
            let more = if *more { " and more" } else { "" };
            let lines = lines.join(", ");
            (
                index,
                format!("old_string occurs in `{name}` in lines {lines}{more}; add surrounding lines to make it unique, or set replace_all"),
            )
        }
        MatchError::Placeholder { index, line } => (
            index,
            format!("new_string has `{line}` in place of code, which would be lost; write the complete text, or edit only the lines that change"),
        ),
        MatchError::Overlap { first, second } => {
            let (first, second) = (first + 1, second + 1);
            return format!("edits {first} and {second} overlap in `{name}`; combine them. Nothing was changed");
        }
    };
    let which = if edits.len() > 1 {
        format!("edit {}: ", index + 1)
    } else {
        String::new()
    };
    let tail = if edits.len() > 1 {
        "\nNothing was changed"
    } else {
        ""
    };
    format!("{which}{message}{tail}")
}

fn not_found(original: &Original, old: &str) -> String {
    let places = closest(&original.text, old);
    let name = &original.name;
    if places.is_empty() {
        return format!(
            "old_string was not found in `{name}`, and nothing similar; read the file again"
        );
    }
    format!(
        "old_string was not found in `{name}`. The closest matches:\n{}Copy the text exactly from the file",
        places.join("   ...\n")
    )
}

#[cfg(test)]
mod tests;
