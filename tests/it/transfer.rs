//! Export and import: HTML pages, Markdown, copies, and files of other programs. The fixtures were written by pi
//! 0.74.2, Claude Code 2.1.197 and 2.1.331, Codex 0.169.0 and opencode 1.18.33 against a scripted server, with paths rewritten and the programs'
//! own long texts shortened.

mod browser;
mod export;
mod homes;
mod import;
mod peers;

use std::path::{Path, PathBuf};

use osier_agent::AgentMessage;
use osier_protocol::{Entry, EntryKind};
use serde_json::{Value, json};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/exchange")
        .join(name)
}

/// A test key, in parts so that secret scanners do not report it.
fn key() -> String {
    ["sk-ant-", "api03-aB3dE6gH9jK2mN5pQ8sT1vW4xY7z"].concat()
}

/// A short description of each entry.
fn outline(entries: &[Entry]) -> Vec<String> {
    let place = |id: &Option<String>| match id {
        None => "-".to_owned(),
        Some(id) => entries
            .iter()
            .position(|entry| entry.id == *id)
            .map_or("?".to_owned(), |place| place.to_string()),
    };
    let line = |entry: &Entry| {
        let what = match &entry.kind {
            EntryKind::Message { message } => said(message),
            EntryKind::ModelChange { provider, model_id } => format!("model {provider}/{model_id}"),
            EntryKind::ThinkingLevelChange { thinking_level } => {
                format!("level {}", thinking_level.name())
            }
            EntryKind::Compaction {
                summary,
                first_kept_entry_id,
                ..
            } => {
                let kept = Some(first_kept_entry_id.clone());
                format!("compaction from {}: {}", place(&kept), start(summary))
            }
            EntryKind::BranchSummary { summary, .. } => format!("left: {}", start(summary)),
            EntryKind::Label { target_id, label } => {
                format!("label {:?} on {}", label, place(&Some(target_id.clone())))
            }
            EntryKind::SessionInfo { name } => format!("name {name:?}"),
            EntryKind::Custom { custom_type, .. } => format!("custom {custom_type}"),
            other => format!("{other:?}"),
        };
        format!("{} {what}", place(&entry.parent_id))
    };
    entries.iter().map(line).collect()
}

fn said(message: &AgentMessage) -> String {
    match message {
        AgentMessage::User(prompt) => {
            let files: Vec<&str> = prompt
                .attachments
                .iter()
                .map(|file| file.mime_type.as_str())
                .collect();
            format!("user {} {files:?}", start(&prompt.text))
        }
        AgentMessage::Assistant(answer) => {
            let value = serde_json::to_value(&answer.content).unwrap();
            let blocks: Vec<String> = value.as_array().unwrap().iter().map(block).collect();
            let usage = (
                answer.usage.input,
                answer.usage.cache_read,
                answer.usage.output,
            );
            format!(
                "assistant {} {:?} {usage:?} {}{}",
                answer.model,
                answer.stop_reason,
                blocks.join(" | "),
                answer.error_message.clone().unwrap_or_default()
            )
        }
        AgentMessage::ToolResult(result) => {
            let text = AgentMessage::ToolResult(result.clone()).text();
            let diff = result.details["diff"].as_str().unwrap_or_default();
            let diff = diff
                .lines()
                .filter(|line| line.starts_with(['+', '-']))
                .count();
            format!(
                "result {} error={} diff={diff} {}",
                result.result.tool_name,
                result.result.is_error,
                start(&text)
            )
        }
        AgentMessage::ShellRun(run) => format!("! {}", run.command),
        other => format!("{}", serde_json::to_value(other).unwrap()["role"]),
    }
}

fn block(block: &Value) -> String {
    match block["type"].as_str().unwrap() {
        "text" => start(block["text"].as_str().unwrap()),
        "thinking" => format!("thinking {}", start(block["thinking"].as_str().unwrap())),
        _ => format!(
            "call {} {}",
            block["name"].as_str().unwrap(),
            start(&block["arguments"].to_string())
        ),
    }
}

fn start(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    line.chars().take(40).collect()
}

/// A session with a branch, a label, tools, a diff and an image, without damage, followed by `extra`.
#[expect(
    clippy::too_many_lines,
    reason = "every kind of entry there is, in one list"
)]
fn sample(extra: &[Value]) -> String {
    let usage = json!({"input": 10, "output": 5, "cacheRead": 0, "cacheWrite": 0, "reasoning": 0,
        "cost": {"input": 0.0, "output": 0.0, "cacheRead": 0.0, "cacheWrite": 0.0, "total": 0.25}});
    let answer = |content: Value, stop: &str| {
        json!({"role": "assistant", "content": content, "provider": "p", "model": "m", "api": "a",
            "usage": usage, "stopReason": stop, "timestamp": 1, "durationMs": 1500})
    };
    let entry = |id: &str, parent: Option<&str>, rest: Value| {
        let mut line =
            json!({"id": id, "parentId": parent, "timestamp": "2026-01-02T03:04:05.000Z"});
        let members = rest.as_object().unwrap().clone();
        line.as_object_mut().unwrap().extend(members);
        line
    };
    let message = |message: Value| json!({"type": "message", "message": message});
    let diff = "--- a/a.rs\n+++ b/a.rs\n@@ -1,2 +1,2 @@\n same\n-let a = 1;\n+let a = 2;\n";
    let mut lines = vec![
        json!({"type": "osier_session", "version": 1, "id": "0199b3c4-0000-7000-8000-000000000001",
            "timestamp": "2026-01-02T03:04:05.000Z", "cwd": "/home/me/project"}),
        entry(
            "00000001",
            None,
            message(json!({"role": "user", "text": "first prompt", "timestamp": 1})),
        ),
        entry(
            "00000002",
            Some("00000001"),
            message(answer(
                json!([
                    {"type": "thinking", "thinking": "hm"},
                    {"type": "text", "text": "I **look**."},
                    {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "ls"}},
                    {"type": "toolCall", "id": "c2", "name": "edit", "arguments": {"file_path": "a.rs"}},
                    {"type": "toolCall", "id": "c3", "name": "grep", "arguments": {"pattern": "never"}},
                ]),
                "toolUse",
            )),
        ),
        entry(
            "00000003",
            Some("00000002"),
            message(json!({"role": "toolResult", "toolCallId": "c1",
            "toolName": "bash", "content": [{"type": "text", "text": "a.rs\n"}], "isError": false,
            "timestamp": 1, "status": {"type": "success"}, "durationMs": 12})),
        ),
        entry(
            "00000004",
            Some("00000003"),
            message(json!({"role": "toolResult", "toolCallId": "c2",
            "toolName": "edit", "content": [{"type": "text", "text": "edited"}], "isError": false,
            "timestamp": 1, "status": {"type": "success"}, "durationMs": 3,
            "details": {"filePath": "/home/me/project/a.rs", "diff": diff, "linesAdded": 1, "linesRemoved": 1}})),
        ),
        entry(
            "00000005",
            Some("00000004"),
            message(answer(
                json!([
            {"type": "text", "text": "Done:\n\n```rust\nlet a = 2;\n```\n"}]),
                "stop",
            )),
        ),
        entry(
            "00000006",
            Some("00000001"),
            message(answer(
                json!([
            {"type": "text", "text": "the other answer"}]),
                "stop",
            )),
        ),
        entry(
            "00000007",
            Some("00000006"),
            json!({"type": "leaf", "targetId": "00000005"}),
        ),
        entry(
            "00000008",
            Some("00000005"),
            json!({"type": "label", "targetId": "00000001", "label": "here"}),
        ),
    ];
    lines.extend_from_slice(extra);
    lines.iter().map(|line| format!("{line}\n")).collect()
}
