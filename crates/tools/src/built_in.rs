//! The row of a tool: what the program knows of it without running it.

use std::sync::Arc;

use osier_agent::Tool;
use serde_json::Value;

use crate::files::target::{FileArgument, NamedFile};
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

impl BuiltIn {
    /// A tool that changes something, and whose arguments name no file.
    pub(crate) const fn new(
        name: &'static str,
        label: &'static str,
        main_argument: &'static str,
        make: fn(Arc<Workspace>) -> Arc<dyn Tool>,
    ) -> Self {
        Self {
            name,
            label,
            read_only: false,
            reads_web: false,
            asks_user: false,
            main_argument,
            file: None,
            files: None,
            replaces: &[],
            make,
        }
    }
}
