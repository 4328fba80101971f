//! The state of one conversation: its tree and compaction, its drafts and to-do list, and its costs.

pub(crate) mod budget;
pub(crate) mod compaction;
pub(crate) mod drafts;
pub(crate) mod history;
mod requests;
pub(crate) mod stash;
pub(crate) mod titles;
pub(crate) mod todo;
pub(crate) mod transcript;
pub(crate) mod tree;
pub(crate) mod usage;
pub(crate) mod usage_report;

pub(crate) use requests::{Progress, Prompts};
