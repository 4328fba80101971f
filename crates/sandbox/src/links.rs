//! The symbolic links by which a path leads to its file: a command that replaces one gives the path another file.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// As many as the kernel follows.
const MOST: usize = 40;

/// The links on the way to the file at the absolute `path`, the last component included. The directories above each are real.
pub(super) fn on_the_way(path: &Path) -> Vec<PathBuf> {
    let parts = |path: &Path| -> Vec<OsString> {
        let parts = path.components().rev();
        parts.map(|part| part.as_os_str().to_owned()).collect()
    };
    let mut links = Vec::new();
    let mut left = parts(path);
    let mut at = PathBuf::new();
    while let Some(part) = left.pop() {
        if Path::new(&part).components().next() == Some(Component::ParentDir) {
            at.pop();
            continue;
        }
        // An absolute target replaces all before it.
        let next = at.join(part);
        match next.read_link() {
            Ok(target) if links.len() < MOST => {
                left.extend(parts(&target));
                links.push(next);
            }
            _ => at = next,
        }
    }
    links
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::create_dir_all;
    use std::os::unix::fs::symlink;

    #[test]
    fn each_link_of_a_path_is_found() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let at = |name: &str| root.join(name);
        create_dir_all(at("real/deep")).unwrap();
        symlink("real", at("folder")).unwrap();
        symlink("../../real/second", at("real/deep/first")).unwrap();
        symlink(at("folder/missing"), at("real/second")).unwrap();
        symlink("circle", at("circle")).unwrap();
        for (path, expected) in [
            ("real/deep", &[][..]),
            ("missing/file", &[]),
            ("folder/deep/file", &["folder"]),
            (
                "folder/deep/first",
                &["folder", "real/deep/first", "real/second", "folder"],
            ),
            ("circle", &["circle"; MOST]),
        ] {
            let expected: Vec<PathBuf> = expected.iter().map(|name| at(name)).collect();
            assert_eq!(on_the_way(&at(path)), expected, "{path}");
        }
    }
}
