//! The stored sessions: found by name or by what was said in them, looked at, named, deleted and brought
//! back. The host finds; what is held here is one page of it, however many there are.

mod app;
mod rows;
mod view;

pub use view::{ID, SessionsView};
