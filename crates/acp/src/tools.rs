//! Tool calls as an editor shows them: a title, a kind, the places they touch, and what they changed.

use std::path::Path;

use serde_json::{Value, json};

use osier_agent::{ToolResultMessage, ToolStatus};
use osier_base::text::tail_bytes;
use osier_llm::ContentBlock;
use osier_protocol::questions::Subject;

/// Bytes of the output of a call that runs: each update holds all that is shown.
const OUTPUT_SHOWN: usize = 4096;

/// What kind of work a tool does, by its name; `other` for what is not known.
const KINDS: &[(&str, &str)] = &[
    ("bash", "execute"),
    ("edit", "edit"),
    ("find", "search"),
    ("grep", "search"),
    ("ls", "search"),
    ("read", "read"),
    ("task", "think"),
    ("todo", "think"),
    ("write", "edit"),
];

/// A call that is about to run.
pub(super) fn call(id: &str, name: &str, arguments: &Value, cwd: &Path) -> Value {
    json!({
        "toolCallId": id,
        "title": title(name, arguments),
        "kind": kind(name),
        "status": "in_progress",
        "locations": locations(arguments, cwd),
        "rawInput": arguments,
    })
}

/// The output of a call so far: the end of it.
pub(super) fn progress(id: &str, output: &str) -> Value {
    let shown = tail_bytes(output, OUTPUT_SHOWN);
    json!({"toolCallId": id, "content": [text(&fenced(shown))]})
}

/// A call that is shown in a terminal of the editor.
pub(super) fn in_terminal(id: &str, terminal: &str) -> Value {
    let content = json!([{"type": "terminal", "terminalId": terminal}]);
    json!({"toolCallId": id, "content": content})
}

/// A call that has ended.
pub(super) fn ended(id: &str, message: &ToolResultMessage, cwd: &Path) -> Value {
    let succeeded = message.status == ToolStatus::Success;
    let mut content = changes(&message.details, cwd);
    if content.is_empty() || !succeeded {
        content.extend(message.result.content.iter().map(block));
    }
    json!({
        "toolCallId": id,
        "status": if succeeded { "completed" } else { "failed" },
        "content": content,
        "rawOutput": message.details,
    })
}

/// What a permission is asked about.
pub(super) fn subject(subject: Option<&Subject>, cwd: &Path) -> Vec<Value> {
    match subject {
        None => Vec::new(),
        Some(Subject::Command { command, .. }) => vec![text(&fenced(command))],
        Some(Subject::Diff { path, diff }) => hunks(&absolute(cwd, path), diff),
        Some(Subject::Text { text: shown }) => vec![text(shown)],
    }
}

pub(super) fn kind(name: &str) -> &'static str {
    let known = KINDS.iter().find(|(known, _)| *known == name);
    known.map_or("other", |(_, kind)| kind)
}

pub(super) fn title(name: &str, arguments: &Value) -> String {
    let argument = |name: &str| arguments.get(name).and_then(Value::as_str);
    let told = ["command", "file_path", "pattern", "path", "description"]
        .iter()
        .find_map(|name| argument(name));
    match told {
        Some(told) => {
            let line = told.lines().next().unwrap_or_default();
            format!("{name} {line}")
        }
        None => name.to_owned(),
    }
}

/// The files a call names, as absolute paths.
fn locations(arguments: &Value, cwd: &Path) -> Vec<Value> {
    let path = arguments
        .get("file_path")
        .or_else(|| arguments.get("path"))
        .and_then(Value::as_str);
    let Some(path) = path else { return Vec::new() };
    let mut location = json!({"path": absolute(cwd, path)});
    if let Some(line) = arguments.get("offset").and_then(Value::as_u64) {
        location["line"] = json!(line);
    }
    vec![location]
}

fn absolute(cwd: &Path, path: &str) -> String {
    cwd.join(path).to_string_lossy().into_owned()
}

/// The changes that a tool tells of in its details.
fn changes(details: &Value, cwd: &Path) -> Vec<Value> {
    let (path, diff) = (details["filePath"].as_str(), details["diff"].as_str());
    match (path, diff) {
        (Some(path), Some(diff)) => hunks(&absolute(cwd, path), diff),
        _ => Vec::new(),
    }
}

/// A unified diff, hunk by hunk, as what stood there and what stands there.
fn hunks(path: &str, diff: &str) -> Vec<Value> {
    let mut hunks: Vec<(String, String, bool)> = Vec::new();
    for line in diff.lines() {
        if line.starts_with("@@") {
            let is_new = line.starts_with("@@ -0,0");
            hunks.push((String::new(), String::new(), is_new));
            continue;
        }
        let Some((old, new, _)) = hunks.last_mut() else {
            continue;
        };
        let (sign, rest) = line.split_at_checked(1).unwrap_or((" ", ""));
        if sign != "+" && sign != "\\" {
            old.push_str(rest);
            old.push('\n');
        }
        if sign != "-" && sign != "\\" {
            new.push_str(rest);
            new.push('\n');
        }
    }
    let hunks = hunks.into_iter().map(|(old, new, is_new)| {
        let old = (!is_new).then_some(old);
        json!({"type": "diff", "path": path, "oldText": old, "newText": new})
    });
    hunks.collect()
}

fn block(block: &ContentBlock) -> Value {
    match block {
        ContentBlock::Image { data, mime_type } => json!({
            "type": "content",
            "content": {"type": "image", "data": data, "mimeType": mime_type},
        }),
        block @ ContentBlock::Text { .. } => text(&fenced(block.as_text().unwrap_or_default())),
    }
}

fn text(text: &str) -> Value {
    json!({"type": "content", "content": {"type": "text", "text": text}})
}

/// Text that is shown as it is: editors read Markdown.
fn fenced(text: &str) -> String {
    let mut fence = "```".to_owned();
    while text.contains(&fence) {
        fence.push('`');
    }
    format!("{fence}\n{}\n{fence}", text.trim_end_matches('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_says_what_it_does_and_where() {
        let cwd = Path::new("/work");
        let arguments = json!({"file_path": "src/main.rs", "offset": 12});
        assert_eq!(
            call("c1", "read", &arguments, cwd),
            json!({
                "toolCallId": "c1", "title": "read src/main.rs", "kind": "read",
                "status": "in_progress", "rawInput": arguments,
                "locations": [{"path": "/work/src/main.rs", "line": 12}],
            })
        );
        let arguments = json!({"command": "cargo test\necho done"});
        assert_eq!(title("bash", &arguments), "bash cargo test");
        assert_eq!(kind("server__tool"), "other");
    }

    #[test]
    fn a_diff_is_what_stood_there_and_what_stands_there() {
        let diff =
            "--- a\n+++ b\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n\\ No newline at end of file\n";
        assert_eq!(
            hunks("/a", diff),
            [json!({
                "type": "diff", "path": "/a",
                "oldText": "one\ntwo\nthree\n", "newText": "one\n2\nthree\n",
            })]
        );
        let new = hunks("/b", "@@ -0,0 +1 @@\n+hello\n");
        assert_eq!(
            new,
            [json!({"type": "diff", "path": "/b", "oldText": null, "newText": "hello\n"})]
        );
    }

    #[test]
    fn a_fence_is_longer_than_those_inside() {
        assert_eq!(fenced("a\n"), "```\na\n```");
        assert_eq!(fenced("```\nx"), "````\n```\nx\n````");
    }
}
