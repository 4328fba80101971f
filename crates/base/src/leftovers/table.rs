//! The kinds of temporary folders and files.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::{ids, pending_file};

const HOUR: Duration = Duration::from_hours(1);
const WEEK: Duration = Duration::from_hours(7 * 24);

/// The folders to search.
#[derive(Debug, Clone)]
pub struct Places {
    /// The system's directory for temporary files.
    pub temporary: PathBuf,
    pub data: PathBuf,
    pub config: PathBuf,
    pub workspace: Option<PathBuf>,
}

/// A kind of temporary folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FolderKind {
    /// Long outputs of commands.
    Outputs,
    /// The `/tmp` of sandboxed commands.
    Sandbox,
    /// The sample project of the scripted demo.
    Tour,
    /// A prompt in an external editor.
    Editor,
    /// The workspaces of an evaluation.
    Evaluation,
    /// The files of a lane.
    Lane,
}

impl FolderKind {
    /// The prefix of the folders' names.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Outputs => "osier-outputs-",
            Self::Sandbox => "osier-tmp-",
            Self::Tour => "osier-tour-",
            Self::Editor => "osier-editor-",
            Self::Evaluation => "osier-eval-",
            Self::Lane => "fan-",
        }
    }
}

/// The parent of the temporary folders of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parent {
    Temporary,
    Fans,
}

/// How it is known that no process uses a folder.
#[derive(Debug, Clone, Copy)]
pub(super) enum Unused {
    /// The folder is not locked.
    Unlocked,
    /// Earlier versions did not lock folders: the folder has not changed for this time, and has the contents of an
    /// earlier version.
    Old(Duration, fn(&Path) -> bool),
}

/// A row of the table.
pub(super) struct FolderRow {
    pub parent: Parent,
    pub prefix: &'static str,
    /// The number of random characters in the name.
    pub random: usize,
    pub unused: Unused,
}

const fn row(kind: FolderKind, prefix: &'static str) -> FolderRow {
    let parent = match kind {
        FolderKind::Lane => Parent::Fans,
        _ => Parent::Temporary,
    };
    FolderRow {
        parent,
        prefix,
        random: ids::RANDOM_NAME,
        unused: Unused::Unlocked,
    }
}

const fn earlier(parent: Parent, prefix: &'static str, contains: fn(&Path) -> bool) -> FolderRow {
    FolderRow {
        parent,
        prefix,
        random: 6,
        unused: Unused::Old(WEEK, contains),
    }
}

pub(super) const FOLDERS: [FolderRow; 10] = [
    row(FolderKind::Outputs, "osier-outputs-"),
    row(FolderKind::Sandbox, "osier-tmp-"),
    row(FolderKind::Tour, "osier-tour-"),
    row(FolderKind::Editor, "osier-editor-"),
    row(FolderKind::Evaluation, "osier-eval-"),
    row(FolderKind::Lane, "fan-"),
    earlier(Parent::Temporary, "osier-", has_only_outputs),
    earlier(Parent::Temporary, "osier-tmp-", |path| {
        path.join("var-tmp").is_dir()
    }),
    earlier(Parent::Temporary, "osier-tour-", |path| {
        path.join("slug.sh").is_file()
    }),
    earlier(Parent::Fans, "fan-", |path| path.join("files").is_dir()),
];

/// Whether the folder contains nothing but outputs of commands.
fn has_only_outputs(path: &Path) -> bool {
    let is_output = |name: &str| {
        let name = name.strip_suffix(".log").unwrap_or_default();
        name.len() == ids::RANDOM_NAME && name.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    std::fs::read_dir(path).is_ok_and(|entries| {
        entries.flatten().all(|entry| {
            entry.file_name().to_str().is_some_and(is_output)
                && entry.file_type().is_ok_and(|kind| kind.is_file())
        })
    })
}

/// How it is known that a file is not needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unneeded<'a> {
    /// The file is not locked.
    Unlocked,
    /// The file is not locked, and its content has one of these marks.
    Content([&'a str; 2]),
    /// The file has not changed for this time.
    Old(Duration),
}

/// A folder with temporary files, and how many levels below it they are.
pub(super) struct FileRow {
    pub folder: fn(&Places) -> Option<&Path>,
    pub depth: usize,
    /// Maximum number of entries to search.
    pub entries: usize,
    pub unneeded: fn(&str) -> Option<Unneeded<'_>>,
}

pub(super) const FILES: [FileRow; 3] = [
    FileRow {
        folder: |places| Some(&places.data),
        // `checkpoints/objects/ab/…`
        depth: 4,
        entries: 500_000,
        unneeded: in_data,
    },
    FileRow {
        folder: |places| Some(&places.config),
        depth: 2,
        entries: 10_000,
        unneeded: anywhere,
    },
    FileRow {
        folder: |places| places.workspace.as_deref(),
        depth: 64,
        entries: 100_000,
        unneeded: anywhere,
    },
];

/// Temporary files next to a file that osier writes.
fn anywhere(name: &str) -> Option<Unneeded<'_>> {
    Some(match pending_file::temporary(name)? {
        pending_file::Temporary::New => Unneeded::Unlocked,
        pending_file::Temporary::Earlier => Unneeded::Old(HOUR),
        pending_file::Temporary::Either(marks) => Unneeded::Content(marks),
    })
}

/// Temporary files in the data directory, also those of earlier versions.
fn in_data(name: &str) -> Option<Unneeded<'_>> {
    let is_earlier = [".tmp", ".import-"].iter().any(|prefix| {
        name.strip_prefix(prefix).is_some_and(|random| {
            random.len() == 6 && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
        })
    });
    if is_earlier {
        return Some(Unneeded::Old(HOUR));
    }
    anywhere(name)
}
