//! Files and folders that killed processes leave behind, and their removal. All temporary folders of osier are a
//! [`TemporaryFolder`], all temporary files a [`PendingFile`](crate::pending_file::PendingFile). The process that uses
//! one has it locked, so that [`sweep`] removes only files and folders that no process uses. On a file system without
//! locks, [`sweep`] removes only files that no process can still be writing.

mod folder;
mod sweep;
mod table;
pub mod worktree;

pub use folder::TemporaryFolder;
pub use sweep::{Swept, sweep, sweep_at};
pub use table::{FolderKind, Places};

/// The bytes of the temporary folders of a kind.
pub fn bytes_of(kind: FolderKind, parent: &std::path::Path) -> u64 {
    sweep::folders_of(kind, parent)
        .map(|path| sweep::bytes_in(&path))
        .sum()
}
