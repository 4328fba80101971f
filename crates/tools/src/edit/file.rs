//! A text file that is changed: loaded together with the state that the model knows, and replaced without overwriting
//! the changes of another program.

use std::borrow::Cow;
use std::fs::{self, Permissions};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use thiserror::Error;

use crate::files::diff::FileDiff;
use crate::files::encoding::{Decoded, MissingCharacter, TextEncoding, decode};
use crate::files::error::FileError;
use crate::files::ledger::{Freshness, MAX_HASHED, Stamp};
use crate::workspace::Workspace;
use osier_agent::{FileTarget, Refusal};
use osier_base::atomic_file::{self, Expected, Options, Replaced, WriteError};
use osier_base::text::head_bytes;

/// Limits of the diff that the model receives.
const SNIPPET_LINES: usize = 40;
const SNIPPET_BYTES: usize = 4 * 1024;

/// Why nothing was changed. The model receives the message.
#[derive(Debug, Error)]
pub(crate) enum EditError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("`{path}` is too large to edit ({size} bytes); use bash: `sed -i`")]
    TooLarge { path: String, size: u64 },
    #[error("`{path}` is not UTF-8 text (first invalid byte at {offset}); use bash to change it")]
    NotText { path: String, offset: usize },
    #[error(
        "`{path}` is {encoding} text with invalid bytes, which an edit would change; use bash to change it"
    )]
    Damaged {
        path: String,
        encoding: TextEncoding,
    },
    #[error("`{path}`: {missing}; nothing was changed")]
    Unwritable {
        path: String,
        missing: MissingCharacter,
    },
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
}

impl From<EditError> for Refusal {
    fn from(error: EditError) -> Self {
        Self::Failed(error.to_string())
    }
}

/// Where the text of a file comes from.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Source {
    /// The editor, if it has the file.
    Editor,
    Disk,
}

/// A file as it is now.
pub(crate) struct Current {
    pub(crate) stamp: Stamp,
    /// Number of hard links.
    pub(crate) links: u64,
    pub(crate) mode: Permissions,
    /// Not set when the file is too large to compare.
    pub(crate) bytes: Option<Vec<u8>>,
}

impl Current {
    /// The text, if it is one.
    pub(crate) fn decoded(&self) -> Option<Decoded<'_>> {
        self.bytes.as_deref().and_then(decode)
    }
}

/// The file; `None` if it is not a regular one.
fn current(
    workspace: &Workspace,
    target: &FileTarget,
    source: Source,
) -> io::Result<Option<Current>> {
    let (file, metadata) = target.open()?;
    let Some(mut file) = file else {
        return Ok(None);
    };
    let in_editor = || match source {
        Source::Editor => workspace.text_in_editor(target, &metadata),
        Source::Disk => None,
    };
    let bytes = if metadata.len() > MAX_HASHED {
        None
    } else if let Some(text) = in_editor() {
        Some(text?.into_bytes())
    } else {
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Some(bytes)
    };
    Ok(Some(Current {
        stamp: match &bytes {
            Some(bytes) => Stamp::of(&metadata, bytes),
            None => Stamp::large(&metadata),
        },
        links: metadata.nlink(),
        mode: metadata.permissions(),
        bytes,
    }))
}

/// The file that is replaced; `None` if there is none. Writing reports an obstacle.
pub(crate) fn existing(workspace: &Workspace, target: &FileTarget) -> io::Result<Option<Current>> {
    match current(workspace, target, Source::Editor) {
        Err(_) if !target.host.is_file() => Ok(None),
        current => current,
    }
}

/// A text file before the edit.
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
    pub(crate) encoding: TextEncoding,
}

impl Original {
    /// The contents of the file with another text.
    pub(crate) fn contents<'t>(&self, text: &'t str) -> Result<Cow<'t, [u8]>, EditError> {
        let unwritable = |missing| EditError::Unwritable {
            path: self.name.clone(),
            missing,
        };
        self.encoding.encode(text).map_err(unwritable)
    }
}

/// The file to change, which must exist.
pub(crate) fn required(
    workspace: &Workspace,
    target: &FileTarget,
    source: Source,
) -> Result<Current, EditError> {
    let found = current(workspace, target, source);
    let current = found.map_err(|error| workspace.unreadable(target, error))?;
    current.ok_or_else(|| {
        let path = workspace.display(&target.named);
        FileError::NotRegular { path }.into()
    })
}

pub(crate) fn load(workspace: &Workspace, target: FileTarget) -> Result<Original, EditError> {
    let name = workspace.display(&target.named);
    let current = required(workspace, &target, Source::Editor)?;
    let size = current.stamp.size();
    let bytes = current.bytes.ok_or_else(|| EditError::TooLarge {
        path: name.clone(),
        size,
    })?;
    let Some(decoded) = decode(&bytes) else {
        let valid = bytes.utf8_chunks().next();
        return Err(EditError::NotText {
            path: name,
            offset: valid.map_or(0, |chunk| chunk.valid().len()),
        });
    };
    let encoding = decoded.encoding;
    if !decoded.is_exact {
        let path = name;
        return Err(EditError::Damaged { path, encoding });
    }
    Ok(Original {
        freshness: workspace.ledger.freshness(&target, &current.stamp),
        target,
        name,
        text: decoded.text.into_owned(),
        stamp: current.stamp,
        links: current.links,
        encoding,
    })
}

pub(crate) fn store(
    workspace: &Workspace,
    original: &Original,
    text: &str,
) -> Result<Replaced, EditError> {
    if let Some(written) = workspace.write_in_editor(&original.target, text) {
        written.map_err(EditError::Write)?;
        return Ok(Replaced::Atomically);
    }
    let known = original.contents(&original.text)?;
    let written = replace_if(
        &original.target.host,
        Some(&original.stamp),
        Some(&known),
        &original.contents(text)?,
    );
    written.map_err(|error| match error {
        WriteError::Changed { .. } => EditError::Changed {
            path: original.name.clone(),
        },
        error => EditError::Write(explain(&error)),
    })
}

/// Writes `content` to the file at `path`, which is still as `old` says.
pub(crate) fn replace(
    path: &Path,
    old: Option<&Current>,
    content: &[u8],
) -> Result<Replaced, WriteError> {
    let known = old.and_then(|old| old.bytes.as_deref());
    replace_if(path, old.map(|old| &old.stamp), known, content)
}

/// Writes a file unless another process wrote it meanwhile: matching and writing take time.
fn replace_if(
    path: &Path,
    stamp: Option<&Stamp>,
    known: Option<&[u8]>,
    content: &[u8],
) -> Result<Replaced, WriteError> {
    let options = Options {
        parents: stamp.is_none(),
        no_links: true,
        ..Options::default()
    };
    let is_same = |path: &Path, name| match stamp {
        Some(stamp) => stamp.matches(path, name, known),
        None => path.symlink_metadata().is_err(),
    };
    let expected = Expected {
        content: known,
        is_same: &is_same,
    };
    atomic_file::write_if(path, content, options, &expected)
}

/// Records that the model knows the file, which has this text and these contents now.
pub(crate) fn record_written(
    workspace: &Workspace,
    target: &FileTarget,
    text: &str,
    contents: &[u8],
) {
    if let Ok(metadata) = fs::symlink_metadata(&target.host) {
        let stamp = Stamp::of(&metadata, contents);
        workspace.ledger.record(target, stamp, Some(text));
    }
}

pub(crate) fn record(workspace: &Workspace, original: &Original, text: &str, is_outdated: bool) {
    if let Ok(metadata) = fs::symlink_metadata(&original.target.host) {
        let contents = original.contents(text).unwrap_or(text.as_bytes().into());
        let stamp = Stamp::of(&metadata, &contents);
        let target = &original.target;
        workspace
            .ledger
            .record_edit(target, stamp, text, is_outdated);
    }
}

/// Some hunks of a change for the model, and whether they are all.
pub(crate) fn shown_hunks(changes: &FileDiff) -> (String, bool) {
    let hunks = changes.hunks().trim_end();
    let shown = snippet(hunks);
    let is_complete = shown.trim_end() == hunks;
    let end = if is_complete {
        ""
    } else {
        "\nRead the file for the rest"
    };
    (format!("{}{end}", shown.trim_end()), is_complete)
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

/// The message for a model when another program changed a file.
pub(crate) fn changed_on_disk(name: &str) -> String {
    format!(
        "`{name}` changed on disk since it was last read; nothing was written. Read it again first"
    )
}

/// The note about other hard links of a written file.
pub(crate) fn other_names(links: u64) -> String {
    match links {
        0 | 1 => String::new(),
        2 => "\n[the file had another hard link, which still has the old contents]".to_owned(),
        more => format!(
            "\n[the file had {} other hard links, which still have the old contents]",
            more - 1
        ),
    }
}

/// The message for a failed write, with advice.
pub(crate) fn explain(error: &WriteError) -> String {
    format!("{error}; {}", error.hint())
}
