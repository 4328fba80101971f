//! Tabs: the open sessions. One session is shown, the others run in the background.
//!
//! The tab that is shown knows the state of the others as [`TabSummaries`]; [`TabControl`] requests to show, open and
//! close them. `run` owns the tabs themselves.

mod control;
mod leaving;
mod list;
mod summary;

pub(crate) use control::{TabControl, alert, new_session};
pub(crate) use summary::line;
pub use summary::{TabState, TabSummaries, TabSummary};
