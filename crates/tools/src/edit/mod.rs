//! Tools that change files: `edit`, `write` and `apply_patch`. They share how the place of a text is found (`matching`), how a
//! file is loaded and stored (`file`), and what the model is told when nothing fits (`refusal`).

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
