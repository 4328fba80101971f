//! The LLM proxy: model calls for other agents. This process has the API keys, authenticates users, and counts
//! the usage of each user.
//!
//! ```
//! use osier_proxy::Users;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let data = tempfile::tempdir()?;
//! let users = Users::open(data.path())?;
//! let token = users.add("ann", Some(20.0))?;
//! let user = users.find(&token)?;
//! assert_eq!(user.map(|user| user.name), Some("ann".to_owned()));
//! # Ok(())
//! # }
//! ```
//!
//! - [`LlmProxy`] makes the calls; [`Frames`] is the answer of one, [`Refusal`] why it is rejected.
//! - [`Users`] has the users of a server with their tokens, limits and usage.
//!
//! docs/proxy.md specifies the protocol; `agent::AppTransport` is the client.
//!
//! The crate does not depend on clients of sessions or the screen.

mod calls;
mod users;

pub use calls::{Frames, LlmProxy, Refusal};
pub use users::{Spent, User, UserRow, Users, UsersError};
