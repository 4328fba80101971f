//! What the interface shows of servers.

use serde::{Deserialize, Serialize};

/// One server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ServerInfo {
    pub name: String,
    pub state: ServerState,
    /// The command or the address, as the file has it.
    pub shown: String,
    /// The file that names it.
    pub file: String,
    /// It is reached over HTTP.
    pub remote: bool,
    /// Why it is not there, or what went wrong last.
    pub error: Option<String>,
    /// Where what it writes is kept.
    pub log: String,
    /// Name and version, as the server gives them.
    pub version: Option<String>,
    /// Version of the protocol that is spoken.
    pub protocol: Option<String>,
    /// Names of the tools it offers here, as a model calls them.
    pub tools: Vec<String>,
    /// Tools it has that are not offered.
    pub hidden_tools: usize,
    pub resources: Vec<ResourceInfo>,
    pub prompts: Vec<PromptInfo>,
}

/// Where a server is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum ServerState {
    /// Not to be started.
    Disabled,
    Starting,
    Ready,
    /// It ended, and is started again after `delay_ms`.
    Waiting {
        delay_ms: u64,
    },
    /// It wants a sign-in first.
    NeedsLogin,
    /// It is not tried again by itself.
    Failed,
}

impl ServerState {
    /// One word for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Disabled => "disabled",
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::Waiting { .. } => "restarting",
            Self::NeedsLogin => "needs login",
            Self::Failed => "failed",
        }
    }

    /// Whether it will not change by itself soon.
    pub fn is_settled(self) -> bool {
        !matches!(self, Self::Starting)
    }
}

/// Something to read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ResourceInfo {
    pub uri: String,
    pub name: String,
    pub description: String,
}

/// A prompt to fill in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PromptInfo {
    pub name: String,
    pub description: String,
    pub arguments: Vec<PromptArgumentInfo>,
}

/// One argument of a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PromptArgumentInfo {
    pub name: String,
    pub description: String,
    pub required: bool,
}

/// What a person can do with a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ServerAction {
    Restart,
    /// For this session.
    Enable,
    /// For this session.
    Disable,
    /// Signs in with a browser.
    Login,
    /// Forgets the sign-in.
    Logout,
}
