//! Model calls for other people's agents: this process holds the keys, knows who asks, and counts what each
//! person uses. docs/proxy.md is what is kept to; `agent::AppTransport` is the other end.

mod calls;
mod users;

pub use calls::{Frames, Refusal, Relay};
pub use users::{Spent, User, UserRow, Users, UsersError};
