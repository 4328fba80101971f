//! The result of an import, with what could not be imported.

use crate::ImportSource;
use osier_base::text::counted;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A finished import.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Imported {
    pub id: String,
    pub path: PathBuf,
    /// The working directory of the session.
    pub cwd: String,
    /// The session was imported before, and nothing was written.
    pub known: bool,
    /// Number of entries of the file that are missing in the session imported before.
    pub newer: usize,
    pub report: ImportReport,
}

/// The content of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ImportReport {
    pub source: ImportSource,
    /// The file that was read.
    pub file: PathBuf,
    pub entries: usize,
    pub prompts: usize,
    pub answers: usize,
    pub tool_results: usize,
    /// Subagents whose files were read for the calls that started them.
    #[serde(default)]
    pub subagents: usize,
    /// Number of lines that could not be read.
    pub damaged: usize,
    /// The line numbers of the first of them.
    pub damaged_lines: Vec<u64>,
    /// Parts of the session that could not be imported, by kind.
    pub dropped: Vec<Dropped>,
}

/// One kind of data that could not be imported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Dropped {
    pub what: String,
    pub count: usize,
    /// The number of the first line with such data.
    pub line: u64,
}

impl Imported {
    /// For display, one sentence per line.
    pub fn described(&self) -> Vec<String> {
        let report = &self.report;
        let mut lines = Vec::new();
        if self.known {
            let newer = match self.newer {
                0 => String::new(),
                newer => {
                    let newer = counted(newer, "more entry", "more entries");
                    format!(", and the file now contains {newer}")
                }
            };
            lines.push(format!(
                "`{}` was imported before as {}{newer}",
                report.file.display(),
                self.id
            ));
            return lines;
        }
        lines.push(format!(
            "imported from {} as {}: {}, {}, {}",
            report.source.name(),
            self.id,
            counted(report.prompts, "prompt", "prompts"),
            counted(report.answers, "answer", "answers"),
            counted(report.tool_results, "tool result", "tool results")
        ));
        if report.subagents > 0 {
            let count = counted(report.subagents, "subagent", "subagents");
            lines.push(format!("with the steps of {count}"));
        }
        for dropped in &report.dropped {
            lines.push(format!(
                "not imported: {} ({}, first in line {})",
                dropped.what, dropped.count, dropped.line
            ));
        }
        if report.damaged > 0 {
            let numbers: Vec<String> = report.damaged_lines.iter().map(u64::to_string).collect();
            let more = if report.damaged > numbers.len() {
                ", …"
            } else {
                ""
            };
            lines.push(format!(
                "skipped {}: {}{more}",
                counted(report.damaged, "damaged line", "damaged lines"),
                numbers.join(", ")
            ));
        }
        lines
    }
}
