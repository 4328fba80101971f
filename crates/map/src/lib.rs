//! The map of a project: an outline of its files and symbols, the most important ones first.
//!
//! ```
//! use osier_map::{ProjectMap, Request};
//!
//! # let folder = tempfile::tempdir()?;
//! let root = folder.path().canonicalize()?;
//! # let text = b"pub fn total() -> u32 {\n    7\n}\n";
//! # osier_base::atomic_file::write(&root.join("cart.rs"), text)?;
//! let map = ProjectMap::of(&root, None);
//! let request = Request {
//!     tokens: 2000,
//!     ..Request::default()
//! };
//! let outline = map.outline(&request, &|_| true);
//! assert_eq!(outline.text(), "cart.rs\n  1 pub fn total() -> u32\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! - A `scan` of every source file finds the names that it uses and what it seems to define, fast enough for 100,000 files.
//! - `rank` computes from them how important the files are.
//! - `outline` reads the files that are shown, with their tree-sitter `grammar` where the program has one.
//! - `storage` stores the index; `update` reads only what has changed.
//!
//! Nothing is read or allocated before a map is used. The crate does not depend on models, sessions or screens.
//!
//! # Design
//!
//! - A scan of words reads every file and ranks it by what others use. The tree-sitter grammars read only what is
//!   shown.
//! - The index is stored for each project, and sessions of the process share it. A thread brings it up to date while
//!   answers use the last one.

mod definition;
mod focus;
mod grammar;
mod index;
mod kind;
mod language;
mod outline;
mod project;
mod rank;
mod read;
mod scan;
mod storage;
mod symbols;
mod update;
mod walk;

#[cfg(test)]
mod languages_test;
#[cfg(test)]
mod tests;

pub use kind::Kind;
pub use outline::{Outline, OutlinedFile, Request, Symbol};
pub use project::ProjectMap;
pub use symbols::SymbolMatch;
pub use walk::has_sources;
