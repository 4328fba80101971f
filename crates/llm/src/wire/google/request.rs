//! Encodes requests of Gemini. A body extends that of the previous turn.
//!
//! The vendor validates that a content with calls follows a user content, and that the next content contains
//! exactly one result for each call. Newer models also require a signature on the first call of each step;
//! for calls of other vendors' models there is a documented placeholder.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::signed::{GENERATED_ID, SignedRanges, TextPart};
use crate::handover;
use crate::message::{
    AssistantBlock, AssistantMessage, ContentBlock, Message, ToolCall, ToolResult,
};
use crate::model::{Compat, ThinkingLevel};
use crate::provider::{Request, ToolChoice, ToolSpec};
use crate::wire::format::{add_extra, decimal, or_note};
use crate::wire::limit::output_limit;
use crate::wire::tool_schema::openapi_parameters;

/// The vendor's placeholder for the signature of a call by another vendor's model.
const UNSIGNED: &str = "skip_thought_signature_validator";

pub(super) fn body(request: &Request) -> Value {
    let context = &request.context;
    let mut body = Map::new();
    if !context.system_prompt.trim().is_empty() {
        let parts = json!([{"text": context.system_prompt}]);
        body.insert("systemInstruction".into(), json!({ "parts": parts }));
    }
    if !context.tools.is_empty() {
        let declared: Vec<Value> = context.tools.iter().map(tool).collect();
        body.insert("tools".into(), json!([{"functionDeclarations": declared}]));
        let mode = match request.options.tool_choice {
            ToolChoice::Auto => None,
            ToolChoice::Required => Some("ANY"),
            ToolChoice::None => Some("NONE"),
        };
        if let Some(mode) = mode {
            let config = json!({"functionCallingConfig": {"mode": mode}});
            body.insert("toolConfig".into(), config);
        }
    }
    if request.options.hosted_search {
        body.insert("tools".into(), json!([{"googleSearch": {}}]));
    }
    body.insert("generationConfig".into(), generation(request).into());
    add_extra(request, &mut body);
    body.insert("contents".into(), contents(request).into());
    Value::Object(body)
}

fn generation(request: &Request) -> Map<String, Value> {
    let mut config = Map::new();
    config.insert("maxOutputTokens".into(), output_limit(request).into());
    if let Some(temperature) = request.options.temperature {
        config.insert("temperature".into(), decimal(temperature));
    }
    if request.model.can_think() {
        config.insert("thinkingConfig".into(), thinking(request));
    }
    config
}

fn thinking(request: &Request) -> Value {
    let level = request.options.thinking;
    let shown = level != ThinkingLevel::Off;
    if request.model.compat.thinking_budget {
        let budget = match level {
            ThinkingLevel::Off => 0,
            ThinkingLevel::Minimal => 512,
            ThinkingLevel::Low => 2048,
            ThinkingLevel::Medium => 8192,
            _ => 24_576,
        };
        return json!({"includeThoughts": shown, "thinkingBudget": budget});
    }
    let name = match level {
        // These models always think; the lowest level is the nearest to off.
        ThinkingLevel::Off => least(request),
        ThinkingLevel::Minimal => "MINIMAL",
        ThinkingLevel::Low => "LOW",
        ThinkingLevel::Medium => "MEDIUM",
        _ => "HIGH",
    };
    json!({"includeThoughts": shown, "thinkingLevel": name})
}

fn least(request: &Request) -> &'static str {
    let levels = &request.model.thinking_levels;
    if levels.contains(&ThinkingLevel::Minimal) {
        "MINIMAL"
    } else {
        "LOW"
    }
}

fn tool(spec: &ToolSpec) -> Value {
    let mut declared = json!({"name": spec.name, "description": spec.sent_description()});
    if let Some(parameters) = openapi_parameters(&spec.parameters) {
        declared["parameters"] = parameters;
    }
    declared
}

/// A content as sent.
struct Sent {
    role: &'static str,
    parts: Vec<Value>,
    results: bool,
}

fn contents(request: &Request) -> Vec<Value> {
    let compat = &request.model.compat;
    let mut sent: Vec<Sent> = Vec::new();
    // Calls sent with their id, which their results must contain too.
    let mut named = HashSet::new();
    let mut pictures = Vec::new();
    for message in handover::prepare(&request.context.messages, &request.model) {
        if !matches!(message, Message::ToolResult(_)) {
            show(&mut pictures, &mut sent);
        }
        match message {
            Message::User(user) => add(&mut sent, "user", user.content.iter().map(part).collect()),
            Message::Assistant(answer) => {
                let own = handover::is_own(&answer, &request.model);
                let parts = answer_parts(&answer, own, compat, &mut named);
                add(&mut sent, "model", parts);
            }
            Message::ToolResult(result) => {
                let is_named = named.contains(&result.tool_call_id);
                let part = tool_result(&result, is_named, compat, &mut pictures);
                add_result(&mut sent, part);
            }
        }
    }
    show(&mut pictures, &mut sent);
    sent.into_iter()
        .map(|sent| json!({"role": sent.role, "parts": sent.parts}))
        .collect()
}

/// Adds a content, or appends its parts to the previous one of the same role.
fn add(sent: &mut Vec<Sent>, role: &'static str, parts: Vec<Value>) {
    match sent.last_mut() {
        _ if parts.is_empty() => {}
        Some(last) if last.role == role && !last.results => last.parts.extend(parts),
        _ => sent.push(Sent {
            role,
            parts,
            results: false,
        }),
    }
}

/// Adds a result; all results of a step are one content.
fn add_result(sent: &mut Vec<Sent>, part: Value) {
    match sent.last_mut() {
        Some(last) if last.results => last.parts.push(part),
        _ => sent.push(Sent {
            role: "user",
            parts: vec![part],
            results: true,
        }),
    }
}

/// Adds the images and files of the previous results, for models that accept them only in user contents.
fn show(pictures: &mut Vec<Value>, sent: &mut Vec<Sent>) {
    if !pictures.is_empty() {
        let mut parts = vec![json!({"text": "Files of the tool results:"})];
        parts.append(pictures);
        add(sent, "user", parts);
    }
}

fn part(block: &ContentBlock) -> Value {
    match block {
        ContentBlock::Text { text } => json!({ "text": text }),
        ContentBlock::Image { data, mime_type } => {
            json!({"inlineData": {"mimeType": mime_type, "data": data}})
        }
        ContentBlock::File {
            data, mime_type, ..
        } => {
            // Google's name of this type.
            let mime_type = if mime_type == "audio/mpeg" {
                "audio/mp3"
            } else {
                mime_type
            };
            json!({"inlineData": {"mimeType": mime_type, "data": data}})
        }
    }
}

fn answer_parts(
    answer: &AssistantMessage,
    own: bool,
    compat: &Compat,
    named: &mut HashSet<String>,
) -> Vec<Value> {
    let mut parts = Vec::new();
    let mut first_call = true;
    for block in &answer.content {
        match block {
            AssistantBlock::Text { text, signature } => {
                add_text(&mut parts, text, signature.as_deref(), false);
            }
            AssistantBlock::Thinking {
                thinking,
                signature,
                ..
            } => add_text(&mut parts, thinking, signature.as_deref(), true),
            AssistantBlock::ToolCall(call) => {
                let is_named = own && !call.id.starts_with(GENERATED_ID);
                if is_named {
                    named.insert(call.id.clone());
                }
                let must_sign = compat.signed_calls && first_call;
                parts.push(tool_call(call, is_named, must_sign));
                first_call = false;
            }
        }
    }
    parts
}

fn add_text(parts: &mut Vec<Value>, text: &str, signature: Option<&str>, thought: bool) {
    for TextPart { text, signature } in SignedRanges::read(signature).split(text) {
        let mut part = json!({ "text": text });
        if thought {
            part["thought"] = true.into();
        }
        if let Some(signature) = signature {
            part["thoughtSignature"] = signature.into();
        }
        parts.push(part);
    }
}

fn tool_call(call: &ToolCall, is_named: bool, must_sign: bool) -> Value {
    let mut made = Map::new();
    if is_named {
        made.insert("id".into(), call.id.clone().into());
    }
    made.insert("name".into(), call.name.clone().into());
    made.insert("args".into(), call.arguments.clone());
    let mut part = json!({ "functionCall": made });
    let stand_in = must_sign.then_some(UNSIGNED);
    if let Some(signature) = call.signature.as_deref().or(stand_in) {
        part["thoughtSignature"] = signature.into();
    }
    part
}

fn tool_result(
    result: &ToolResult,
    is_named: bool,
    compat: &Compat,
    pictures: &mut Vec<Value>,
) -> Value {
    let texts = result.content.iter().filter_map(ContentBlock::as_text);
    let text = texts.collect::<Vec<_>>().join("\n");
    let is_image = |block: &&ContentBlock| matches!(block, ContentBlock::Image { .. });
    let is_file = |block: &&ContentBlock| matches!(block, ContentBlock::File { .. });
    let images: Vec<Value> = result.content.iter().filter(is_image).map(part).collect();
    let files: Vec<Value> = result.content.iter().filter(is_file).map(part).collect();
    let follows = !files.is_empty() || (!images.is_empty() && !compat.images_in_results);
    let output = match text.as_str() {
        "" if follows => "(see the file that follows)",
        "" if !images.is_empty() => "(see the image)",
        text => &or_note(text),
    };
    let key = if result.is_error { "error" } else { "output" };
    let mut response = Map::new();
    if is_named {
        response.insert("id".into(), result.tool_call_id.clone().into());
    }
    response.insert("name".into(), result.tool_name.clone().into());
    response.insert("response".into(), json!({ key: output }));
    if compat.images_in_results && !images.is_empty() {
        response.insert("parts".into(), images.into());
    } else {
        pictures.extend(images);
    }
    pictures.extend(files);
    json!({ "functionResponse": response })
}
