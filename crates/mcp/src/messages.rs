//! Converts messages of servers to the form that the protocol library understands: the library
//! drops unknown fields, and refuses a message because of one odd field.

use rmcp::model::{RequestId, ServerJsonRpcMessage};
use serde_json::{Value, json};

use super::repair;

/// The field of a tool's `_meta` in which osier stores the task support of the tool.
const TASK_SUPPORT: &str = "osier/taskSupport";

/// Parses a message. Its size was checked.
pub(super) fn parse(json: &str) -> serde_json::Result<ServerJsonRpcMessage> {
    serde_json::from_value(repaired(json)?)
}

/// Parses the message in `json` that answers the request `id`: some servers send a list of messages.
pub(super) fn parse_answer(
    json: &str,
    id: Option<&RequestId>,
) -> serde_json::Result<ServerJsonRpcMessage> {
    if !json.trim_start().starts_with('[') {
        return parse(json);
    }
    let messages: Vec<Value> = serde_json::from_str(json)?;
    let wanted = id.and_then(|id| serde_json::to_value(id).ok());
    let mut messages: Vec<Value> = messages.into_iter().map(repaired_value).collect();
    let at = messages
        .iter()
        .position(|message| message.get("id") == wanted.as_ref());
    let answer = match at {
        Some(at) => Some(messages.swap_remove(at)),
        None => messages.pop(),
    };
    serde_json::from_value(answer.unwrap_or_default())
}

/// The message in the form that the library understands.
pub(super) fn repaired(json: &str) -> serde_json::Result<Value> {
    Ok(repaired_value(serde_json::from_str(json)?))
}

fn repaired_value(mut message: Value) -> Value {
    repair::message(&mut message);
    keep_task_support(&mut message);
    message
}

/// Moves the task support of tools to a field that the library does not drop.
fn keep_task_support(message: &mut Value) {
    let tools = message.pointer_mut("/result/tools");
    let Some(tools) = tools.and_then(Value::as_array_mut) else {
        return;
    };
    for tool in tools {
        let Some(support) = tool.pointer("/execution/taskSupport").cloned() else {
            continue;
        };
        let Some(tool) = tool.as_object_mut() else {
            continue;
        };
        let meta = tool.entry("_meta").or_insert_with(|| json!({}));
        if let Some(meta) = meta.as_object_mut() {
            meta.insert(TASK_SUPPORT.to_owned(), support);
        }
    }
}

/// Whether `tool` can only be called as a task (version 2025-11-25).
pub(super) fn requires_task(tool: &rmcp::model::Tool) -> bool {
    let meta = tool.meta.as_ref();
    let support = meta.and_then(|meta| meta.0.get(TASK_SUPPORT));
    support.and_then(Value::as_str) == Some("required")
}

#[cfg(test)]
mod tests {
    use rmcp::model::{JsonRpcMessage, ServerResult};

    use super::*;

    #[test]
    fn the_task_support_of_tools_is_kept() {
        let tool = |name: &str, support: &str| json!({"name": name, "inputSchema": {"type": "object"}, "execution": {"taskSupport": support}});
        let tools = json!([
            tool("a", "required"),
            tool("b", "optional"),
            {"name": "c", "inputSchema": {"type": "object"}},
        ]);
        let message = json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": tools}}).to_string();
        let JsonRpcMessage::Response(response) = parse(&message).unwrap() else {
            panic!("a response");
        };
        let ServerResult::ListToolsResult(list) = response.result else {
            panic!("a list");
        };
        let required: Vec<bool> = list.tools.iter().map(requires_task).collect();
        assert_eq!(required, [true, false, false]);
    }

    #[test]
    fn other_messages_with_the_word_stay_as_they_are() {
        let message = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"\"taskSupport\""}]}}"#;
        let parsed = parse(message).unwrap();
        let parsed = serde_json::to_value(parsed).unwrap();
        assert_eq!(parsed, serde_json::from_str::<Value>(message).unwrap());
    }
}
