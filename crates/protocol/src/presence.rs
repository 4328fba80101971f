//! Another client of the same session.

use serde::{Deserialize, Serialize};

/// One who is in the session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Client {
    /// Its number in this session.
    pub id: u64,
    /// Of at most 40 columns, and nobody else's at the time.
    pub name: String,
    /// Its line is cut: it has its place for half a minute more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub away: bool,
}
