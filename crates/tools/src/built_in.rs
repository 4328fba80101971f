//! The row of a tool: what the program knows of it without running it.

use std::sync::Arc;

use osier_agent::Tool;
use serde_json::Value;

use crate::files::target::{FileArgument, FileUse, NamedFile};
use crate::workspace::Workspace;

/// A built-in tool.
#[derive(Debug)]
pub struct BuiltIn {
    /// The name for models.
    pub name: &'static str,
    /// The name for people.
    pub label: &'static str,
    /// The tool changes nothing, so it runs without a question.
    pub read_only: bool,
    /// The tool only reads, but from the network: plan mode asks before it runs.
    pub reads_web: bool,
    /// The tool waits for an answer of the user, so subagents do not have it.
    pub asks_user: bool,
    /// The main argument, shown next to the label.
    pub main_argument: &'static str,
    /// The argument that names a file.
    pub file: Option<FileArgument>,
    /// The files that a call names, for a tool that changes several.
    pub files: Option<fn(&Value) -> Vec<NamedFile>>,
    /// The tools that this one is another form of. Models get it instead of them, or not at all.
    pub replaces: &'static [&'static str],
    pub(crate) make: fn(Arc<Workspace>) -> Arc<dyn Tool>,
}

/// An argument that names a file. Only `write` expects a new file, and only searches work without the argument.
pub(crate) const fn file(name: &'static str, purpose: FileUse) -> FileArgument {
    FileArgument {
        name,
        purpose,
        exists: !matches!(purpose, FileUse::Write),
        optional: matches!(purpose, FileUse::Search | FileUse::List),
    }
}
