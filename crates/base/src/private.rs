//! Files and folders that may contain secrets: readable only by their owner.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::Path;

/// Mode of such a file.
pub const FILE_MODE: u32 = 0o600;

/// Creates a folder and its missing parents, with mode 0700.
pub fn create_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Removes the permissions of other users from a file or folder of this user. Returns whether they
/// had any. Shared folders, such as `/tmp`, and links are left alone.
pub fn restrict(path: &Path) -> io::Result<bool> {
    let metadata = fs::symlink_metadata(path)?;
    let mode = metadata.mode() & 0o7777;
    let is_own = metadata.uid() == rustix::process::geteuid().as_raw();
    let is_link = metadata.is_symlink();
    if !is_own || is_link || mode & 0o1000 != 0 || mode == mode & 0o7700 {
        return Ok(false);
    }
    fs::set_permissions(path, Permissions::from_mode(mode & 0o7700))?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_private_and_open_files_are_restricted() {
        let place = tempfile::tempdir().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o7777;
        let folder = place.path().join("a/b");
        create_folder(&folder).unwrap();
        assert_eq!(mode(&folder), 0o700);
        assert_eq!(mode(&place.path().join("a")), 0o700);
        let file = folder.join("file");
        crate::atomic_file::write(&file, b"").unwrap();
        for (before, after, changed) in [
            (0o644, 0o600, true),
            (0o755, 0o700, true),
            (0o600, 0o600, false),
            (0o400, 0o400, false),
            (0o1777, 0o1777, false),
        ] {
            fs::set_permissions(&file, Permissions::from_mode(before)).unwrap();
            assert_eq!(restrict(&file).unwrap(), changed, "{before:o}");
            assert_eq!(mode(&file), after, "{before:o}");
        }
        assert!(restrict(&folder.join("none")).is_err());
    }
}
