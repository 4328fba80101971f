//! The protocol in which other programs drive osier: commands in, answers, events and questions out, one
//! JSON object a line.
//!
//! A table of [`Command`]s is all of it: dispatch, documentation and schema are made from its rows, and each
//! row becomes an `Op` of the host. A [`Dispatcher`] joins one client to one host; [`serve`] moves its lines
//! over any pair of streams, and [`Client`] is the other end. Nothing of these knows a socket, a terminal or
//! another client, so every mode that speaks to programs can carry them; `remote` alone knows the ways to a server.

pub mod answers;
mod check;
pub mod client;
mod command;
mod connection;
mod dispatcher;
mod frame;
pub mod lines;
mod parameters;
mod pending;
pub mod remote;
pub mod schema;
mod table;
mod ui;
mod view;

pub use client::{CallError, Client, Events, Nobody, Person};
pub use command::{Command, Data};
pub use connection::{Ended, serve};
pub use dispatcher::Dispatcher;
pub use frame::{Code, Frame, Greeting, Id, Rendering, Response};
pub use lines::LINE_LIMIT;
pub use table::{all, find};
pub use ui::{UiMethod, UiRequest, UiResponse};

/// Version of the protocol. It grows when something that was there goes or means something else; what is
/// added leaves it as it is.
pub const PROTOCOL: u32 = 1;
