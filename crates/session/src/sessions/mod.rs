//! The open session and the stored ones.

pub(crate) mod faults;
pub(crate) mod open_session;
pub mod session_index;
pub(crate) mod status;
#[cfg(feature = "transfer")]
pub(crate) mod transfer;
