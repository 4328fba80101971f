//! Tabs: the open sessions. One is shown, the others run in the background.
//!
//! A [`Tab`] is a session with its interface: its draft, scroll position and pending questions stay while another
//! tab is shown. [`Tabs`] owns them. What belongs to the terminal (theme, pictures, the highlighter) is only in
//! the tab that is shown and moves with it. That tab knows the state of the others as [`TabSummaries`].

mod app;
mod leaving;
mod list;
mod set;
mod summary;
mod tab;

pub use app::TabRequest;
pub(crate) use set::Tabs;
pub use summary::{TabState, TabSummaries, TabSummary};
pub(crate) use tab::Tab;
