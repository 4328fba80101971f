//! The working tree against the commit that is checked out, as git knows it: what is committed, staged or
//! neither makes no difference, files git does not know yet are in it. Nothing is written, no lock of the
//! repository taken, no program run that an attribute or a setting of it names.

mod git;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use thiserror::Error;

use self::git::{Git, Tracked};
use crate::{ChangeKind, FileChange};
use osier_tools::diff;

/// Files that are compared; more are counted.
const MAX_FILES: usize = 2_000;
/// Bytes of one file, and of all of them, above which files are named without their lines.
const MAX_FILE: u64 = 2 * 1024 * 1024;
const MAX_ALL: u64 = 32 * 1024 * 1024;
/// The modes of a link and of a repository in the repository.
const LINK: u32 = 0o120_000;
const SUBMODULE: u32 = 0o160_000;

/// Why there is nothing to compare.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum WorkingTreeError {
    #[error("not a git repository: `/diff` and `/diff last` show what the session changed")]
    NoRepository,
    #[error("`git` is not installed: `/diff` and `/diff last` show what the session changed")]
    NoGit,
    #[error("git cannot compare the files: {message}")]
    Git { message: String },
}

/// A file that is not as in the commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    pub change: FileChange,
    /// Its path in the commit, where git takes it for the same file.
    pub from: Option<String>,
    /// Unified, of bounded length; empty for what is no text.
    pub diff: String,
}

/// What differs, by path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkingTree {
    pub files: Vec<Changed>,
    /// Files beyond those that are compared.
    pub more: usize,
}

/// Compares the files below `cwd` with those of the commit that is checked out; before the first commit
/// all of them are new.
///
/// # Errors
/// There is no repository, or git says no.
pub async fn against_head(cwd: &Path) -> Result<WorkingTree, WorkingTreeError> {
    let git = Git::new(cwd);
    let mut tracked = git.changed().await?;
    let more = tracked.len().saturating_sub(MAX_FILES);
    while tracked.len() > MAX_FILES {
        tracked.pop_last();
    }
    let old = git.contents(&tracked, MAX_FILE, MAX_ALL).await?;
    let root = cwd.to_owned();
    let files = tokio::task::spawn_blocking(move || compare(&root, &tracked, &old)).await;
    let files = files.map_err(|error| WorkingTreeError::Git {
        message: error.to_string(),
    })?;
    Ok(WorkingTree { files, more })
}

/// What stands at a path, on one side.
#[derive(Debug, PartialEq, Eq)]
enum Side<'a> {
    Nothing,
    Text(std::borrow::Cow<'a, str>),
    /// No text, too large, a repository.
    Other,
}

impl<'a> Side<'a> {
    fn of(bytes: std::borrow::Cow<'a, [u8]>) -> Self {
        use std::borrow::Cow;
        if bytes.contains(&0) {
            return Self::Other;
        }
        let text = match bytes {
            Cow::Borrowed(bytes) => std::str::from_utf8(bytes).ok().map(Cow::Borrowed),
            Cow::Owned(bytes) => String::from_utf8(bytes).ok().map(Cow::Owned),
        };
        text.map_or(Self::Other, Self::Text)
    }

    fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Nothing | Self::Other => None,
        }
    }
}

fn compare(
    root: &Path,
    tracked: &BTreeMap<String, Tracked>,
    contents: &BTreeMap<String, Vec<u8>>,
) -> Vec<Changed> {
    let mut read = 0;
    let files = tracked.iter().filter_map(|(path, tracked)| {
        let (mode, new) = present(&root.join(path), &mut read);
        let old = match contents.get(&tracked.content) {
            _ if tracked.mode == 0 => Side::Nothing,
            Some(bytes) => Side::of(bytes.as_slice().into()),
            None => Side::Other,
        };
        changed(path, tracked, &old, (mode, &new))
    });
    files.collect()
}

/// The file as it is: its mode as git writes it, and what it holds.
fn present(path: &Path, read: &mut u64) -> (u32, Side<'static>) {
    let Ok(metadata) = fs::symlink_metadata(path) else {
        return (0, Side::Nothing);
    };
    if metadata.is_symlink() {
        let target = fs::read_link(path).unwrap_or_default();
        return (
            LINK,
            Side::of(target.as_os_str().as_bytes().to_vec().into()),
        );
    }
    if metadata.is_dir() {
        return (SUBMODULE, Side::Other);
    }
    let is_executable = metadata.permissions().mode() & 0o100 != 0;
    let mode = if is_executable { 0o100_755 } else { 0o100_644 };
    *read += metadata.len();
    if !metadata.is_file() || metadata.len() > MAX_FILE || *read > MAX_ALL {
        return (mode, Side::Other);
    }
    let held = fs::read(path).map_or(Side::Other, |bytes| Side::of(bytes.into()));
    (mode, held)
}

/// How the two sides differ; `None` when they do not.
fn changed(
    path: &str,
    tracked: &Tracked,
    old: &Side<'_>,
    (mode, new): (u32, &Side<'_>),
) -> Option<Changed> {
    let is_same = old == new && *old != Side::Other;
    let kind = match (old, new) {
        (Side::Nothing, Side::Nothing) => return None,
        (Side::Nothing, _) => ChangeKind::Create,
        (_, Side::Nothing) => ChangeKind::Remove,
        _ if !is_same || tracked.from.is_some() => ChangeKind::Modify,
        _ if mode != tracked.mode => ChangeKind::Mode,
        _ => return None,
    };
    let diff = match (old, new) {
        (Side::Other, _) | (_, Side::Other) => String::new(),
        _ => difference(path, old.text(), new.text().unwrap_or_default()),
    };
    // Git stores lines without the carriage returns that it writes into the files, where it is told so.
    if kind == ChangeKind::Modify
        && tracked.from.is_none()
        && diff.is_empty()
        && *new != Side::Other
    {
        return None;
    }
    Some(Changed {
        change: FileChange {
            path: path.to_owned(),
            kind,
            by_hand: false,
            obstacle: None,
        },
        from: tracked.from.clone(),
        diff,
    })
}

fn difference(path: &str, old: Option<&str>, new: &str) -> String {
    let converted = old.filter(|old| new.contains("\r\n") && !old.contains('\r'));
    let converted = converted.map(|old| old.replace('\n', "\r\n"));
    diff::unified(path, converted.as_deref().or(old), new).text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Side<'_> {
        Side::Text(text.into())
    }

    fn tracked(mode: u32, from: Option<&str>) -> Tracked {
        Tracked {
            mode,
            content: "0".to_owned(),
            from: from.map(str::to_owned),
        }
    }

    #[test]
    fn what_differs_is_named_and_what_does_not_is_left_out() {
        let file = tracked(0o100_644, None);
        let kind = |tracked: &Tracked, old: &Side<'_>, mode, new: &Side<'_>| {
            changed("a", tracked, old, (mode, new))
                .map(|changed| (changed.change.kind, !changed.diff.is_empty()))
        };
        let (one, two) = (text("one\n"), text("two\n"));
        assert_eq!(kind(&file, &one, 0o100_644, &one), None);
        assert_eq!(
            kind(&file, &one, 0o100_755, &one),
            Some((ChangeKind::Mode, false))
        );
        assert_eq!(
            kind(&file, &one, 0o100_644, &two),
            Some((ChangeKind::Modify, true))
        );
        assert_eq!(
            kind(&file, &one, 0, &Side::Nothing),
            Some((ChangeKind::Remove, true))
        );
        assert_eq!(
            kind(&file, &Side::Other, 0o100_644, &Side::Other),
            Some((ChangeKind::Modify, false))
        );
        let new = tracked(0, None);
        assert_eq!(
            kind(&new, &Side::Nothing, 0o100_644, &Side::Other),
            Some((ChangeKind::Create, false))
        );
        let renamed = tracked(0o100_644, Some("b"));
        assert_eq!(
            kind(&renamed, &one, 0o100_644, &one),
            Some((ChangeKind::Modify, false))
        );
    }

    #[test]
    fn carriage_returns_that_git_adds_are_no_change() {
        let file = tracked(0o100_644, None);
        let same = changed(
            "a",
            &file,
            &text("a\nb\n"),
            (0o100_644, &text("a\r\nb\r\n")),
        );
        assert_eq!(same, None);
        let diff = difference("a", Some("a\nb\n"), "a\r\nc\r\n");
        assert!(diff.contains(" a\r\n-b\r\n+c\r\n"), "{diff:?}");
    }
}
