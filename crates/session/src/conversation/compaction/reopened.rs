//! Files that are shown again after a compaction: the model used them last, and would otherwise read them again.

use std::fmt::Write as _;
use std::sync::Arc;

use osier_agent::{AgentMessage, CustomMessage};
use osier_base::{clock, text, visible};
use osier_tools::Workspace;
use serde_json::Value;

use super::estimate::text_tokens;
use super::files::FileLists;

/// The kind of the message.
const KIND: &str = "reopened_files";
/// Files, and bytes of one.
const FILES: usize = 5;
const FILE: u64 = 16 * 1024;

/// The message with the files that fit into `tokens`; `None` if there are none. `shown` are those that the rest of the
/// conversation shows.
pub(super) async fn message(
    workspace: &Arc<Workspace>,
    files: &FileLists,
    shown: &[&str],
    tokens: u64,
) -> Option<AgentMessage> {
    let newest_first = files.recent.iter().rev();
    let wanted: Vec<String> = newest_first
        .filter(|file| !shown.contains(&file.as_str()))
        .take(FILES)
        .cloned()
        .collect();
    let workspace = Arc::clone(workspace);
    let reading = osier_base::task::spawn_blocking(move || read(&workspace, &wanted, tokens));
    let files = reading.await.ok().filter(|files| !files.is_empty())?;
    Some(AgentMessage::Custom(CustomMessage {
        kind: KIND.to_owned(),
        text: format!("The files that you worked with last, as they are now:\n{files}"),
        display: false,
        details: Value::Null,
        timestamp: clock::now_ms(),
    }))
}

/// Whether a message shows reopened files.
pub(super) fn is_one(message: &AgentMessage) -> bool {
    matches!(message, AgentMessage::Custom(custom) if custom.kind == KIND)
}

fn read(workspace: &Workspace, files: &[String], tokens: u64) -> String {
    let mut shown = String::new();
    let mut room = tokens;
    for file in files {
        // A file counts as read only if the model gets it.
        let limit = FILE.min(room * 3);
        let Some(lines) = workspace.read_again(file, limit) else {
            continue;
        };
        room = room.saturating_sub(text_tokens(&lines));
        let name = text::single_line(&visible::visible(file)).replace(['<', '>', '"'], "?");
        // Every line has a number, so that none looks like the end. Writing to a string cannot fail.
        let _ = writeln!(
            shown,
            "<file path=\"{name}\">\n{}\n</file>",
            lines.trim_end()
        );
    }
    shown
}
