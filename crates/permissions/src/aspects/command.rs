//! A single command of a line, in the terms of the rules.

use std::path::{Path, PathBuf};

use super::folders::fits_text;
use crate::equivalents::Equivalent;
use crate::known;
use crate::rule::Rule;
use crate::shell::Word;
use osier_base::real_path;

/// A command, and the commands that it stands for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Command {
    pub words: Vec<Word>,
    pub others: Vec<Equivalent>,
    /// The words that a rule must name, such as paths outside of the working directory.
    pub named: Vec<String>,
    /// Whether the command only reads, and reads known files.
    pub reads_only: bool,
    /// Whether the command searches files: see `Aspects::searches`.
    pub searches: bool,
    /// Whether only a rule for every command, or for exactly this line, covers the command.
    pub refused: bool,
}

/// A search for text in all files below a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Search {
    pub root: PathBuf,
    /// Names of the searched files, with `GLOB` for `*`; empty for all files.
    pub included: Vec<String>,
    pub skips_hidden: bool,
    /// Whether the search only finds names, and reads no file.
    pub lists: bool,
    /// Whether another program splits the names at blanks, and interprets quotes and backslashes in
    /// them.
    pub needs_plain_names: bool,
}

impl Command {
    /// Whether the allow rule `rule`, which has a pattern, covers the command.
    pub(super) fn is_covered(&self, rule: &Rule) -> bool {
        let named: Vec<&str> = self.named.iter().map(String::as_str).collect();
        let others = self.others.iter().filter(|other| other.is_complete);
        !self.refused
            && (rule.allows_command(&self.words)
                || rule.allows_command(self.without_harmless_assignments()))
            && rule.names(&named)
            && names_unknown(rule, &self.words)
            && others
                .into_iter()
                .all(|other| names_unknown(rule, &other.words))
    }

    /// Whether the deny or ask rule `rule` applies to the command.
    pub(super) fn is_touched(&self, rule: &Rule) -> bool {
        let mut certain = self.others.iter().filter(|other| !other.is_guess);
        rule.matches_command(&self.words) || certain.any(|other| rule.matches_command(&other.words))
    }

    /// Whether the deny or ask rule `rule` applies for some values of unknown words, or if an unknown program runs its
    /// arguments.
    pub(super) fn may_be_touched(&self, rule: &Rule) -> bool {
        let may_fit =
            |words: &[Word]| !words.iter().all(Word::is_fixed) && rule.may_match_command(words);
        may_fit(&self.words)
            || self.others.iter().any(|other| {
                may_fit(&other.words) || (other.is_guess && rule.matches_command(&other.words))
            })
    }

    fn without_harmless_assignments(&self) -> &[Word] {
        let harmless = |word: &&Word| known::is_harmless_assignment(word);
        let count = self.words.iter().take_while(harmless).count();
        &self.words[count..]
    }
}

/// Whether `rule` names the words that a `*` does not cover, by the table of known forms or that of
/// dangerous arguments.
fn names_unknown(rule: &Rule, words: &[Word]) -> bool {
    known::unnamed(words).is_some_and(|found| {
        let found: Vec<&str> = found.iter().map(String::as_str).collect();
        rule.names(&found)
    })
}

/// Maximum number of files and folders that are read to find out what a search can find.
const MOST_ENTRIES: usize = 20_000;
const DEPTH: usize = 40;
/// Folders of dependencies and build outputs. Keys in them are test data.
const OUTPUTS: [&str; 5] = [".git", "node_modules", "target", ".venv", "__pycache__"];

/// Whether a file name is one word, and no option.
pub(crate) fn is_plain_name(name: &str) -> bool {
    let is_odd = |char: char| char.is_whitespace() || char.is_control() || "'\"\\".contains(char);
    !name.starts_with('-') && !name.contains(is_odd)
}

/// Whether `grep --include` can match the name.
fn may_include(pattern: &str, name: &str) -> bool {
    pattern.contains(['?', '[', '\\']) || fits_text(pattern, name)
}

impl Search {
    /// Whether `is_free` accepts every file that the search can read. False if there are too many.
    pub(crate) fn finds_only(&self, is_free: &dyn Fn(&Path) -> bool) -> bool {
        let mut left = MOST_ENTRIES;
        let root = real_path::resolve(&self.root).real;
        if !root.is_dir() {
            return is_free(&root);
        }
        self.walk(&root, DEPTH, &mut left, is_free)
    }

    fn walk(
        &self,
        folder: &Path,
        depth: usize,
        left: &mut usize,
        is_free: &dyn Fn(&Path) -> bool,
    ) -> bool {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let Some(rest) = left.checked_sub(1) else {
                return false;
            };
            *left = rest;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if self.needs_plain_names && !is_plain_name(&name) {
                return false;
            }
            if self.skips_hidden && name.starts_with('.') {
                continue;
            }
            let path = entry.path();
            if OUTPUTS.contains(&&*name) && !self.needs_plain_names {
                // An address in the settings of a repository can contain a password.
                let is_repository = name == ".git" && path.is_dir();
                if is_repository && !is_free(&path.join("config")) {
                    return false;
                }
                continue;
            }
            let kind = entry.file_type();
            let is_link = kind.as_ref().is_ok_and(std::fs::FileType::is_symlink);
            let path = if is_link {
                real_path::resolve(&path).real
            } else {
                path
            };
            let is_folder = kind.is_ok_and(|kind| kind.is_dir()) || (is_link && path.is_dir());
            let is_wanted = |pattern: &String| may_include(pattern, &name);
            let is_read =
                !self.lists && (self.included.is_empty() || self.included.iter().any(is_wanted));
            let fits = if is_folder {
                depth > 0 && self.walk(&path, depth - 1, left, is_free)
            } else {
                !is_read || is_free(&path)
            };
            if !fits {
                return false;
            }
        }
        true
    }
}
