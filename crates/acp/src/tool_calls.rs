//! Tool calls as the editor shows them: title, kind, files and changes.

use std::path::Path;

use agent_client_protocol_schema::v1 as acp;
use serde_json::Value;

use osier_agent::{FileUse, ToolResultMessage, ToolStatus};
use osier_base::text::tail_bytes;
use osier_base::visible::one_line;
use osier_llm::ContentBlock;
use osier_protocol::PLAN_TOOL;
use osier_protocol::questions::Subject;
use osier_tools::diff::by_file;
use osier_tools::{NamedFile, ToolEffect};

/// How many bytes of the output of a running call are shown. Each update repeats them.
const OUTPUT_SHOWN: usize = 4096;

/// Columns of a title.
const TITLE_SHOWN: usize = 200;

/// A call that starts to run.
pub(super) fn started(id: &str, name: &str, arguments: &Value, cwd: &Path) -> acp::ToolCall {
    acp::ToolCall::new(id.to_owned(), title(name, arguments))
        .kind(kind(name))
        .status(acp::ToolCallStatus::InProgress)
        .locations(locations(name, arguments, cwd))
        .raw_input(arguments.clone())
}

/// The end of the output of a running call.
pub(super) fn output(id: &str, output: &str) -> acp::ToolCallUpdate {
    let shown = fenced(tail_bytes(output, OUTPUT_SHOWN));
    update(
        id,
        acp::ToolCallUpdateFields::new().content(vec![shown.into()]),
    )
}

/// A call whose output the editor shows in its terminal.
pub(super) fn in_terminal(id: &str, terminal: String) -> acp::ToolCallUpdate {
    let content = vec![acp::ToolCallContent::Terminal(acp::Terminal::new(terminal))];
    update(id, acp::ToolCallUpdateFields::new().content(content))
}

/// A finished call.
pub(super) fn finished(id: &str, message: &ToolResultMessage, cwd: &Path) -> acp::ToolCallUpdate {
    let details = &message.details;
    let succeeded = message.status == ToolStatus::Success;
    let mut content = match (details["filePath"].as_str(), details["diff"].as_str()) {
        (Some(path), Some(diff)) => hunks(&absolute(cwd, path), diff),
        (None, Some(diff)) => hunks_of_files(cwd, diff),
        _ => Vec::new(),
    };
    if content.is_empty() || !succeeded {
        content.extend(message.result.content.iter().map(block));
    }
    let status = if succeeded {
        acp::ToolCallStatus::Completed
    } else {
        acp::ToolCallStatus::Failed
    };
    let fields = acp::ToolCallUpdateFields::new()
        .status(status)
        .content(content)
        .raw_output(details.clone());
    update(id, fields)
}

/// The call that a question is about.
pub(super) fn questioned(
    id: &str,
    title: String,
    kind: acp::ToolKind,
    subject: Option<&Subject>,
    cwd: &Path,
) -> acp::ToolCallUpdate {
    let content = match subject {
        None => Vec::new(),
        Some(Subject::Command { command, .. }) => vec![fenced(command).into()],
        Some(Subject::Diff { path, diff }) if by_file(diff).len() == 1 => {
            hunks(&absolute(cwd, path), diff)
        }
        Some(Subject::Diff { diff, .. }) => hunks_of_files(cwd, diff),
        Some(Subject::Text { text }) => vec![fenced(text).into()],
        Some(Subject::Markdown { text }) => vec![text.clone().into()],
    };
    let fields = acp::ToolCallUpdateFields::new()
        .title(title)
        .kind(kind)
        .content(content);
    update(id, fields)
}

fn update(id: &str, fields: acp::ToolCallUpdateFields) -> acp::ToolCallUpdate {
    acp::ToolCallUpdate::new(id.to_owned(), fields)
}

pub(super) fn kind(tool: &str) -> acp::ToolKind {
    let Some(known) = osier_tools::find(tool) else {
        return acp::ToolKind::Other;
    };
    let purpose = known.file.map(|file| file.purpose);
    match known.effect {
        ToolEffect::Looks => match purpose {
            Some(FileUse::Search | FileUse::List) => acp::ToolKind::Search,
            Some(_) => acp::ToolKind::Read,
            None => acp::ToolKind::Think,
        },
        ToolEffect::Fetches => acp::ToolKind::Fetch,
        ToolEffect::Changes => acp::ToolKind::Edit,
        ToolEffect::Runs => acp::ToolKind::Execute,
        ToolEffect::Asks if known.name == PLAN_TOOL => acp::ToolKind::SwitchMode,
        ToolEffect::Asks => acp::ToolKind::Other,
        ToolEffect::Delegates => acp::ToolKind::Think,
    }
}

/// The name of the tool and the subject of the call on one line: hidden characters are shown, and what is cut is counted.
pub(super) fn title(tool: &str, arguments: &Value) -> String {
    match osier_tools::subject(tool, arguments) {
        Some(subject) => one_line(&format!("{tool} {subject}"), TITLE_SHOWN),
        None => tool.to_owned(),
    }
}

/// The files of a call that changes several.
fn named_files(tool: &str, arguments: &Value) -> Vec<NamedFile> {
    let files = osier_tools::find(tool).and_then(|tool| tool.files);
    files.map_or_else(Vec::new, |files| files(arguments))
}

/// The files that a call names.
fn locations(tool: &str, arguments: &Value, cwd: &Path) -> Vec<acp::ToolCallLocation> {
    let several = named_files(tool, arguments).into_iter();
    let several = several.map(|file| acp::ToolCallLocation::new(absolute(cwd, &file.path)));
    several.chain(location(arguments, cwd)).collect()
}

/// The file that a call names.
fn location(arguments: &Value, cwd: &Path) -> Option<acp::ToolCallLocation> {
    let path = arguments
        .get("file_path")
        .or_else(|| arguments.get("path"))?;
    let line = arguments.get("offset").and_then(Value::as_u64);
    let line = line.and_then(|line| u32::try_from(line).ok());
    Some(acp::ToolCallLocation::new(absolute(cwd, path.as_str()?)).line(line))
}

/// The hunks of a diff of several files.
fn hunks_of_files(cwd: &Path, diff: &str) -> Vec<acp::ToolCallContent> {
    let parts = by_file(diff).into_iter();
    parts
        .flat_map(|(name, part)| hunks(&absolute(cwd, name), part))
        .collect()
}

/// The absolute path as text, because the protocol has no other paths.
fn absolute(cwd: &Path, path: &str) -> String {
    cwd.join(path).to_string_lossy().into_owned()
}

/// The hunks of a unified diff, each as old and new text.
fn hunks(path: &str, diff: &str) -> Vec<acp::ToolCallContent> {
    let mut hunks: Vec<acp::Diff> = Vec::new();
    for line in diff.lines() {
        if line.starts_with("@@") {
            // A new file has no old text.
            let old = (!line.starts_with("@@ -0,0")).then(String::new);
            hunks.push(acp::Diff::new(path, "").old_text(old));
            continue;
        }
        let Some(hunk) = hunks.last_mut() else {
            continue;
        };
        let (sign, rest) = line.split_at_checked(1).unwrap_or((" ", ""));
        if sign == "\\" {
            continue;
        }
        if sign != "+"
            && let Some(old) = &mut hunk.old_text
        {
            old.push_str(rest);
            old.push('\n');
        }
        if sign != "-" {
            hunk.new_text.push_str(rest);
            hunk.new_text.push('\n');
        }
    }
    hunks.into_iter().map(acp::ToolCallContent::Diff).collect()
}

fn block(block: &ContentBlock) -> acp::ToolCallContent {
    use agent_client_protocol_schema::v1::ContentBlock::{Audio, Image};
    match block {
        ContentBlock::Image { data, mime_type } => {
            Image(acp::ImageContent::new(data, mime_type)).into()
        }
        ContentBlock::File {
            data, mime_type, ..
        } if mime_type.starts_with("audio/") => {
            Audio(acp::AudioContent::new(data, mime_type)).into()
        }
        block => fenced(&block.description()).into(),
    }
}

/// A Markdown code block, because editors render text as Markdown.
fn fenced(text: &str) -> String {
    let mut fence = "```".to_owned();
    while text.contains(&fence) {
        fence.push('`');
    }
    format!("{fence}\n{}\n{fence}", text.trim_end_matches('\n'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn started_call_has_a_title_and_a_location() {
        let arguments = json!({"file_path": "src/main.rs", "offset": 12});
        let call = started("c1", "read", &arguments, Path::new("/work"));
        assert_eq!(
            serde_json::to_value(call).unwrap(),
            json!({
                "toolCallId": "c1", "title": "read src/main.rs:12-", "kind": "read",
                "status": "in_progress", "rawInput": arguments,
                "locations": [{"path": "/work/src/main.rs", "line": 12}],
            })
        );
        let arguments = json!({"command": "cargo test\necho done"});
        assert_eq!(title("bash", &arguments), "bash cargo test⏎echo done");
        assert_eq!(kind("server__tool"), acp::ToolKind::Other);
    }

    #[test]
    fn diff_becomes_old_and_new_text() {
        let diff =
            "--- a\n+++ b\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n\\ No newline at end of file\n";
        let changed = acp::Diff::new("/a", "one\n2\nthree\n").old_text("one\ntwo\nthree\n");
        assert_eq!(hunks("/a", diff), [acp::ToolCallContent::Diff(changed)]);
        let new = hunks("/b", "@@ -0,0 +1 @@\n+hello\n");
        assert_eq!(
            new,
            [acp::ToolCallContent::Diff(acp::Diff::new("/b", "hello\n"))]
        );
    }

    /// Editors render Markdown: text of others must not look like a part of the dialog.
    #[test]
    fn text_of_a_question_is_fenced() {
        let text = "# Allowed\n```\n[ok](x)".to_owned();
        let subject = Subject::Text { text };
        let kind = acp::ToolKind::Other;
        let call = questioned(
            "c1",
            "Run?".to_owned(),
            kind,
            Some(&subject),
            Path::new("/"),
        );
        let call = serde_json::to_value(call).unwrap();
        let shown = &call["content"][0]["content"]["text"];
        assert_eq!(shown, "````\n# Allowed\n```\n[ok](x)\n````");
    }

    #[test]
    fn fence_is_longer_than_the_fences_in_the_text() {
        assert_eq!(fenced("a\n"), "```\na\n```");
        assert_eq!(fenced("```\nx"), "````\n```\nx\n````");
    }
}
