//! Language servers and their reports.

use osier_base::text;
use serde::{Deserialize, Serialize};

/// A language server that the session uses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CodeServerInfo {
    pub name: String,
    /// The folder that it works in.
    pub root: String,
    pub state: CodeServerState,
    /// Why it does not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The counts of diagnostics in all files that the server has checked.
    pub diagnostics: DiagnosticCounts,
    /// The worst diagnostics: errors and warnings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<CodeProblem>,
    /// The files with errors or warnings, at most 1,000.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileDiagnostics>,
}

impl CodeServerInfo {
    /// The line of a list without servers.
    pub const NONE: &str = "no language server has started: one starts in a trusted project when the model uses a file of its \
                            kind, if it is installed";

    /// The server for people: its state, and its error or what it reports.
    pub fn line(&self) -> String {
        let DiagnosticCounts { errors, warnings } = self.diagnostics;
        let end = self.error.clone().unwrap_or_else(|| {
            let errors = text::counted(errors, "error", "errors");
            format!(
                "{errors}, {}",
                text::counted(warnings, "warning", "warnings")
            )
        });
        format!(
            "{} in {}: {}, {end}",
            self.name,
            self.root,
            self.state.name()
        )
    }
}

/// The errors and warnings of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FileDiagnostics {
    /// Absolute path.
    pub file_path: String,
    pub diagnostics: DiagnosticCounts,
}

/// An error or a warning in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CodeProblem {
    /// Absolute path.
    pub file_path: String,
    /// From 1.
    pub line: u32,
    /// In characters, from 1.
    pub column: u32,
    /// `error` or `warning`.
    pub severity: String,
    pub message: String,
}

/// The lifecycle state of a language server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CodeServerState {
    /// The server starts when it is used.
    Stopped,
    Starting,
    Ready,
    /// The server is not started again.
    Failed,
}

impl CodeServerState {
    /// One word for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stopped => "stopped",
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::Failed => "failed",
        }
    }
}

/// How many errors and warnings there are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DiagnosticCounts {
    pub errors: u64,
    pub warnings: u64,
}

impl DiagnosticCounts {
    /// The sum over all servers.
    pub fn of(servers: &[CodeServerInfo]) -> Self {
        Self {
            errors: servers.iter().map(|one| one.diagnostics.errors).sum(),
            warnings: servers.iter().map(|one| one.diagnostics.warnings).sum(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_counts_or_the_error() {
        let mut server = CodeServerInfo {
            name: "gopls".to_owned(),
            root: "/w".to_owned(),
            state: CodeServerState::Ready,
            error: None,
            diagnostics: DiagnosticCounts {
                errors: 1,
                warnings: 2,
            },
            problems: Vec::new(),
            files: Vec::new(),
        };
        assert_eq!(server.line(), "gopls in /w: ready, 1 error, 2 warnings");
        server.state = CodeServerState::Failed;
        server.error = Some("it ended 3 times".to_owned());
        assert_eq!(server.line(), "gopls in /w: failed, it ended 3 times");
    }
}
