//! The complete screen: the app as one value, and the loop that connects it to the terminal and the sessions.

mod app;
mod run;

pub(crate) use app::inline;
pub use app::inline::draw_next;
pub use app::{App, AppOptions, NextChange};
pub use run::{Elsewhere, Open, Options, run, run_over};
