//! The files that a conversation has read and changed. Every compaction adds them to its summary, which may omit them.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use osier_agent::AgentMessage;
use osier_tools::{READ, ToolEffect};

/// The read and the changed files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct FileLists {
    /// Read and not changed.
    pub read_files: BTreeSet<String>,
    pub modified_files: BTreeSet<String>,
    /// The files that the model used last, the newest at the end.
    #[serde(rename = "recentFiles")]
    pub recent: Vec<String>,
}

/// Files that are remembered as recent.
const RECENT: usize = 12;

impl FileLists {
    /// The lists of an earlier compaction.
    pub(super) fn of_details(details: &Value) -> Self {
        serde_json::from_value(details.clone()).unwrap_or_default()
    }

    /// Adds the calls of a message.
    pub(super) fn see(&mut self, message: &AgentMessage) {
        let AgentMessage::Assistant(answer) = message else {
            return;
        };
        for call in answer.tool_calls() {
            let several = osier_tools::find(&call.name).and_then(|tool| tool.files);
            for file in several.map_or_else(Vec::new, |files| files(&call.arguments)) {
                self.read_files.remove(&file.path);
                self.touch(&file.path);
                self.modified_files.insert(file.path);
            }
            let Some(path) = call.arguments.get("file_path").and_then(Value::as_str) else {
                continue;
            };
            match osier_tools::effect(&call.name) {
                Some(ToolEffect::Looks) if call.name == READ => {
                    self.touch(path);
                    if !self.modified_files.contains(path) {
                        self.read_files.insert(path.to_owned());
                    }
                }
                Some(ToolEffect::Changes) if several.is_none() => {
                    self.touch(path);
                    self.read_files.remove(path);
                    self.modified_files.insert(path.to_owned());
                }
                _ => {}
            }
        }
    }

    /// Makes a file the newest of the recent ones.
    fn touch(&mut self, path: &str) {
        self.recent.retain(|known| known != path);
        self.recent.push(path.to_owned());
        if self.recent.len() > RECENT {
            self.recent.remove(0);
        }
    }

    /// The lists as text for the end of a summary, in at most `bytes`.
    pub(super) fn text(&self, bytes: usize) -> String {
        let list = |tag: &str, files: &BTreeSet<String>, bytes: usize| {
            let mut text = String::new();
            for (place, file) in files.iter().enumerate() {
                if text.len() + file.len() > bytes {
                    let _ = writeln!(text, "… and {} more", files.len() - place);
                    break;
                }
                text.push_str(file);
                text.push('\n');
            }
            if text.is_empty() {
                text
            } else {
                format!("\n\n<{tag}>\n{text}</{tag}>")
            }
        };
        let modified = list("modified-files", &self.modified_files, bytes / 2);
        let read = list("read-files", &self.read_files, bytes / 2);
        format!("{read}{modified}")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use osier_llm::{AssistantBlock, AssistantMessage, ToolCall};

    #[test]
    fn changed_file_is_not_listed_as_read() {
        let call = |name: &str, path: &str| {
            AssistantBlock::ToolCall(ToolCall {
                name: name.into(),
                arguments: json!({"file_path": path}),
                ..ToolCall::default()
            })
        };
        let message = AgentMessage::Assistant(AssistantMessage {
            content: vec![
                call("read", "a"),
                call("read", "b"),
                call("edit", "a"),
                call("read", "a"),
                call("write", "c"),
            ],
            ..AssistantMessage::default()
        });
        let mut files = FileLists::of_details(&json!({"readFiles": ["old"]}));
        files.see(&message);
        assert_eq!(
            files.text(1000),
            "\n\n<read-files>\nb\nold\n</read-files>\n\n<modified-files>\na\nc\n</modified-files>"
        );
        assert_eq!(
            files.text(2),
            "\n\n<read-files>\nb\n… and 1 more\n</read-files>\n\n<modified-files>\na\n… and 1 more\n</modified-files>"
        );
        assert_eq!(files.recent, ["b", "a", "c"]);
        let stored = serde_json::to_value(&files).unwrap();
        assert_eq!(FileLists::of_details(&stored), files);
    }
}
