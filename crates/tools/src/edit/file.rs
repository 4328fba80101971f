//! A text file that is changed: it is read with what the model knows of it, and replaced without overwriting what another
//! program wrote meanwhile.

use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use thiserror::Error;

use super::write::{changed_on_disk, explain};
use crate::files::diff::FileDiff;
use crate::files::ledger::{Freshness, MAX_HASHED, Stamp};
use crate::files::target::{FileTarget, is_missing, reason};
use crate::workspace::Workspace;
use osier_base::atomic_file;
use osier_base::atomic_file::{Expected, Options, Replaced, WriteError};
use osier_base::text::head_bytes;

/// Limits of the diff that the model receives.
const SNIPPET_LINES: usize = 40;
const SNIPPET_BYTES: usize = 4 * 1024;

/// Why nothing was changed. The model receives the message.
#[derive(Debug, Error)]
pub(crate) enum EditError {
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
    #[error(
        "`{path}` changed on disk since it was last read ({lines}), and the edit has to do with that; nothing was written. Read it again first"
    )]
    Conflict { path: String, lines: String },
    #[error(
        "old_string occurs {found} times in `{path}`, not {expected} times; nothing was changed"
    )]
    Count {
        path: String,
        found: usize,
        expected: u64,
    },
    #[error("`{path}` must be read before lines are inserted by their number; read it first")]
    UnknownLines { path: String },
    #[error("`{path}` has {total} lines, so nothing can be inserted after line {line}")]
    NoLine { path: String, line: u64, total: u64 },
    #[error("`{path}` must be read before a cell is changed by its id; read it first")]
    UnknownCells { path: String },
    #[error("`{path}` is not a notebook of the format 4, so it has no cells")]
    NoNotebook { path: String },
    #[error("{0}")]
    Match(String),
    #[error("{0}")]
    Write(String),
    #[error("cannot read `{path}`: {}", reason(source))]
    Io { path: String, source: io::Error },
}

/// A file before the edit.
#[derive(Debug, Clone)]
pub(crate) struct Original {
    pub(crate) target: FileTarget,
    /// The name for messages.
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) freshness: Freshness,
    pub(crate) stamp: Stamp,
    /// Number of hard links.
    pub(crate) links: u64,
}

pub(crate) fn load(workspace: &Workspace, target: FileTarget) -> Result<Original, EditError> {
    let name = workspace.display(&target.named);
    let failed = |source: io::Error| {
        let path = name.clone();
        if is_missing(&source) {
            let suggestion = workspace.suggestion(&target.named);
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

pub(crate) fn store(
    workspace: &Workspace,
    original: &Original,
    text: &str,
) -> Result<Replaced, EditError> {
    match workspace.write_in_editor(&original.target, text) {
        Some(written) => written
            .map(|()| Replaced::Atomically)
            .map_err(EditError::Write),
        None => store_on_disk(original, text),
    }
}

pub(crate) fn store_on_disk(original: &Original, text: &str) -> Result<Replaced, EditError> {
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

pub(crate) fn record(workspace: &Workspace, original: &Original, text: &str, is_outdated: bool) {
    if let Ok(metadata) = fs::symlink_metadata(&original.target.host) {
        let stamp = Stamp::of(&metadata, text.as_bytes());
        let target = &original.target;
        workspace
            .ledger
            .record_edit(target, stamp, text, is_outdated);
    }
}

/// What the model is told about the changes of another program.
pub(crate) struct OtherChanges {
    pub(crate) text: String,
    pub(crate) is_complete: bool,
}

pub(crate) fn other_changes(changes: &FileDiff) -> OtherChanges {
    let hunks = changes
        .text
        .split_once("\n@@")
        .map_or("", |(_, hunks)| hunks);
    let shown = snippet(hunks);
    let is_complete = shown.trim_end() == hunks.trim_end();
    let end = if is_complete {
        ""
    } else {
        "\nRead the file for the rest"
    };
    OtherChanges {
        text: format!(
            "[another program had changed the file since you read it (+{} -{} lines); its changes are kept:\n@@{}{end}]\n",
            changes.added,
            changes.removed,
            shown.trim_end()
        ),
        is_complete,
    }
}

pub(crate) fn snippet(hunks: &str) -> String {
    let short = head_bytes(hunks, SNIPPET_BYTES);
    let lines: Vec<&str> = short.lines().take(SNIPPET_LINES).collect();
    let mut snippet = lines.join("\n");
    if snippet.len() + 1 < hunks.len() {
        snippet.push_str("\n[…]");
    }
    snippet
}
