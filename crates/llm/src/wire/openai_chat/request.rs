//! Encodes requests of Chat Completions. A body extends that of the previous turn.

use serde_json::{Map, Value, json};

use crate::handover;
use crate::message::{
    AssistantBlock, AssistantMessage, ContentBlock, Message, ToolCall, ToolResult,
};
use crate::model::{Api, Compat, ThinkingFormat, ThinkingLevel};
use crate::provider::{Request, ToolSpec};
use crate::wire::format::{add_extra, cache_key, decimal, or_note};
use crate::wire::limit::output_limit;
use crate::wire::tool_schema::lower;

pub(super) fn body(request: &Request) -> Value {
    let compat = &request.model.compat;
    let options = &request.options;
    let context = &request.context;
    let mut body = Map::new();
    body.insert("model".into(), request.model.id.clone().into());
    body.insert("stream".into(), true.into());
    if !compat.no_stream_usage {
        body.insert("stream_options".into(), json!({"include_usage": true}));
    }
    let limit_field = if compat.max_tokens_field {
        "max_tokens"
    } else {
        "max_completion_tokens"
    };
    body.insert(limit_field.into(), output_limit(request).into());
    if let Some(temperature) = options.temperature {
        body.insert("temperature".into(), decimal(temperature));
    }
    if let Some(key) = cache_key(request) {
        body.insert("prompt_cache_key".into(), key.into());
    }
    ask_for_thinking(request, &mut body);
    if !context.tools.is_empty() {
        body.insert("tools".into(), context.tools.iter().map(tool).collect());
        if let Some(choice) = options.tool_choice.word() {
            body.insert("tool_choice".into(), choice.into());
        }
    }
    let tuning = &request.model.tuning;
    if let Some(parallel) = tuning.parallel_calls.filter(|_| !context.tools.is_empty()) {
        body.insert("parallel_tool_calls".into(), parallel.into());
    }
    if let Some(verbosity) = tuning.verbosity {
        body.insert("verbosity".into(), verbosity.name().into());
    }
    if let Some(tier) = &tuning.service_tier {
        body.insert("service_tier".into(), tier.clone().into());
    }
    add_extra(request, &mut body);
    body.insert("messages".into(), messages(request).into());
    Value::Object(body)
}

fn ask_for_thinking(request: &Request, body: &mut Map<String, Value>) {
    let model = &request.model;
    if !model.can_think() {
        return;
    }
    let level = request.options.thinking;
    let on = level != ThinkingLevel::Off;
    let effort = model.compat.effort(level);
    let (field, value) = match model.compat.thinking_format {
        ThinkingFormat::Effort if !on && model.compat.silent_off => return,
        ThinkingFormat::PromptMode if !on => return,
        ThinkingFormat::PromptMode => ("prompt_mode", "reasoning".into()),
        ThinkingFormat::Effort => ("reasoning_effort", effort.into()),
        ThinkingFormat::Openrouter => ("reasoning", json!({"effort": effort})),
        ThinkingFormat::ReasoningEnabled => ("reasoning", json!({"enabled": on})),
        ThinkingFormat::Thinking => {
            let state = if on { "enabled" } else { "disabled" };
            // Levels are sent only to models with more than on and off.
            if on && model.thinking_levels.len() > 2 {
                body.insert("reasoning_effort".into(), effort.into());
            }
            ("thinking", json!({"type": state}))
        }
        ThinkingFormat::EnableThinking => ("enable_thinking", on.into()),
        ThinkingFormat::ChatTemplate => ("chat_template_kwargs", json!({"enable_thinking": on})),
        ThinkingFormat::None => return,
    };
    body.insert(field.into(), value);
}

fn tool(spec: &ToolSpec) -> Value {
    json!({
        "type": "function",
        "function": {
            "name": spec.name,
            "description": spec.sent_description(),
            "parameters": lower(&spec.parameters, Api::OpenaiChatCompletions),
        },
    })
}

fn messages(request: &Request) -> Vec<Value> {
    let compat = &request.model.compat;
    let mut sent = Vec::new();
    let system = &request.context.system_prompt;
    if !system.trim().is_empty() {
        let role = if compat.developer_role {
            "developer"
        } else {
            "system"
        };
        sent.push(json!({"role": role, "content": system}));
    }
    let prepared = handover::prepare(&request.context.messages, &request.model);
    let mut pictures = Vec::new();
    for message in &prepared {
        if !matches!(message, Message::ToolResult(_)) {
            show(&mut pictures, compat, &mut sent);
        }
        match message {
            Message::User(user) => say(&user_content(&user.content), compat, &mut sent),
            Message::Assistant(answer) => sent.extend(assistant(answer, compat)),
            Message::ToolResult(result) => {
                sent.push(tool_result(result, compat, &mut pictures));
            }
        }
    }
    show(&mut pictures, compat, &mut sent);
    if compat.cache_control {
        mark(&mut sent);
    }
    sent
}

/// Adds a user message.
fn say(content: &Value, compat: &Compat, sent: &mut Vec<Value>) {
    let after_result = sent.last().is_some_and(|last| last["role"] == "tool");
    if compat.answer_after_results && after_result {
        sent.push(json!({"role": "assistant", "content": "I have read the results."}));
    }
    sent.push(json!({"role": "user", "content": content}));
}

/// Adds prompt-cache marks to the system prompt and to the last messages of the user and the model. Tool
/// results do not accept marks, so in a long run of tools the mark moves with the messages of the model.
/// Marks are on parts, so all messages are sent as parts: a message stays the same when its mark is removed.
fn mark(sent: &mut [Value]) {
    for message in sent.iter_mut().filter(|message| message["role"] != "tool") {
        if let Some(text) = message["content"].as_str().filter(|text| !text.is_empty()) {
            message["content"] = json!([{"type": "text", "text": text}]);
        }
    }
    let last = |role: &str| {
        sent.iter()
            .rposition(|message| message["role"] == role && message["content"].is_array())
    };
    let indices = [Some(0), last("user"), last("assistant")];
    for at in indices.into_iter().flatten() {
        let parts = sent
            .get_mut(at)
            .and_then(|message| message["content"].as_array_mut());
        let last = parts.and_then(|parts| {
            let mut parts = parts.iter_mut().rev();
            parts.find(|part| part["type"] == "text")
        });
        if let Some(Value::Object(part)) = last {
            part.insert("cache_control".into(), json!({"type": "ephemeral"}));
        }
    }
}

fn user_content(content: &[ContentBlock]) -> Value {
    match content {
        [ContentBlock::Text { text }] => text.clone().into(),
        blocks => blocks.iter().map(part).collect(),
    }
}

fn part(block: &ContentBlock) -> Value {
    match block {
        ContentBlock::Text { text } => json!({"type": "text", "text": text}),
        ContentBlock::Image { data, mime_type } => json!({
            "type": "image_url",
            "image_url": {"url": format!("data:{mime_type};base64,{data}")},
        }),
        ContentBlock::File {
            data, mime_type, ..
        } if mime_type.starts_with("audio/") => {
            let format = if mime_type == "audio/wav" {
                "wav"
            } else {
                "mp3"
            };
            json!({"type": "input_audio", "input_audio": {"data": data, "format": format}})
        }
        ContentBlock::File {
            data,
            mime_type,
            name,
            ..
        } => json!({"type": "file", "file": {
            "filename": name,
            "file_data": format!("data:{mime_type};base64,{data}"),
        }}),
    }
}

/// The text of a result. Its images and files are added to `shown`, because this role accepts only text.
fn tool_result(result: &ToolResult, compat: &Compat, shown: &mut Vec<Value>) -> Value {
    let texts: Vec<&str> = result
        .content
        .iter()
        .filter_map(ContentBlock::as_text)
        .collect();
    let files = result.content.iter().filter(|block| block.data().is_some());
    let before = shown.len();
    shown.extend(files.map(part));
    let text = texts.join("\n");
    let content = match text.as_str() {
        "" if shown.len() > before => "(see the file that follows)".into(),
        text => or_note(text),
    };
    let mut message = json!({
        "role": "tool",
        "tool_call_id": result.tool_call_id,
        "content": content,
    });
    if compat.tool_result_name {
        message["name"] = result.tool_name.clone().into();
    }
    message
}

/// Adds a user message with the images and files of the previous tool results.
fn show(shown: &mut Vec<Value>, compat: &Compat, sent: &mut Vec<Value>) {
    if !shown.is_empty() {
        let mut content = vec![json!({"type": "text", "text": "Files of the tool results:"})];
        content.append(shown);
        say(&content.into(), compat, sent);
    }
}

fn assistant(answer: &AssistantMessage, compat: &Compat) -> Option<Value> {
    let text = answer.text();
    let calls: Vec<Value> = answer.tool_calls().map(tool_call).collect();
    if text.is_empty() && calls.is_empty() {
        return None;
    }
    let mut message = Map::new();
    message.insert("role".into(), "assistant".into());
    let content = match text.as_str() {
        _ if compat.thinking_parts && !thinking(answer).is_empty() => parts(answer).into(),
        "" if !compat.text_required => Value::Null,
        text => text.into(),
    };
    message.insert("content".into(), content);
    let details = reasoning_details(answer);
    if !details.is_empty() {
        message.insert("reasoning_details".into(), details.into());
    }
    if !calls.is_empty() {
        if let Some(field) = &compat.replay_reasoning_field {
            message.insert(field.clone(), thinking(answer).into());
        }
        message.insert("tool_calls".into(), calls.into());
    }
    Some(Value::Object(message))
}

/// Thinking and text as parts of the content, in Mistral's form.
fn parts(answer: &AssistantMessage) -> Vec<Value> {
    let parts = answer.content.iter().filter_map(|block| match block {
        AssistantBlock::Thinking {
            thinking,
            signature,
            ..
        } if !thinking.is_empty() => {
            let text = json!([{"type": "text", "text": thinking}]);
            let mut part = json!({"type": "thinking", "thinking": text});
            if let Some(signature) = signature {
                part["signature"] = signature.clone().into();
            }
            Some(part)
        }
        AssistantBlock::Text { text, .. } if !text.is_empty() => {
            Some(json!({"type": "text", "text": text}))
        }
        _ => None,
    });
    parts.collect()
}

fn thinking(answer: &AssistantMessage) -> String {
    answer
        .content
        .iter()
        .filter_map(|block| match block {
            AssistantBlock::Thinking {
                thinking,
                redacted: false,
                ..
            } => Some(thinking.as_str()),
            _ => None,
        })
        .collect()
}

/// The reasoning details in the signatures of thinking blocks.
fn reasoning_details(answer: &AssistantMessage) -> Vec<Value> {
    answer
        .content
        .iter()
        .filter_map(|block| match block {
            AssistantBlock::Thinking { signature, .. } => signature.as_deref(),
            _ => None,
        })
        .filter_map(|signature| serde_json::from_str::<Vec<Value>>(signature).ok())
        .flatten()
        .collect()
}

fn tool_call(call: &ToolCall) -> Value {
    let mut sent = json!({
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": call.arguments.to_string()},
    });
    let extra = call.signature.as_deref().map(serde_json::from_str::<Value>);
    if let Some(Ok(extra)) = extra {
        sent["extra_content"] = extra;
    }
    sent
}
