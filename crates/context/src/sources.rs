//! The folders that are searched for context.

use std::path::PathBuf;

use osier_peers::PeerFolders;

/// The places to search for context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextSources {
    /// The user's configuration folder.
    pub config: PathBuf,
    /// The folders of other agents, whose files are read too.
    pub peers: Option<PeerFolders>,
    pub cwd: PathBuf,
    /// Files or folders of `--context`.
    pub extra: Vec<PathBuf>,
}
