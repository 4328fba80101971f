use serde_json::{Value, json};

use crate::message::{AssistantBlock, AssistantMessage, ContentBlock, StopReason, ToolCall};
use crate::model::{Api, KeyHeader, Model, ThinkingLevel};
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

fn gemini() -> Model {
    model(Api::GoogleGenerativeAi)
}

fn parts(parts: &Value) -> Value {
    json!({"candidates": [{"content": {"role": "model", "parts": parts}, "index": 0}], "responseId": "r"})
}

fn finish(reason: &str) -> Value {
    json!({"candidates": [{"content": {}, "finishReason": reason}]})
}

fn signed_call(id: &str, path: &str, signature: Option<&str>) -> AssistantBlock {
    AssistantBlock::ToolCall(ToolCall {
        id: id.to_owned(),
        name: "read".to_owned(),
        arguments: json!({ "path": path }),
        signature: signature.map(str::to_owned),
        ..ToolCall::default()
    })
}

/// The content with generated ids replaced by `made-up`.
fn named(mut message: AssistantMessage) -> Vec<AssistantBlock> {
    for block in &mut message.content {
        if let AssistantBlock::ToolCall(call) = block
            && call.id.starts_with(super::signed::GENERATED_ID)
        {
            "made-up".clone_into(&mut call.id);
        }
    }
    message.content
}

#[test]
fn thinking_signatures_calls_and_usage_are_decoded() {
    let stream = include_bytes!("../../../../../tests/fixtures/llm/google-thoughts-tools.sse");
    let (message, status) = play(&gemini(), stream);
    assert_eq!(status, SUCCESS_TOOLS);
    let usage = Usage {
        input: 476,
        output: 150,
        cache_read: 1024,
        cache_write: 0,
        reasoning: 120,
        ..Usage::default()
    };
    assert_eq!(message.usage, usage.priced(&gemini().price));
    assert_eq!(message.stop_reason, StopReason::ToolUse);
    assert_eq!(message.response_id.as_deref(), Some("k9Xp"));
    let expected = [
        thinking("**Weighing** 漢\nBoth files.", None),
        text("I read both. 😀"),
        signed_call("made-up", "a", Some("CiQB+sig/1=")),
        signed_call("fc-2", "b", None),
        AssistantBlock::Text {
            text: String::new(),
            signature: Some(r#"[[0,0,"CiQB+sig/2="]]"#.to_owned()),
        },
    ];
    assert_eq!(named(message), expected);
}

#[test]
fn signatures_are_sent_back_on_their_parts() {
    let model = gemini();
    let streamed = [
        json!([{"text": "so ", "thought": true}]),
        json!([{"text": "it is", "thought": true, "thoughtSignature": "t1"}]),
        json!([{"text": "Signed", "thoughtSignature": "s1"}]),
        json!([{"text": " and"}, {"text": " not"}]),
        json!([{"text": "", "thoughtSignature": "s2"}]),
        json!([{"functionCall": {"name": "read", "args": {"path": "a"}, "id": "1"}, "thoughtSignature": "c1"}]),
        json!([{"functionCall": {"name": "read", "id": "2"}}]),
    ];
    let mut events: Vec<Value> = streamed.iter().map(parts).collect();
    events.push(finish("STOP"));
    let (message, _) = play_data(&model, &events);
    // The parts are displayed as one text.
    assert_eq!(message.text(), "Signed and not");
    let messages = vec![
        user("go"),
        answer(&model, message.content),
        result("1", vec![ContentBlock::text("one")]),
        result("2", vec![]),
    ];
    assert_eq!(
        body(&request(model, messages))["contents"],
        json!([
            {"role": "user", "parts": [{"text": "go"}]},
            {"role": "model", "parts": [
                {"text": "so ", "thought": true},
                {"text": "it is", "thought": true, "thoughtSignature": "t1"},
                {"text": "Signed", "thoughtSignature": "s1"},
                {"text": " and not"},
                {"text": "", "thoughtSignature": "s2"},
                {"functionCall": {"id": "1", "name": "read", "args": {"path": "a"}}, "thoughtSignature": "c1"},
                {"functionCall": {"id": "2", "name": "read", "args": {}}},
            ]},
            {"role": "user", "parts": [
                {"functionResponse": {"id": "1", "name": "read", "response": {"output": "one"}}},
                {"functionResponse": {"id": "2", "name": "read", "response": {"output": "(no output)"}}},
            ]},
        ])
    );
}

#[test]
fn answer_is_complete_only_with_a_finish_reason() {
    let said = parts(&json!([{"text": "half"}]));
    let (message, status) = play_data(&gemini(), std::slice::from_ref(&said));
    assert_eq!(
        status,
        TurnStatus::NetworkError {
            message: "the connection to `vendor` closed before the answer ended".to_owned(),
            retryable: true
        }
    );
    assert_eq!(message.content, [text("half")]);
    // Some versions send a finish reason with every chunk.
    let (message, status) = play_data(
        &gemini(),
        &[finish("STOP"), said.clone(), said, finish("STOP")],
    );
    assert_eq!(
        (message.content, status),
        (vec![text("halfhalf")], SUCCESS_TEXT)
    );
    let (_, status) = play(&gemini(), b"data: [{\n\n");
    assert_eq!(status.message(), "`vendor` sent an invalid response: [{");
}

#[test]
fn finish_reasons_map_to_stop_reasons() {
    let ended = |reason: &str, said: bool| {
        let text = parts(&json!([{"text": "so"}]));
        let events = [text, finish(reason)];
        let (message, status) = play_data(&gemini(), &events[usize::from(!said)..]);
        (message.stop_reason, status)
    };
    assert_eq!(
        ended("MAX_TOKENS", true),
        (StopReason::Length, SUCCESS_TEXT)
    );
    assert_eq!(ended("SAFETY", true), (StopReason::Refusal, SUCCESS_TEXT));
    assert_eq!(
        ended("NEVER_HEARD_OF", true),
        (StopReason::Stop, SUCCESS_TEXT)
    );
    for reason in [
        "SAFETY",
        "RECITATION",
        "PROHIBITED_CONTENT",
        "SPII",
        "BLOCKLIST",
    ] {
        let (_, status) = ended(reason, false);
        assert_eq!(
            status.message(),
            "`vendor` ended the answer: its safety filter refused",
            "{reason}"
        );
    }
    let silent = json!({"candidates": [{"finishReason": "NEVER_HEARD_OF", "finishMessage": "Ask a human."}]});
    assert_eq!(
        play_data(&gemini(), &[silent]).1.message(),
        "the model ended without an answer (NEVER_HEARD_OF): Ask a human."
    );
    for reason in ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "OTHER"] {
        assert_eq!(
            ended(reason, true).1,
            TurnStatus::ModelError {
                message: format!("the model's answer was not usable ({reason})"),
                retryable: true
            }
        );
    }
}

#[test]
fn errors_and_blocked_prompts_fail_the_call() {
    let quota = json!({"error": {"code": 429, "message": "Resource has been exhausted", "status": "RESOURCE_EXHAUSTED",
        "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"}]}});
    assert_eq!(
        play_data(&gemini(), &[quota]).1,
        TurnStatus::RateLimit {
            message: "`vendor` answered 429: Resource has been exhausted".to_owned(),
            retry_after_ms: Some(34_000)
        }
    );
    let long = json!({"error": {"code": 400, "status": "INVALID_ARGUMENT",
        "message": "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."}});
    assert!(matches!(
        play_data(&gemini(), &[long]).1,
        TurnStatus::ContextOverflow { .. }
    ));
    let blocked = json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {"promptTokenCount": 4}});
    let (message, status) = play_data(&gemini(), &[blocked]);
    assert_eq!(
        status,
        TurnStatus::ModelError {
            message: "the prompt was blocked (PROHIBITED_CONTENT)".to_owned(),
            retryable: false
        }
    );
    assert_eq!(message.usage.input, 4);
}

#[test]
fn conversation_of_another_vendor_is_encoded() {
    let mut gemini = gemini();
    gemini.compat.signed_calls = true;
    let claude = model(Api::AnthropicMessages);
    let image = ContentBlock::Image {
        data: "AAAA".to_owned(),
        mime_type: "image/png".to_owned(),
    };
    let messages = vec![
        user("look"),
        answer(&claude, vec![thinking("hm", Some("sig")), text("ok")]),
        answer(
            &claude,
            vec![call("a", json!({"path": "x"})), call("b", json!({}))],
        ),
        result("b", vec![ContentBlock::text("two"), image]),
        user("hurry"),
    ];
    let mut request = request(gemini, messages);
    request.options.thinking = ThinkingLevel::Medium;
    request.options.tool_choice = ToolChoice::Required;
    request.options.temperature = Some(0.5);
    assert_eq!(
        body(&request),
        json!({
            "systemInstruction": {"parts": [{"text": "Be brief."}]},
            "tools": [{"functionDeclarations": [{
                "name": "read",
                "description": "Reads a file",
                "parameters": {"type": "OBJECT", "properties": {"path": {"type": "STRING"}}},
            }]}],
            "toolConfig": {"functionCallingConfig": {"mode": "ANY"}},
            "generationConfig": {
                "maxOutputTokens": 8192,
                "temperature": 0.5,
                "thinkingConfig": {"includeThoughts": true, "thinkingLevel": "MEDIUM"},
            },
            "contents": [
                {"role": "user", "parts": [{"text": "look"}]},
                {"role": "model", "parts": [
                    {"text": "<thinking>\nhm\n</thinking>"},
                    {"text": "ok"},
                    {"functionCall": {"name": "read", "args": {"path": "x"}},
                     "thoughtSignature": "skip_thought_signature_validator"},
                    {"functionCall": {"name": "read", "args": {}}},
                ]},
                {"role": "user", "parts": [
                    {"functionResponse": {"name": "read", "response":
                        {"error": "no result: the call was interrupted before it gave one"}}},
                    {"functionResponse": {"name": "read", "response": {"output": "two"}}},
                ]},
                {"role": "user", "parts": [
                    {"text": "Files of the tool results:"},
                    {"inlineData": {"mimeType": "image/png", "data": "AAAA"}},
                    {"text": "hurry"},
                ]},
            ],
        })
    );
}

#[test]
fn images_stay_in_results_if_supported() {
    let mut model = gemini();
    model.compat.images_in_results = true;
    let image = ContentBlock::Image {
        data: "AAAA".to_owned(),
        mime_type: "image/png".to_owned(),
    };
    let messages = vec![
        user("look"),
        answer(&model, vec![call("a", json!({}))]),
        result("a", vec![image]),
    ];
    assert_eq!(
        body(&request(model, messages))["contents"][2]["parts"],
        json!([{"functionResponse": {
            "id": "a",
            "name": "read",
            "response": {"output": "(see the image)"},
            "parts": [{"inlineData": {"mimeType": "image/png", "data": "AAAA"}}],
        }}])
    );
}

#[test]
fn thinking_is_requested_in_the_form_of_the_model() {
    let asked = |level, levels: &[ThinkingLevel], budget| {
        let mut model = gemini();
        model.thinking_levels = levels.to_vec();
        model.compat.thinking_budget = budget;
        let mut request = request(model, vec![user("hi")]);
        request.options.thinking = level;
        body(&request)["generationConfig"]["thinkingConfig"].clone()
    };
    let all = ThinkingLevel::ALL;
    let level = |shown, level: &str| json!({"includeThoughts": shown, "thinkingLevel": level});
    assert_eq!(asked(ThinkingLevel::Max, &all, false), level(true, "HIGH"));
    assert_eq!(
        asked(ThinkingLevel::Off, &all, false),
        level(false, "MINIMAL")
    );
    assert_eq!(
        asked(ThinkingLevel::Off, &[ThinkingLevel::Low], false),
        level(false, "LOW")
    );
    assert_eq!(
        asked(ThinkingLevel::Low, &all, true),
        json!({"includeThoughts": true, "thinkingBudget": 2048})
    );
    assert_eq!(
        asked(ThinkingLevel::Off, &all, true),
        json!({"includeThoughts": false, "thinkingBudget": 0})
    );
    assert_eq!(asked(ThinkingLevel::Off, &all[..1], true), Value::Null);
}

#[test]
fn key_is_sent_in_the_header_of_the_server() {
    let wire = crate::wire::find(Api::GoogleGenerativeAi).unwrap();
    let mut model = gemini();
    assert_eq!(wire.key_header(&model).name(), "x-goog-api-key");
    model.compat.key_header = Some(KeyHeader::Bearer);
    assert_eq!(wire.key_header(&model).value("k"), "Bearer k");
}

#[test]
fn request_extends_the_previous_request() {
    let model = gemini();
    let mut messages = vec![user("one")];
    let bytes = |messages: &[_]| body(&request(model.clone(), messages.to_vec())).to_string();
    let mut before = bytes(&messages);
    for turn in 0..4 {
        let id = format!("nameless_{turn}");
        messages.push(answer(&model, vec![signed_call(&id, "a", Some("s"))]));
        messages.push(result(&id, vec![ContentBlock::text("done")]));
        let after = bytes(&messages);
        let prefix = before.strip_suffix("]}").unwrap();
        assert!(after.starts_with(prefix), "{prefix}\n{after}");
        before = after;
    }
}
