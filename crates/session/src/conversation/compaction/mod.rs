//! Compaction: a summary that a model writes replaces the earlier part of a conversation in the context window. The
//! summarised entries stay in the session file, so a move in the tree can return to them.
//!
//! `plan` decides what is summarised and never separates a call from its result; `summarize` requests the summary;
//! `check` compares it with what must not be lost; `reopened` shows the files in use again. `compactor` is the interceptor
//! that watches the context window and stores the summary. A truncated, empty or failed summary is never stored.
//!
//! Before that, `dropping` finds results of tools that the model no longer needs; `drop_results` leaves them out.

mod check;
mod compactor;
mod drop_results;
mod dropping;
mod estimate;
mod files;
mod overflow;
mod plan;
mod prompts;
mod reopened;
mod report;
mod serialize;
mod summarize;
mod written;

pub(crate) use compactor::{CompactionOptions, Compactor, Draft, Wishes, end};

pub use estimate::input_tokens;
pub(crate) use estimate::message_tokens;
pub(crate) use overflow::advice as overflow_advice;
pub(crate) use report::report;
pub(crate) use summarize::{SummaryError, summarize_branch};
