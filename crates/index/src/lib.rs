//! The session index: a searchable list of all stored sessions.
//!
//! Start at [`Library`], the index; [`SessionFilter`], which selects sessions; and [`SessionRow`], an entry of a list.
//!
//! `index.sqlite` is only a cache: all its data comes from the session files, and it is rebuilt when it is
//! missing, damaged or of another version. It only finds sessions; the content that is shown is read from the
//! session files, so a result is never out of date. Several processes share it: one of them updates it at a
//! time, in short transactions, while the others keep reading.
//!
//! All functions block: call them from their own thread, never before the first frame.
//!
//! The crate does not know tools, settings or the screen.

mod check;
mod describe;
mod error;
mod facts;
mod list;
mod passage;
mod preview;
mod reading;
mod row;
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
pub use error::LibraryError;
pub use list::{Listing, SessionFilter, Sort};
pub use passage::Source;
pub use preview::{Preview, PreviewLine, preview};
pub use row::{ModelCost, SessionRow};
pub use schema::{Index, Library};
pub use search::{Hit, HitText, Hits};
pub use trash::{Trash, Trashed};
pub use update::{Depth, Outcome, Progress};
