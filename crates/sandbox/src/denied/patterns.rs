//! The files that the patterns of deny rules name. Patterns with the same directory share a visit of its files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::DirEntry;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::tree::{Contents, MAX_ENTRIES, TooLarge, Tree};

/// The patterns of all rules, by the directory that they begin with.
#[derive(Debug, Default)]
pub(super) struct Patterns {
    by_base: BTreeMap<PathBuf, OfBase>,
}

#[derive(Debug)]
struct OfBase {
    patterns: Vec<PathBuf>,
    globs: Arc<GlobSet>,
    tree: Tree<Matches>,
}

/// The entries of a directory that patterns match, each with the number of the pattern.
#[derive(Debug, Clone)]
struct Matches {
    globs: Arc<GlobSet>,
    paths: Vec<(usize, PathBuf)>,
}

impl Contents for Matches {
    fn add(&mut self, entry: &DirEntry) -> bool {
        let path = entry.path();
        let matched = self.globs.matches(&path);
        let is_open = matched.len() < self.globs.len();
        let paths = matched.into_iter().map(|number| (number, path.clone()));
        self.paths.extend(paths);
        is_open
    }
}

impl Patterns {
    /// # Errors
    /// A path is not a pattern.
    pub(super) fn of<'a>(paths: impl Iterator<Item = &'a Path>) -> Result<Self, String> {
        let mut by_base: BTreeMap<PathBuf, Vec<PathBuf>> = BTreeMap::new();
        for path in paths {
            if let Named::Matched(base) = named(path) {
                by_base.entry(base).or_default().push(path.to_owned());
            }
        }
        let groups = by_base.into_iter().map(|(base, patterns)| {
            let mut globs = GlobSetBuilder::new();
            for pattern in &patterns {
                let text = pattern.to_string_lossy();
                let glob = GlobBuilder::new(&text).literal_separator(true).build();
                globs.add(glob.map_err(|_| format!("`{text}` is not a pattern"))?);
            }
            let group = OfBase {
                globs: Arc::new(globs.build().map_err(|error| error.to_string())?),
                patterns,
                tree: Tree::default(),
            };
            Ok((base, group))
        });
        let by_base = groups.collect::<Result<_, String>>()?;
        Ok(Self { by_base })
    }

    /// The files and directories that each pattern finds now, but nothing below them and nothing
    /// behind links to directories.
    ///
    /// # Errors
    /// Too many files would have to be compared.
    pub(super) fn find(&self) -> Result<BTreeMap<&Path, BTreeSet<PathBuf>>, String> {
        let mut found: BTreeMap<&Path, BTreeSet<PathBuf>> = BTreeMap::new();
        for (base, group) in &self.by_base {
            let empty = Matches {
                globs: Arc::clone(&group.globs),
                paths: Vec::new(),
            };
            let visited = group.tree.visit(base, &empty, |folder| {
                for (number, path) in &folder.paths {
                    let all = found.entry(&group.patterns[*number]).or_default();
                    if !path.ancestors().any(|above| all.contains(above)) {
                        all.insert(path.clone());
                    }
                }
            });
            visited.map_err(|TooLarge| {
                format!(
                    "`{}` contains more than {MAX_ENTRIES} files, and the deny rule for `{}` could name any of them; name their folder",
                    base.display(),
                    group.patterns[0].display()
                )
            })?;
        }
        Ok(found)
    }

    #[cfg(test)]
    pub(super) fn limit(&mut self, base: &Path, entries: usize) {
        self.by_base.get_mut(base).unwrap().tree = Tree::limited(entries);
    }
}

/// The meaning of a path with patterns.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Named {
    /// This path: a plain one, or a directory with everything in it.
    One(PathBuf),
    /// Entries of this directory that must be compared.
    Matched(PathBuf),
}

pub(super) fn named(pattern: &Path) -> Named {
    let is_plain = |part: &Component<'_>| {
        let text = part.as_os_str().to_string_lossy();
        !text.contains(['*', '?', '[', '{', '\\'])
    };
    let base: PathBuf = pattern.components().take_while(is_plain).collect();
    let rest = pattern.strip_prefix(&base).unwrap_or(Path::new(""));
    if rest.as_os_str().is_empty() || rest == Path::new("**") {
        return Named::One(base);
    }
    Named::Matched(base)
}
