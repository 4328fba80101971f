//! Session storage: a session is a tree of entries in an append-only file of JSON lines.
//!
//! ```
//! use std::path::Path;
//!
//! use osier_protocol::{EntryKind, Header};
//! use osier_store::SessionStore;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), osier_store::SessionError> {
//! let store = SessionStore::in_memory(Header::new(Path::new("/work")), &[])?;
//! let name = Some("parser".to_owned());
//! let entry = store.append(EntryKind::SessionInfo { name }).await?;
//!
//! assert_eq!(store.index().leaf(), Some(entry.id));
//! assert_eq!(store.index().state().name.as_deref(), Some("parser"));
//! # Ok(())
//! # }
//! ```
//!
//! - [`SessionStore`] has an open session's file; [`EntryIndex`] is its shared index of entries.
//! - [`SessionDirectory`] lists session files and finds one by id, name or path.
//! - [`Reading`] reads a session without opening it for writing.
//! - [`writer::Writer`] appends to one branch; [`recorder::MessageRecorder`] stores the messages of an agent.
//! - [`HandoverSocket`] and [`take_over`] hand a session over to another process.
//! - [`prompt_draft`] stores the text of the prompt editor.
//!
//! An entry exists only after its write succeeded. The index needs a few bytes per entry; the entries stay in the
//! file until they are shown or sent. A stored line is never rewritten.
//!
//! The crate does not depend on tools, settings or the screen.
//!
//! # Design
//!
//! - The session file has one owner, a thread (`owner`): one entry is one write. The file is append-only JSON lines;
//!   the tree is in the `parentId`s, and the current entry is an entry, too.
//! - Stored entries stay in the file. `SessionTree` is an index of about forty bytes per entry; entries are read when
//!   they are shown, searched or sent.
//! - A long session opens from the end of its file (`branch_end`) while the thread indexes the rest.
//! - Writers on other branches (`writer`) name their parents.

mod branch_end;
mod checkpoints;
mod compare;
mod deletion;
mod directory;
mod draft;
mod entry_reader;
mod envelope;
mod error;
mod fork;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod glimpse;
mod handover;
mod index;
mod key;
mod lines;
mod list;
mod load;
mod lock;
mod log_file;
mod moved;
mod outline;
mod owner;
mod page;
mod parts;
mod positions;
mod reading;
mod relocation;
mod rename;
mod search;
mod store;
mod stored_keys;
mod summary;
mod tree;
mod walk;

pub mod prompt_draft;
pub mod recorder;
#[cfg(test)]
mod tests;
pub mod writer;

pub use branch_end::Ending;
pub use checkpoints::TurnRange;
pub use deletion::Deleted;
pub use directory::{EXTENSION as SESSION_EXTENSION, LINK_PREFIX, SessionDirectory};
pub use error::SessionError;
pub use fork::fork;
pub use glimpse::TreeQuery;
pub use handover::{HandoverSocket, TakeOver, holder, take_over};
pub use index::{Counts, EntryIndex};
pub use lines::Lines;
pub use list::Scope;
pub use load::{Findings, Loaded, header_from_name, load};
pub use lock::{Locks, is_locked};
pub use log_file::create_directory;
pub use page::Page;
pub use positions::{Position, Positions};
pub use reading::Reading;
pub use rename::rename;
pub use search::Needle;
pub use store::SessionStore;
pub use stored_keys::stored_keys;
pub use summary::{SessionSummary, milliseconds, summarize};
pub use tree::SessionTree;
pub use walk::{ContextEntries, ContextEntry, ContextLimit, LEFT_OUT, State};
