//! Calls of the tools of the table.

use std::path::Path;
use std::sync::Arc;

use osier_agent::{CheckedCall, FileTarget, ToolOutput, ToolStatus};
use osier_llm::ToolCall;
use serde_json::Value;

use super::find;
use crate::files::target::{NamedFile, resolve};
use crate::workspace::Workspace;

/// The files that the call of `tool` names, in order.
fn named_files(tool: &str, arguments: &Value) -> Vec<NamedFile> {
    let Some(tool) = find(tool) else {
        return Vec::new();
    };
    if let Some(named) = tool.files {
        return named(arguments);
    }
    let file = tool.file.and_then(|argument| {
        let given = arguments.get(argument.name).and_then(Value::as_str);
        argument.file(given)
    });
    file.into_iter().collect()
}

/// The files of a call of `tool` in `cwd`, in order, for calls that are not prepared: stored calls and questions about
/// rules.
pub fn file_targets(tool: &str, arguments: &Value, cwd: &Path) -> Vec<FileTarget> {
    let named = named_files(tool, arguments).into_iter();
    named.map(|named| resolve(&named, cwd, None)).collect()
}

impl Workspace {
    /// Prepares a call outside of a run.
    ///
    /// # Errors
    /// The result of a call that cannot run.
    pub async fn prepare(self: &Arc<Self>, call: ToolCall) -> Result<CheckedCall, ToolOutput> {
        let Some(row) = find(&call.name) else {
            let text = format!("Unknown tool `{}`.", call.name);
            return Err(ToolOutput::failed(ToolStatus::ToolNotFound, text));
        };
        CheckedCall::of(row.make(self), call).await
    }
}
