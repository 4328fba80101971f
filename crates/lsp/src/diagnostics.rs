//! The diagnostics that a server reports. For each file, the worst diagnostics are stored, and all are counted.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::lists;
use crate::position::{Encoding, Lines, Position};
use crate::uri;

/// Maximum number of stored diagnostics of a file.
const PER_FILE: usize = 50;
/// Maximum number of files with stored diagnostics.
const FILES: usize = 2000;
/// Maximum stored bytes of a message.
const MESSAGE_BYTES: usize = 600;
const CODE_BYTES: usize = 60;

/// The severity of a diagnostic, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    Error,
    Warning,
    Information,
    Hint,
}

impl Severity {
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Information => "info",
            Self::Hint => "hint",
        }
    }
}

/// An error, a warning or a note about a place in a file. Its texts have no control characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    pub severity: Severity,
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
    /// The message in one line.
    pub message: String,
    /// The code; empty if there is none.
    pub code: String,
}

/// How many diagnostics there are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub errors: usize,
    pub warnings: usize,
    pub others: usize,
}

impl Counts {
    pub fn add(&mut self, severity: Severity, count: usize) {
        match severity {
            Severity::Error => self.errors += count,
            Severity::Warning => self.warnings += count,
            _ => self.others += count,
        }
    }

    pub fn plus(&mut self, other: Self) {
        self.errors += other.errors;
        self.warnings += other.warnings;
        self.others += other.others;
    }

    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The diagnostics of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileDiagnostics {
    pub counts: Counts,
    /// The worst diagnostics, in the order of their lines.
    pub worst: Vec<Diagnostic>,
}

impl FileDiagnostics {
    fn push(&mut self, diagnostic: Diagnostic) {
        self.counts.add(diagnostic.severity, 1);
        if self.worst.len() < PER_FILE {
            self.worst.push(diagnostic);
            return;
        }
        let mildest = self.worst.iter().enumerate();
        let mildest = mildest.max_by_key(|(_, known)| known.severity);
        if let Some((index, known)) = mildest
            && known.severity > diagnostic.severity
        {
            self.worst[index] = diagnostic;
        }
    }

    /// Adds the diagnostics of another list for the same file.
    pub(crate) fn join(&mut self, other: Self) {
        let mut counts = self.counts;
        counts.plus(other.counts);
        for diagnostic in other.worst {
            self.push(diagnostic);
        }
        self.counts = counts;
        self.sort();
    }

    fn sort(&mut self) {
        let place = |one: &Diagnostic| (one.line, one.column);
        osier_base::sort::by_key(&mut self.worst, place);
    }
}

/// The diagnostics of one file from one server.
#[derive(Debug, Clone, Default)]
struct Known {
    /// Diagnostics that the server sent without a request.
    pushed: Arc<FileDiagnostics>,
    /// Diagnostics that the server sent as an answer.
    pulled: Arc<FileDiagnostics>,
}

/// The diagnostics of a server.
#[derive(Debug, Default)]
pub(crate) struct Store {
    files: HashMap<PathBuf, Known>,
}

/// How diagnostics were received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    Pushed,
    Pulled,
}

impl Store {
    /// Replaces the diagnostics of a file. Those of further files than the limit are not stored.
    pub(crate) fn set(&mut self, path: &Path, origin: Origin, found: FileDiagnostics) {
        if found.counts.is_empty() && !self.files.contains_key(path) {
            return;
        }
        if self.files.len() >= FILES && !self.files.contains_key(path) {
            return;
        }
        let known = self.files.entry(path.to_owned()).or_default();
        let part = match origin {
            Origin::Pushed => &mut known.pushed,
            Origin::Pulled => &mut known.pulled,
        };
        *part = Arc::new(found);
        if known.pushed.counts.is_empty() && known.pulled.counts.is_empty() {
            self.files.remove(path);
        }
    }

    pub(crate) fn remove(&mut self, path: &Path) {
        self.files.remove(path);
    }

    pub(crate) fn of(&self, path: &Path) -> FileDiagnostics {
        self.files.get(path).map(Known::all).unwrap_or_default()
    }

    /// The diagnostics of every file that has any, by path.
    pub(crate) fn all(&self) -> Vec<(PathBuf, FileDiagnostics)> {
        let files = self.files.iter();
        let mut all: Vec<_> = files
            .map(|(path, known)| (path.clone(), known.all()))
            .collect();
        osier_base::sort::by_key(&mut all, |(path, _)| path.clone());
        all
    }

    pub(crate) fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for known in self.files.values() {
            counts.plus(known.pushed.counts);
            counts.plus(known.pulled.counts);
        }
        counts
    }
}

impl Known {
    fn all(&self) -> FileDiagnostics {
        let mut all = (*self.pushed).clone();
        for diagnostic in &self.pulled.worst {
            // A server may send the same diagnostic in both ways.
            if !all.worst.contains(diagnostic) {
                all.worst.push(diagnostic.clone());
            }
        }
        all.counts.plus(self.pulled.counts);
        all.sort();
        all
    }
}

/// The parameters of `textDocument/publishDiagnostics`.
#[derive(Debug, Deserialize)]
pub(crate) struct Published<'m> {
    uri: String,
    #[serde(default)]
    pub(crate) version: Option<i64>,
    #[serde(borrow)]
    diagnostics: &'m RawValue,
}

impl Published<'_> {
    pub(crate) fn path(&self) -> Option<PathBuf> {
        uri::to_path(&self.uri)
    }

    pub(crate) fn diagnostics(&self, text: Option<&str>, encoding: Encoding) -> FileDiagnostics {
        read(self.diagnostics.get(), text, encoding)
    }
}

/// The list `json` of diagnostics for a file with this text, if it is known.
pub(crate) fn read(json: &str, text: Option<&str>, encoding: Encoding) -> FileDiagnostics {
    read_as(json, text, encoding, &Value::clone)
}

/// Like [`read`], for a list whose elements `standard` converts.
pub(crate) fn read_as(
    json: &str,
    text: Option<&str>,
    encoding: Encoding,
    standard: &dyn Fn(&Value) -> Value,
) -> FileDiagnostics {
    let lines = text.map(Lines::new);
    let mut found = FileDiagnostics::default();
    let mut read = 0;
    let count = lists::elements(json, &mut |value| {
        if let Some(diagnostic) = diagnostic(&standard(value), lines.as_ref(), encoding) {
            read += 1;
            found.push(diagnostic);
        }
    });
    // A diagnostic that cannot be parsed is still counted.
    found.counts.others += count - read;
    found.sort();
    found
}

fn diagnostic(value: &Value, lines: Option<&Lines<'_>>, encoding: Encoding) -> Option<Diagnostic> {
    let start = Position::read(&value["range"]["start"])?;
    let column = lines.and_then(|lines| lines.column(start, encoding));
    let message = match &value["message"] {
        Value::String(text) => text.as_str(),
        // The message is markup in newer versions of the protocol.
        other => other["value"].as_str()?,
    };
    let code = match &value["code"] {
        Value::String(code) => lists::line(code, CODE_BYTES),
        Value::Number(code) => code.to_string(),
        _ => String::new(),
    };
    Some(Diagnostic {
        severity: match value["severity"].as_u64() {
            Some(2) => Severity::Warning,
            Some(3) => Severity::Information,
            Some(4) => Severity::Hint,
            _ => Severity::Error,
        },
        line: start.line.saturating_add(1),
        column: column.unwrap_or_else(|| start.units.saturating_add(1)),
        message: lists::line(message, MESSAGE_BYTES),
        code,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at(line: u32, severity: u8, message: &str) -> Value {
        let place = json!({"line": line, "character": 3});
        json!({"range": {"start": place, "end": place}, "severity": severity, "message": message})
    }

    #[test]
    fn the_worst_of_a_flood_are_stored_and_all_are_counted() {
        let many = (0..100_000).map(|line| at(line, 2, "unused"));
        let list: Vec<Value> = many.chain([at(7, 1, "bad")]).collect();
        let found = read(&json!(list).to_string(), None, Encoding::Utf16);
        let counts = Counts {
            errors: 1,
            warnings: 100_000,
            others: 0,
        };
        assert_eq!(found.counts, counts);
        assert_eq!(found.worst.len(), PER_FILE);
        let errors = found.worst.iter().filter(|one| one.message == "bad");
        assert_eq!(errors.count(), 1);
    }

    #[test]
    fn unusual_diagnostics_are_read_as_far_as_possible() {
        let mut markup = at(0, 9, "");
        markup["message"] = json!({"kind": "markdown", "value": "a\u{1b}[2Jb\nc"});
        markup["code"] = json!(2322);
        let list = json!([markup, {"message": "no range"}, 7]).to_string();
        let found = read(&list, Some("é😀x"), Encoding::Utf16);
        let diagnostic = Diagnostic {
            severity: Severity::Error,
            line: 1,
            column: 3,
            message: "ab c".to_owned(),
            code: "2322".to_owned(),
        };
        let counts = Counts {
            errors: 1,
            warnings: 0,
            others: 2,
        };
        let worst = vec![diagnostic];
        assert_eq!(found, FileDiagnostics { counts, worst });
    }

    #[test]
    fn both_origins_of_a_file_are_merged() {
        let mut store = Store::default();
        let read = |list: Value| read(&list.to_string(), None, Encoding::Utf8);
        let path = PathBuf::from("/a");
        store.set(&path, Origin::Pushed, read(json!([at(5, 1, "pushed")])));
        store.set(&path, Origin::Pulled, read(json!([at(1, 2, "pulled")])));
        let found = store.of(&path);
        let messages: Vec<&str> = found.worst.iter().map(|one| one.message.as_str()).collect();
        assert_eq!(messages, ["pulled", "pushed"]);
        store.set(&path, Origin::Pushed, read(json!([])));
        store.set(&path, Origin::Pulled, read(json!([])));
        assert_eq!(store.all(), []);
    }
}
