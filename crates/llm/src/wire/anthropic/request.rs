//! Encodes requests of Anthropic Messages.
//!
//! A body extends that of the previous turn, except for the cache marks on the last two user messages, which
//! are not part of the cached content.

use serde_json::{Map, Value, json};

use crate::handover;
use crate::message::{AssistantBlock, ContentBlock, Message, StopReason, ToolResult};
use crate::model::{Api, ThinkingLevel};
use crate::provider::{Request, ToolChoice, ToolSpec};
use crate::wire::binding::{self, Prefix};
use crate::wire::cache_marks::{Marks, cache_control};
use crate::wire::format::{Body, add_extra, decimal, or_note};
use crate::wire::limit::output_limit;
use crate::wire::tool_schema::lower;

/// The API version on Google Vertex.
const VERTEX_VERSION: &str = "vertex-2023-10-16";
/// Maximum number of searches of the provider for one answer.
const SEARCHES: u32 = 4;
const DEFAULT_VERSION: &str = "2023-06-01";
/// The first API version that rejects sampling parameters.
const WITHOUT_SAMPLING: &str = "2026-10-21";

pub(super) fn headers(request: &Request) -> Vec<(&'static str, String)> {
    let mut headers = Vec::new();
    if !request.model.compat.on_vertex {
        headers.push(("anthropic-version", version(request).to_owned()));
    }
    let beta = match thinking(request) {
        Thinking::Budget(_) if !request.context.tools.is_empty() => {
            Some("interleaved-thinking-2025-05-14")
        }
        Thinking::Adaptive(_) if request.model.compat.bound_thinking => Some(binding::BETA),
        _ => None,
    };
    headers.extend(beta.map(|beta| ("anthropic-beta", beta.to_owned())));
    headers
}

pub(super) fn body(request: &Request) -> Body {
    let (marks, control) = if request.model.compat.no_cache_control {
        (Marks::NONE, Value::Null)
    } else {
        let retention = request.options.cache_retention;
        (Marks::new(request), cache_control(retention))
    };
    let context = &request.context;
    let thinking = thinking(request);
    let mut body = Map::new();
    if request.model.compat.on_vertex {
        body.insert("anthropic_version".into(), VERTEX_VERSION.into());
    } else {
        body.insert("model".into(), request.model.id.clone().into());
    }
    body.insert("max_tokens".into(), output_limit(request).into());
    body.insert("stream".into(), true.into());
    match thinking {
        Thinking::Unasked => {}
        Thinking::Off => {
            body.insert("thinking".into(), json!({"type": "disabled"}));
        }
        Thinking::Adaptive(effort) => {
            let mut ask = json!({"type": "adaptive", "display": "summarized"});
            if request.model.compat.bound_thinking {
                ask["block_binding"] = binding::control();
            }
            body.insert("thinking".into(), ask);
            body.insert("output_config".into(), json!({"effort": effort}));
        }
        Thinking::Budget(tokens) => {
            let ask = json!({"type": "enabled", "budget_tokens": tokens});
            body.insert("thinking".into(), ask);
        }
    }
    let thinks = matches!(thinking, Thinking::Adaptive(_) | Thinking::Budget(_));
    if let Some(temperature) = request.options.temperature
        && !thinks
        && version(request) < WITHOUT_SAMPLING
    {
        body.insert("temperature".into(), decimal(temperature));
    }
    if !context.tools.is_empty() {
        let offered = tools(&context.tools, marks.tools.then_some(&control));
        body.insert("tools".into(), offered);
        if let Some(choice) = tool_choice(request, thinks) {
            body.insert("tool_choice".into(), choice);
        }
    }
    if request.options.hosted_search {
        add_search(&mut body);
    }
    if !context.system_prompt.trim().is_empty() {
        let mut system = json!({"type": "text", "text": context.system_prompt});
        if marks.system {
            mark(&mut system, &control);
        }
        body.insert("system".into(), Value::Array(vec![system]));
    }
    if let Some(tier) = &request.model.tuning.service_tier {
        body.insert("service_tier".into(), tier.clone().into());
    }
    let prepared = handover::prepare(&context.messages, &request.model);
    let bound = request.model.compat.bound_thinking;
    let mut prefix = bound.then(|| Prefix::new(context, thinks));
    add_extra(request, &mut body);
    body.insert(
        "messages".into(),
        messages(&prepared, (marks.messages, &control), prefix.as_mut()),
    );
    Body {
        json: Value::Object(body),
        prefix_hash: prefix.map(|prefix| prefix.hash()),
    }
}

/// How tools are called, if it differs from the default.
fn tool_choice(request: &Request, thinks: bool) -> Option<Value> {
    let choice = match request.options.tool_choice {
        // A tool call cannot be required from a model that thinks.
        ToolChoice::Required if !thinks => Some("any"),
        ToolChoice::None => Some("none"),
        ToolChoice::Auto | ToolChoice::Required => None,
    };
    let is_single = request.model.tuning.parallel_calls == Some(false) && choice != Some("none");
    if choice.is_none() && !is_single {
        return None;
    }
    let mut choice = json!({"type": choice.unwrap_or("auto")});
    if is_single {
        choice["disable_parallel_tool_use"] = true.into();
    }
    Some(choice)
}

/// Adds the search of the provider to the tools.
fn add_search(body: &mut Map<String, Value>) {
    let search = json!({"type": "web_search_20250305", "name": "web_search", "max_uses": SEARCHES});
    let tools = body.entry("tools").or_insert_with(|| json!([]));
    if let Some(tools) = tools.as_array_mut() {
        tools.push(search);
    }
}

fn version(request: &Request) -> &str {
    let version = request.model.compat.anthropic_version.as_deref();
    version.unwrap_or(DEFAULT_VERSION)
}

#[derive(Debug, Clone, Copy)]
enum Thinking {
    /// The model cannot think.
    Unasked,
    Off,
    Adaptive(&'static str),
    Budget(u64),
}

fn thinking(request: &Request) -> Thinking {
    let model = &request.model;
    let level = request.options.thinking;
    if !model.can_think() {
        return Thinking::Unasked;
    }
    if level == ThinkingLevel::Off {
        return if model.thinking_levels.contains(&ThinkingLevel::Off)
            && model.compat.adaptive_thinking
        {
            Thinking::Off
        } else {
            Thinking::Unasked
        };
    }
    if model.compat.adaptive_thinking {
        return Thinking::Adaptive(match level {
            ThinkingLevel::Off | ThinkingLevel::Minimal | ThinkingLevel::Low => "low",
            ThinkingLevel::Medium => "medium",
            ThinkingLevel::High => "high",
            ThinkingLevel::Xhigh => "xhigh",
            ThinkingLevel::Max => "max",
        });
    }
    let budget: u64 = match level {
        ThinkingLevel::Off | ThinkingLevel::Minimal => 1024,
        ThinkingLevel::Low => 4096,
        ThinkingLevel::Medium => 10_240,
        ThinkingLevel::High => 20_480,
        ThinkingLevel::Xhigh => 31_999,
        ThinkingLevel::Max => 63_999,
    };
    // The budget is part of the output limit, and the answer needs tokens too.
    match budget.min(output_limit(request).saturating_sub(1024)) {
        budget @ 1024.. => Thinking::Budget(budget),
        _ => Thinking::Unasked,
    }
}

fn tools(specs: &[ToolSpec], control: Option<&Value>) -> Value {
    let mut tools: Vec<Value> = specs
        .iter()
        .map(|spec| {
            json!({
                "name": spec.name,
                "description": spec.sent_description(),
                "input_schema": lower(&spec.parameters, Api::AnthropicMessages),
            })
        })
        .collect();
    if let (Some(last), Some(control)) = (tools.last_mut(), control) {
        mark(last, control);
    }
    Value::Array(tools)
}

fn mark(block: &mut Value, control: &Value) {
    if let Value::Object(fields) = block {
        fields.insert("cache_control".into(), control.clone());
    }
}

/// A message as sent: role and blocks.
struct Sent {
    role: &'static str,
    blocks: Vec<Value>,
}

/// The messages as sent. Results of a turn and the user message after them are one user message,
/// results first. Each message is added to `prefix`. The last user messages are marked.
fn messages(
    prepared: &[Message],
    (marked, control): (usize, &Value),
    mut prefix: Option<&mut Prefix>,
) -> Value {
    let mut sent: Vec<Sent> = Vec::new();
    for message in prepared {
        let (role, blocks) = match message {
            Message::User(user) => ("user", user.content.iter().map(content).collect()),
            Message::ToolResult(result) => ("user", vec![tool_result(result)]),
            Message::Assistant(answer) => {
                let blocks = binding::blocks(answer, prefix.as_deref());
                let mut blocks = blocks.filter_map(assistant_block).collect::<Vec<_>>();
                if answer.stop_reason != StopReason::Paused {
                    remove_open_steps(&mut blocks);
                }
                ("assistant", blocks)
            }
        };
        if let Some(prefix) = prefix.as_deref_mut() {
            prefix.add(role, &blocks);
        }
        match sent.last_mut() {
            _ if blocks.is_empty() => {}
            Some(last) if last.role == role => last.blocks.extend(blocks),
            _ => sent.push(Sent { role, blocks }),
        }
    }
    let users = sent.iter_mut().rev().filter(|sent| sent.role == "user");
    for last in users.take(marked) {
        if let Some(block) = last.blocks.last_mut() {
            mark(block, control);
        }
    }
    sent.into_iter()
        .map(|sent| json!({"role": sent.role, "content": sent.blocks}))
        .collect()
}

fn content(block: &ContentBlock) -> Value {
    match block {
        ContentBlock::Text { text } => json!({"type": "text", "text": text}),
        ContentBlock::Image { data, mime_type } => json!({
            "type": "image",
            "source": {"type": "base64", "media_type": mime_type, "data": data},
        }),
        ContentBlock::File {
            data,
            mime_type,
            name,
            ..
        } => json!({
            "type": "document",
            "source": {"type": "base64", "media_type": mime_type, "data": data},
            "title": name,
        }),
    }
}

fn tool_result(result: &ToolResult) -> Value {
    let content = match result.content.as_slice() {
        [] => or_note("").into(),
        [ContentBlock::Text { text }] => Value::from(or_note(text)),
        blocks => blocks.iter().map(content).collect(),
    };
    let mut block = json!({
        "type": "tool_result",
        "tool_use_id": result.tool_call_id,
        "content": content,
    });
    if result.is_error {
        block["is_error"] = true.into();
    }
    block
}

/// Removes the steps of the provider that have no result. Only a paused answer may have one.
fn remove_open_steps(blocks: &mut Vec<Value>) {
    let results = blocks
        .iter()
        .filter_map(|block| block["tool_use_id"].as_str());
    let results: Vec<String> = results.map(str::to_owned).collect();
    blocks.retain(|block| {
        let is_step = matches!(
            block["type"].as_str(),
            Some("server_tool_use" | "mcp_tool_use")
        );
        !is_step || results.iter().any(|result| block["id"] == result.as_str())
    });
}

/// A block of an answer as sent; `None` for thinking without a signature, which cannot be sent
/// back.
fn assistant_block(block: &AssistantBlock) -> Option<Value> {
    if let Some(step) = block.hosted_step() {
        return serde_json::from_str(step).ok();
    }
    Some(match block {
        AssistantBlock::Text { text, .. } => json!({"type": "text", "text": text}),
        AssistantBlock::Thinking {
            signature: Some(data),
            redacted: true,
            ..
        } => json!({"type": "redacted_thinking", "data": data}),
        AssistantBlock::Thinking {
            thinking,
            signature: Some(signature),
            redacted: false,
        } => json!({"type": "thinking", "thinking": thinking, "signature": signature}),
        AssistantBlock::Thinking {
            signature: None, ..
        } => return None,
        AssistantBlock::ToolCall(call) => json!({
            "type": "tool_use",
            "id": call.id,
            "name": call.name,
            "input": call.arguments,
        }),
    })
}
