//! The conversation: its transcript, the search in it, the notices that features add to it, and the programs that run
//! for it.

pub(crate) mod budget;
pub(crate) mod code_servers;
pub(crate) mod jobs;
pub(crate) mod search;
pub(crate) mod subagents;
pub(crate) mod terminals;
pub(crate) mod transcript;
pub(crate) mod usage;
pub(crate) mod usage_page;
pub(crate) mod welcome;

pub(crate) use search::Search;
pub use transcript::Printing;
pub(crate) use transcript::Transcript;
