//! Messages of servers as the protocol library understands them: it drops fields that it does not know.

use rmcp::model::ServerJsonRpcMessage;
use serde_json::{Value, json};

/// The field of a tool's `_meta` for what is known of its tasks.
const TASK_SUPPORT: &str = "osier/taskSupport";

/// Parses a message. Its size was checked.
pub(super) fn parse(json: &str) -> serde_json::Result<ServerJsonRpcMessage> {
    match with_task_support(json) {
        Some(message) => serde_json::from_value(message),
        None => serde_json::from_str(json),
    }
}

/// The message with the task support of tools where the library keeps it; none if there is nothing to change.
pub(super) fn with_task_support(json: &str) -> Option<Value> {
    memchr::memmem::find(json.as_bytes(), b"\"taskSupport\"")?;
    let mut message: Value = serde_json::from_str(json).ok()?;
    let tools = message
        .get_mut("result")?
        .get_mut("tools")?
        .as_array_mut()?;
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
    Some(message)
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
