//! Diagnostics as text for the model: the worst with their places, and how many there are.

use std::fmt::Write as _;
use std::path::PathBuf;

use osier_base::text::counted;
use osier_lsp::{Counts, Diagnostic, Severity};
use serde::{Deserialize, Serialize};

use crate::workspace::Workspace;

/// Diagnostics of files.
#[derive(Debug, Clone, Default)]
pub struct Findings {
    /// The diagnostics; `cut` preserves the order of those with the same severity.
    pub list: Vec<(PathBuf, Diagnostic)>,
    /// The counts of all diagnostics, also of those that are not in the list.
    pub counts: Counts,
}

/// The field of a result's details with its diagnostics.
pub const DIAGNOSTICS: &str = "diagnostics";

/// A diagnostic in the details of a result.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FoundDiagnostic {
    /// Absolute path.
    pub file_path: String,
    /// From 1.
    pub line: u32,
    /// In characters, from 1.
    pub column: u32,
    /// `error`, `warning`, `info` or `hint`.
    pub severity: String,
    pub message: String,
}

impl Findings {
    pub fn push(&mut self, path: PathBuf, diagnostic: Diagnostic) {
        self.counts.add(diagnostic.severity, 1);
        self.list.push((path, diagnostic));
    }

    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Leaves the `limit` worst in the list.
    pub fn cut(&mut self, limit: usize) {
        osier_base::sort::by_key(&mut self.list, |(_, one)| one.severity);
        self.list.truncate(limit);
    }

    /// A line for each problem in the list, and the number of other problems.
    pub fn lines(&self, workspace: &Workspace) -> String {
        let mut text = String::new();
        let mut left = self.counts;
        for (path, diagnostic) in &self.list {
            let Diagnostic {
                severity,
                line,
                column,
                message,
                code,
            } = diagnostic;
            let code = match code.as_str() {
                "" => String::new(),
                code => format!(" [{code}]"),
            };
            let (path, name) = (workspace.display(path), severity.name());
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{path}:{line}:{column} {name}: {message}{code}");
            let count = match severity {
                Severity::Error => &mut left.errors,
                Severity::Warning => &mut left.warnings,
                _ => &mut left.others,
            };
            *count = count.saturating_sub(1);
        }
        if !left.is_empty() {
            let _ = writeln!(text, "[{} more]", words(left));
        }
        text
    }

    /// The list, for the interface.
    pub fn details(&self) -> Vec<FoundDiagnostic> {
        let found = self.list.iter().map(|(path, one)| FoundDiagnostic {
            file_path: path.display().to_string(),
            line: one.line,
            column: one.column,
            severity: one.severity.name().to_owned(),
            message: one.message.clone(),
        });
        found.collect()
    }
}

/// `2 errors, 1 warning`.
pub fn words(counts: Counts) -> String {
    let parts = [
        (counts.errors, "error", "errors"),
        (counts.warnings, "warning", "warnings"),
        (counts.others, "note", "notes"),
    ];
    let parts = parts.into_iter().filter(|(count, ..)| *count > 0);
    let parts: Vec<String> = parts
        .map(|(count, one, many)| counted(count, one, many))
        .collect();
    if parts.is_empty() {
        return "no errors".to_owned();
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_are_listed_and_the_others_counted() {
        let diagnostic = |severity, line| Diagnostic {
            severity,
            line,
            column: 2,
            message: "bad".to_owned(),
            code: "E1".to_owned(),
        };
        let mut findings = Findings::default();
        for line in 1..=3 {
            findings.push("/w/a.rs".into(), diagnostic(Severity::Warning, line));
        }
        findings.push("/w/b.rs".into(), diagnostic(Severity::Error, 9));
        findings.counts.others += 1;
        findings.cut(2);
        let expected =
            "b.rs:9:2 error: bad [E1]\na.rs:1:2 warning: bad [E1]\n[2 warnings, 1 note more]\n";
        assert_eq!(findings.lines(&Workspace::new("/w")), expected);
        assert_eq!(words(findings.counts), "1 error, 3 warnings, 1 note");
        assert_eq!(words(Counts::default()), "no errors");
    }
}
