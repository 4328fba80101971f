//! History that can be restored: sessions and tabs, the tree, checkpoints, changes of files, the context and its
//! compaction.

pub(crate) mod checkpoints;
pub(crate) mod compaction;
pub(crate) mod context;
pub(crate) mod fan;
pub(crate) mod review;
pub(crate) mod sessions;
pub(crate) mod tabs;
pub(crate) mod transfer;
pub(crate) mod tree;

pub(crate) use review::Changes;
pub(crate) use sessions::Sessions;
pub(crate) use tabs::TabControl;
pub use tabs::{TabState, TabSummaries, TabSummary};
pub(crate) use tree::{Tree, TreeContext, rewind::Rewind};
