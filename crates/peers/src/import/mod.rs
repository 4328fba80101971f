//! Imports sessions of other programs, and of other osier installations.
//!
//! One reader per format converts lines to entries. It counts the parts that it cannot import by
//! kind, and reports the first line of each kind. The source file is never changed. The new session
//! file is created atomically. A session that was already imported is detected by its id, and
//! imported again only on request.

mod blocks;
mod claude;
mod codex;
mod draft;
mod error;
mod find;
mod lines;
mod numbered_diff;
#[cfg(test)]
mod odd_tests;
mod opencode;
mod osier;
mod pi;
mod session;
mod subagent;
mod tools;

pub use error::ImportError;
pub use find::{ForeignSession, SourceFolders, find};
pub use session::{ImportOptions, import};
