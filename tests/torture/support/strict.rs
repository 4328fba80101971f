//! The rules of a strict model server: every call has its result, every result its call, and no message is empty.

use serde_json::Value;

use super::wires::Wire;

/// A message of a request, independent of the wire format.
#[derive(Debug, Default)]
struct Said {
    by_model: bool,
    is_blank: bool,
    calls: Vec<String>,
    results: Vec<String>,
}

/// The first rule that a request in this format breaks.
pub(crate) fn problem(wire: Wire, body: &Value) -> Option<String> {
    let name = match wire {
        Wire::Google => "contents",
        Wire::Responses => "input",
        _ => "messages",
    };
    let list = body[name].as_array()?;
    let is_own = |message: &&Value| {
        !["system", "developer"]
            .iter()
            .any(|role| message["role"] == *role)
    };
    let said: Vec<Said> = list
        .iter()
        .filter(is_own)
        .map(|message| read(wire, message))
        .collect();
    let problem = broken(wire, &said)?;
    Some(format!("{}: {problem}: {}", wire.api(), body[name]))
}

fn broken(wire: Wire, said: &[Said]) -> Option<String> {
    // In this format, several items make one message.
    let has_items = wire == Wire::Responses;
    if said.first()?.by_model {
        return Some("the first message is not the user's".to_owned());
    }
    let mut open: Vec<&str> = Vec::new();
    for message in said {
        if message.is_blank {
            return Some("a message is empty".to_owned());
        }
        if message.by_model {
            if !open.is_empty() && !has_items {
                return Some(format!("the calls {open:?} have no result"));
            }
            open.extend(message.calls.iter().map(String::as_str));
            continue;
        }
        for result in &message.results {
            match open.iter().position(|call| call == result) {
                Some(place) => drop(open.remove(place)),
                None => return Some(format!("the result `{result}` has no call before it")),
            }
        }
        if message.results.is_empty() && !open.is_empty() {
            return Some(format!(
                "a message is between the calls {open:?} and their results"
            ));
        }
    }
    (!open.is_empty()).then(|| format!("the calls {open:?} have no result"))
}

fn read(wire: Wire, message: &Value) -> Said {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let is_empty = |value: &Value| value.as_str().is_some_and(|text| text.trim().is_empty());
    let mut said = Said {
        by_model: ["assistant", "model"]
            .iter()
            .any(|role| message["role"] == *role),
        ..Said::default()
    };
    match wire {
        Wire::Anthropic | Wire::Bedrock => {
            let blocks = list(&message["content"]);
            for block in &blocks {
                for call in [&block["id"], &block["toolUse"]["toolUseId"]] {
                    let is_call = block["type"] == "tool_use" || block.get("toolUse").is_some();
                    said.calls
                        .extend(call.as_str().filter(|_| is_call).map(str::to_owned));
                }
                for result in [&block["tool_use_id"], &block["toolResult"]["toolUseId"]] {
                    said.results.extend(result.as_str().map(str::to_owned));
                }
                said.is_blank |= is_empty(&block["text"]);
            }
            said.is_blank |= blocks.is_empty() && text(&message["content"]).trim().is_empty();
        }
        Wire::Chat | Wire::Ollama => {
            // Ollama without ids names the tools instead.
            let id = |call: &Value| match call["id"].as_str() {
                Some(id) => id.to_owned(),
                None => text(&call["function"]["name"]),
            };
            said.calls = list(&message["tool_calls"]).iter().map(id).collect();
            if message["role"] == "tool" {
                let names = ["tool_call_id", "tool_name", "name"];
                let name = names.iter().find_map(|name| message[*name].as_str());
                said.results.extend(name.map(str::to_owned));
            }
            let has_content = match &message["content"] {
                Value::String(text) => !text.trim().is_empty(),
                Value::Array(parts) => !parts.is_empty(),
                _ => false,
            };
            said.is_blank = !has_content && said.calls.is_empty() && said.results.is_empty();
        }
        Wire::Google => {
            let parts = list(&message["parts"]);
            for part in &parts {
                let name = |field: &str| part[field]["name"].as_str().map(str::to_owned);
                said.calls.extend(name("functionCall"));
                said.results.extend(name("functionResponse"));
                said.is_blank |= part["text"] == "";
            }
            said.is_blank |= parts.is_empty();
        }
        Wire::Responses => {
            let id = message["call_id"].as_str().map(str::to_owned);
            match message["type"].as_str() {
                Some("function_call") => {
                    said.by_model = true;
                    said.calls.extend(id);
                }
                Some("function_call_output") => said.results.extend(id),
                Some("reasoning") => said.by_model = true,
                _ => {
                    said.is_blank = list(&message["content"]).is_empty()
                        && text(&message["content"]).is_empty();
                }
            }
        }
    }
    said
}
