//! The facts about a command.

use super::listing::Listing;
use crate::shell::Word;

/// A command in the terms of the table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Known {
    /// Whether the command only reads: it needs no permission if its files need none.
    pub reads_only: bool,
    /// The words that a rule must name.
    pub unnamed: Vec<String>,
    /// Whether a word can be an option, or the script is not understood: no rule with `*` covers
    /// the command.
    pub is_open: bool,
    /// The files whose contents the command shows.
    pub shown: Vec<Word>,
    /// The folders in which the command shows all files.
    pub searched: Vec<Word>,
    /// The names that a search is limited to.
    pub included: Vec<String>,
    /// Whether a search skips hidden files.
    pub skips_hidden: bool,
    /// The paths that the command writes.
    pub written: Vec<Word>,
    /// The directory in which the command works.
    pub folder: Option<Word>,
    /// Whether the command is git.
    pub is_git: bool,
    /// Whether files of the project can select another version of the program.
    pub is_pinned: bool,
    /// Whether the command shows addresses of the configuration of git, which can contain
    /// passwords.
    pub shows_addresses: bool,
    /// The programs that the command runs besides its first word.
    pub programs: Vec<String>,
    /// The names of the command's options.
    pub(super) options: Vec<String>,
    /// The source of the command's listed words.
    pub listing: Option<Listing>,
}
