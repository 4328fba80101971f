//! The steps of a patch that were carried out, and how each is undone.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::files::encoding::TextEncoding;
use crate::workspace::Workspace;
use osier_agent::FileTarget;
use osier_base::atomic_file::{self, Options};
use osier_base::pending_file::rename_new;
use osier_base::without_links;

/// The highest directory of the path that does not exist yet.
pub(super) fn first_missing(path: &Path) -> Option<PathBuf> {
    let parents = path.ancestors().skip(1);
    let missing = parents.take_while(|parent| parent.symlink_metadata().is_err());
    missing.last().map(Path::to_owned)
}

pub(super) fn remove(path: &Path) -> io::Result<()> {
    let (folder, name) = split(path)?;
    fs::remove_file(without_links::open_folder(folder)?.join(name))
}

pub(super) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    let ((from, old), (to, new)) = (split(from)?, split(to)?);
    let from = without_links::open_folder(from)?;
    let to = without_links::create_folder(to)?;
    rename_new(&from.join(old), &to.join(new))
}

fn split(path: &Path) -> io::Result<(&Path, &OsStr)> {
    let parts = path.parent().zip(path.file_name());
    parts.ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

/// A step that was carried out.
pub(super) enum Done {
    Created {
        file: PathBuf,
        was_empty: bool,
        folder: Option<PathBuf>,
    },
    Replaced {
        target: FileTarget,
        /// The text before.
        text: String,
        encoding: TextEncoding,
    },
    Moved {
        from: PathBuf,
        to: PathBuf,
        folder: Option<PathBuf>,
    },
    Deleted {
        file: PathBuf,
        content: Vec<u8>,
        mode: fs::Permissions,
    },
}

impl Done {
    pub(super) fn undo(&self, workspace: &Workspace) -> Result<(), String> {
        let no_links = Options {
            no_links: true,
            ..Options::default()
        };
        let (file, undone) = match self {
            Self::Created {
                file,
                was_empty,
                folder,
            } => {
                let undone = if *was_empty {
                    atomic_file::write_with(file, b"", no_links).map_err(|error| error.to_string())
                } else {
                    remove(file).map_err(|error| error.to_string())
                };
                remove_folders(file, folder.as_deref());
                (file, undone)
            }
            Self::Replaced {
                target,
                text,
                encoding,
            } => {
                let on_disk = || {
                    let content = encoding.encode(text).map_err(|error| error.to_string())?;
                    atomic_file::write_with(&target.host, &content, no_links)
                        .map_err(|error| error.to_string())
                };
                let written = workspace.write_in_editor(target, text);
                let written = written.unwrap_or_else(on_disk);
                (&target.host, written)
            }
            Self::Moved { from, to, folder } => {
                let undone = rename(to, from).map_err(|error| error.to_string());
                remove_folders(to, folder.as_deref());
                (from, undone)
            }
            Self::Deleted {
                file,
                content,
                mode,
            } => {
                let written = atomic_file::write_with(file, content, no_links);
                let _ = fs::set_permissions(file, mode.clone());
                (file, written.map_err(|error| error.to_string()))
            }
        };
        undone.map_err(|error| format!("`{}`: {error}", workspace.display(file)))
    }
}

/// Removes the directories that were created for a file, up to `first`, as far as they are empty.
fn remove_folders(file: &Path, first: Option<&Path>) {
    let Some(first) = first else { return };
    for folder in file.ancestors().skip(1) {
        if !folder.starts_with(first) || fs::remove_dir(folder).is_err() {
            return;
        }
    }
}
