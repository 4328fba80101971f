//! Configured hooks and their last run.

use crate::HookEvent;
use serde::{Deserialize, Serialize};

/// A run of a hook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct HookRun {
    pub event: HookEvent,
    pub command: String,
    #[serde(flatten)]
    pub run: LastRun,
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LastRun {
    /// The outcome: `ok`, `blocked`, `failed`, `allowed`, `asks`, `rewrote`, `added context`, `stopped`,
    /// `interrupted`, `goes on` (it continues in the background).
    pub outcome: String,
    /// The reason or the error; may be empty.
    pub message: String,
    pub duration_ms: u64,
}

/// A hook, for lists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct HookInfo {
    pub event: HookEvent,
    /// Empty when it matches everything.
    pub matcher: String,
    pub command: String,
    /// The file that configures it.
    pub file: String,
    /// Not set before its first run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<LastRun>,
}
