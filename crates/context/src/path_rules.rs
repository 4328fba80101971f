//! Instructions that concern some files only: those of folders that are not above the working directory, and rules
//! with patterns of paths. They are found when work moves to such files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use super::area::Area;
use super::files::{self, ContextFile, Search};
use super::front_matter::Document;
use super::{ContextSources, ProjectContext};
use osier_base::path;
use osier_base::peers::PeerFolders;
use osier_base::problem::Problem;

/// A file of instructions for paths that match.
#[derive(Debug, Clone)]
pub struct PathRule {
    pub file: ContextFile,
    /// The patterns as written.
    pub patterns: Vec<String>,
    /// The folder that the patterns start from; any if empty.
    base: PathBuf,
    globs: GlobSet,
    /// A pattern that is invalid.
    invalid: Option<String>,
}

impl PartialEq for PathRule {
    fn eq(&self, other: &Self) -> bool {
        (&self.file, &self.patterns, &self.base) == (&other.file, &other.patterns, &other.base)
    }
}

impl Eq for PathRule {}

impl PathRule {
    pub(super) fn new(file: ContextFile, base: &Path, patterns: &[String]) -> Self {
        let mut globs = GlobSetBuilder::new();
        let mut invalid = None;
        for pattern in patterns {
            let trimmed = pattern.trim_start_matches("./").trim_start_matches('/');
            let glob = GlobBuilder::new(trimmed).literal_separator(true).build();
            match glob {
                Ok(glob) => drop(globs.add(glob)),
                Err(_) => invalid = Some(pattern.clone()),
            }
        }
        Self {
            file,
            patterns: patterns.to_vec(),
            base: base.to_owned(),
            // Empty if the patterns are too large together.
            globs: globs.build().unwrap_or_default(),
            invalid,
        }
    }

    pub(super) fn problem(&self) -> Option<Problem> {
        let pattern = self.invalid.as_ref()?;
        let message = format!("invalid pattern `{pattern}`");
        let hint = "write a pattern such as `src/**/*.ts`; it is ignored";
        Some(Problem::of_file(&self.file.path, message, hint))
    }

    fn fits(&self, file: &Path, root: &Path) -> bool {
        let base = if self.base.as_os_str().is_empty() {
            root.to_owned()
        } else {
            path::canonical_key(&self.base)
        };
        let below = file.strip_prefix(&base);
        below.is_ok_and(|below| self.globs.is_match(below))
    }
}

/// The patterns of paths that a rule of Claude Code (`paths`) or Copilot (`applyTo`) concerns; `None` for all.
pub(super) fn path_patterns(document: &Document<'_>) -> Option<Vec<String>> {
    let text = ["paths", "applyTo", "globs"]
        .iter()
        .find_map(|name| document.list(name))?;
    let patterns: Vec<String> = text.into_iter().flat_map(|text| split(&text)).collect();
    let is_all = |pattern: &String| matches!(pattern.as_str(), "*" | "**" | "**/*");
    (!patterns.is_empty() && !patterns.iter().any(is_all)).then_some(patterns)
}

/// Patterns separated by commas, but not by those in braces.
fn split(text: &str) -> Vec<String> {
    let mut depth = 0_usize;
    let parts = text.split(|char| {
        match char {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        char == ',' && depth == 0
    });
    let parts = parts.map(str::trim).filter(|part| !part.is_empty());
    parts.map(str::to_owned).collect()
}

/// Finds the instructions for files that work moves to. Each file of instructions is returned once.
#[derive(Debug, Clone)]
pub struct PathInstructions {
    cwd: PathBuf,
    peers: Option<PeerFolders>,
    rules: Vec<PathRule>,
    /// The real paths of what is known.
    seen: BTreeSet<PathBuf>,
    /// The folders that were searched.
    searched: BTreeSet<PathBuf>,
}

impl PathInstructions {
    /// What `context`, which was read from `sources`, does not contain.
    pub fn new(sources: &ContextSources, context: &ProjectContext) -> Self {
        let cwd = path::canonical_key(&sources.cwd);
        Self {
            peers: sources.peers.clone(),
            rules: context.rules.clone(),
            seen: context.seen.clone(),
            searched: files::folders(&cwd).into_iter().collect(),
            cwd,
        }
    }

    /// The instructions for work on `file`, an absolute path, that were not returned before; the nearest last. Blocks.
    pub fn for_file(&mut self, file: &Path) -> (Vec<ContextFile>, Vec<Problem>) {
        let root = files::root(&self.cwd).to_owned();
        let file = path::canonical_key(file);
        let mut problems = Vec::new();
        if !file.starts_with(&root) {
            return (Vec::new(), problems);
        }
        let folder = file.parent().unwrap_or(&root);
        let mut folders: Vec<&Path> = folder
            .ancestors()
            .take_while(|folder| folder.starts_with(&root))
            .filter(|folder| !self.searched.contains(*folder))
            .collect();
        folders.reverse();
        let seen = std::mem::take(&mut self.seen);
        let mut search = Search::new(self.peers.as_ref(), &mut problems).without(seen);
        let area = Area::of_project(&self.cwd);
        for folder in &folders {
            search.add_folder(folder, &area);
        }
        let found = search.finish();
        self.searched
            .extend(folders.into_iter().map(Path::to_owned));
        self.seen = found.seen;
        self.rules.extend(found.rules);
        let mut files = found.files;
        let (fitting, others) = std::mem::take(&mut self.rules)
            .into_iter()
            .partition(|rule| rule.fits(&file, &root));
        self.rules = others;
        files.extend(fitting.into_iter().map(|rule: PathRule| rule.file));
        (files, problems)
    }
}
