//! The clients of a shared session.

use serde::{Deserialize, Serialize};

/// A client of the session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Client {
    /// The number of the client in this session.
    pub id: u64,
    /// At most 40 columns wide; unique among the connected clients.
    pub name: String,
    /// The client is disconnected. It can reconnect as the same client for 30 seconds.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub away: bool,
}
