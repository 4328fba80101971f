//! Encodes requests of Converse. A body extends that of the previous turn, except for the cache points on the
//! last two user messages, which are not part of the cached content.

use serde_json::{Map, Value, json};

use crate::handover;
use crate::message::{AssistantBlock, ContentBlock, Message, ToolResult};
use crate::model::{Api, ThinkingLevel};
use crate::provider::{Context, Request, ToolChoice, ToolSpec};
use crate::wire::binding::{self, Prefix};
use crate::wire::format::{Body, add_extra, decimal, or_note};
use crate::wire::limit::output_limit;
use crate::wire::tool_schema::lower;

/// Number of user messages with a cache point: the last one, and the previous one for the turn that just
/// ended.
const MARKED_MESSAGES: usize = 2;

pub(super) fn body(request: &Request) -> Body {
    let context = &request.context;
    let marks = request.model.compat.cache_control;
    let thinking = thinking(request);
    let mut body = Map::new();
    let mut limits = json!({"maxTokens": output_limit(request)});
    if let (Some(temperature), None) = (request.options.temperature, &thinking) {
        limits["temperature"] = decimal(temperature);
    }
    body.insert("inferenceConfig".into(), limits);
    let thinks = thinking.is_some();
    if let Some(fields) = thinking {
        body.insert("additionalModelRequestFields".into(), fields);
    }
    // The API cannot forbid calls. Thinking that is bound to the conversation needs the same
    // definitions again.
    let offers =
        request.options.tool_choice != ToolChoice::None || request.model.compat.bound_thinking;
    let offered = context.tools.iter().filter(|_| offers);
    let mut tools: Vec<Value> = offered.map(tool).collect();
    if tools.is_empty() {
        // Calls in the conversation need definitions.
        tools.extend(called_tools(context).iter().map(tool));
    }
    if !tools.is_empty() {
        mark(&mut tools, marks && !request.model.compat.unmarked_tools);
        let mut config = json!({ "tools": tools });
        // A tool call cannot be required from a model that thinks.
        if request.options.tool_choice == ToolChoice::Required && !thinks {
            config["toolChoice"] = json!({"any": {}});
        }
        body.insert("toolConfig".into(), config);
    }
    if !context.system_prompt.trim().is_empty() {
        let mut system = vec![json!({"text": context.system_prompt})];
        mark(&mut system, marks);
        body.insert("system".into(), system.into());
    }
    add_extra(request, &mut body);
    let bound = request.model.compat.bound_thinking;
    let mut prefix = bound.then(|| Prefix::new(context, thinks));
    body.insert("messages".into(), messages(request, marks, prefix.as_mut()));
    Body {
        json: Value::Object(body),
        prefix_hash: prefix.map(|prefix| prefix.hash()),
    }
}

/// The thinking fields of Anthropic's models; other models have none.
fn thinking(request: &Request) -> Option<Value> {
    let compat = &request.model.compat;
    let level = request.options.thinking;
    if level == ThinkingLevel::Off || !request.model.can_think() {
        return None;
    }
    if compat.adaptive_thinking {
        let effort = compat.effort(level.max(ThinkingLevel::Low));
        let mut fields = json!({
            "thinking": {"type": "adaptive", "display": "summarized"},
            "output_config": {"effort": effort},
        });
        if compat.bound_thinking {
            fields["thinking"]["block_binding"] = binding::control();
            fields["anthropic_beta"] = json!([binding::BETA]);
        }
        return Some(fields);
    }
    let budget = match level {
        ThinkingLevel::Off | ThinkingLevel::Minimal => 1024,
        ThinkingLevel::Low => 4096,
        ThinkingLevel::Medium => 10_240,
        _ => 20_480,
    };
    let budget: u64 = output_limit(request).saturating_sub(1024).min(budget);
    (compat.thinking_budget && budget >= 1024)
        .then(|| json!({"thinking": {"type": "enabled", "budget_tokens": budget}}))
}

fn tool(spec: &ToolSpec) -> Value {
    json!({"toolSpec": {
        "name": spec.name,
        "description": spec.sent_description(),
        "inputSchema": {"json": lower(&spec.parameters, Api::BedrockConverse)},
    }})
}

/// The tools that the conversation has calls of, without their parameters.
fn called_tools(context: &Context) -> Vec<ToolSpec> {
    let mut tools: Vec<ToolSpec> = Vec::new();
    for message in &context.messages {
        let Message::Assistant(answer) = message else {
            continue;
        };
        for call in answer.tool_calls() {
            let name = handover::tool_name(&call.name);
            if !tools.iter().any(|tool| tool.name == name) {
                tools.push(ToolSpec {
                    description: "This tool is not available now.".to_owned(),
                    parameters: json!({"type": "object"}),
                    freeform: None,
                    name,
                });
            }
        }
    }
    tools
}

fn mark(list: &mut Vec<Value>, marks: bool) {
    if marks {
        list.push(json!({"cachePoint": {"type": "default"}}));
    }
}

/// The messages as sent. Results of a turn and the user message after them are one user message,
/// results first. Each message is added to `prefix`.
fn messages(request: &Request, marks: bool, mut prefix: Option<&mut Prefix>) -> Value {
    let mut sent: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in handover::prepare(&request.context.messages, &request.model) {
        let (role, blocks) = match &message {
            Message::User(user) => ("user", user.content.iter().map(content).collect()),
            Message::ToolResult(result) => ("user", vec![tool_result(result)]),
            Message::Assistant(answer) => {
                let blocks = binding::blocks(answer, prefix.as_deref());
                ("assistant", blocks.filter_map(block).collect())
            }
        };
        if let Some(prefix) = prefix.as_deref_mut() {
            prefix.add(role, &blocks);
        }
        match sent.last_mut() {
            _ if blocks.is_empty() => {}
            Some((last, have)) if *last == role => have.extend(blocks),
            _ => sent.push((role, blocks)),
        }
    }
    let takes_mark = |blocks: &[Value]| {
        let results = blocks.iter().any(|block| block.get("toolResult").is_some());
        !(results && request.model.compat.unmarked_tools)
    };
    let users = sent
        .iter_mut()
        .rev()
        .filter(|(role, blocks)| *role == "user" && takes_mark(blocks));
    for (_, blocks) in users.take(MARKED_MESSAGES) {
        mark(blocks, marks);
    }
    sent.into_iter()
        .map(|(role, blocks)| json!({"role": role, "content": blocks}))
        .collect()
}

fn content(block: &ContentBlock) -> Value {
    match block {
        ContentBlock::Text { text } => json!({ "text": text }),
        ContentBlock::Image { data, mime_type } => {
            let format = mime_type.strip_prefix("image/").unwrap_or("png");
            json!({"image": {"format": format, "source": {"bytes": data}}})
        }
        ContentBlock::File { data, name, .. } => json!({"document": {
            "format": "pdf",
            "name": document_name(name),
            "source": {"bytes": data},
        }}),
    }
}

/// The name of a document as the API accepts it: letters, digits, single spaces, hyphens,
/// parentheses and brackets.
fn document_name(name: &str) -> String {
    let accepted = |char: char| char.is_ascii_alphanumeric() || "-()[]".contains(char);
    let words = name.split(|char| !accepted(char));
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let name: String = words.join(" ").chars().take(100).collect();
    if name.is_empty() {
        "document".to_owned()
    } else {
        name
    }
}

fn tool_result(result: &ToolResult) -> Value {
    let blocks: Vec<Value> = match result.content.as_slice() {
        [] => vec![json!({"text": or_note("")})],
        [ContentBlock::Text { text }] => vec![json!({"text": or_note(text)})],
        blocks => blocks.iter().map(content).collect(),
    };
    let mut sent = json!({"toolUseId": result.tool_call_id, "content": blocks});
    if result.is_error {
        sent["status"] = "error".into();
    }
    json!({ "toolResult": sent })
}

/// A block of an answer as sent; `None` for thinking without a signature, which cannot be sent
/// back.
fn block(block: &AssistantBlock) -> Option<Value> {
    Some(match block {
        AssistantBlock::Text { text, .. } => json!({ "text": text }),
        AssistantBlock::Thinking {
            signature: Some(data),
            redacted: true,
            ..
        } => json!({"reasoningContent": {"redactedContent": data}}),
        AssistantBlock::Thinking {
            thinking,
            signature: Some(signature),
            redacted: false,
        } => {
            json!({"reasoningContent": {"reasoningText": {"text": thinking, "signature": signature}}})
        }
        AssistantBlock::Thinking {
            signature: None, ..
        } => return None,
        AssistantBlock::ToolCall(call) => json!({"toolUse": {
            "toolUseId": call.id,
            "name": call.name,
            "input": call.arguments,
        }}),
    })
}
