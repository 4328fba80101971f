//! What killed processes leave behind, and who removes it. All temporary folders of osier are a [`TemporaryFolder`], all
//! temporary files a [`PendingFile`](crate::pending_file::PendingFile). Their process has them locked, so that
//! [`sweep`] removes only what no process uses. Nothing is removed where a file system has no locks, except files that
//! nobody can still be writing.

mod folder;
mod sweep;
mod table;

pub use folder::TemporaryFolder;
pub use sweep::{Swept, sweep, sweep_at};
pub use table::{FolderKind, Places};

/// The bytes of the temporary folders of a kind.
pub fn bytes_of(kind: FolderKind, parent: &std::path::Path) -> u64 {
    sweep::folders_of(kind, parent)
        .map(|path| sweep::bytes_in(&path))
        .sum()
}
