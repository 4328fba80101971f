//! Resolves symbolic links, also of paths whose end does not exist yet, and remembers every name on the way.
//!
//! A real path contains no links. [`crate::without_links`] opens it, so that the checked file is the opened one.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// Maximum number of links, as in Linux.
const MAX_LINKS: usize = 40;

/// A path without symbolic links, and the names that led to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RealPath {
    /// Absolute, without links, `.` and `..`. Its end need not exist.
    pub real: PathBuf,
    /// The name of each link on the way: the path with all links before it resolved. Rules also
    /// match these names.
    pub names: Vec<PathBuf>,
    /// The links on the way, each in its real directory.
    pub links: Vec<PathBuf>,
}

/// Resolves `path`, which must be absolute. A loop of links stays as it is: opening it fails.
pub fn resolve(path: &Path) -> RealPath {
    resolve_in(path, &Path::to_owned)
}

/// Like [`resolve`] for another view of the file system: `host` maps a path of the view to the path outside.
/// `real` and `names` are paths of the view.
pub fn resolve_in(path: &Path, host: &dyn Fn(&Path) -> PathBuf) -> RealPath {
    let (mut names, mut links) = (Vec::new(), Vec::new());
    let mut real = PathBuf::from("/");
    let mut rest = reversed(path);
    while let Some(part) = rest.pop() {
        if part == ".." {
            real.pop();
            continue;
        }
        real.push(part);
        let Ok(target) = host(&real).read_link() else {
            continue;
        };
        names.push(joined(&real, &rest));
        links.push(real.clone());
        if names.len() > MAX_LINKS {
            real.extend(rest.iter().rev());
            break;
        }
        real.pop();
        if target.is_absolute() {
            real = PathBuf::from("/");
        }
        rest.extend(reversed(&target));
    }
    if cfg!(target_os = "macos") {
        real = super::path::canonical_key(&real);
    }
    names.retain(|name| *name != real);
    RealPath { real, names, links }
}

/// The names of a path, the last one first.
fn reversed(path: &Path) -> Vec<OsString> {
    let parts = path.components().rev();
    parts
        .filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_owned()),
            Component::ParentDir => Some("..".into()),
            _ => None,
        })
        .collect()
}

/// `path` with the `rest`, where `..` removes the name before it.
fn joined(path: &Path, rest: &[OsString]) -> PathBuf {
    let mut whole = path.to_owned();
    for part in rest.iter().rev() {
        if part == ".." {
            whole.pop();
        } else {
            whole.push(part);
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_are_resolved_and_their_names_remembered() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("work/src")).unwrap();
        fs::create_dir_all(root.join("out/deep")).unwrap();
        for (target, link) in [
            ("../out", "work/out"),
            ("../../out/new", "work/src/dangling"),
            ("src", "work/first"),
            ("first", "work/second"),
            ("loop", "work/loop"),
        ] {
            symlink(target, root.join(link)).unwrap();
        }
        symlink(root.join("out/deep"), root.join("work/absolute")).unwrap();
        for (given, real, names, links) in [
            ("work/src/a", "work/src/a", &[][..], &[][..]),
            ("work//src/./a/", "work/src/a", &[], &[]),
            ("work/none/../src/a", "work/src/a", &[], &[]),
            ("work/out/a", "out/a", &["work/out/a"], &["work/out"]),
            ("work/x/../out/a", "out/a", &["work/out/a"], &["work/out"]),
            (
                "work/src/dangling",
                "out/new",
                &["work/src/dangling"],
                &["work/src/dangling"],
            ),
            (
                "work/second/a",
                "work/src/a",
                &["work/second/a", "work/first/a"],
                &["work/second", "work/first"],
            ),
            // `..` after a link leads to the parent of the target.
            (
                "work/absolute/../b",
                "out/b",
                &["work/b"],
                &["work/absolute"],
            ),
        ] {
            let below_root = |names: &[&str]| names.iter().map(|name| root.join(name)).collect();
            let expected = RealPath {
                real: root.join(real),
                names: below_root(names),
                links: below_root(links),
            };
            assert_eq!(resolve(&root.join(given)), expected, "{given}");
        }
        assert_eq!(
            resolve(&root.join("work/loop/a")).real,
            root.join("work/loop/a")
        );
    }

    #[test]
    fn links_of_another_view_are_followed_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let private = folder.path().canonicalize().unwrap();
        symlink("/view/b", private.join("a")).unwrap();
        let host = |path: &Path| match path.strip_prefix("/view") {
            Ok(rest) => private.join(rest),
            Err(_) => path.to_owned(),
        };
        let found = resolve_in(Path::new("/view/a/c"), &host);
        assert_eq!(found.real, Path::new("/view/b/c"));
    }
}
