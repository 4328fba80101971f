//! Requests and events about import and export.

use crate::Imported;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

osier_base::requests! {
    /// A request about import and export.
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
    pub enum TransferOp {
        /// Export the open session to a file.
        #[request(Sessions, None => SessionExported)]
        ExportSession {
            /// relative to the working directory; a default name when missing
            #[serde(default, skip_serializing_if = "Option::is_none")]
            path: Option<String>,
            /// from the extension of the path when missing, otherwise HTML
            #[serde(default, skip_serializing_if = "Option::is_none")]
            format: Option<ExportFormat>,
            /// the current branch or the complete tree
            #[serde(default, skip_serializing_if = "Option::is_none")]
            scope: Option<ExportScope>,
            /// the initial theme of an HTML page
            #[serde(default, skip_serializing_if = "Option::is_none")]
            theme: Option<String>,
            /// replace an existing file
            #[serde(default)]
            force: bool,
            /// with the log of the session
            #[serde(default)]
            log: bool,
        },
        /// Import a session file of osier, pi, Claude Code or Codex. A file that was imported before is not
        /// imported again.
        #[request(Sessions, Change if open => SessionImported)]
        ImportSession {
            /// relative to the working directory
            path: String,
            /// import a file that was imported before again
            #[serde(default)]
            again: bool,
            /// open the session
            #[serde(default)]
            open: bool,
        },
    }
}

osier_base::events! {
    /// An event about import and export. A failure is a `host_notice`.
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(
        tag = "type",
        rename_all = "snake_case",
        rename_all_fields = "camelCase"
    )]
    pub enum TransferEvent {
        SessionExported {
            exported: Box<Exported>,
        },
        /// With `open`, this event follows `session_opened`.
        SessionImported {
            imported: Box<Imported>,
        },
    }
}

osier_base::words! {
    /// The format of an export.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "lowercase")]
    pub enum ExportFormat {
        /// One self-contained page.
        Html = "html",
        Markdown = "markdown",
        /// The session file itself.
        Jsonl = "jsonl",
    }
}

impl ExportFormat {
    /// The format for the file extension of `path`.
    pub fn of_path(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "html" | "htm" => Some(Self::Html),
            "md" | "markdown" => Some(Self::Markdown),
            "jsonl" => Some(Self::Jsonl),
            _ => None,
        }
    }

    pub fn ending(self) -> &'static str {
        match self {
            Self::Html => "html",
            Self::Markdown => "md",
            Self::Jsonl => "jsonl",
        }
    }

    /// The default scope: HTML and JSONL contain all branches, Markdown only the current one.
    pub fn usual_scope(self) -> ExportScope {
        match self {
            Self::Html | Self::Jsonl => ExportScope::Tree,
            Self::Markdown => ExportScope::Branch,
        }
    }
}

osier_base::words! {
    /// How much of the tree is exported.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "lowercase")]
    pub enum ExportScope {
        /// The path to the current entry.
        Branch = "branch",
        Tree = "tree",
    }
}

/// The result of an export.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ExportSummary {
    /// Number of messages and summaries; for JSONL, of entries.
    pub entries: usize,
    /// Number of branches, including the current one.
    pub branches: usize,
    /// Number of entries that could not be read and are missing in the export.
    pub unreadable: usize,
}

/// A finished export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Exported {
    pub path: PathBuf,
    pub format: ExportFormat,
    pub bytes: u64,
    #[serde(flatten)]
    pub summary: ExportSummary,
}

/// The program that wrote a session file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ImportSource {
    Osier,
    Pi,
    Claude,
    Codex,
    Opencode,
}

impl ImportSource {
    /// The name for display.
    pub fn name(self) -> &'static str {
        match self {
            Self::Osier => "osier",
            Self::Pi => "pi",
            Self::Claude => "Claude Code",
            Self::Codex => "Codex",
            Self::Opencode => "opencode",
        }
    }
}
