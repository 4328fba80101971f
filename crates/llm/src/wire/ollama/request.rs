//! Encodes requests of Ollama. A body extends that of the previous turn.

use serde_json::{Map, Value, json};

use crate::handover;
use crate::message::{
    AssistantBlock, AssistantMessage, ContentBlock, Message, ToolResult, UserMessage,
};
use crate::model::{Api, ThinkingLevel};
use crate::provider::{Request, ToolChoice, ToolSpec};
use crate::wire::format::{add_extra, decimal, or_note};
use crate::wire::limit::output_limit;
use crate::wire::tool_schema::lower;

pub(super) fn body(request: &Request) -> Value {
    let context = &request.context;
    let mut body = Map::new();
    body.insert("model".into(), request.model.id.clone().into());
    body.insert("stream".into(), true.into());
    // A prompt that exceeds the window is an error instead of being truncated.
    body.insert("truncate".into(), false.into());
    body.insert("shift".into(), false.into());
    if let Some(think) = think(request) {
        body.insert("think".into(), think);
    }
    let mut options = Map::new();
    options.insert("num_ctx".into(), request.model.context_window.into());
    options.insert("num_predict".into(), output_limit(request).into());
    if let Some(temperature) = request.options.temperature {
        options.insert("temperature".into(), decimal(temperature));
    }
    body.insert("options".into(), options.into());
    // The API cannot forbid calls.
    if !context.tools.is_empty() && request.options.tool_choice != ToolChoice::None {
        body.insert("tools".into(), context.tools.iter().map(tool).collect());
    }
    add_extra(request, &mut body);
    body.insert("messages".into(), messages(request).into());
    Value::Object(body)
}

/// Enables thinking: a boolean, or a level for models that support several. Models that cannot think reject
/// the field.
fn think(request: &Request) -> Option<Value> {
    let model = &request.model;
    match request.options.thinking {
        _ if !model.can_think() => None,
        ThinkingLevel::Off => Some(false.into()),
        level if model.thinking_levels.len() > 2 => Some(level.name().into()),
        _ => Some(true.into()),
    }
}

fn tool(spec: &ToolSpec) -> Value {
    json!({
        "type": "function",
        "function": {
            "name": spec.name,
            "description": spec.sent_description(),
            "parameters": lower(&spec.parameters, Api::Ollama),
        },
    })
}

fn messages(request: &Request) -> Vec<Value> {
    let mut sent = Vec::new();
    let system = &request.context.system_prompt;
    if !system.trim().is_empty() {
        sent.push(json!({"role": "system", "content": system}));
    }
    let mut pictures = Vec::new();
    for message in handover::prepare(&request.context.messages, &request.model) {
        if !matches!(message, Message::ToolResult(_)) {
            show(&mut pictures, &mut sent);
        }
        match message {
            Message::User(user) => sent.push(user_message(&user)),
            Message::Assistant(answer) => sent.push(answered(&answer)),
            Message::ToolResult(result) => sent.push(tool_result(&result, &mut pictures)),
        }
    }
    show(&mut pictures, &mut sent);
    sent
}

/// Adds the images of the previous results: models accept images only in user messages.
fn show(pictures: &mut Vec<Value>, sent: &mut Vec<Value>) {
    if !pictures.is_empty() {
        let images = std::mem::take(pictures);
        sent.push(
            json!({"role": "user", "content": "Images of the tool results:", "images": images}),
        );
    }
}

fn texts(content: &[ContentBlock]) -> String {
    let texts: Vec<&str> = content.iter().filter_map(ContentBlock::as_text).collect();
    texts.join("\n")
}

fn images(content: &[ContentBlock]) -> Vec<Value> {
    let images = content.iter().filter_map(|block| match block {
        ContentBlock::Image { data, .. } => Some(data.as_str().into()),
        ContentBlock::Text { .. } | ContentBlock::File { .. } => None,
    });
    images.collect()
}

fn user_message(user: &UserMessage) -> Value {
    let mut message = json!({"role": "user", "content": texts(&user.content)});
    let images = images(&user.content);
    if !images.is_empty() {
        message["images"] = images.into();
    }
    message
}

fn answered(answer: &AssistantMessage) -> Value {
    let mut thinking = String::new();
    let mut calls = Vec::new();
    for block in &answer.content {
        match block {
            AssistantBlock::Thinking { thinking: text, .. } => thinking.push_str(text),
            AssistantBlock::ToolCall(call) => calls.push(json!({
                "id": call.id,
                "function": {"name": call.name, "arguments": call.arguments},
            })),
            AssistantBlock::Text { .. } => {}
        }
    }
    let mut message = json!({"role": "assistant", "content": answer.text()});
    if !thinking.is_empty() {
        message["thinking"] = thinking.into();
    }
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    message
}

fn tool_result(result: &ToolResult, pictures: &mut Vec<Value>) -> Value {
    let text = texts(&result.content);
    let mut images = images(&result.content);
    let content = match text.as_str() {
        "" if !images.is_empty() => "(see the image that follows)".into(),
        text => or_note(text),
    };
    let message = json!({
        "role": "tool",
        "tool_name": result.tool_name,
        "tool_call_id": result.tool_call_id,
        "content": content,
    });
    pictures.append(&mut images);
    message
}
