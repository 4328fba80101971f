//! The restrictions that the helper enforces.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Passed to the helper as JSON.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Spec {
    pub stage: Stage,
    /// Canonical directories and files, as the command names them.
    pub writable: Vec<PathBuf>,
    /// Files and directories, none of them writable, that cannot be read or executed under Landlock.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub hidden: BTreeSet<PathBuf>,
    /// Symbolic links that no command can replace, in bubblewrap.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<PathBuf>,
    pub read_only: bool,
    pub network: Network,
}

/// The stage of the helper.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Stage {
    /// Supervise a copy of this process, which Landlock and the filter sandbox.
    #[default]
    Landlock,
    /// Apply the filter inside of bubblewrap, and Landlock to files if the kernel has it.
    Bubblewrap,
}

/// The network of a command.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Network {
    #[default]
    Off,
    All,
    /// A proxy outside, which gets its listener through this socket.
    Proxy(PathBuf),
}
