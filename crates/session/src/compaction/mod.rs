//! Making room in a model's window: the earlier part of a conversation is replaced by a summary that a
//! model writes. The entries it stands for stay in the session, so going back is a move in the tree.
//!
//! `plan` decides what goes and never parts a call from its result; `summarize` has the summary written;
//! `compactor` is the interceptor that watches how full the window is, and stores what came of it. A
//! summary that is cut off, empty or failed is never stored.

mod compactor;
mod estimate;
mod files;
mod plan;
mod prompts;
mod report;
mod serialize;
mod summarize;

pub use compactor::{Compactor, Draft, Drafted};
pub use estimate::{context_tokens, message_tokens, text_tokens};
pub use plan::{Limits, cut};
pub use report::{ContextPart, ContextReport, PartKind, report};
pub use summarize::{SummaryError, summarize_branch};
