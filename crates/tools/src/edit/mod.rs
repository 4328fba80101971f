//! Tools that change files: `edit`, `write` and `apply_patch`. They share the search for the place of a text (`matching`),
//! loading and storing a file (`file`), and the advice for the model when nothing matches (`refusal`).

pub(crate) mod arguments;
pub(crate) mod closest;
pub(crate) mod difference;
pub(crate) mod file;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
pub(crate) mod matching;
pub(crate) mod notebook;
pub(crate) mod patch;
pub(crate) mod reformat;
pub(crate) mod refusal;
pub(crate) mod stale;
pub(crate) mod tool;
pub(crate) mod view;
pub(crate) mod write;
