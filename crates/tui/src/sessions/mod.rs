//! The stored sessions: found by name or by what was said in them, looked at, named, deleted and brought
//! back. The host finds; what is held here is one page of it, however many there are.

mod app;
mod in_use;
mod rows;
mod view;

pub(crate) use app::{offer_in_use, take_ops};
pub(crate) use view::{ID, SessionsView};
