//! The repository around a folder, of whatever version control.

use std::path::Path;

/// The entries that only the root of a working copy has: of Git, Jujutsu, Mercurial, Subversion, Fossil, Pijul, Darcs and
/// Breezy. An old Subversion has one in each folder.
const MARKS: [&str; 9] = [
    ".git",
    ".jj",
    ".hg",
    ".svn",
    ".fslckout",
    "_FOSSIL_",
    ".pijul",
    "_darcs",
    ".bzr",
];

/// The root of the repository around `folder`.
pub fn root(folder: &Path) -> Option<&Path> {
    let is_root = |folder: &&Path| MARKS.iter().any(|mark| folder.join(mark).exists());
    folder.ancestors().find(is_root)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn every_kind_of_repository_has_a_root() {
        for mark in MARKS {
            let place = tempfile::tempdir().unwrap();
            let (project, below) = (place.path().join("project"), "a/b");
            fs::create_dir_all(project.join(below)).unwrap();
            assert_eq!(root(&project.join(below)), None, "{mark}");
            fs::create_dir(project.join(mark)).unwrap();
            assert_eq!(root(&project.join(below)), Some(&*project), "{mark}");
        }
    }
}
