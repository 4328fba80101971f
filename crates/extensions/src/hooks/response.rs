//! Translates a tool result to Claude Code's format and back.

use serde_json::{Value, json};

use super::names::ScriptCall;
use osier_agent::{ToolOutput, ToolStatus};
use osier_llm::{ContentBlock, ToolCall};

/// The `tool_response` of a call.
pub(super) fn response(call: &ToolCall, seen: &ScriptCall, output: &ToolOutput) -> Value {
    let text = text_of(output);
    let details = &output.details;
    let input = &seen.input;
    let success = output.status.is_success();
    match call.name.as_str() {
        "bash" => json!({
            "stdout": text,
            "stderr": "",
            "interrupted": output.status == ToolStatus::Aborted,
            "isImage": false,
            "exitCode": details["exitCode"],
        }),
        "write" => json!({
            "type": if details["isNew"] == true { "create" } else { "update" },
            "filePath": input["file_path"],
            "content": input["content"],
            "diff": details["diff"],
            "success": success,
        }),
        "edit" => json!({
            "filePath": input["file_path"],
            "oldString": input["old_string"],
            "newString": input["new_string"],
            "replaceAll": input["replace_all"] == true,
            "userModified": false,
            "diff": details["diff"],
            "success": success,
        }),
        "read" => json!({
            "type": "text",
            "file": {
                "filePath": input["file_path"],
                "content": text,
                "numLines": details["linesRead"],
                "startLine": details["offset"],
                "totalLines": details["totalLines"],
            },
        }),
        "grep" => json!({
            "mode": "content",
            "content": text,
            "numFiles": details["files"],
            "numMatches": details["matches"],
        }),
        "find" => json!({
            "filenames": text.lines().collect::<Vec<_>>(),
            "numFiles": details["count"],
            "truncated": details["truncated"],
        }),
        "ls" => json!(text),
        _ => json!([{"type": "text", "text": text}]),
    }
}

/// The text of an output.
pub(super) fn text_of(output: &ToolOutput) -> String {
    let texts = output.content.iter().filter_map(ContentBlock::as_text);
    texts.collect::<Vec<_>>().join("\n")
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
    use crate::hooks::names::seen;

    fn of(name: &str, arguments: Value, output: &ToolOutput) -> Value {
        let call = ToolCall {
            name: name.to_owned(),
            arguments,
            ..ToolCall::default()
        };
        response(&call, &seen(&call, Path::new("/w")), output)
    }

    #[test]
    fn responses_have_claude_codes_fields() {
        let ran = ToolOutput::success("out", json!({"exitCode": 0}));
        let expected = json!({"stdout": "out", "stderr": "", "interrupted": false, "isImage": false, "exitCode": 0});
        assert_eq!(of("bash", json!({"command": "x"}), &ran), expected);
        let wrote = ToolOutput::success("written", json!({"isNew": true, "diff": "+x"}));
        let written = of("write", json!({"file_path": "a", "content": "x"}), &wrote);
        let expected = json!({"type": "create", "filePath": "/w/a", "content": "x", "diff": "+x", "success": true});
        assert_eq!(written, expected);
        let other = of(
            "git__log",
            json!({}),
            &ToolOutput::success("l", Value::Null),
        );
        assert_eq!(other, json!([{"type": "text", "text": "l"}]));
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
