//! Translates a tool result to Claude Code's format and back.

use serde_json::{Value, json};

use osier_peers::tools::ScriptCall;
use std::borrow::Cow;
use std::path::Path;

use osier_agent::{ToolOutput, ToolStatus};
use osier_base::regular_file;
use osier_llm::ToolCall;
use osier_tools::{BASH, EDIT, FIND, GREP, LS, NO_OUTPUT, PATCH, READ, SUBAGENT, WRITE};

/// The `tool_input` of a call, with a default that Claude Code adds where the model leaves out the argument.
pub(super) fn input(call: &ToolCall, seen: &ScriptCall) -> Value {
    let mut input = seen.input.clone();
    if call.name == EDIT
        && let Value::Object(fields) = &mut input
        && fields.contains_key("old_string")
    {
        fields.entry("replace_all").or_insert(Value::Bool(false));
    }
    input
}

/// The `tool_response` of a call.
pub(super) fn response(call: &ToolCall, seen: &ScriptCall, output: &ToolOutput) -> Value {
    let text = output.text();
    let details = &output.details;
    let input = &seen.input;
    let success = output.status.is_success();
    match call.name.as_str() {
        BASH => json!({
            "stdout": printed(&text, output),
            "stderr": "",
            "interrupted": output.status == ToolStatus::Aborted,
            "isImage": false,
            "noOutputExpected": false,
            "exitCode": details["exitCode"],
        }),
        WRITE => json!({
            "type": if details["isNew"] == true { "create" } else { "update" },
            "filePath": input["file_path"],
            "content": input["content"],
            "structuredPatch": structured_patch(details),
            "originalFile": original_file(input, details),
            "userModified": false,
            "diff": details["diff"],
            "success": success,
        }),
        EDIT => json!({
            "filePath": input["file_path"],
            "oldString": input["old_string"],
            "newString": input["new_string"],
            "replaceAll": input["replace_all"] == true,
            "userModified": false,
            "structuredPatch": structured_patch(details),
            "originalFile": original_file(input, details),
            "diff": details["diff"],
            "success": success,
        }),
        PATCH => json!({
            "filePath": input["file_path"],
            "files": details["files"],
            "diff": details["diff"],
            "success": success,
        }),
        READ => json!({
            "type": "text",
            "file": {
                "filePath": input["file_path"],
                "content": without_numbers(&text),
                "numLines": details["linesRead"],
                "startLine": details["offset"],
                "totalLines": details["totalLines"],
            },
        }),
        GREP => json!({
            "mode": "content",
            "content": text,
            "numFiles": details["files"],
            "numMatches": details["matches"],
        }),
        FIND => json!({
            "filenames": text.lines().collect::<Vec<_>>(),
            "numFiles": details["count"],
            "truncated": details["truncated"],
        }),
        LS => json!(text),
        SUBAGENT => json!({
            "status": if success { "completed" } else { "failed" },
            "description": input["description"],
            "prompt": input["prompt"],
            "content": [{"type": "text", "text": text}],
            "resolvedModel": details["model"],
        }),
        _ => json!([{"type": "text", "text": text}]),
    }
}

/// The `error` of a call that failed: the text for the model, which begins with the exit code of a command.
pub(super) fn failure(call: &ToolCall, output: &ToolOutput) -> String {
    let text = output.text();
    let code = output.details["exitCode"].as_i64();
    let Some(code) = code.filter(|_| call.name == BASH) else {
        return text;
    };
    let printed = printed(&text, output);
    format!("Exit code {code}\n{printed}").trim_end().to_owned()
}

/// The output of a command without its last line break, and without osier's own text about its end.
fn printed<'t>(text: &'t str, output: &ToolOutput) -> &'t str {
    let lines = text.trim_end_matches('\n');
    let (before, last) = lines.rsplit_once('\n').unwrap_or(("", lines));
    let is_footer = last.starts_with('[') && last.ends_with(']');
    let printed = if is_footer && !output.status.is_success() {
        before
    } else {
        lines
    };
    match printed.trim_end_matches('\n') {
        NO_OUTPUT => "",
        printed => printed,
    }
}

/// The lines of a file without their numbers and without notes; other text stays.
fn without_numbers(text: &str) -> Cow<'_, str> {
    let is_number =
        |start: &str| !start.is_empty() && start.bytes().all(|byte| byte.is_ascii_digit());
    let lines = text.split_inclusive('\n').filter_map(|line| {
        let (number, line) = line.split_once('\t')?;
        is_number(number).then_some(line)
    });
    let content: String = lines.collect();
    if content.is_empty() {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(content)
    }
}

/// The hunks of a diff.
fn structured_patch(details: &Value) -> Value {
    let hunks = hunks(details).into_iter().map(|hunk| {
        json!({
            "oldStart": hunk.old.0,
            "oldLines": hunk.old.1,
            "newStart": hunk.new.0,
            "newLines": hunk.new.1,
            "lines": hunk.lines,
        })
    });
    json!(hunks.collect::<Vec<_>>())
}

/// A hunk: where it starts and its number of lines in the old and in the new file.
struct Hunk<'a> {
    old: (usize, usize),
    new: (usize, usize),
    lines: Vec<&'a str>,
}

fn hunks(details: &Value) -> Vec<Hunk<'_>> {
    let mut hunks: Vec<Hunk<'_>> = Vec::new();
    let diff = details["diff"].as_str().unwrap_or_default();
    for line in diff.lines() {
        if let Some(head) = line.strip_prefix("@@ -") {
            let mut ranges = head.split(" @@").next().unwrap_or_default().split(" +");
            let mut range = || {
                let (start, count) = ranges.next()?.split_once(',').unwrap_or_default();
                Some((start.parse().ok()?, count.parse().ok()?))
            };
            if let (Some(old), Some(new)) = (range(), range()) {
                let lines = Vec::new();
                hunks.push(Hunk { old, new, lines });
            }
        } else if let Some(hunk) = hunks.last_mut() {
            hunk.lines.push(line);
        }
    }
    hunks
}

/// The content of a file before a change: the current content, with the diff reverted. `null` for a
/// new file, and if the diff no longer applies.
fn original_file(input: &Value, details: &Value) -> Value {
    const LARGEST: u64 = 16 * 1024 * 1024;
    let (hunks, path) = (hunks(details), input["file_path"].as_str());
    let Some(path) = path.filter(|_| details["isNew"] != true && !hunks.is_empty()) else {
        return Value::Null;
    };
    let Ok(text) = regular_file::read_text(Path::new(path), LARGEST) else {
        return Value::Null;
    };
    undone(&text, &hunks).map_or(Value::Null, Value::String)
}

/// `text` without the changes of the hunks; `None` if they do not apply.
fn undone(text: &str, hunks: &[Hunk<'_>]) -> Option<String> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut original = String::with_capacity(text.len());
    let mut at = 0;
    for hunk in hunks {
        let start = if hunk.new.1 == 0 {
            hunk.new.0
        } else {
            hunk.new.0.checked_sub(1)?
        };
        original.push_str(&lines.get(at..start)?.concat());
        at = start;
        for line in &hunk.lines {
            let (sign, rest) = line.split_at_checked(1).unwrap_or((" ", ""));
            if sign != "-" && sign != "\\" {
                let now = lines.get(at)?;
                if now.trim_end_matches(['\n', '\r']) != rest.trim_end_matches('\r') {
                    return None;
                }
                at += 1;
                if sign == " " {
                    original.push_str(now);
                }
            } else if sign == "-" {
                original.push_str(rest);
                original.push('\n');
            }
        }
    }
    original.push_str(&lines.get(at..)?.concat());
    Some(original)
}

/// The text of a changed response: a known format, or a string.
pub(super) fn text_in(response: &Value) -> String {
    match response {
        Value::String(text) => text.clone(),
        Value::Array(blocks) if blocks.iter().all(|block| block["text"].is_string()) => {
            let texts = blocks.iter().filter_map(|block| block["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        Value::Object(fields) => {
            let streams = ["stdout", "stderr"].map(|name| fields.get(name).and_then(Value::as_str));
            let file = fields.get("file").and_then(|file| file.get("content"));
            match (streams, fields.get("content").or(file)) {
                ([Some(out), errors], _) => {
                    let errors = errors.unwrap_or_default();
                    let gap = if out.is_empty() || errors.is_empty() {
                        ""
                    } else {
                        "\n"
                    };
                    format!("{out}{gap}{errors}")
                }
                (_, Some(content)) => text_in(content),
                _ => response.to_string(),
            }
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use osier_llm::ContentBlock;

    #[test]
    fn files_have_no_line_numbers() {
        let read = "3\ta\tb\n4\t\n[lines 3-4 of 9; continue with offset 5]\n";
        assert_eq!(without_numbers(read), "a\tb\n\n");
        assert_eq!(without_numbers("page 1\ttext\n"), "page 1\ttext\n");
    }
    use osier_peers::tools::seen;

    fn of(name: &str, arguments: Value, output: &ToolOutput) -> Value {
        let call = ToolCall {
            name: name.to_owned(),
            arguments,
            ..ToolCall::default()
        };
        response(&call, &seen(&call, &[], Path::new("/w"))[0], output)
    }

    #[test]
    fn a_failed_command_begins_with_its_exit_code() {
        let call = ToolCall {
            name: "bash".to_owned(),
            ..ToolCall::default()
        };
        let failed = |text: &str| {
            let message = "exit code 3".to_owned();
            let output = ToolOutput {
                content: vec![ContentBlock::text(text)],
                details: json!({"exitCode": 3}),
                status: ToolStatus::ExecutionError { message },
            };
            failure(&call, &output)
        };
        let footer = "[exit code 3, after 4ms]";
        assert_eq!(failed(&format!("(no output)\n{footer}")), "Exit code 3");
        assert_eq!(failed(&format!("[a]\nb\n{footer}")), "Exit code 3\n[a]\nb");
    }

    #[test]
    fn responses_have_claude_codes_fields() {
        let ran = ToolOutput::success("out", json!({"exitCode": 0}));
        let expected = json!({"stdout": "out", "stderr": "", "interrupted": false, "isImage": false,
            "noOutputExpected": false, "exitCode": 0});
        assert_eq!(of("bash", json!({"command": "x"}), &ran), expected);
        let wrote = ToolOutput::success("written", json!({"isNew": true, "diff": "+x"}));
        let written = of("write", json!({"file_path": "a", "content": "x"}), &wrote);
        let expected = json!({"type": "create", "filePath": "/w/a", "content": "x", "structuredPatch": [],
            "originalFile": null, "userModified": false, "diff": "+x", "success": true});
        assert_eq!(written, expected);
        let other = of(
            "git__log",
            json!({}),
            &ToolOutput::success("l", Value::Null),
        );
        assert_eq!(other, json!([{"type": "text", "text": "l"}]));
    }

    #[test]
    fn changes_of_files_have_their_hunks_and_the_content_before() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        let write = |text: &str| osier_base::atomic_file::write(&path, text.as_bytes()).unwrap();
        write("one\nnew\nmore\nthree\nlast\n");
        let diff = "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,4 @@\n one\n-old\n+new\n+more\n three\n@@ -5,1 +5,0 @@\n-gone\n";
        let edited = ToolOutput::success("edited", json!({"diff": diff}));
        let arguments = json!({"file_path": path, "old_string": "old", "new_string": "new\nmore"});
        let response = of("edit", arguments.clone(), &edited);
        assert_eq!(
            response["structuredPatch"],
            json!([
                {"oldStart": 1, "oldLines": 3, "newStart": 1, "newLines": 4,
                    "lines": [" one", "-old", "+new", "+more", " three"]},
                {"oldStart": 5, "oldLines": 1, "newStart": 5, "newLines": 0, "lines": ["-gone"]},
            ])
        );
        assert_eq!(response["originalFile"], "one\nold\nthree\nlast\ngone\n");
        write("changed since\n");
        assert_eq!(of("edit", arguments, &edited)["originalFile"], Value::Null);
    }

    #[test]
    fn a_changed_response_becomes_text() {
        for (response, text) in [
            (json!("plain"), "plain"),
            (json!({"stdout": "a", "stderr": "b"}), "a\nb"),
            (json!({"stdout": "", "stderr": "b"}), "b"),
            (
                json!([{"type": "text", "text": "x"}, {"type": "text", "text": "y"}]),
                "x\ny",
            ),
            (json!({"content": [{"type": "text", "text": "x"}]}), "x"),
            (
                json!({"type": "text", "file": {"content": "lines"}}),
                "lines",
            ),
            (json!({"other": 1}), "{\"other\":1}"),
        ] {
            assert_eq!(text_in(&response), text);
        }
    }
}
