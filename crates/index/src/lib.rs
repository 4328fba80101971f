//! The session index: a searchable list of all stored sessions.
//!
//! ```
//! use osier_index::{SessionFilter, SessionIndex};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let data = tempfile::tempdir()?;
//! let index = SessionIndex::new(data.path());
//! let filter = SessionFilter {
//!     named: true,
//!     ..SessionFilter::default()
//! };
//! let listing = index.query(|index| index.list(&filter, 0, 20))?;
//! // No process has built the index yet.
//! assert!(!listing.ready);
//! # Ok(())
//! # }
//! ```
//!
//! - [`SessionIndex`] lists, searches and updates the index; [`IndexReader`] runs several queries on an open one.
//! - [`SessionFilter`] selects sessions; [`Listing`] and [`Hits`] are results.
//! - [`describe`], [`usage`] and [`preview`] read one session without the index; [`check`] finds damaged files.
//! - [`Trash`] deletes and restores sessions.
//!
//! `index.sqlite` is only a cache: all its data comes from the session files, and it is rebuilt when it is missing,
//! damaged or of another version. It only finds sessions; the content that is shown is read from the session files,
//! so a result is never out of date. Several processes share it: one of them updates it at a time, in short
//! transactions, while the others continue to read.
//!
//! All functions block: call them from their own thread, never before the first frame.
//!
//! The crate does not depend on tools, settings or the screen.
//!
//! # Design
//!
//! - The index is a cache: it finds sessions, and the content that is shown is read from their files. A thread of the
//!   session updates it, and a damaged one is built again.

mod check;
mod describe;
mod error;
mod facts;
mod list;
mod passage;
mod preview;
mod reading;
mod schema;
mod search;
mod spending;
mod terms;
mod trash;
mod update;
mod walk;

#[cfg(test)]
mod tests;

pub use check::{Finding, check};
pub use describe::describe;
pub use error::IndexError;
pub use list::{Listing, SessionFilter};
pub use preview::preview;
pub use schema::{IndexReader, SessionIndex};
pub use search::{Hit, Hits};
pub use spending::usage;
pub use trash::{Trash, Trashed};
pub use update::{Depth, Outcome, Progress};
