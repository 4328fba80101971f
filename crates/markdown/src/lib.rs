//! Markdown for a terminal, laid out while it streams.
//!
//! ```
//! use osier_markdown::Markdown;
//!
//! let mut document = Markdown::new();
//! document.push("# Title\n\nSome *te");
//! document.push("xt*\n");
//! document.finish();
//!
//! let width = 40;
//! let mut rows = Vec::new();
//! let height = document.height(width);
//! document.rows(width, 0..height, &mut rows);
//! let lines: Vec<String> = rows.iter().map(|row| row.text()).collect();
//! assert_eq!(lines, ["Title", "", "Some text"]);
//! ```
//!
//! [`Markdown`] owns the source and the rows of every block. A complete block is parsed once and
//! laid out once per width; the open block is laid out again with each frame. The cost of a delta
//! does not depend on the length of the document, and the rows do not depend on how the text is
//! split into deltas. Control sequences are removed from the source. [`plain`] extracts plain text
//! and images, and [`Dialect`] returns the events from which exported pages are made. The crate
//! does not know agents or sessions.

mod blocks;
mod code;
mod code_line;
mod context;
mod dialect;
mod document;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod inline;
mod long_line;
mod open_context;
mod optional;
mod parse;
pub mod plain;
mod render;
mod shown;
mod table;
mod table_block;
mod unit;

pub use dialect::{Dialect, block_starts};
pub use document::Markdown;
