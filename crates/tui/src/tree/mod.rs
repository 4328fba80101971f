//! The session tree: move, collapse, filter and search, and continue from any entry. `flat` turns the
//! outline into rows, `view` is the overlay, `rows` draws it, `compare` shows two branches side by side.
//!
//! The overlay holds the outline, which is two megabytes for a hundred thousand entries, and the first
//! lines of what was on the screen; everything else stays with the host.

mod app;
pub(crate) mod compare;
pub(crate) mod flat;
mod rows;
pub(crate) mod view;

pub(crate) use app::{refresh, take_ops};
pub(crate) use view::{ID, TreeMemory, TreeView};
