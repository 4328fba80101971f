//! Instructions that apply to some files only: rules with patterns of paths.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use osier_base::path;
use osier_base::problem::Problem;
use osier_peers::front_matter::Document;

/// A file of instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextFile {
    pub path: PathBuf,
    /// The part that is used.
    pub text: String,
    /// Size of the complete file.
    pub size: u64,
}

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
            // No pattern matches if all together are too large.
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

    pub(super) fn fits(&self, file: &Path, root: &Path) -> bool {
        let base = if self.base.as_os_str().is_empty() {
            root.to_owned()
        } else {
            path::canonical_key(&self.base)
        };
        let below = file.strip_prefix(&base);
        below.is_ok_and(|below| self.globs.is_match(below))
    }
}

/// The path patterns of a rule of Claude Code (`paths`) or Copilot (`applyTo`); `None` if it
/// applies to all files.
pub(super) fn path_patterns(document: &Document<'_>) -> Option<Vec<String>> {
    let text = ["paths", "applyTo", "globs"]
        .iter()
        .find_map(|name| document.list(name))?;
    let patterns: Vec<String> = text.into_iter().flat_map(|text| split(&text)).collect();
    let is_all = |pattern: &String| matches!(pattern.as_str(), "*" | "**" | "**/*");
    (!patterns.is_empty() && !patterns.iter().any(is_all)).then_some(patterns)
}

/// Splits patterns at commas outside of braces.
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
