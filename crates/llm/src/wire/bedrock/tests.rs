use serde_json::{Value, json};

use crate::aws_events::frame;
use crate::message::{AssistantBlock, ContentBlock, StopReason};
use crate::model::{Api, Model, ThinkingLevel};
use crate::provider::ToolChoice;
use crate::status::TurnStatus;
use crate::usage::Usage;
use crate::wire::testing::{
    answer, body, call, model, play, request, result, text, thinking, user,
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
    model(Api::BedrockConverse)
}

fn event(name: &str, data: &Value) -> Vec<u8> {
    let headers = [
        (":event-type", name),
        (":content-type", "application/json"),
        (":message-type", "event"),
    ];
    frame(&headers, &data.to_string())
}

fn piece(place: u64, delta: &Value) -> Vec<u8> {
    let data = json!({"contentBlockIndex": place, "delta": delta, "p": "abcd"});
    event("contentBlockDelta", &data)
}

fn stop(reason: &str) -> Vec<u8> {
    event("messageStop", &json!({"stopReason": reason, "p": "ab"}))
}

fn exception(name: &str, message: &str) -> Vec<u8> {
    let headers = [(":exception-type", name), (":message-type", "exception")];
    frame(&headers, &json!({ "message": message }).to_string())
}

/// An answer with thinking, hidden thinking, text and two calls.
pub(in crate::wire) fn recorded() -> Vec<u8> {
    let tool = |place: u64, id: &str| {
        let start = json!({"toolUse": {"toolUseId": id, "name": "read"}});
        event(
            "contentBlockStart",
            &json!({"contentBlockIndex": place, "start": start}),
        )
    };
    let end = |place: u64| event("contentBlockStop", &json!({"contentBlockIndex": place}));
    let input = |place, text: &str| piece(place, &json!({"toolUse": {"input": text}}));
    [
        event("messageStart", &json!({"role": "assistant"})),
        piece(0, &json!({"reasoningContent": {"text": "Two "}})),
        piece(0, &json!({"reasoningContent": {"text": "files 漢."}})),
        piece(0, &json!({"reasoningContent": {"signature": "br-sig-1="}})),
        end(0),
        piece(1, &json!({"reasoningContent": {"redactedContent": "br-hidden="}})),
        end(1),
        piece(2, &json!({"text": "Reading "})),
        piece(2, &json!({"text": "both. 😀"})),
        end(2),
        tool(3, "tooluse_a"),
        input(3, "{\"path\":"),
        input(3, "\"a\"}"),
        end(3),
        tool(4, "tooluse_b"),
        input(4, "{\"path\":\"b\"}"),
        end(4),
        stop("tool_use"),
        event("metadata", &json!({"usage": {"inputTokens": 40, "outputTokens": 60, "totalTokens": 1124,
            "cacheReadInputTokens": 1024, "cacheWriteInputTokens": 0}, "metrics": {"latencyMs": 1200}})),
    ]
    .concat()
}

#[test]
fn thinking_calls_and_usage_are_decoded() {
    let (message, status) = play(&claude(), &recorded());
    assert_eq!(status, SUCCESS_TOOLS);
    let usage = Usage {
        input: 40,
        output: 60,
        cache_read: 1024,
        ..Usage::default()
    };
    assert_eq!(message.usage, usage.priced(&claude().price));
    assert_eq!(message.stop_reason, StopReason::ToolUse);
    let hidden = AssistantBlock::Thinking {
        thinking: String::new(),
        signature: Some("br-hidden=".to_owned()),
        redacted: true,
    };
    assert_eq!(
        message.content,
        [
            thinking("Two files 漢.", Some("br-sig-1=")),
            hidden,
            text("Reading both. 😀"),
            call("tooluse_a", json!({"path": "a"})),
            call("tooluse_b", json!({"path": "b"})),
        ]
    );
}

#[test]
fn answer_is_complete_only_with_its_end_marker() {
    let said = piece(0, &json!({"text": "half"}));
    let (message, status) = play(&claude(), &said);
    assert_eq!(
        status,
        TurnStatus::NetworkError {
            message: "the connection to `vendor` closed before the answer ended".to_owned(),
            retryable: true
        }
    );
    assert_eq!(message.content, [text("half")]);
    let ended = |reason: &str| {
        let (message, status) = play(&claude(), &[said.clone(), stop(reason)].concat());
        (message.stop_reason, status)
    };
    assert_eq!(ended("end_turn"), (StopReason::Stop, SUCCESS_TEXT));
    assert_eq!(ended("max_tokens"), (StopReason::Length, SUCCESS_TEXT));
    assert_eq!(
        ended("content_filtered"),
        (StopReason::Refusal, SUCCESS_TEXT)
    );
    assert!(matches!(
        ended("model_context_window_exceeded").1,
        TurnStatus::ContextOverflow { .. }
    ));
    assert!(matches!(
        ended("malformed_tool_use").1,
        TurnStatus::ModelError {
            retryable: true,
            ..
        }
    ));
}

#[test]
fn exceptions_in_the_stream_fail_the_call() {
    let status = |name, message| play(&claude(), &exception(name, message)).1;
    assert_eq!(
        status(
            "throttlingException",
            "Too many tokens, please wait before trying again."
        ),
        TurnStatus::RateLimit {
            message: "`vendor` answered 429: Too many tokens, please wait before trying again."
                .to_owned(),
            retry_after_ms: None
        }
    );
    assert!(matches!(
        status(
            "internalServerException",
            "The system encountered an unexpected error"
        ),
        TurnStatus::ModelError {
            retryable: true,
            ..
        }
    ));
    assert!(matches!(
        status(
            "validationException",
            "Input is too long for requested model."
        ),
        TurnStatus::ContextOverflow { .. }
    ));
    assert!(matches!(
        status(
            "accessDeniedException",
            "You don't have access to the model"
        ),
        TurnStatus::AuthError { .. }
    ));
}

#[test]
fn complete_conversation_is_encoded() {
    let mut model = claude();
    model.compat.cache_control = true;
    model.compat.adaptive_thinking = true;
    let image = ContentBlock::Image {
        data: "AAAA".to_owned(),
        mime_type: "image/png".to_owned(),
    };
    let hidden = AssistantBlock::Thinking {
        thinking: String::new(),
        signature: Some("h=".to_owned()),
        redacted: true,
    };
    let messages = vec![
        user("look"),
        answer(
            &model,
            vec![
                thinking("hm", Some("sig")),
                hidden,
                thinking("unsigned", None),
                text("ok"),
                call("a", json!({"path": "x"})),
                call("b", json!({})),
                thinking("cut off", Some("sig")),
            ],
        ),
        result("b", vec![ContentBlock::text("two"), image]),
        user("hurry"),
    ];
    let mut request = request(model, messages);
    request.options.thinking = ThinkingLevel::Medium;
    request.options.tool_choice = ToolChoice::Required;
    let mark = json!({"cachePoint": {"type": "default"}});
    assert_eq!(
        body(&request),
        json!({
            "inferenceConfig": {"maxTokens": 8192},
            "additionalModelRequestFields": {
                "thinking": {"type": "adaptive", "display": "summarized"},
                "output_config": {"effort": "medium"},
            },
            "toolConfig": {"tools": [
                {"toolSpec": {
                    "name": "read",
                    "description": "Reads a file",
                    "inputSchema": {"json": {"type": "object", "properties": {"path": {"type": "string"}}}},
                }},
                mark,
            ]},
            "system": [{"text": "Be brief."}, mark],
            "messages": [
                {"role": "user", "content": [{"text": "look"}, mark]},
                {"role": "assistant", "content": [
                    {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "sig"}}},
                    {"reasoningContent": {"redactedContent": "h="}},
                    {"text": "ok"},
                    {"toolUse": {"toolUseId": "a", "name": "read", "input": {"path": "x"}}},
                    {"toolUse": {"toolUseId": "b", "name": "read", "input": {}}},
                ]},
                {"role": "user", "content": [
                    {"toolResult": {"toolUseId": "a", "status": "error", "content": [
                        {"text": "no result: the call was interrupted before it gave one"}]}},
                    {"toolResult": {"toolUseId": "b", "content": [
                        {"text": "two"},
                        {"image": {"format": "png", "source": {"bytes": "AAAA"}}},
                    ]}},
                    {"text": "hurry"},
                    mark,
                ]},
            ],
        })
    );
}

#[test]
fn no_tools_are_offered_where_none_may_be_called() {
    let tools = |messages| {
        let mut request = request(claude(), messages);
        request.options.tool_choice = ToolChoice::None;
        body(&request)["toolConfig"]["tools"].clone()
    };
    assert_eq!(tools(vec![user("look")]), Value::Null);
    let called = vec![
        user("look"),
        answer(&claude(), vec![call("a", json!({}))]),
        result("a", vec![ContentBlock::text("one")]),
    ];
    // A conversation with calls needs definitions.
    let left = tools(called);
    assert_eq!(left.as_array().map(Vec::len), Some(1));
    assert_eq!(
        left[0]["toolSpec"]["description"],
        "This tool is not available now."
    );
}

#[test]
fn cache_points_on_tools_are_optional() {
    let mut model = claude();
    model.compat.cache_control = true;
    model.compat.unmarked_tools = true;
    let messages = vec![
        user("look"),
        answer(&model, vec![call("a", json!({}))]),
        result("a", vec![ContentBlock::text("one")]),
    ];
    let body = body(&request(model, messages));
    let mark = json!({"cachePoint": {"type": "default"}});
    assert_eq!(body["system"], json!([{"text": "Be brief."}, mark]));
    assert_eq!(
        body["toolConfig"]["tools"].as_array().map(Vec::len),
        Some(1)
    );
    assert_eq!(
        body["messages"][0]["content"],
        json!([{"text": "look"}, mark])
    );
    let results = body["messages"][2]["content"].as_array();
    assert_eq!(results.map(Vec::len), Some(1));
}

#[test]
fn thinking_is_requested_in_the_form_of_the_model() {
    let asked = |level, budget, choice| {
        let mut model = claude();
        model.compat.thinking_budget = budget;
        let mut request = request(model, vec![user("hi")]);
        request.options.thinking = level;
        request.options.temperature = Some(0.5);
        request.options.tool_choice = choice;
        let body = body(&request);
        [
            body["additionalModelRequestFields"].clone(),
            body["inferenceConfig"]["temperature"].clone(),
            body["toolConfig"]["toolChoice"].clone(),
        ]
    };
    assert_eq!(
        asked(ThinkingLevel::Low, true, ToolChoice::Required),
        [
            json!({"thinking": {"type": "enabled", "budget_tokens": 4096}}),
            Value::Null,
            Value::Null
        ]
    );
    let plain = [Value::Null, json!(0.5), json!({"any": {}})];
    assert_eq!(asked(ThinkingLevel::Off, true, ToolChoice::Required), plain);
    assert_eq!(
        asked(ThinkingLevel::High, false, ToolChoice::Required),
        plain
    );
}
