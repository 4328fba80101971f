//! Session storage: a session is a tree of entries in an append-only file.
//!
//! Start at [`SessionStore`], which owns a file; [`SessionTree`], the index of its entries; and
//! [`SessionDirectory`], which finds the files and their summaries. [`Reading`] reads a session without
//! opening it for writing.
//!
//! An entry exists only after its write succeeded. The index needs a few bytes per entry; the entries stay in
//! the file until they are shown or sent. A stored line is never rewritten.
//!
//! The crate does not know tools, settings or the screen.

mod bodies;
mod checkpoints;
mod compare;
mod directory;
mod draft;
mod ending;
mod entry;
mod envelope;
mod error;
mod fork;
mod glimpse;
mod index;
mod key;
mod lines;
mod list;
mod load;
mod lock;
mod log_file;
mod outline;
mod owner;
mod page;
mod reading;
mod rename;
mod search;
mod store;
mod summary;
mod tree;
mod walk;

pub mod prompt_draft;
pub mod recorder;
#[cfg(test)]
mod tests;
pub mod writer;

pub use compare::{BranchFacts, Comparison, FileChanges};
pub use directory::EXTENSION as SESSION_EXTENSION;
pub use directory::SessionDirectory;
pub use ending::Ending;
pub use entry::{Entry, EntryKind, Header, VERSION};
pub use envelope::Tag;
pub use error::SessionError;
pub use fork::{fork, fork_entries};
pub use glimpse::{Glimpse, TreeQuery};
pub use index::{Counts, SessionIndex};
pub use lines::Lines;
pub use list::Scope;
pub use load::header_from_name;
pub use load::{Findings, Loaded, load};
pub use lock::{Locks, is_held};
pub use log_file::create_directory;
pub use outline::{Outline, OutlineEntry};
pub use page::{Landmark, Page, PageAt, StoredMessage};
pub use reading::Reading;
pub use rename::rename;
pub use search::{HIT_LIMIT, Needle, SearchHit};
pub use store::SessionStore;
pub use summary::{SessionSummary, summarize};
pub use tree::SessionTree;
pub use walk::{ContextEntry, State};
