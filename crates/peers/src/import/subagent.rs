//! Subagents of Claude Code, whose conversations are in separate files: their steps become details
//! of the call that started them.

use std::path::Path;

use serde_json::{Value, json};

use super::draft::Draft;
use super::lines::{lines_of, text};
use super::{blocks, tools};
use osier_base::regular_file;
use osier_llm::ToolCall;
use osier_protocol::{ImportSource, Spending};

/// Maximum size of the file about a subagent.
const FACTS_LIMIT: u64 = 1024 * 1024;
/// Maximum number of steps that are shown.
const STEPS: usize = 500;

/// The steps, turns and usage of the subagent in `file`, in the form of osier's own subagents; `None` without the file.
pub(super) fn details(file: &Path, draft: &mut Draft) -> Option<Value> {
    let mut steps: Vec<Value> = Vec::new();
    let (mut turns, mut model) = (0_u32, String::new());
    let mut last_answer = String::new();
    let mut spending = Spending::default();
    let read = lines_of(file, |_, value| {
        let Some(value) = value else { return true };
        let message = value.get("message").unwrap_or(&Value::Null);
        let parts = message.get("content").and_then(Value::as_array);
        let parts = parts.map(Vec::as_slice).unwrap_or_default();
        match text(&value, "type") {
            Some("assistant") => {
                let id = text(message, "id").unwrap_or_default();
                if id != last_answer {
                    id.clone_into(&mut last_answer);
                    turns += 1;
                    let usage = blocks::usage(message.get("usage"));
                    spending.total.input += usage.input;
                    spending.total.output += usage.output;
                    spending.total.cache_read += usage.cache_read;
                    spending.total.cache_write += usage.cache_write;
                }
                if let Some(name) = text(message, "model") {
                    model = format!("anthropic/{name}");
                }
                for part in parts {
                    if text(part, "type") == Some("tool_use") && steps.len() < STEPS {
                        steps.extend(calls(part));
                    }
                }
            }
            Some("user") => {
                for part in parts {
                    end_step(&mut steps, part);
                }
            }
            _ => {}
        }
        true
    });
    if read.is_err() || turns == 0 {
        return None;
    }
    let facts = regular_file::read_text(&file.with_extension("meta.json"), FACTS_LIMIT);
    let facts: Value = serde_json::from_str(&facts.unwrap_or_default()).unwrap_or_default();
    let kind = text(&facts, "agentType");
    spending.tool_calls = steps.len() as u64;
    draft.join_subagent();
    Some(json!({
        "agent": kind.filter(|kind| *kind != "general-purpose"),
        "model": model,
        "turns": turns,
        "steps": steps,
        "spending": spending,
    }))
}

/// The steps for a call.
fn calls(part: &Value) -> Vec<Value> {
    let own = |name: &str| text(part, name).unwrap_or_default().to_owned();
    let call = ToolCall {
        id: own("id"),
        name: own("name"),
        arguments: part.get("input").cloned().unwrap_or_else(|| json!({})),
        ..ToolCall::default()
    };
    let calls = tools::map(ImportSource::Claude, call).into_iter();
    let steps = calls
        .map(|call| json!({"callId": call.id, "tool": call.name, "arguments": call.arguments}));
    steps.collect()
}

/// Sets the status of the step whose result `part` is.
fn end_step(steps: &mut [Value], part: &Value) {
    let Some(id) = text(part, "tool_use_id") else {
        return;
    };
    let failed = part.get("is_error").and_then(Value::as_bool) == Some(true);
    let status = if failed { "execution_error" } else { "success" };
    for step in steps.iter_mut().filter(|step| step["callId"] == id) {
        step["status"] = json!(status);
    }
}
