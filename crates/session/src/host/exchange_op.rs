//! What can be told and heard about sessions that leave and come.

use serde::{Deserialize, Serialize};

use osier_transfer::{Exported, Format, Imported, Scope};

/// Instructions about exports and imports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum ExchangeOp {
    /// Writes the open session to a file: `path` is relative to the working directory, without it the file
    /// has its usual name in there. The ending of the path says the format when `format` does not; a page
    /// is the usual one. Answered by `ExchangeEvent::SessionExported`.
    ExportSession {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        format: Option<Format>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        scope: Option<Scope>,
        /// The theme a page begins with.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        theme: Option<String>,
        /// Replace a file that is there.
        #[serde(default)]
        force: bool,
    },
    /// Makes a session of a file of osier, pi, Claude Code or Codex; with `open` leaves for it. One that was
    /// imported before is taken as it is, unless `again` is set. Answered by
    /// `ExchangeEvent::SessionImported`.
    ImportSession {
        path: String,
        #[serde(default)]
        again: bool,
        #[serde(default)]
        open: bool,
    },
}

/// What is heard about exports and imports; a failure is a notice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum ExchangeEvent {
    SessionExported {
        exported: Box<Exported>,
    },
    /// With `open` it follows `SessionOpened`.
    SessionImported {
        imported: Box<Imported>,
    },
}
