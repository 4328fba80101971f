//! Projects that were moved: their sessions are stored by the path at which they ran.
//!
//! A file in the folder of a project's sessions has the identity of the project's directory, which a move keeps: its inode and
//! the time of its creation. An inode alone can belong to a new directory.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use osier_base::{atomic_file, regular_file};
use osier_protocol::Header;

use super::directory::{SessionDirectory, project_name};

/// The name of the file: a line with the identity, then the path.
const MARKER: &str = ".project";

/// The inode and the time of creation in nanoseconds. `None` where directories have no such time.
fn identity(directory: &Path) -> Option<String> {
    let data = fs::metadata(directory).ok()?;
    let created = data.created().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(format!("{}:{}", data.ino(), created.as_nanos()))
}

/// Remembers the directory of the first session in `folder`, so that its sessions are found after a move. `records` begin
/// with the header. Without the file, they are only found by their names.
pub(super) fn remember(folder: &Path, records: &[u8]) {
    let header = records.split(|byte| *byte == b'\n').next();
    let header = header.and_then(|line| serde_json::from_slice::<Header>(line).ok());
    let Some(cwd) = header.map(|header| header.cwd) else {
        return;
    };
    // A folder that the user chose is no folder of one project.
    if folder.file_name() != Some(project_name(Path::new(&cwd)).as_ref()) {
        return;
    }
    let Some(identity) = identity(Path::new(&cwd)).filter(|_| !cwd.contains('\n')) else {
        return;
    };
    let marker = folder.join(MARKER);
    let text = format!("{identity}\n{cwd}\n");
    let known = regular_file::read_text(&marker, regular_file::SMALL);
    if known.is_ok_and(|known| known == text) {
        return;
    }
    let _ = atomic_file::write_with(&marker, text.as_bytes(), atomic_file::Options::PRIVATE);
}

impl SessionDirectory {
    /// The paths that the directory `cwd` had before it was moved.
    pub fn former_paths(&self, cwd: &Path) -> Vec<PathBuf> {
        let Some(identity) = identity(cwd).filter(|_| self.has_folder_by_project()) else {
            return Vec::new();
        };
        let folders = fs::read_dir(self.root()).into_iter().flatten().flatten();
        let markers = folders.filter_map(|folder| {
            regular_file::read_text(&folder.path().join(MARKER), regular_file::SMALL).ok()
        });
        let paths = markers.filter_map(|text| {
            let (known, path) = text.trim_end().split_once('\n')?;
            (known == identity && Path::new(path) != cwd).then(|| PathBuf::from(path))
        });
        let mut paths: Vec<PathBuf> = paths.collect();
        paths.sort();
        paths
    }
}
