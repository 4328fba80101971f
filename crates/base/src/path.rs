//! Paths: resolving what models and users enter, and formatting for display and locks.
//!
//! An existing path is used literally. Only otherwise common mistakes of models are corrected: a leading `@`, spaces
//! other than U+0020, and the Unicode forms of macOS file names.

use crate::sort;
use std::borrow::Cow;
use std::fs;
use std::path::{Component, Path, PathBuf};

use unicode_normalization::UnicodeNormalization as _;

/// Maximum number of names to compare in one directory.
const MAX_NAMES: usize = 20_000;
/// Minimum share of common character pairs of a similar name.
const NEAR: f32 = 0.5;

/// Resolves `given` against `cwd`. The result is absolute if `cwd` is; `.` components are removed.
pub fn resolve(cwd: &Path, given: &str) -> PathBuf {
    resolve_with_home(cwd, given, dirs::home_dir().as_deref())
}

/// Like [`resolve`], for a path that should exist: if it does not, an entry of the same directory that differs only
/// in the kind of spaces, quotes or Unicode composition is used.
pub fn resolve_existing(cwd: &Path, given: &str) -> PathBuf {
    let path = resolve(cwd, given);
    if exists(&path) {
        return path;
    }
    same_but_for_spelling(&path).unwrap_or(path)
}

fn resolve_with_home(cwd: &Path, given: &str, home: Option<&Path>) -> PathBuf {
    let literal = expand(cwd, given, home);
    if exists(&literal) {
        return literal;
    }
    let without_at = given.strip_prefix('@').unwrap_or(given);
    let spaced = plain_spaces(without_at);
    if spaced != without_at {
        let path = expand(cwd, without_at, home);
        if exists(&path) {
            return path;
        }
    }
    expand(cwd, &spaced, home)
}

fn expand(cwd: &Path, given: &str, home: Option<&Path>) -> PathBuf {
    let path = match (home, given.strip_prefix('~')) {
        (Some(home), Some("")) => home.to_path_buf(),
        (Some(home), Some(rest)) if rest.starts_with('/') => {
            home.join(rest.trim_start_matches('/'))
        }
        _ => cwd.join(given),
    };
    path.components().collect()
}

/// Whether the path exists; a dangling link does.
fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

fn plain_spaces(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(
        text.chars()
            .map(|char| if is_space(char) { ' ' } else { char })
            .collect(),
    )
}

/// Spaces that look like U+0020.
pub fn is_space(char: char) -> bool {
    matches!(
        char,
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}'
    )
}

fn same_but_for_spelling(path: &Path) -> Option<PathBuf> {
    let wanted = fold(path.file_name()?.to_str()?);
    let name = names(path.parent()?).find(|name| fold(name) == wanted)?;
    Some(path.with_file_name(name))
}

fn fold(name: &str) -> String {
    name.nfkc()
        .map(|char| match char {
            '\u{2018}' | '\u{2019}' => '\'',
            '\u{201c}' | '\u{201d}' => '"',
            char if is_space(char) => ' ',
            char => char,
        })
        .collect()
}

fn names(directory: &Path) -> impl Iterator<Item = String> {
    fs::read_dir(directory)
        .into_iter()
        .flatten()
        .take(MAX_NAMES)
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
}

/// `path` for display: relative to `cwd`, with `~` for the home directory, or unchanged.
pub fn display(path: &Path, cwd: &Path) -> String {
    display_with_home(path, cwd, dirs::home_dir().as_deref())
}

/// `path` for display, with `~` for the home directory.
pub fn below_home(path: &Path) -> String {
    with_tilde(path, dirs::home_dir().as_deref())
}

fn with_tilde(path: &Path, home: Option<&Path>) -> String {
    match home.and_then(|home| path.strip_prefix(home).ok()) {
        Some(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
        Some(rest) => format!("~/{}", rest.display()),
        None => path.display().to_string(),
    }
}

fn display_with_home(path: &Path, cwd: &Path, home: Option<&Path>) -> String {
    if let Ok(rest) = path.strip_prefix(cwd) {
        return if rest.as_os_str().is_empty() {
            ".".to_owned()
        } else {
            rest.display().to_string()
        };
    }
    with_tilde(path, home)
}

/// Existing paths similar to `path`, which does not exist: entries of its deepest existing directory with names
/// similar to the first missing component. Most similar first, at most `limit`.
pub fn nearest(path: &Path, limit: usize) -> Vec<PathBuf> {
    let Some((directory, missing)) = first_missing(path) else {
        return Vec::new();
    };
    let missing = missing.to_lowercase();
    let mut near: Vec<(f32, String)> = names(&directory)
        .map(|name| (likeness(&missing, &name.to_lowercase()), name))
        .filter(|(likeness, _)| *likeness >= NEAR)
        .collect();
    sort::by(&mut near, |left, right| {
        right
            .0
            .total_cmp(&left.0)
            .then_with(|| left.1.cmp(&right.1))
    });
    near.truncate(limit);
    near.into_iter()
        .map(|(_, name)| directory.join(name))
        .collect()
}

/// The deepest existing directory of the path, and the missing name in it.
fn first_missing(path: &Path) -> Option<(PathBuf, String)> {
    let directory = path
        .ancestors()
        .skip(1)
        .find(|ancestor| ancestor.is_dir())?;
    let rest = path.strip_prefix(directory).ok()?;
    let name = rest.components().next()?.as_os_str().to_str()?.to_owned();
    Some((directory.to_path_buf(), name))
}

/// The similarity of two names, from 0 to 1: twice the common pairs of adjacent characters divided by all pairs
/// (Dice), including the ends. 1 if one is the other without its extension.
fn likeness(left: &str, right: &str) -> f32 {
    let stem = |name: &str| name.rsplit_once('.').map(|(stem, _)| stem.to_owned());
    if stem(right).as_deref() == Some(left) || stem(left).as_deref() == Some(right) {
        return 1.0;
    }
    let (left, mut right) = (pairs(left), pairs(right));
    let all = left.len() + right.len();
    let shared = left
        .iter()
        .filter(|pair| {
            let found = right.iter().position(|other| other == *pair);
            found.map(|index| right.swap_remove(index)).is_some()
        })
        .count();
    2.0 * shared as f32 / all as f32
}

fn pairs(name: &str) -> Vec<(char, char)> {
    let after = name.chars().chain(['\0']);
    ['\0'].into_iter().chain(name.chars()).zip(after).collect()
}

/// A unique key of a file for all ways to write its path, even before the file exists: resolves the links of its
/// longest existing prefix, and `..` after it.
pub fn canonical_key(path: &Path) -> PathBuf {
    let mut missing = Vec::new();
    let mut start = path;
    loop {
        if let Ok(real) = start.canonicalize() {
            missing.reverse();
            return append(real, &missing);
        }
        let (Some(parent), Some(last)) = (start.parent(), start.components().next_back()) else {
            return path.components().collect();
        };
        missing.push(last);
        start = parent;
    }
}

fn append(mut real: PathBuf, missing: &[Component<'_>]) -> PathBuf {
    for component in missing {
        match component {
            Component::ParentDir => {
                real.pop();
            }
            other => real.push(other),
        }
    }
    real
}

#[cfg(test)]
mod tests {
    use std::fs::{File, create_dir};
    use std::os::unix::fs::symlink;

    use tempfile::TempDir;

    use super::*;

    fn directory_with(names: &[&str]) -> TempDir {
        let dir = TempDir::new().unwrap();
        for name in names {
            File::create(dir.path().join(name)).unwrap();
        }
        dir
    }

    #[test]
    fn paths_are_resolved_against_working_directory_and_home() {
        let (cwd, home) = (Path::new("/nowhere/work"), Path::new("/nowhere/home"));
        for (given, expected) in [
            ("a.rs", "/nowhere/work/a.rs"),
            ("./src/./a.rs", "/nowhere/work/src/a.rs"),
            ("../a.rs", "/nowhere/work/../a.rs"),
            ("/etc/passwd", "/etc/passwd"),
            ("~", "/nowhere/home"),
            ("~/x/y", "/nowhere/home/x/y"),
            ("~user/x", "/nowhere/work/~user/x"),
            ("@src/a.rs", "/nowhere/work/src/a.rs"),
            ("@~/x", "/nowhere/home/x"),
            ("a\u{a0}b.txt", "/nowhere/work/a b.txt"),
        ] {
            assert_eq!(
                resolve_with_home(cwd, given, Some(home)),
                Path::new(expected),
                "{given}"
            );
        }
    }

    #[test]
    fn literal_name_has_priority_over_a_corrected_one() {
        let dir = directory_with(&["@a", "a", "b\u{a0}c", "b c"]);
        let resolve = |given| resolve_with_home(dir.path(), given, None);
        assert_eq!(resolve("@a"), dir.path().join("@a"));
        assert_eq!(resolve("b\u{a0}c"), dir.path().join("b\u{a0}c"));
        assert_eq!(resolve("@b\u{a0}c"), dir.path().join("b\u{a0}c"));
        assert_eq!(resolve("b\u{202f}c"), dir.path().join("b c"));
    }

    #[test]
    fn existing_name_is_found_in_other_spellings() {
        let dir = directory_with(&[
            "Shot 9.41\u{202f}PM.png",
            "it\u{2019}s.txt",
            "cafe\u{301}.md",
        ]);
        for (given, expected) in [
            ("Shot 9.41 PM.png", "Shot 9.41\u{202f}PM.png"),
            ("it's.txt", "it\u{2019}s.txt"),
            ("caf\u{e9}.md", "cafe\u{301}.md"),
            ("other", "other"),
        ] {
            assert_eq!(
                resolve_existing(dir.path(), given),
                dir.path().join(expected),
                "{given}"
            );
        }
    }

    #[test]
    fn paths_are_displayed_short() {
        let (cwd, home) = (Path::new("/home/me/work"), Path::new("/home/me"));
        for (path, expected) in [
            ("/home/me/work/src/a.rs", "src/a.rs"),
            ("/home/me/work", "."),
            ("/home/me/other/a", "~/other/a"),
            ("/home/me", "~"),
            ("/etc/passwd", "/etc/passwd"),
        ] {
            assert_eq!(
                display_with_home(Path::new(path), cwd, Some(home)),
                expected
            );
        }
    }

    #[test]
    fn similar_names_are_suggested_most_similar_first() {
        let dir = directory_with(&["settings.rs", "setting.rs", "main.rs", "README.md"]);
        create_dir(dir.path().join("source")).unwrap();
        let nearest = |path: &str| -> Vec<String> {
            super::nearest(&dir.path().join(path), 3)
                .iter()
                .map(|path| display_with_home(path, dir.path(), None))
                .collect()
        };
        assert_eq!(nearest("setings.rs"), ["settings.rs", "setting.rs"]);
        assert_eq!(nearest("readme"), ["README.md"]);
        assert_eq!(nearest("sources/deep/file.rs"), ["source"]);
        assert_eq!(nearest("zzz"), [""; 0]);
    }

    #[test]
    fn one_file_has_one_key() {
        let dir = TempDir::new().unwrap();
        let root = dir.path().canonicalize().unwrap();
        create_dir(root.join("real")).unwrap();
        symlink("real", root.join("link")).unwrap();
        let key = root.join("real/new/file");
        for path in [
            "real/new/file",
            "link/new/file",
            "link/new/x/../file",
            "real/../link/new/file",
        ] {
            assert_eq!(canonical_key(&root.join(path)), key, "{path}");
        }
    }
}
