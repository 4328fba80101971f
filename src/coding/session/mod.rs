//! A session is a tree of entries in an append-only file.
//!
//! [`SessionStore`] owns the file: an entry exists only after its write succeeded. [`SessionTree`] is
//! the conversation in memory, fed with the entries the store hands back. [`SessionDirectory`] knows
//! where the files are and what they are about. Nothing here ever rewrites a stored line.

mod directory;
mod draft;
mod entry;
mod error;
mod fork;
mod list;
mod load;
mod lock;
mod log_file;
mod owner;
mod store;
mod summary;
mod tree;

#[cfg(test)]
mod tests;

pub use directory::SessionDirectory;
pub use entry::{Entry, EntryKind, Header, VERSION};
pub use error::SessionError;
pub use fork::{fork, fork_entries};
pub use list::Scope;
pub use load::{Loaded, load};
pub use store::SessionStore;
pub use summary::{SessionSummary, summarize};
pub use tree::{SessionTree, State};
