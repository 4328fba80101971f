//! Invariants that hold for the events of a provider in every wire format.

use serde_json::Value;

use crate::aws_events::frame;
use crate::frames::Framing;
use crate::message::{AssistantBlock, AssistantMessage, ContentBlock, Message};
use crate::model::Api;
use crate::status::TurnStatus;
use crate::usage::Cost;
use crate::wire::testing::{model, request, result, try_play, user};
use crate::wire::{WIRES, Wire};

/// Maximum number of events: more take longer and show nothing new.
const MOST_EVENTS: usize = 24;
/// Maximum bytes of an input.
const MOST: usize = 16 * 1024;

/// Checks the events of a stream, one per line: the data, after the name of the event if the data
/// lacks it.
pub fn wires(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let lines: Vec<&str> = text.lines().take(MOST_EVENTS).collect();
    if text.len() > MOST {
        return;
    }
    for wire in WIRES {
        let frames: Vec<Vec<u8>> = lines.iter().map(|line| framed(wire, line)).collect();
        for count in 0..frames.len() {
            check(wire, &lines[..count], &frames[..count].concat());
        }
        check_sent(&check(wire, &lines, &frames.concat()));
    }
}

/// An event in the framing of a wire format.
fn framed(wire: &Wire, line: &str) -> Vec<u8> {
    let (name, data) = match line.split_once(' ') {
        Some((name, data)) if name.chars().all(|char| char.is_ascii_alphabetic()) => (name, data),
        _ => ("", line),
    };
    match wire.framing {
        Framing::Events => format!("data: {data}\n\n").into_bytes(),
        Framing::Lines => format!("{data}\n").into_bytes(),
        Framing::AwsEvents => frame(&[(":event-type", name), (":message-type", "event")], data),
    }
}

/// The events that end the model's answer in a wire format.
fn ends(api: Api) -> &'static [&'static str] {
    match api {
        Api::AnthropicMessages => &["message_delta", "message_stop"],
        Api::BedrockConverse => &["messageStop"],
        Api::OpenaiResponses => &["response.completed", "response.incomplete"],
        Api::GoogleGenerativeAi => &["finishReason"],
        Api::Ollama => &["done"],
        _ => &["finish_reason", "[DONE]"],
    }
}

/// A stream of these events, which may be incomplete.
fn check(wire: &Wire, lines: &[&str], stream: &[u8]) -> AssistantMessage {
    let model = model(wire.api);
    let Some((message, status)) = try_play(&model, stream, stream.len().max(1)) else {
        unreachable!("the frames are valid");
    };
    let Some((again, same)) = try_play(&model, stream, 3) else {
        unreachable!("the frames are valid");
    };
    assert_eq!(
        (without_ids(again), &same),
        (without_ids(message.clone()), &status),
        "chunks of 3"
    );
    if let TurnStatus::Success { has_tool_calls, .. } = status {
        // The data can contain the words with escapes.
        let says = |word: &&str| {
            lines
                .iter()
                .any(|line| line.contains(*word) || line.contains('\\'))
        };
        assert!(
            ends(wire.api).iter().any(says),
            "a false success: {lines:?}"
        );
        let mut blocks = message.content.iter();
        let calls = blocks.any(|block| matches!(block, AssistantBlock::ToolCall(_)));
        assert_eq!(has_tool_calls, calls, "{message:?}");
    } else {
        let text = status.message();
        assert!(!text.trim().is_empty(), "{status:?} says nothing");
    }
    let cost = message.usage.cost;
    let costs = [
        cost.input,
        cost.output,
        cost.cache_read,
        cost.cache_write,
        cost.total,
    ];
    assert!(
        costs.iter().all(|cost| cost.is_finite() && *cost >= 0.0),
        "{cost:?}"
    );
    check_stored(&message);
    message
}

/// A call without an id gets a random one.
fn without_ids(mut message: AssistantMessage) -> AssistantMessage {
    for block in &mut message.content {
        if let AssistantBlock::ToolCall(call) = block {
            call.id.clear();
        }
    }
    message
}

/// The message in a session file is the same. The last digit of a cost may differ.
fn check_stored(message: &AssistantMessage) {
    let without_cost = |message: &AssistantMessage| {
        let mut message = message.clone();
        message.usage.cost = Cost::default();
        message
    };
    let read = serde_json::to_string(message).map(|text| serde_json::from_str(&text));
    match read {
        Ok(Ok(read)) => assert_eq!(without_cost(&read), without_cost(message)),
        other => unreachable!("{message:?}: {other:?}"),
    }
}

/// Every wire format can send the message back, with a result for each call.
fn check_sent(message: &AssistantMessage) {
    let mut messages = vec![user("hello"), Message::Assistant(message.clone())];
    for block in &message.content {
        if let AssistantBlock::ToolCall(call) = block {
            messages.push(result(&call.id, vec![ContentBlock::text("done")]));
        }
    }
    messages.push(user("continue"));
    for wire in WIRES {
        let body = (wire.body)(&request(model(wire.api), messages.clone())).json;
        assert!(matches!(body, Value::Object(_)));
    }
}
