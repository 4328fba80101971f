//! The models of a session: the catalogue, the selection, keys and accounts, and calls outside of the conversation.

pub mod accounts;
mod available;
mod calls;
mod files;
mod local;
mod names;
mod peer_names;
mod placeholder;
mod question;
pub mod refresh;
mod reviewer;
mod scripts;
mod search;
mod selection;
mod server;
pub(crate) mod side_call;
mod small;
pub mod tour;
pub(crate) mod web_search;

pub(crate) use self::available::SeveralModels;
pub use self::available::{ModelError, Models, ServerError};
pub(crate) use self::local::WAIT;
pub use self::local::find_local;
pub use self::names::NameReport;
pub use self::placeholder::NO_MODEL;
pub use self::scripts::{DEMO_PROVIDER, TOUR};
pub(crate) use self::selection::{Choice, DailyRefresh, ModelSelection, refresh_if_due, set_roles};
pub(crate) use self::small::{SmallModel, SmallModelRequest, SmallModels};
