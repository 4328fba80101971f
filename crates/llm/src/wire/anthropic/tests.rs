use serde_json::{Value, json};

use crate::event::StreamEvent;
use crate::message::{
    AssistantBlock, AssistantMessage, ContentBlock, Message, StopReason, ToolCall,
};
use crate::model::{Api, Model, ThinkingLevel};
use crate::provider::ToolChoice;
use crate::status::TurnStatus;
use crate::usage::{Cost, Usage};
use crate::wire::testing::{
    answer, body, call, events, model, play, play_data, request, result, text, thinking, user,
};

const SUCCESS_TOOLS: TurnStatus = TurnStatus::Success {
    has_tool_calls: true,
    final_answer: false,
};
const SUCCESS_TEXT: TurnStatus = TurnStatus::Success {
    has_tool_calls: false,
    final_answer: true,
};

fn claude() -> Model {
    model(Api::AnthropicMessages)
}

fn begin() -> Value {
    json!({"type": "message_start", "message": {"id": "msg_1", "usage": {"input_tokens": 10, "output_tokens": 1}}})
}

fn block(index: u64, block: &Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn grow(index: u64, delta: &Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn stop(reason: &str) -> Value {
    json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 5}})
}

fn end() -> Value {
    json!({"type": "message_stop"})
}

#[test]
fn thinking_calls_and_usage_are_decoded() {
    let stream = include_bytes!("../../../../../tests/fixtures/llm/anthropic-thinking-tool.sse");
    let (message, status) = play(&claude(), stream);
    assert_eq!(status, SUCCESS_TOOLS);
    let usage = Usage {
        input: 25,
        output: 89,
        cache_read: 1024,
        cache_write: 0,
        reasoning: 40,
        cost: Cost::default(),
        ..Usage::default()
    };
    let expected = AssistantMessage {
        content: vec![
            thinking("Let me look", Some("EqQB...")),
            AssistantBlock::Thinking {
                thinking: String::new(),
                signature: Some("EmwK...".to_owned()),
                redacted: true,
            },
            call("toolu_1", json!({"path": "a"})),
        ],
        provider: "vendor".to_owned(),
        model: "model-1".to_owned(),
        api: "anthropic-messages".to_owned(),
        usage: usage.priced(&claude().price),
        stop_reason: StopReason::ToolUse,
        response_id: Some("msg_1".to_owned()),
        ..AssistantMessage::default()
    };
    assert_eq!(message, expected);
}

#[test]
fn recorded_text_is_decoded() {
    let stream = include_bytes!("../../../../../tests/fixtures/llm/llamacpp-anthropic-text.sse");
    let (message, status) = play(&claude(), stream);
    assert_eq!(status, SUCCESS_TEXT);
    assert_eq!(message.content, [text("How can I assist you today?")]);
    assert_eq!(
        (
            message.usage.input,
            message.usage.cache_read,
            message.usage.output
        ),
        (9, 24, 8)
    );
}

#[test]
fn overlapping_blocks_are_decoded() {
    let stream = include_bytes!("../../../../../tests/fixtures/llm/llamacpp-anthropic-tool.sse");
    let (message, status) = play(&claude(), stream);
    assert_eq!(status, SUCCESS_TOOLS);
    let expected = [
        text("The function should return a JSON object with the following structure:\n\n```json\n"),
        AssistantBlock::ToolCall(ToolCall {
            id: "cQ6Ind41TiFWueP5VFtFKEnObsrs5vbY".to_owned(),
            name: "read_file".to_owned(),
            arguments: json!({"path": "src/main.rs"}),
            ..ToolCall::default()
        }),
    ];
    assert_eq!(message.content, expected);
}

#[test]
fn incomplete_arguments_are_an_error() {
    let tool = json!({"type": "tool_use", "id": "t", "name": "read", "input": {}});
    let (message, _) = play_data(
        &claude(),
        &[
            begin(),
            block(0, &tool),
            grow(
                0,
                &json!({"type": "input_json_delta", "partial_json": "{\"path\": \"a"}),
            ),
            stop("max_tokens"),
            end(),
        ],
    );
    let half = ToolCall {
        id: "t".to_owned(),
        name: "read".to_owned(),
        arguments_error: Some("{\"path\": \"a".to_owned()),
        ..ToolCall::default()
    };
    assert_eq!(message.content, [AssistantBlock::ToolCall(half)]);
    assert_eq!(message.stop_reason, StopReason::Length);
}

#[test]
fn calls_without_argument_deltas_are_complete() {
    let (message, _) = play_data(
        &claude(),
        &[
            begin(),
            block(0, &json!({"type": "tool_use", "id": "a", "name": "read"})),
            block(
                1,
                &json!({"type": "tool_use", "id": "b", "name": "read", "input": {"path": "x"}}),
            ),
            stop("tool_use"),
            end(),
        ],
    );
    assert_eq!(
        message.content,
        [call("a", json!({})), call("b", json!({"path": "x"}))]
    );
}

#[test]
fn unknown_events_blocks_and_deltas_are_skipped() {
    let (message, status) = play_data(
        &claude(),
        &[
            json!({"type": "ping"}),
            begin(),
            json!({"type": "news", "index": "not a number"}),
            block(
                0,
                &json!({"type": "server_tool_use", "id": "s", "name": "web"}),
            ),
            grow(
                0,
                &json!({"type": "input_json_delta", "partial_json": "{}"}),
            ),
            block(1, &json!({"type": "text", "text": "a"})),
            grow(1, &json!({"type": "citations_delta", "citation": {}})),
            grow(1, &json!({"type": "text_delta", "text": "b"})),
            stop("end_turn"),
            end(),
        ],
    );
    let step = r#"step:{"type":"server_tool_use","id":"s","name":"web","input":{}}"#;
    assert_eq!(message.content, [text("ab"), step_block(step)]);
    assert_eq!(status, SUCCESS_TEXT);
}

/// A step of the provider, as it is stored.
fn step_block(step: &str) -> AssistantBlock {
    AssistantBlock::Thinking {
        thinking: String::new(),
        signature: Some(step.to_owned()),
        redacted: true,
    }
}

/// The next request continues a paused answer with everything that the provider did. A step without a result is sent only
/// then.
#[test]
fn paused_answer_is_sent_back_with_its_steps() {
    let step = json!({"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}});
    let open = json!({"type": "server_tool_use", "id": "s2", "name": "web_search", "input": {"query": "b"}});
    let result = json!({"type": "web_search_tool_result", "tool_use_id": "s1", "content": [
        {"type": "web_search_result", "url": "https://e.org", "title": "E", "encrypted_content": "x"}]});
    let asked = grow(
        0,
        &json!({"type": "input_json_delta", "partial_json": "{\"query\": \"a\"}"}),
    );
    let close = |index: u64| json!({"type": "content_block_stop", "index": index});
    let blocks = [
        begin(),
        block(0, &step),
        asked,
        close(0),
        block(1, &result),
        close(1),
        block(2, &open),
        close(2),
    ];
    let sent = |reason: &str| {
        let events = [&blocks[..], &[stop(reason), end()]].concat();
        let (message, status) = play_data(&claude(), &events);
        let stopped = message.stop_reason;
        let history = vec![user("look"), Message::Assistant(message)];
        let body = body(&request(claude(), history));
        let content = body["messages"][1]["content"].clone();
        (stopped, status.is_success(), content)
    };
    let mut complete = step.clone();
    complete["input"] = json!({"query": "a"});
    assert_eq!(
        sent("pause_turn"),
        (StopReason::Paused, true, json!([complete, result, open]))
    );
    assert_eq!(
        sent("end_turn"),
        (StopReason::Stop, true, json!([complete, result]))
    );
}

/// A proxy wraps the object of a delta in a list.
#[test]
fn delta_in_a_list_loses_no_text() {
    let texts = block(0, &json!({"type": "text", "text": ""}));
    let wrapped = grow(0, &json!([{"type": "text_delta", "text": "hello"}]));
    let events = [begin(), texts, wrapped, stop("end_turn"), end()];
    let (message, status) = play_data(&claude(), &events);
    assert!(status.is_success(), "{status:?}");
    assert_eq!(message.text(), "hello");
}

/// Another model of the provider answers instead: a warning names both.
#[test]
fn fallback_is_named() {
    let fallback = json!({"type": "fallback", "from": {"model": "big"}, "to": {"model": "small"},
        "trigger": {"type": "refusal"}});
    let events = [
        begin(),
        block(0, &fallback),
        block(1, &json!({"type": "text", "text": "a"})),
        end(),
    ];
    let data = events.map(|event| format!("data: {event}\n\n")).concat();
    let text = "`vendor/model-1` answers with `small`, because `big` declined; the cost is that of the requested model";
    assert_eq!(
        warnings(&data),
        [StreamEvent::Warning {
            text: text.to_owned()
        }]
    );
}

#[test]
fn events_and_blocks_of_unknown_types_are_named_if_they_have_text() {
    let events = [
        json!({"type": "message_start", "message": {"id": "m"}}),
        json!({"type": 7, "index": 0, "delta": {"type": "text_delta", "text": "a"}}),
        json!({"type": "content_block_start", "index": 1, "content_block": {"type": "new"}}),
        json!({"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "b"}}),
        json!({"type": "content_block_start", "index": 2, "content_block": {"type": "text", "text": "c"}}),
        json!({"type": "message_stop"}),
    ];
    let data = events.map(|event| format!("data: {event}\n\n")).concat();
    let events = warnings(&data);
    let named = "the event `7`, the text of a block of an unknown type";
    let named = named.replace(", ", "`, `");
    let text = format!(
        "`vendor/model-1` sent parts of an answer that osier cannot read, and leaves out: `{named}`"
    );
    assert_eq!(events, [StreamEvent::Warning { text }]);
}

/// The warnings of an answer of Anthropic.
fn warnings(data: &str) -> Vec<StreamEvent> {
    let events = events(&claude(), data.as_bytes(), 9).unwrap();
    let is_warning = |event: &StreamEvent| matches!(event, StreamEvent::Warning { .. });
    events.into_iter().filter(is_warning).collect()
}

#[test]
fn answer_is_complete_only_with_its_end_marker() {
    let cut = [begin(), block(0, &json!({"type": "text", "text": "half"}))];
    let (message, status) = play_data(&claude(), &cut);
    assert_eq!(
        status,
        TurnStatus::NetworkError {
            message: "the connection to `vendor` closed before the answer ended".to_owned(),
            retryable: true
        }
    );
    assert_eq!(message.content, [text("half")]);
    let (_, status) = play(&claude(), b"");
    assert!(matches!(status, TurnStatus::InvalidResponse { .. }));
    let (_, status) = play(&claude(), b"data: <html>oops\n\n");
    assert_eq!(
        status.message(),
        "`vendor` sent an invalid response: <html>oops"
    );
    // A stop reason is sufficient.
    let (_, status) = play_data(
        &claude(),
        &[
            begin(),
            block(0, &json!({"type": "text", "text": "x"})),
            stop("end_turn"),
        ],
    );
    assert_eq!(status, SUCCESS_TEXT);
}

/// Missing types and indices of events and blocks are derived from their other fields.
#[test]
fn missing_types_and_indices_are_found() {
    let mut events = vec![
        begin(),
        block(0, &json!({})),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "so"}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "content_block_start", "index": -1,
            "content_block": {"type": "tool_use", "id": "t", "name": "read", "input": {}}}),
        json!({"type": "content_block_delta", "index": 1,
            "delta": {"type": "input_json_delta", "partial_json": "{\"path\":\"a\"}"}}),
        stop("tool_use"),
        end(),
    ];
    let answer = |events: &[Value]| {
        let (message, _) = play_data(&claude(), events);
        let calls: Vec<Value> = message
            .tool_calls()
            .map(|call| call.arguments.clone())
            .collect();
        (message.text(), calls)
    };
    let whole = ("so".to_owned(), vec![json!({"path": "a"})]);
    assert_eq!(answer(&events), whole);
    for index in [0, 2, 4, 5, 6] {
        let old = events[index].clone();
        events[index]["type"] = Value::Null;
        assert_eq!(answer(&events), whole, "{old}");
        events[index] = old;
    }
}

#[test]
fn errors_in_the_stream_and_in_the_stop_reason_fail_the_call() {
    let error =
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let (_, status) = play_data(&claude(), &[begin(), error]);
    assert_eq!(
        status,
        TurnStatus::ModelError {
            message: "`vendor` answered 529: Overloaded".to_owned(),
            retryable: true
        }
    );
    let (_, status) = play_data(&claude(), &[begin(), stop("refusal"), end()]);
    assert!(matches!(
        status,
        TurnStatus::ModelError {
            retryable: false,
            ..
        }
    ));
    let (_, status) = play_data(
        &claude(),
        &[begin(), stop("model_context_window_exceeded"), end()],
    );
    assert!(matches!(status, TurnStatus::ContextOverflow { .. }));
    let details = json!({"type": "refusal", "category": "bio", "explanation": "No toxins.", "recommended_model": "small-2"});
    let refusal = json!({"type": "message_delta", "delta": {"stop_reason": "refusal", "stop_details": details}});
    let (_, status) = play_data(&claude(), &[begin(), refusal, end()]);
    assert_eq!(
        status.message(),
        "`vendor` ended the answer: its safety filter refused: No toxins. (category: bio) (recommended model: small-2)"
    );
    // llama.cpp returns errors in OpenAI's form on this path too.
    let error =
        json!({"error": {"code": 500, "message": "does not match the expected peg-native format"}});
    let (_, status) = play_data(&claude(), &[error]);
    assert!(matches!(
        status,
        TurnStatus::ModelError {
            retryable: true,
            ..
        }
    ));
}

#[test]
fn complete_conversation_is_encoded() {
    let model = claude();
    let image = ContentBlock::Image {
        data: "AAAA".to_owned(),
        mime_type: "image/png".to_owned(),
    };
    let messages = vec![
        user("look"),
        answer(
            &model,
            vec![
                thinking("hm", Some("sig")),
                thinking("unsigned", None),
                text("ok"),
                call("a", json!({"path": "x"})),
                call("b", json!({})),
            ],
        ),
        result("b", vec![ContentBlock::text("two"), image]),
        user("hurry"),
        result("a", vec![]),
    ];
    let mut request = request(model, messages);
    request.options.thinking = ThinkingLevel::Medium;
    request.options.tool_choice = ToolChoice::Required;
    request.options.temperature = Some(0.5);
    let mark = json!({"type": "ephemeral"});
    assert_eq!(
        body(&request),
        json!({
            "model": "model-1",
            "max_tokens": 8192,
            "stream": true,
            "thinking": {"type": "enabled", "budget_tokens": 7168},
            "tools": [{
                "name": "read",
                "description": "Reads a file",
                "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}},
            }],
            "system": [{"type": "text", "text": "Be brief."}],
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "look", "cache_control": mark}]},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "sig"},
                    {"type": "text", "text": "ok"},
                    {"type": "tool_use", "id": "a", "name": "read", "input": {"path": "x"}},
                    {"type": "tool_use", "id": "b", "name": "read", "input": {}},
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "a", "content": "(no output)"},
                    {"type": "tool_result", "tool_use_id": "b", "content": [
                        {"type": "text", "text": "two"},
                        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
                    ]},
                    {"type": "text", "text": "hurry", "cache_control": mark},
                ]},
            ],
        })
    );
    let headers = (crate::wire::find(Api::AnthropicMessages)
        .unwrap()
        .own_headers)(&request);
    assert_eq!(
        headers,
        [
            ("anthropic-version", "2023-06-01".to_owned()),
            (
                "anthropic-beta",
                "interleaved-thinking-2025-05-14".to_owned()
            ),
        ]
    );
}

#[test]
fn thinking_is_requested_in_the_form_of_the_model() {
    let asked = |level, adaptive, levels: &[ThinkingLevel], temperature| {
        let mut model = claude();
        model.compat.adaptive_thinking = adaptive;
        model.compat.anthropic_version = adaptive.then(|| "2026-10-21".to_owned());
        model.thinking_levels = levels.to_vec();
        let mut request = request(model, vec![user("hi")]);
        request.options.thinking = level;
        request.options.temperature = temperature;
        let body = body(&request);
        ["thinking", "output_config", "temperature"].map(|key| body[key].clone())
    };
    let all = ThinkingLevel::ALL;
    let null = Value::Null;
    assert_eq!(
        asked(ThinkingLevel::Max, true, &all, Some(0.5)),
        [
            json!({"type": "adaptive", "display": "summarized"}),
            json!({"effort": "max"}),
            null.clone()
        ]
    );
    assert_eq!(
        asked(ThinkingLevel::Off, true, &all, Some(0.5)),
        [json!({"type": "disabled"}), null.clone(), null.clone()]
    );
    assert_eq!(
        asked(ThinkingLevel::Off, false, &all, Some(0.2)),
        [null.clone(), null.clone(), json!(0.2)]
    );
    assert_eq!(
        asked(ThinkingLevel::Low, false, &all, None),
        [
            json!({"type": "enabled", "budget_tokens": 4096}),
            null.clone(),
            null.clone()
        ]
    );
    assert_eq!(
        asked(ThinkingLevel::Off, false, &[ThinkingLevel::Off], None),
        [null.clone(), null.clone(), null]
    );
}

#[test]
fn request_extends_the_previous_request() {
    let model = claude();
    let mut messages = vec![user("one")];
    let bytes = |messages: &[crate::message::Message]| {
        let body = body(&request(model.clone(), messages.to_vec())).to_string();
        body.replace(",\"cache_control\":{\"type\":\"ephemeral\"}", "")
    };
    let mut before = bytes(&messages);
    for turn in 0..4 {
        let id = format!("call:{turn}");
        messages.push(answer(&model, vec![call(&id, json!({"path": turn}))]));
        messages.push(result(&id, vec![ContentBlock::text("done")]));
        let after = bytes(&messages);
        let prefix = before.strip_suffix("]}").unwrap();
        assert!(after.starts_with(prefix), "{prefix}\n{after}");
        before = after;
    }
}
