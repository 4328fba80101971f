//! Helpers for the tests of wire formats: models, requests, and streams that are decoded completely.

#![cfg_attr(fuzzing, allow(dead_code))]
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "only tests and fuzz targets use it"
)]

use std::sync::Arc;

use crate::builder::MessageBuilder;
use crate::event::StreamEvent;
use crate::frames::Framing;
use crate::message::{
    AssistantBlock, AssistantMessage, ContentBlock, Message, StopReason, ToolCall, ToolResult,
    UserMessage,
};
use crate::model::{Api, Compat, Modality, Model, ThinkingLevel};
use crate::provider::{CallOptions, Context, Request, ToolSpec};
use crate::sse::SseEvent;
use crate::status::TurnStatus;
use crate::usage::Price;
use serde_json::{Value, json};

pub(crate) fn model(api: Api) -> Model {
    Model {
        provider: "vendor".to_owned(),
        id: "model-1".to_owned(),
        name: "Model 1".to_owned(),
        api,
        base_url: "http://127.0.0.1:9".to_owned(),
        context_window: 200_000,
        max_tokens: 8192,
        thinking_levels: vec![
            ThinkingLevel::Off,
            ThinkingLevel::Low,
            ThinkingLevel::Medium,
            ThinkingLevel::High,
        ],
        input: vec![Modality::Text, Modality::Image],
        price: Price {
            input: 3.0,
            output: 15.0,
            cache_read: 0.3,
            cache_write: 3.75,
            ..Price::default()
        },
        headers: std::collections::BTreeMap::new(),
        compat: Compat::default(),
        tuning: crate::tuning::Tuning::default(),
    }
}

pub(crate) fn request(model: Model, messages: Vec<Message>) -> Request {
    Request {
        model: Arc::new(model),
        context: Context {
            system_prompt: "Be brief.".to_owned(),
            messages,
            tools: vec![ToolSpec {
                freeform: None,
                name: "read".to_owned(),
                description: "Reads a file".to_owned(),
                parameters: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
            }],
        },
        options: CallOptions::default(),
        api_key: None,
        signing: None,
    }
}

pub(crate) fn body(request: &Request) -> Value {
    (crate::wire::find(request.model.api).unwrap().body)(request).json
}

pub(crate) fn user(text: &str) -> Message {
    Message::User(UserMessage::text(text))
}

pub(crate) fn text(text: &str) -> AssistantBlock {
    AssistantBlock::Text {
        text: text.to_owned(),
        signature: None,
    }
}

pub(crate) fn thinking(thinking: &str, signature: Option<&str>) -> AssistantBlock {
    AssistantBlock::Thinking {
        thinking: thinking.to_owned(),
        signature: signature.map(str::to_owned),
        redacted: false,
    }
}

pub(crate) fn call(id: &str, arguments: Value) -> AssistantBlock {
    AssistantBlock::ToolCall(ToolCall {
        id: id.to_owned(),
        name: "read".to_owned(),
        arguments,
        ..ToolCall::default()
    })
}

/// An answer of `model`.
pub(crate) fn answer(model: &Model, content: Vec<AssistantBlock>) -> Message {
    Message::Assistant(AssistantMessage {
        content,
        provider: model.provider.clone(),
        model: model.id.clone(),
        api: model.api.name().to_owned(),
        stop_reason: StopReason::Stop,
        ..AssistantMessage::default()
    })
}

pub(crate) fn result(id: &str, content: Vec<ContentBlock>) -> Message {
    Message::ToolResult(ToolResult {
        tool_call_id: id.to_owned(),
        tool_name: "read".to_owned(),
        content,
        ..ToolResult::default()
    })
}

/// Decodes a stream in chunks of odd sizes, so that every recording also tests chunk boundaries; returns the
/// message and the status.
pub(crate) fn play(model: &Model, bytes: &[u8]) -> (AssistantMessage, TurnStatus) {
    play_in(model, bytes, 7)
}

/// Like `play`, in chunks of `size` bytes.
pub(crate) fn play_in(model: &Model, bytes: &[u8], size: usize) -> (AssistantMessage, TurnStatus) {
    try_play(model, bytes, size).unwrap()
}

/// Like `play_in`; `None` if the stream is not in the framing of the format.
pub(crate) fn try_play(
    model: &Model,
    bytes: &[u8],
    size: usize,
) -> Option<(AssistantMessage, TurnStatus)> {
    let events = events(model, bytes, size)?;
    Some(built(model, &events))
}

/// The events of a stream; `None` if it is not in the framing of the format.
pub(crate) fn events(model: &Model, bytes: &[u8], size: usize) -> Option<Vec<StreamEvent>> {
    let wire = crate::wire::find(model.api).unwrap();
    let mut parser = wire.framing.parser();
    let mut decoder = (wire.decoder)(model);
    let mut events = Vec::new();
    for chunk in bytes.chunks(size) {
        for event in parser.push(chunk).ok()? {
            decoder.push(&event, &mut events);
        }
    }
    let is_json = parser.is_json();
    for event in parser.finish() {
        decoder.push(&event, &mut events);
    }
    if is_json {
        let data = "[DONE]".to_owned();
        decoder.push(&SseEvent { event: None, data }, &mut events);
    }
    if !decoder.ended() {
        decoder.finish(&mut events);
    }
    let last = |event: &StreamEvent| {
        matches!(event, StreamEvent::Done { .. } | StreamEvent::Failed { .. })
    };
    assert_eq!(
        events.iter().position(last),
        Some(events.len() - 1),
        "one last event: {events:?}"
    );
    Some(events)
}

/// The message and the status of a complete stream.
pub(crate) fn built(model: &Model, events: &[StreamEvent]) -> (AssistantMessage, TurnStatus) {
    let mut builder = MessageBuilder::new(model, 0);
    let mut status = None;
    for event in events {
        status = builder.apply(event).or(status);
    }
    (builder.finish(0), status.unwrap())
}

/// Like `play`, for a stream given as the data of its events.
pub(crate) fn play_data(model: &Model, data: &[Value]) -> (AssistantMessage, TurnStatus) {
    let start = match crate::wire::find(model.api).unwrap().framing {
        Framing::Events => "data: ",
        Framing::Lines => "",
        Framing::AwsEvents => panic!("its events have names"),
    };
    let events: Vec<String> = data
        .iter()
        .map(|data| format!("{start}{data}\n\n"))
        .collect();
    play(model, events.concat().as_bytes())
}

/// The partial message of a stream that is interrupted after `count` bytes.
pub(crate) fn interrupted(model: &Model, bytes: &[u8], count: usize) -> AssistantMessage {
    let wire = crate::wire::find(model.api).unwrap();
    let mut decoder = (wire.decoder)(model);
    let mut events = Vec::new();
    for event in wire.framing.parser().push(&bytes[..count]).unwrap() {
        decoder.push(&event, &mut events);
    }
    decoder.fail(TurnStatus::Aborted, &mut events);
    let mut builder = MessageBuilder::new(model, 0);
    for event in &events {
        builder.apply(event);
    }
    builder.finish(0)
}
