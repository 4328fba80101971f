//! The JSON-lines protocol with which other programs control osier: commands in; responses, events and questions out,
//! one JSON object per line. `docs/rpc.md` describes it.
//!
//! - [`commands`] is the table of all commands. Dispatch, documentation and schema come from its rows.
//! - [`Dispatcher`] connects one client to one session, without input or output of its own. [`serve`] runs it over
//!   any pair of streams.
//! - [`Client`] is the other end: it starts an agent or connects to one, sends commands and receives events.
//! - [`remote`] attaches to a session on a server and returns a session handle like that of a local session.
//!
//! ```no_run
//! use osier_base::process::Invocation;
//! use osier_rpc::{CallError, Client, DismissQuestions};
//!
//! async fn ask() -> Result<Option<String>, CallError> {
//!     let run = Invocation::new("osier", ["rpc", "--model", "sonnet"]);
//!     let (client, mut events) = Client::start(&run, DismissQuestions).await?;
//!     client.prompt("What is in this folder?").await?;
//!     events.settled().await;
//!     client.last_text().await
//! }
//! ```
//!
//! A client works over any streams, here without a process:
//!
//! ```
//! use osier_rpc::{Client, DismissQuestions};
//! use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
//!
//! # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
//! # runtime.block_on(async {
//! let (ours, theirs) = tokio::io::duplex(4096);
//! osier_base::task::spawn(async move {
//!     let mut agent = BufReader::new(theirs);
//!     let mut hello = String::new();
//!     agent.read_line(&mut hello).await.unwrap();
//!     let response = concat!(
//!         r#"{"id":1,"type":"response","command":"hello","success":true,"data":"#,
//!         r#"{"protocol":1,"name":"osier","version":"1.0.0","lineLimit":1024,"commands":[]}}"#,
//!         "\n",
//!     );
//!     agent.write_all(response.as_bytes()).await.unwrap();
//! });
//! let (input, output) = tokio::io::split(ours);
//! let (client, _events) = Client::connect(input, output, DismissQuestions).await.unwrap();
//! assert_eq!(client.greeting().name, "osier");
//! # });
//! ```
//!
//! # Design
//!
//! - A `Dispatcher` connects one client to one session and owns no stream. Every command has one answer:
//!   `SessionHandle::ask` numbers a request, its notices carry the number, and `OpEnded` says that nothing more
//!   follows.
//! - `remote` is the other end of a server's connection: a session handle, so that the interface does not see a
//!   difference.

pub mod answers;
mod check;
mod client;
pub mod client_environment;
mod command;
pub mod compression;
mod connection;
mod dispatcher;
mod frame;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
pub mod lines;
mod parameters;
mod pending;
pub mod remote;
pub mod schema;
mod table;
mod tracked_state;
mod ui;

pub use client::{CallError, Client, DismissQuestions, Events, ModelSelection, QuestionHandler};
pub use command::{Command, Data};
pub use connection::{EndReason, serve};
pub use dispatcher::Dispatcher;
pub use frame::{ErrorCode, EventMode, Greeting, Id, Response};
pub use lines::LINE_LIMIT;
pub use parameters::attachments;
pub use table::{commands, find_command};
pub use ui::{CloseReason, UiClosed, UiMethod, UiRequest, UiResponse};

/// The version of the protocol. It changes when an existing command, event or field is removed or changes its meaning.
/// New ones do not change it.
pub const PROTOCOL: u32 = 1;
