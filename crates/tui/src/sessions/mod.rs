//! The stored sessions: search by name or text, preview, rename, delete and
//! restore. The session searches; the view has one page of the results.

mod app;
mod in_use;
mod rows;
mod view;

pub(crate) use app::{offer_in_use, take_ops};
pub(crate) use view::{ID, SessionsView};
