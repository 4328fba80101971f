use serde_json::{Value, json};

use crate::message::{AssistantBlock, ContentBlock, StopReason, ToolCall};
use crate::model::{Api, Model, ThinkingLevel};
use crate::provider::ToolChoice;
use crate::status::TurnStatus;
use crate::usage::Usage;
use crate::wire::testing::{
    answer, body, call, model, play, play_data, request, result, text, thinking, user,
};

const SUCCESS_TOOLS: TurnStatus = TurnStatus::Success {
    has_tool_calls: true,
    final_answer: false,
};
const SUCCESS_TEXT: TurnStatus = TurnStatus::Success {
    has_tool_calls: false,
    final_answer: true,
};

fn qwen() -> Model {
    model(Api::Ollama)
}

fn said(content: &str) -> Value {
    json!({"model": "m", "message": {"role": "assistant", "content": content}, "done": false})
}

fn done(reason: &str) -> Value {
    json!({"message": {"role": "assistant", "content": ""}, "done": true, "done_reason": reason})
}

#[test]
fn thinking_calls_and_usage_are_decoded() {
    let stream = include_bytes!("../../../../../tests/fixtures/llm/ollama-thinking-tools.ndjson");
    let (mut message, status) = play(&qwen(), stream);
    assert_eq!(status, SUCCESS_TOOLS);
    let usage = Usage {
        input: 226,
        output: 82,
        ..Usage::default()
    };
    assert_eq!(message.usage, usage.priced(&qwen().price));
    assert_eq!(message.stop_reason, StopReason::ToolUse);
    // The first call has no id.
    let AssistantBlock::ToolCall(first) = &mut message.content[2] else {
        panic!("{message:?}");
    };
    assert!(first.id.starts_with("call_"));
    "call_x0".clone_into(&mut first.id);
    let expected = [
        thinking("Two files 漢.", None),
        text("Reading both. 😀"),
        call("call_x0", json!({"path": "a"})),
        call("call_x1", json!({"path": "b"})),
    ];
    assert_eq!(message.content, expected);
}

#[test]
fn text_and_missing_arguments_are_decoded() {
    let calls = json!([
        {"id": "a", "function": {"name": "read", "arguments": "{\"path\":\"x\"}"}},
        {"id": "b", "function": {"name": "read"}},
        {"id": "c", "function": {"name": "read", "arguments": "{\"path\""}},
    ]);
    let line = json!({"message": {"content": "", "tool_calls": calls}, "done": false});
    let (message, _) = play_data(&qwen(), &[line, done("stop")]);
    let half = AssistantBlock::ToolCall(ToolCall {
        id: "c".to_owned(),
        name: "read".to_owned(),
        arguments_error: Some("{\"path\"".to_owned()),
        ..ToolCall::default()
    });
    assert_eq!(
        message.content,
        [call("a", json!({"path": "x"})), call("b", json!({})), half]
    );
}

#[test]
fn answer_is_complete_only_with_its_end_marker() {
    let (message, status) = play_data(&qwen(), &[said("half")]);
    assert_eq!(
        status,
        TurnStatus::NetworkError {
            message: "the connection to `vendor` closed before the answer ended".to_owned(),
            retryable: true
        }
    );
    assert_eq!(message.content, [text("half")]);
    let (message, status) = play_data(&qwen(), &[said("so"), done("length")]);
    assert_eq!(
        (message.stop_reason, status),
        (StopReason::Length, SUCCESS_TEXT)
    );
    let (message, status) = play_data(&qwen(), &[said("so"), json!({"done": true})]);
    assert_eq!(
        (message.stop_reason, status),
        (StopReason::Stop, SUCCESS_TEXT)
    );
    let (_, status) = play(&qwen(), b"<html>\n");
    assert_eq!(status.message(), "`vendor` sent an empty stream");
}

#[test]
fn errors_in_the_stream_fail_the_call() {
    for (told, retryable) in [
        (
            "an error was encountered while running the model: unexpected EOF",
            true,
        ),
        ("llama runner process has terminated: exit status 2", true),
        (
            "model requires more system memory (20.1 GiB) than is available (7.5 GiB)",
            false,
        ),
    ] {
        assert_eq!(
            play_data(&qwen(), &[said("so"), json!({ "error": told })]).1,
            TurnStatus::ModelError {
                message: format!("`vendor` failed: {told}"),
                retryable
            }
        );
    }
    for told in [
        r#"{"error":{"code":400,"message":"request (8889 tokens) exceeds the available context size (4096 tokens), try increasing it","type":"exceed_context_size_error"}}"#,
        "the prompt is longer than the context length currently available to the model",
    ] {
        let (_, status) = play_data(&qwen(), &[json!({ "error": told })]);
        assert!(
            matches!(status, TurnStatus::ContextOverflow { .. }),
            "{status:?}"
        );
    }
}

#[test]
fn complete_conversation_is_encoded() {
    let model = qwen();
    let image = ContentBlock::Image {
        data: "AAAA".to_owned(),
        mime_type: "image/png".to_owned(),
    };
    let messages = vec![
        user("look"),
        answer(
            &model,
            vec![
                thinking("hm", None),
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
    request.options.temperature = Some(0.5);
    assert_eq!(
        body(&request),
        json!({
            "model": "model-1",
            "stream": true,
            "truncate": false,
            "shift": false,
            "think": "medium",
            "options": {"num_ctx": 200_000, "num_predict": 8192, "temperature": 0.5},
            "tools": [{"type": "function", "function": {
                "name": "read",
                "description": "Reads a file",
                "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
            }}],
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "look"},
                {"role": "assistant", "content": "ok", "thinking": "hm", "tool_calls": [
                    {"id": "a", "function": {"name": "read", "arguments": {"path": "x"}}},
                    {"id": "b", "function": {"name": "read", "arguments": {}}},
                ]},
                {"role": "tool", "tool_name": "read", "tool_call_id": "a", "content": "(no output)"},
                {"role": "tool", "tool_name": "read", "tool_call_id": "b", "content": "two"},
                {"role": "user", "content": "Images of the tool results:", "images": ["AAAA"]},
                {"role": "user", "content": "hurry"},
            ],
        })
    );
}

#[test]
fn thinking_is_requested_in_the_form_of_the_model() {
    let asked = |level, levels: &[ThinkingLevel]| {
        let mut model = qwen();
        model.thinking_levels = levels.to_vec();
        let mut request = request(model, vec![user("hi")]);
        request.options.thinking = level;
        body(&request)["think"].clone()
    };
    let two = [ThinkingLevel::Off, ThinkingLevel::High];
    let all = ThinkingLevel::ALL;
    assert_eq!(asked(ThinkingLevel::High, &two), json!(true));
    assert_eq!(asked(ThinkingLevel::Off, &two), json!(false));
    assert_eq!(asked(ThinkingLevel::Low, &all), json!("low"));
    assert_eq!(asked(ThinkingLevel::Off, &all[..1]), Value::Null);
}

#[test]
fn request_extends_the_previous_request() {
    let model = qwen();
    let mut messages = vec![user("one")];
    let bytes = |messages: &[_]| body(&request(model.clone(), messages.to_vec())).to_string();
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

#[test]
fn no_tools_are_offered_where_none_may_be_called() {
    let mut request = request(qwen(), vec![user("look")]);
    assert!(body(&request)["tools"].is_array());
    request.options.tool_choice = ToolChoice::None;
    assert_eq!(body(&request)["tools"], Value::Null);
}
