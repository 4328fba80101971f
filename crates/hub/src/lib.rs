//! Shares the sessions of one process among many clients.
//!
//! - [`SessionRegistry`] opens, finds, unloads and closes sessions.
//! - [`SharedSession`] is one open session with all its clients. It numbers the events, keeps the last ones in a
//!   replay buffer, and retains the events that describe the current state.
//! - [`Subscriber`] receives the events of a session. A client that reconnects asks for the events that it missed
//!   by number; when they are no longer in the buffer, it applies a [`Snapshot`].
//! - [`ClientHandle`] is one client of a session. It controls the presence of the client and its write access: one
//!   client writes at a time.
//!
//! ```no_run
//! use osier_hub::{OpenError, OpenOptions, SessionRegistry};
//! use osier_session::SessionSetup;
//!
//! async fn print_events(setup: SessionSetup) -> Result<(), OpenError> {
//!     let registry = SessionRegistry::new(setup);
//!     let session = registry.open(OpenOptions::default()).await?;
//!     let mut events = session.subscribe();
//!     for event in events.retained() {
//!         println!("state: {event:?}");
//!     }
//!     while let Some(numbered) = events.next().await {
//!         println!("{:?}: {:?}", numbered.number, numbered.event);
//!     }
//!     Ok(())
//! }
//! ```
//!
//! # Design
//!
//! - A `SessionRegistry` owns the sessions. The current state of a session is retained as events, which a late client
//!   applies first.

mod client;
mod error;
mod presence;
mod received;
mod registry;
mod replay;
mod retained;
mod shared_session;
mod snapshot;

pub use client::ClientHandle;
pub use error::OpenError;
pub use presence::{ClientIdentity, OccupiedError};
pub use received::Piece;
pub use registry::{OpenOptions, SessionRegistry};
pub use replay::{NumberedEvent, TimedEvent};
pub use shared_session::{Activity, OpenSessionInfo, SharedSession, Subscriber};
pub use snapshot::Snapshot;
