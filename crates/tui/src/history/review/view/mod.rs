//! The diff view: the list of changed files and the changes of the selected file. They are side by side on a wide
//! screen, else one above the other. Each change can be accepted, rejected and commented on (`review`).

mod component;
mod problems;
mod rows;
mod state;
mod texts;

pub(super) use problems::Problems;
pub(super) use state::DiffView;
pub(super) use texts::title;

/// The layer of the overlay.
pub(crate) const ID: &str = "diff";
