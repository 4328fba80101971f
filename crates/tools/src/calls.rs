//! Calls of the tools of the table.

use std::path::Path;
use std::sync::Arc;

use osier_agent::{CheckedCall, FileTarget, ToolOutput, ToolStatus};
use osier_llm::ToolCall;
use serde_json::{Map, Value};

use super::{BuiltIn, all, find};
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

/// The tool that does what the tool `name` of any program does, and the arguments of a call under osier's names, for a
/// conversation that was imported.
pub fn known_call(
    name: &str,
    arguments: &Map<String, Value>,
) -> Option<(&'static BuiltIn, Map<String, Value>)> {
    let is_same = |known: &str| known.eq_ignore_ascii_case(name);
    let has_peer = |tool: &&BuiltIn| tool.peers.iter().any(|peer| is_same(peer.name));
    let tool = all()
        .find(|tool| is_same(tool.name))
        .or_else(|| all().find(has_peer))?;
    let peers = tool.peers.iter().filter(|peer| is_same(peer.name));
    let renamed: Vec<_> = peers.flat_map(|peer| peer.arguments).collect();
    let mut ours = Map::new();
    for (given, value) in arguments {
        let known = renamed.iter().find(|(theirs, _)| theirs == given);
        let name = known.map_or(given.as_str(), |(_, ours)| ours);
        ours.insert(name.to_owned(), value.clone());
    }
    Some((tool, ours))
}

impl Workspace {
    /// Prepares a call outside of a run.
    ///
    /// # Errors
    /// The result of a call that cannot run.
    pub async fn prepare(self: &Arc<Self>, call: ToolCall) -> Result<CheckedCall, ToolOutput> {
        let Some(tool) = find(&call.name).and_then(|row| row.make(self)) else {
            let text = format!("Unknown tool `{}`.", call.name);
            return Err(ToolOutput::failed(ToolStatus::ToolNotFound, text));
        };
        CheckedCall::of(tool, call).await
    }
}
