//! The LLM proxy: model calls for other agents. This process has the API keys, authenticates users, and counts
//! the usage of each user.
//!
//! docs/proxy.md specifies the protocol; `agent::AppTransport` is the client.
//!
//! The crate does not know clients of sessions or the screen.

mod calls;
mod users;

pub use calls::{Frames, Refusal, Relay};
pub use users::{Spent, User, UserRow, Users, UsersError};
