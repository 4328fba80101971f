use serde_json::{Value, json};

use crate::message::{
    AssistantBlock, AssistantMessage, ContentBlock, Message, StopReason, ToolCall, ToolResult,
};
use crate::model::{Api, Model, ThinkingLevel};
use crate::provider::{Freeform, ToolChoice, ToolSpec};
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
const REASONING: &str = r#"{"type":"reasoning","id":"rs_01","summary":[{"type":"summary_text","text":"**Looking**\n\nTwo files."},{"type":"summary_text","text":"**Reading** 漢"}],"encrypted_content":"gAAAAABo-1=="}"#;

fn gpt() -> Model {
    model(Api::OpenaiResponses)
}

fn phased(text: &str, phase: &str) -> AssistantBlock {
    AssistantBlock::Text {
        text: text.to_owned(),
        signature: Some(json!({ "phase": phase }).to_string()),
    }
}

fn added(place: u64, item: &Value) -> Value {
    json!({"type": "response.output_item.added", "output_index": place, "item": item})
}

fn settled(place: u64, item: &Value) -> Value {
    json!({"type": "response.output_item.done", "output_index": place, "item": item})
}

fn said(place: u64, delta: &str) -> Value {
    json!({"type": "response.output_text.delta", "output_index": place, "item_id": "m", "delta": delta})
}

fn completed(output: &Value) -> Value {
    json!({"type": "response.completed", "response": {"id": "r", "status": "completed", "output": output}})
}

#[test]
fn reasoning_phases_calls_and_usage_are_decoded() {
    let stream =
        include_bytes!("../../../../../tests/fixtures/llm/openai-responses-reasoning-tools.sse");
    let (message, status) = play(&gpt(), stream);
    assert_eq!(status, SUCCESS_TOOLS);
    let usage = Usage {
        input: 176,
        output: 96,
        cache_read: 1024,
        cache_write: 0,
        reasoning: 64,
        ..Usage::default()
    };
    let expected = AssistantMessage {
        content: vec![
            thinking(
                "**Looking**\n\nTwo files.\n\n**Reading** 漢",
                Some(REASONING),
            ),
            phased("Let me read both. 😀", "commentary"),
            call("call_A", json!({"path": "a"})),
            call("call_B", json!({"path": "b"})),
        ],
        provider: "vendor".to_owned(),
        model: "model-1".to_owned(),
        api: "openai-responses".to_owned(),
        usage: usage.priced(&gpt().price),
        stop_reason: StopReason::ToolUse,
        response_id: Some("resp_68b1".to_owned()),
        ..AssistantMessage::default()
    };
    assert_eq!(message, expected);
}

#[test]
fn streams_without_indices_are_decoded() {
    let stream = include_bytes!("../../../../../tests/fixtures/llm/llamacpp-responses-text.sse");
    let (message, status) = play(&gpt(), stream);
    assert_eq!(status, SUCCESS_TEXT);
    assert_eq!(
        message.content,
        [text("What a wonderful day to meet you! I'm here to")]
    );
    let stream = include_bytes!("../../../../../tests/fixtures/llm/llamacpp-responses-tool.sse");
    let (message, status) = play(&gpt(), stream);
    assert_eq!(status, SUCCESS_TOOLS);
    let expected = [
        text("The function should return a JSON object with the following structure:\n\n```json\n"),
        AssistantBlock::ToolCall(ToolCall {
            id: "call_vNEiLPPN2muVQhHuah9hcyNaKHvoVQuX".to_owned(),
            name: "read_file".to_owned(),
            arguments: json!({"path": "src/main.rs"}),
            ..ToolCall::default()
        }),
    ];
    assert_eq!(message.content, expected);
    let usage = (
        message.usage.input,
        message.usage.cache_read,
        message.usage.output,
    );
    assert_eq!(usage, (1, 264, 63));
}

#[test]
fn encrypted_reasoning_of_the_last_event_is_used() {
    let reasoning = json!({"type": "reasoning", "id": "rs", "summary": []});
    let sealed =
        json!({"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "gA=="});
    let tool = json!({"type": "function_call", "id": "fc", "call_id": "c", "name": "read", "arguments": "{}"});
    let (message, status) = play_data(
        &gpt(),
        &[
            added(0, &reasoning),
            settled(0, &reasoning),
            added(1, &tool),
            settled(1, &tool),
            completed(&json!([sealed, tool])),
        ],
    );
    assert_eq!(status, SUCCESS_TOOLS);
    let kept = r#"{"type":"reasoning","id":"rs","summary":[],"encrypted_content":"gA=="}"#;
    assert_eq!(
        message.content,
        [thinking("", Some(kept)), call("c", json!({}))]
    );
}

#[test]
fn answer_in_the_last_event_is_decoded() {
    let output = json!([
        {"type": "reasoning", "id": "rs", "summary": [], "content": [{"type": "reasoning_text", "text": "hm"}]},
        {"type": "web_search_call", "id": "ws", "content": 7},
        {"type": "message", "id": "m", "role": "assistant", "phase": "final_answer", "content": [
            {"type": "output_text", "text": "a", "annotations": []},
            {"type": "output_text", "text": "b", "annotations": []},
        ]},
    ]);
    let (message, status) = play_data(&gpt(), &[completed(&output)]);
    assert_eq!(status, SUCCESS_TEXT);
    let kept = r#"{"type":"reasoning","id":"rs","summary":[],"content":[{"type":"reasoning_text","text":"hm"}]}"#;
    assert_eq!(
        message.content,
        [thinking("hm", Some(kept)), phased("ab", "final_answer")]
    );
}

#[test]
fn changing_item_ids_are_ignored() {
    let tool = |id: &str, arguments: &str| json!({"type": "function_call", "id": id, "call_id": "c", "name": "read", "arguments": arguments});
    let piece = |id: &str, delta: &str| json!({"type": "response.function_call_arguments.delta", "output_index": 0, "item_id": id, "delta": delta});
    let (message, _) = play_data(
        &gpt(),
        &[
            added(0, &tool("x1", "")),
            piece("x2", "{\"path\":"),
            piece("x3", "\"a\"}"),
            settled(0, &tool("x4", "{\"path\":\"a\"}")),
            completed(&json!([tool("x5", "{\"path\":\"a\"}")])),
        ],
    );
    assert_eq!(message.content, [call("c", json!({"path": "a"}))]);
}

#[test]
fn freeform_call_has_its_text_as_an_argument() {
    let tool = json!({"type": "custom_tool_call", "id": "ct", "call_id": "c", "name": "read", "input": ""});
    let piece = json!({"type": "response.custom_tool_call_input.delta", "output_index": 0, "item_id": "ct", "delta": "*** \"Begin"});
    let whole = json!({"type": "response.custom_tool_call_input.done", "output_index": 0, "item_id": "ct", "input": "*** \"Begin\n Patch"});
    let (message, status) = play_data(
        &gpt(),
        &[added(0, &tool), piece, whole, completed(&json!([]))],
    );
    assert_eq!(status, SUCCESS_TOOLS);
    let expected = ToolCall {
        id: "c".to_owned(),
        name: "read".to_owned(),
        arguments: json!({"input": "*** \"Begin\n Patch"}),
        ..ToolCall::default()
    };
    assert_eq!(message.content, [AssistantBlock::ToolCall(expected)]);
}

#[test]
fn freeform_tool_is_sent_where_the_server_has_them() {
    let mut model = gpt();
    let freeform = Freeform {
        argument: "input".to_owned(),
        grammar: "start: /.+/".to_owned(),
    };
    let spec = ToolSpec {
        name: "apply_patch".to_owned(),
        description: "Change files.".to_owned(),
        parameters: json!({"type": "object"}),
        freeform: Some(freeform),
    };
    let made = ToolCall {
        id: "c".to_owned(),
        name: "apply_patch".to_owned(),
        arguments: json!({"input": "*** x"}),
        ..ToolCall::default()
    };
    let answer = AssistantMessage {
        content: vec![AssistantBlock::ToolCall(made)],
        ..AssistantMessage::default()
    };
    let result = ToolResult {
        tool_call_id: "c".to_owned(),
        tool_name: "apply_patch".to_owned(),
        content: vec![ContentBlock::text("done")],
        ..ToolResult::default()
    };
    let body = |model: &Model| {
        let mut request = request(model.clone(), Vec::new());
        request.context.tools = vec![spec.clone()];
        request.context.messages = vec![
            user("change it"),
            Message::Assistant(answer.clone()),
            Message::ToolResult(result.clone()),
        ];
        let body = super::request::body(&request);
        let items: Vec<Value> = body["input"]
            .as_array()
            .into_iter()
            .flatten()
            .skip(1)
            .cloned()
            .collect();
        (body["tools"][0].clone(), items)
    };
    let (tool, items) = body(&model);
    assert_eq!(tool["type"], "function");
    assert_eq!(
        (&items[0]["type"], &items[1]["type"]),
        (&json!("function_call"), &json!("function_call_output"))
    );
    model.compat.freeform_tools = true;
    let (tool, items) = body(&model);
    assert_eq!(
        tool,
        json!({"type": "custom", "name": "apply_patch", "description": "Change files.",
            "format": {"type": "grammar", "syntax": "lark", "definition": "start: /.+/"}})
    );
    assert_eq!(
        items,
        [
            json!({"type": "custom_tool_call", "call_id": "c", "name": "apply_patch", "input": "*** x"}),
            json!({"type": "custom_tool_call_output", "call_id": "c", "output": "done"}),
        ]
    );
}

#[test]
fn unknown_events_items_and_deltas_are_skipped() {
    let (message, status) = play_data(
        &gpt(),
        &[
            json!({"type": "response.created", "response": {"id": "r", "output": null, "usage": null}}),
            json!({"type": "response.news", "delta": {"not": "text"}}),
            added(
                0,
                &json!({"type": "web_search_call", "id": "ws", "content": "odd"}),
            ),
            json!({"type": "response.web_search_call.searching", "output_index": 0, "item_id": "ws"}),
            json!({"type": "response.function_call_arguments.delta", "output_index": 9, "delta": "{}"}),
            said(1, "yes"),
            json!({"type": "response.output_text.annotation.added", "output_index": 1, "annotation": {}}),
            completed(&json!([])),
        ],
    );
    assert_eq!((message.content, status), (vec![text("yes")], SUCCESS_TEXT));
}

#[test]
fn answer_is_complete_only_with_its_end_marker() {
    let (message, status) = play_data(
        &gpt(),
        &[
            said(0, "half"),
            settled(0, &json!({"type": "message", "id": "m"})),
        ],
    );
    assert_eq!(
        status,
        TurnStatus::NetworkError {
            message: "the connection to `vendor` closed before the answer ended".to_owned(),
            retryable: true
        }
    );
    assert_eq!(message.content, [text("half")]);
    let (_, status) = play(&gpt(), b"data: [DONE]\n\n");
    assert_eq!(status.message(), "`vendor` sent an empty stream");
    let (_, status) = play(&gpt(), b"data: <html>oops\n\n");
    assert_eq!(
        status.message(),
        "`vendor` sent an invalid response: <html>oops"
    );
}

#[test]
fn incomplete_answer_has_a_stop_reason() {
    let cut = |reason: &str| {
        json!({"type": "response.incomplete", "response": {"status": "incomplete",
            "incomplete_details": {"reason": reason}, "usage": {"input_tokens": 5, "output_tokens": 7}}})
    };
    let tool = json!({"type": "function_call", "id": "fc", "call_id": "c", "name": "read", "arguments": ""});
    let piece = json!({"type": "response.function_call_arguments.delta", "output_index": 1, "item_id": "fc", "delta": "{\"path"});
    let (message, status) = play_data(
        &gpt(),
        &[
            said(0, "so"),
            added(1, &tool),
            piece,
            cut("max_output_tokens"),
        ],
    );
    assert_eq!(
        (message.stop_reason, status),
        (StopReason::Length, SUCCESS_TOOLS)
    );
    let half = ToolCall {
        id: "c".to_owned(),
        name: "read".to_owned(),
        arguments_error: Some("{\"path".to_owned()),
        ..ToolCall::default()
    };
    assert_eq!(
        message.content,
        [text("so"), AssistantBlock::ToolCall(half)]
    );
    let (message, _) = play_data(&gpt(), &[said(0, "so"), cut("content_filter")]);
    assert_eq!(message.stop_reason, StopReason::Refusal);
    let (_, status) = play_data(&gpt(), &[cut("content_filter")]);
    assert_eq!(
        status.message(),
        "`vendor` ended the answer: its safety filter refused"
    );
}

#[test]
fn refusal_is_text_with_its_stop_reason() {
    let refusal = json!({"type": "response.refusal.delta", "output_index": 0, "item_id": "m", "delta": "I cannot."});
    let whole = json!({"type": "message", "id": "m", "role": "assistant", "content": [{"type": "refusal", "refusal": "I cannot."}]});
    let streamed = [refusal, settled(0, &whole), completed(&json!([whole]))];
    for events in [&streamed[..], &streamed[2..]] {
        let (message, status) = play_data(&gpt(), events);
        assert_eq!(message.content, [text("I cannot.")]);
        assert_eq!(
            (message.stop_reason, status),
            (StopReason::Refusal, SUCCESS_TEXT)
        );
    }
}

#[test]
fn errors_in_the_stream_fail_the_call() {
    let failed = |code: &str, message: &str| {
        json!({"type": "response.failed", "response": {"id": "r", "status": "failed",
            "error": {"code": code, "message": message}}})
    };
    let status = |event: Value| play_data(&gpt(), &[said(0, "so"), event]).1;
    assert_eq!(
        status(failed(
            "context_length_exceeded",
            "Your input exceeds the context window of this model."
        )),
        TurnStatus::ContextOverflow {
            message: "`vendor` failed: Your input exceeds the context window of this model."
                .to_owned()
        }
    );
    assert!(matches!(
        status(failed(
            "server_error",
            "An error occurred while processing your request."
        )),
        TurnStatus::ModelError {
            retryable: true,
            ..
        }
    ));
    assert!(matches!(
        status(failed(
            "rate_limit_exceeded",
            "Rate limit reached for gpt-6.1-sol"
        )),
        TurnStatus::RateLimit { .. }
    ));
    assert!(matches!(
        status(
            json!({"type": "error", "code": "insufficient_quota", "message": "You exceeded your current quota", "param": null})
        ),
        TurnStatus::QuotaExceeded { .. }
    ));
    assert!(matches!(
        status(json!({"error": {"code": 500, "message": "the server broke"}})),
        TurnStatus::ModelError {
            retryable: true,
            ..
        }
    ));
    assert!(matches!(
        status(json!({"type": "response.failed", "response": {"error": null}})),
        TurnStatus::InvalidResponse { .. }
    ));
}

#[test]
fn complete_conversation_is_encoded() {
    let model = gpt();
    let image = ContentBlock::Image {
        data: "AAAA".to_owned(),
        mime_type: "image/png".to_owned(),
    };
    let sealed = r#"{"type":"reasoning","id":"rs","summary":[],"encrypted_content":"gA=="}"#;
    let messages = vec![
        user("look"),
        answer(
            &model,
            vec![
                thinking("hm", Some(sealed)),
                phased("ok", "commentary"),
                thinking("cut off before it was sealed", None),
                call("a", json!({"path": "x"})),
                call("b", json!({})),
                thinking("led to nothing", Some(sealed)),
            ],
        ),
        result("b", vec![ContentBlock::text("two"), image]),
        user("hurry"),
        result("a", vec![]),
    ];
    let mut request = request(model, messages);
    request.options.thinking = ThinkingLevel::Medium;
    request.options.tool_choice = ToolChoice::Required;
    assert_eq!(
        body(&request),
        json!({
            "model": "model-1",
            "stream": true,
            "store": false,
            "max_output_tokens": 8192,
            "include": ["reasoning.encrypted_content"],
            "reasoning": {"effort": "medium", "summary": "auto"},
            "instructions": "Be brief.",
            "tools": [{
                "type": "function",
                "name": "read",
                "description": "Reads a file",
                "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
                "strict": false,
            }],
            "parallel_tool_calls": true,
            "tool_choice": "required",
            "input": [
                {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "look"}]},
                {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "gA=="},
                {"type": "message", "role": "assistant", "phase": "commentary",
                 "content": [{"type": "output_text", "text": "ok", "annotations": []}]},
                {"type": "function_call", "call_id": "a", "name": "read", "arguments": "{\"path\":\"x\"}"},
                {"type": "function_call", "call_id": "b", "name": "read", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "a", "output": "(no output)"},
                {"type": "function_call_output", "call_id": "b", "output": [
                    {"type": "input_text", "text": "two"},
                    {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,AAAA"},
                ]},
                {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hurry"}]},
            ],
        })
    );
}

#[test]
fn thinking_and_cache_key_are_requested_if_supported() {
    let asked = |level, levels: &[ThinkingLevel], keyed| {
        let mut model = gpt();
        model.thinking_levels = levels.to_vec();
        model.compat.prompt_cache_key = keyed;
        let mut request = request(model, vec![user("hi")]);
        request.options.thinking = level;
        request.options.cache_key = Some("s".repeat(70));
        let body = body(&request);
        ["include", "reasoning", "prompt_cache_key"].map(|key| body[key].clone())
    };
    let all = ThinkingLevel::ALL;
    let sealed = json!(["reasoning.encrypted_content"]);
    assert_eq!(
        asked(ThinkingLevel::Off, &all, true),
        [
            sealed.clone(),
            json!({"effort": "none"}),
            json!("s".repeat(64))
        ]
    );
    assert_eq!(
        asked(ThinkingLevel::Xhigh, &all[1..], false),
        [
            sealed,
            json!({"effort": "xhigh", "summary": "auto"}),
            Value::Null
        ]
    );
    assert_eq!(
        asked(ThinkingLevel::Off, &all[..1], false),
        [Value::Null, Value::Null, Value::Null]
    );
}

#[test]
fn request_extends_the_previous_request() {
    let model = gpt();
    let mut messages = vec![user("one")];
    let bytes = |messages: &[_]| body(&request(model.clone(), messages.to_vec())).to_string();
    let mut before = bytes(&messages);
    for turn in 0..4 {
        let id = format!("call:{turn}");
        let thought = thinking("hm", Some(REASONING));
        messages.push(answer(
            &model,
            vec![thought, call(&id, json!({"path": turn}))],
        ));
        messages.push(result(&id, vec![ContentBlock::text("done")]));
        let after = bytes(&messages);
        let prefix = before.strip_suffix("]}").unwrap();
        assert!(after.starts_with(prefix), "{prefix}\n{after}");
        before = after;
    }
}
