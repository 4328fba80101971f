//! Safety: trust in the project, permissions and plan mode, and warnings about secrets.

pub(crate) mod deny_rules;
#[cfg(feature = "transfer")]
pub mod known_secrets;
pub(crate) mod loop_guard;
pub(crate) mod mode;
pub(crate) mod permissions;
pub(crate) mod plan;
pub(crate) mod private_files;
pub(crate) mod programs;
pub(crate) mod questions;
mod requests;
pub(crate) mod review;
pub(crate) mod secret_warnings;
pub(crate) mod tool_policy;
pub(crate) mod trust;

pub(crate) use requests::Safety;
