//! All stored sessions as one searchable collection.
//!
//! `index.sqlite` is a cache and nothing else: everything in it comes from the session files, and it is made
//! anew when it is missing, damaged or of another version. It says where to look; what is shown of a
//! conversation is read from its file, so a hit is always true. Several processes share it: one of them
//! indexes at a time, in short transactions, and the others go on reading.
//!
//! Everything here blocks: it belongs on a thread of its own, never on the way to the first frame.

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
