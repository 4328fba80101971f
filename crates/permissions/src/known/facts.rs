//! The facts about a command.

use super::listing::Listing;
use crate::shell::Word;

/// A command in the terms of the table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Known {
    /// The command only reads: it needs no permission if its files need none.
    pub reads_only: bool,
    /// The words that a rule must name.
    pub unnamed: Vec<String>,
    /// A word can be an option, or the script is not understood: no rule with `*` covers the command.
    pub is_open: bool,
    /// The files of which it shows the contents.
    pub shown: Vec<Word>,
    /// The command shows all files below these folders.
    pub searched: Vec<Word>,
    /// The names that a search is limited to.
    pub included: Vec<String>,
    /// A search skips hidden files.
    pub skips_hidden: bool,
    /// The paths that it writes.
    pub written: Vec<Word>,
    /// The directory in which it works.
    pub folder: Option<Word>,
    /// The command is git.
    pub is_git: bool,
    /// Other files of the project select the program that runs.
    pub is_pinned: bool,
    /// The command shows addresses of the configuration of git, which can contain passwords.
    pub shows_addresses: bool,
    /// The programs that it runs besides the first one.
    pub programs: Vec<String>,
    /// The names of its options.
    pub(super) options: Vec<String>,
    /// The source of its listed words.
    pub listing: Option<Listing>,
}
