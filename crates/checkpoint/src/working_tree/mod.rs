//! Compares the working tree with the checked-out commit. Committed, staged and unstaged changes count alike, and
//! untracked files are included. It is read-only: no lock of the repository is taken, and no program that its
//! attributes or settings name is run.

mod error;
mod git;

use osier_protocol::FileDiff;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

pub use self::error::WorkingTreeError;
use self::git::{Git, SUBMODULE, Tracked};
use osier_base::regular_file;
use osier_protocol::{ChangeKind, FileChange};
use osier_tools::diff;
use osier_tools::encoding::{self, TextEncoding};

/// Maximum number of compared files; further ones are counted.
const MAX_FILES: usize = 2_000;
/// Maximum bytes of one file, and of all files; larger files are listed without lines.
const MAX_FILE: u64 = 2 * 1024 * 1024;
const MAX_ALL: u64 = 32 * 1024 * 1024;
/// The git mode of a link.
const LINK: u32 = 0o120_000;

/// The differences by path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkingTree {
    pub files: Vec<FileDiff>,
    /// Number of files that were not compared.
    pub more: usize,
}

/// Compares the files below `cwd` with the checked-out commit. Without a commit all files are new.
///
/// # Errors
///
/// There is no repository, or git fails.
pub async fn against_head(cwd: &Path) -> Result<WorkingTree, WorkingTreeError> {
    let git = Git::open(cwd).await?;
    let mut tracked = git.changed().await?;
    let more = tracked.len().saturating_sub(MAX_FILES);
    while tracked.len() > MAX_FILES {
        tracked.pop_last();
    }
    let old = git.contents(&tracked, MAX_FILE, MAX_ALL).await?;
    let root = cwd.to_owned();
    let files = osier_base::task::spawn_blocking(move || compare(&root, &tracked, &old)).await;
    let files = files.map_err(|error| WorkingTreeError::Git {
        message: error.to_string(),
    })?;
    Ok(WorkingTree { files, more })
}

/// The content of a path on one side.
#[derive(Debug, PartialEq, Eq)]
enum Side<'a> {
    Nothing,
    Text(Cow<'a, str>, TextEncoding),
    /// The content is not text, is too large, or is a submodule.
    Other,
}

impl<'a> Side<'a> {
    fn of(bytes: Cow<'a, [u8]>) -> Self {
        if let Cow::Borrowed(bytes) = bytes
            && !bytes.contains(&0)
            && let Ok(text) = std::str::from_utf8(bytes)
        {
            return Self::Text(text.into(), TextEncoding::PLAIN);
        }
        match encoding::exact_text(bytes.into_owned()) {
            Some((text, encoding)) => Self::Text(text.into(), encoding),
            None => Self::Other,
        }
    }

    fn encoding(&self) -> Option<TextEncoding> {
        match self {
            Self::Text(_, encoding) => Some(*encoding),
            Self::Nothing | Self::Other => None,
        }
    }

    fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text, _) => Some(text),
            Self::Nothing | Self::Other => None,
        }
    }
}

fn compare(
    root: &Path,
    tracked: &BTreeMap<String, Tracked>,
    contents: &BTreeMap<String, Vec<u8>>,
) -> Vec<FileDiff> {
    let mut read = 0;
    let files = tracked.iter().filter_map(|(path, tracked)| {
        let (mode, new) = present(&root.join(path), &mut read);
        let old = match contents.get(&tracked.content) {
            _ if tracked.mode == 0 => Side::Nothing,
            Some(bytes) => Side::of(bytes.as_slice().into()),
            None => Side::Other,
        };
        changed(path, tracked, &old, mode, &new)
    });
    files.collect()
}

/// The current file: its git mode and content.
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
    let held =
        regular_file::read(path, MAX_FILE).map_or(Side::Other, |bytes| Side::of(bytes.into()));
    (mode, held)
}

/// The difference between two sides; `None` if they are equal.
fn changed(
    path: &str,
    tracked: &Tracked,
    old: &Side<'_>,
    mode: u32,
    new: &Side<'_>,
) -> Option<FileDiff> {
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
    // With `autocrlf` git stores lines without the carriage returns in the files.
    if kind == ChangeKind::Modify
        && tracked.from.is_none()
        && diff.is_empty()
        && old.encoding() == new.encoding()
        && *new != Side::Other
    {
        return None;
    }
    Some(FileDiff {
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
        Side::Text(text.into(), TextEncoding::PLAIN)
    }

    fn tracked(mode: u32, from: Option<&str>) -> Tracked {
        Tracked {
            mode,
            content: "0".to_owned(),
            from: from.map(str::to_owned),
        }
    }

    #[test]
    fn only_differences_are_listed() {
        let file = tracked(0o100_644, None);
        let kind = |tracked: &Tracked, old: &Side<'_>, mode, new: &Side<'_>| {
            changed("a", tracked, old, mode, new)
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
    fn carriage_returns_from_autocrlf_are_ignored() {
        let file = tracked(0o100_644, None);
        let same = changed("a", &file, &text("a\nb\n"), 0o100_644, &text("a\r\nb\r\n"));
        assert_eq!(same, None);
        let diff = difference("a", Some("a\nb\n"), "a\r\nc\r\n");
        assert!(diff.contains(" a\r\n-b\r\n+c\r\n"), "{diff:?}");
    }
}
