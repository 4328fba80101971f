//! The start of a search, and the files that it reads.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use osier_walk::{Entry, Override, Rules, walk};

use crate::workspace::Workspace;
use osier_agent::{FileTarget, Refusal};

/// The start of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Root {
    /// The path to walk: without symbolic links.
    pub(crate) path: PathBuf,
    pub(crate) is_file: bool,
    target: FileTarget,
}

impl Root {
    /// The start of a call on `target`, if it can be searched.
    pub(crate) fn find(workspace: &Workspace, target: FileTarget) -> Result<Self, Refusal> {
        let metadata = fs::symlink_metadata(&target.host);
        let metadata = metadata.map_err(|error| workspace.unreadable(&target, error))?;
        if !metadata.is_dir() && !metadata.is_file() {
            let name = workspace.display(&target.named);
            return Err(Refusal::Failed(format!(
                "`{name}` is neither a directory nor a regular file"
            )));
        }
        Ok(Self {
            path: target.host.clone(),
            is_file: metadata.is_file(),
            target,
        })
    }

    /// The path as given, for messages.
    pub(crate) fn named(&self) -> &Path {
        &self.target.named
    }

    /// The name of a path below the root, for messages.
    pub(crate) fn name_of(&self, path: &Path) -> PathBuf {
        below(&self.target.named, path, &self.path)
    }

    /// The real path of a path below the root, as a command finds it.
    pub(crate) fn real_of(&self, path: &Path) -> PathBuf {
        below(&self.target.real, path, &self.path)
    }
}

/// `path` below `root`, moved to `other`.
fn below(other: &Path, path: &Path, root: &Path) -> PathBuf {
    match path.strip_prefix(root) {
        Ok(rest) if rest.as_os_str().is_empty() => other.to_owned(),
        Ok(rest) => other.join(rest),
        Err(_) => path.to_owned(),
    }
}

/// Paths that could not be read.
#[derive(Debug, Default)]
pub(crate) struct Problems(Mutex<(usize, Option<String>)>);

impl Problems {
    pub(crate) fn note(&self, text: impl FnOnce() -> String) {
        let mut problems = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        problems.0 += 1;
        problems.1.get_or_insert_with(text);
    }

    /// The number of problems.
    pub(crate) fn count(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).0
    }

    /// One line about the problems, if there are any.
    pub(crate) fn notice(&self) -> Option<String> {
        let problems = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (count, first) = (problems.0, problems.1.as_deref()?);
        Some(match count {
            1 => format!("[not read: {first}]"),
            _ => format!("[{count} paths not read; the first: {first}]"),
        })
    }
}

/// The entries below `root`, with hidden entries if they are wanted.
pub(crate) fn entries<'a>(
    root: &Path,
    globs: Option<Override>,
    hidden: bool,
    problems: &'a Problems,
) -> impl Iterator<Item = Entry> + use<'a> {
    let rules = if hidden {
        Rules::SEARCH_HIDDEN
    } else {
        Rules::SEARCH
    };
    let entries = walk(root, rules).with_globs(globs);
    entries.filter_map(|entry| {
        entry
            .map_err(|error| problems.note(|| error.to_string()))
            .ok()
    })
}

/// The glob with brackets that are parts of names, such as `[id]`; `None` without brackets.
pub(crate) fn with_literal_brackets(glob: &str) -> Option<String> {
    let has_brackets = glob.contains('[') && glob.contains(']');
    has_brackets.then(|| {
        let escaped = glob.chars().map(|char| match char {
            '[' => "[[]".to_owned(),
            ']' => "[]]".to_owned(),
            other => other.to_string(),
        });
        escaped.collect()
    })
}

/// Whether a glob names hidden files, which it then includes.
pub(crate) fn names_hidden(glob: &str) -> bool {
    let parts = glob.split('/');
    parts.into_iter().any(|part| {
        let name = part.trim_start_matches(['!', '{']);
        name.starts_with('.') && !matches!(name, "." | "..")
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::testing::Bench;

    fn walked(bench: &Bench, hidden: bool) -> Vec<String> {
        let problems = Problems::default();
        let root = bench.path("");
        let entries = entries(&root, None, hidden, &problems);
        let names = entries.map(|entry| bench.workspace.display(&entry.path));
        let names = names.collect();
        assert_eq!(problems.notice(), None);
        names
    }

    #[test]
    fn ignored_and_hidden_files_are_skipped_and_order_is_stable() {
        let bench = Bench::new();
        for name in [
            "b.rs",
            "a/z",
            "a/y",
            "a.rs",
            "x.log",
            ".hidden/x",
            ".git/config",
            "out/x",
            "rg",
            "ig",
        ] {
            bench.put(name, "");
        }
        bench.put(".gitignore", "*.log\n/out/\n");
        bench.put(".ignore", "ig\n");
        bench.put(".rgignore", "rg\n");
        assert_eq!(walked(&bench, false), ["a", "a/y", "a/z", "a.rs", "b.rs"]);
        let all = walked(&bench, true);
        let dotted = [".gitignore", ".hidden", ".hidden/x", ".ignore", ".rgignore"];
        assert_eq!(all[..5], dotted);
    }

    #[test]
    fn a_cycle_of_links_is_listed_and_not_followed() {
        let bench = Bench::new();
        bench.put("a/b/file", "");
        symlink("../..", bench.path("a/b/up")).unwrap();
        symlink("self", bench.path("self")).unwrap();
        assert_eq!(
            walked(&bench, false),
            ["a", "a/b", "a/b/file", "a/b/up", "self"]
        );
    }

    #[test]
    fn a_glob_with_a_hidden_name_includes_it() {
        for (glob, expected) in [
            ("*.rs", false),
            ("./src/*.rs", false),
            ("../x", false),
            (".github/*.yml", true),
            ("**/.env*", true),
            ("!.github/**", true),
            ("{.a,b}", true),
        ] {
            assert_eq!(names_hidden(glob), expected, "{glob}");
        }
    }
}
