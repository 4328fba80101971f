//! The files of a session: which file a call means, what the model knows of it, and how its lines and changes are shown.

pub mod diff;
pub mod editor;
pub mod encoding;
pub(crate) mod error;
pub(crate) mod ledger;
pub(crate) mod line_window;
pub(crate) mod target;
