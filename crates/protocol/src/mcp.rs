//! MCP servers, with their resources and prompts.

use serde::{Deserialize, Serialize};

/// The state of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ServerInfo {
    pub name: String,
    pub state: ServerState,
    /// The command or URL as written in the file.
    pub shown: String,
    /// The file that configures it.
    pub file: String,
    /// The server is reached over HTTP.
    pub remote: bool,
    /// Why the server is unavailable, or the last error.
    pub error: Option<String>,
    /// The path of its log.
    pub log: String,
    /// Name and version that the server reports.
    pub version: Option<String>,
    /// Version of the protocol.
    pub protocol: Option<String>,
    /// The server's instructions for the model on the use of its tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// Full names of the offered tools.
    pub tools: Vec<String>,
    /// Number of tools that are not offered.
    pub hidden_tools: usize,
    pub resources: Vec<ResourceInfo>,
    pub prompts: Vec<PromptInfo>,
}

/// The lifecycle state of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum ServerState {
    /// Disabled in the configuration or for the session.
    Disabled,
    Starting,
    Ready,
    /// The server ended and restarts after `delay_ms`.
    Waiting {
        delay_ms: u64,
    },
    /// The server requires a sign-in.
    NeedsLogin,
    /// The server is not restarted automatically.
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

    /// Whether nothing is in progress that will change the state.
    pub fn is_settled(self) -> bool {
        !matches!(self, Self::Starting)
    }
}

/// A resource that can be attached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ResourceInfo {
    pub uri: String,
    pub name: String,
    pub description: String,
}

/// A prompt template.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PromptInfo {
    pub name: String,
    pub description: String,
    pub arguments: Vec<PromptArgumentInfo>,
}

/// An argument of a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PromptArgumentInfo {
    pub name: String,
    pub description: String,
    pub required: bool,
}

osier_base::words! {
    /// An action on a server.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "snake_case")]
    pub enum ServerAction {
        Restart = "restart",
        /// For this session.
        Enable = "enable",
        /// For this session.
        Disable = "disable",
        /// Sign in with a browser.
        Login = "login",
        /// Delete the sign-in.
        Logout = "logout",
    }
}
