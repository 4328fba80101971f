//! Encodes requests of Responses. A body extends that of the previous turn.
//!
//! The server stores no state, so items are sent without their ids: the server would look up the
//! ids and report missing items. Reasoning is sent back unchanged, directly before the item that
//! follows it. Reasoning at the end of an interrupted answer is omitted.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use crate::handover;
use crate::message::{
    AssistantBlock, AssistantMessage, ContentBlock, Message, ToolCall, ToolResult,
};
use crate::model::{Api, ThinkingLevel};
use crate::provider::{Freeform, Request, ToolSpec};
use crate::tuning::CacheRetention;
use crate::wire::format::{add_extra, cache_key, decimal, or_note};
use crate::wire::limit::output_limit;
use crate::wire::tool_schema::lower;

/// The minimum limit that the vendor accepts.
const MIN_OUTPUT: u64 = 16;

pub(super) fn body(request: &Request) -> Value {
    let options = &request.options;
    let context = &request.context;
    let mut body = Map::new();
    body.insert("model".into(), request.model.id.clone().into());
    body.insert("stream".into(), true.into());
    body.insert("store".into(), false.into());
    let limit = output_limit(request).max(MIN_OUTPUT);
    body.insert("max_output_tokens".into(), limit.into());
    // Models reject the temperature while they think.
    let thinks = request.model.can_think() && options.thinking != ThinkingLevel::Off;
    if let Some(temperature) = options.temperature.filter(|_| !thinks) {
        body.insert("temperature".into(), decimal(temperature));
    }
    if let Some(key) = cache_key(request) {
        body.insert("prompt_cache_key".into(), key.into());
        if options.cache_retention == CacheRetention::Long {
            body.insert("prompt_cache_retention".into(), "24h".into());
        }
    }
    ask_for_thinking(request, &mut body);
    if !context.system_prompt.trim().is_empty() {
        body.insert("instructions".into(), context.system_prompt.clone().into());
    }
    if !context.tools.is_empty() {
        let tools = context.tools.iter().map(|spec| tool(spec, request));
        body.insert("tools".into(), tools.collect());
        let parallel = request.model.tuning.parallel_calls.unwrap_or(true);
        body.insert("parallel_tool_calls".into(), parallel.into());
        if let Some(choice) = options.tool_choice.word() {
            body.insert("tool_choice".into(), choice.into());
        }
    }
    if options.hosted_search {
        let tools = body.entry("tools").or_insert_with(|| json!([]));
        if let Some(tools) = tools.as_array_mut() {
            tools.push(json!({"type": "web_search"}));
        }
        let include = body.entry("include").or_insert_with(|| json!([]));
        if let Some(include) = include.as_array_mut() {
            include.push("web_search_call.action.sources".into());
        }
    }
    if let Some(verbosity) = request.model.tuning.verbosity {
        body.insert("text".into(), json!({"verbosity": verbosity.name()}));
    }
    if let Some(tier) = &request.model.tuning.service_tier {
        body.insert("service_tier".into(), tier.clone().into());
    }
    add_extra(request, &mut body);
    body.insert("input".into(), input(request).into());
    Value::Object(body)
}

fn ask_for_thinking(request: &Request, body: &mut Map<String, Value>) {
    let model = &request.model;
    if !model.can_think() {
        return;
    }
    body.insert("include".into(), json!(["reasoning.encrypted_content"]));
    let reasoning = match request.options.thinking {
        ThinkingLevel::Off if model.compat.silent_off => return,
        ThinkingLevel::Off if !model.thinking_levels.contains(&ThinkingLevel::Off) => return,
        ThinkingLevel::Off => json!({"effort": model.compat.effort(ThinkingLevel::Off)}),
        level => json!({"effort": model.compat.effort(level), "summary": "auto"}),
    };
    body.insert("reasoning".into(), reasoning);
}

/// A tool as sent. It is not strict, because strict mode accepts only some schemas.
fn tool(spec: &ToolSpec, request: &Request) -> Value {
    if let Some(freeform) = freeform(spec, request) {
        return json!({
            "type": "custom",
            "name": spec.name,
            "description": spec.description,
            "format": {"type": "grammar", "syntax": "lark", "definition": freeform.grammar},
        });
    }
    json!({
        "type": "function",
        "name": spec.name,
        "description": spec.sent_description(),
        "parameters": lower(&spec.parameters, Api::OpenaiResponses),
        "strict": false,
    })
}

/// How the tool is called without JSON, if the server can do that.
fn freeform<'s>(spec: &'s ToolSpec, request: &Request) -> Option<&'s Freeform> {
    let freeform = spec.freeform.as_ref();
    freeform.filter(|_| request.model.compat.freeform_tools)
}

/// The text of a call of a tool that is offered as a freeform one.
fn freeform_input<'c>(call: &'c ToolCall, request: &Request) -> Option<&'c str> {
    let mut tools = request.context.tools.iter();
    let spec = tools.find(|spec| spec.name == call.name)?;
    call.arguments
        .get(&freeform(spec, request)?.argument)?
        .as_str()
}

fn input(request: &Request) -> Vec<Value> {
    let mut sent = Vec::new();
    let mut freeform_calls = HashSet::new();
    for message in handover::prepare(&request.context.messages, &request.model) {
        match message {
            Message::User(user) => sent.push(json!({
                "type": "message",
                "role": "user",
                "content": user.content.iter().map(part).collect::<Value>(),
            })),
            Message::Assistant(answer) => {
                let calls = answer.tool_calls();
                let freeform = calls.filter(|call| freeform_input(call, request).is_some());
                freeform_calls.extend(freeform.map(|call| call.id.clone()));
                add_answer(&answer, request, &mut sent);
            }
            Message::ToolResult(result) => sent.push(json!({
                "type": if freeform_calls.contains(&result.tool_call_id) {
                    "custom_tool_call_output"
                } else {
                    "function_call_output"
                },
                "call_id": result.tool_call_id,
                "output": output(&result),
            })),
        }
    }
    sent
}

fn part(block: &ContentBlock) -> Value {
    match block {
        ContentBlock::Text { text } => json!({"type": "input_text", "text": text}),
        ContentBlock::Image { data, mime_type } => json!({
            "type": "input_image",
            "detail": "auto",
            "image_url": format!("data:{mime_type};base64,{data}"),
        }),
        ContentBlock::File {
            data,
            mime_type,
            name,
            ..
        } => json!({
            "type": "input_file",
            "filename": name,
            "file_data": format!("data:{mime_type};base64,{data}"),
        }),
    }
}

/// The output of a result. Text alone is sent as a string, which every server accepts.
fn output(result: &ToolResult) -> Value {
    if result.content.iter().any(|block| block.data().is_some()) {
        return result.content.iter().map(part).collect();
    }
    let texts = result.content.iter().filter_map(ContentBlock::as_text);
    or_note(&texts.collect::<Vec<_>>().join("\n")).into()
}

fn add_answer(answer: &AssistantMessage, request: &Request, sent: &mut Vec<Value>) {
    let mut reasoning = Vec::new();
    for block in &answer.content {
        let item = match block {
            AssistantBlock::Thinking { signature, .. } => {
                let item = signature.as_deref().map(serde_json::from_str::<Value>);
                let item = item.and_then(Result::ok);
                reasoning.extend(item.filter(|item| item["type"] == "reasoning"));
                continue;
            }
            AssistantBlock::Text { text, signature } => text_item(text, signature.as_deref()),
            AssistantBlock::ToolCall(call) => match freeform_input(call, request) {
                Some(input) => json!({
                    "type": "custom_tool_call",
                    "call_id": call.id,
                    "name": call.name,
                    "input": input,
                }),
                None => json!({
                    "type": "function_call",
                    "call_id": call.id,
                    "name": call.name,
                    "arguments": call.arguments.to_string(),
                }),
            },
        };
        sent.append(&mut reasoning);
        sent.push(item);
    }
}

fn text_item(text: &str, signature: Option<&str>) -> Value {
    let mut item = json!({
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": text, "annotations": []}],
    });
    let phase = signature.and_then(|text| serde_json::from_str::<Value>(text).ok());
    if let Some(Value::String(phase)) =
        phase.and_then(|mut phase| Some(phase.get_mut("phase")?.take()))
    {
        item["phase"] = phase.into();
    }
    item
}
