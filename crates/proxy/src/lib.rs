//! The LLM proxy: model calls for other agents. This process has the API keys, authenticates users, and counts
//! the usage of each user.
//!
//! ```
//! use osier_proxy::{UserRules, UserStore as _, Users};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let data = tempfile::tempdir()?;
//! let users = Users::open(data.path())?;
//! let rules = UserRules { limit: Some(20.0), ..UserRules::default() };
//! let token = users.add("ann", &rules)?;
//! let user = users.find(&token)?;
//! assert_eq!(user.map(|user| user.name), Some("ann".to_owned()));
//! # Ok(())
//! # }
//! ```
//!
//! - [`LlmProxy`] makes the calls; [`Frames`] is the answer of a call, [`Refusal`] says why a call
//!   is rejected.
//! - [`UserStore`] has the users of a server with their tokens, limits and usage; [`Users`] is one in a SQLite file.
//!
//! docs/proxy.md specifies the protocol; `agent::AppTransport` is the client.
//!
//! The crate does not depend on clients of sessions or the screen.

mod calls;
mod metering;
mod store;
mod users;

pub use calls::{LlmProxy, Refusal};
pub use metering::Frames;
pub use store::{
    Amount, Reservation, ReservationError, Spent, User, UserRow, UserRules, UserStore, UsersError,
    dollars,
};
pub use users::{MAX_CALLS, Users};
