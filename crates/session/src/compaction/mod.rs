//! Compaction: a summary that a model writes replaces the earlier part of a conversation in the context window. The
//! summarised entries stay in the session file, so a move in the tree can return to them.
//!
//! `plan` decides what is summarised and never separates a call from its result; `summarize` requests the summary;
//! `compactor` is the interceptor that watches the context window and stores the summary. A truncated, empty or
//! failed summary is never stored.

mod compactor;
mod estimate;
mod files;
mod plan;
mod prompts;
mod report;
mod serialize;
mod summarize;

pub(crate) use compactor::{Compactor, Draft, Drafted};

pub(crate) use report::report;
pub(crate) use summarize::{SummaryError, summarize_branch};
