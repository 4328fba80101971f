//! The program and its folders.

use serde::{Deserialize, Serialize};

/// Facts for a bug report about the program that runs the session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct About {
    /// The version of osier.
    pub version: String,
    /// Operating system and processor architecture, as in `linux x86_64`.
    pub platform: String,
    /// The folder with settings, keymaps and themes.
    pub config: String,
    /// The folder with sessions, credentials and the index.
    pub data: String,
    /// The working directory of the session.
    pub cwd: String,
}
