//! Tests of servers whose requests or answers differ from the norm.

use serde_json::{Value, json};

use crate::message::{AssistantBlock, ContentBlock, Message};
use crate::model::{Api, Model, ThinkingFormat, ThinkingLevel};
use crate::status::TurnStatus;
use crate::wire::testing::{
    answer, body, call, model, play, request, result, text, thinking, user,
};

fn chat() -> Model {
    model(Api::OpenaiChatCompletions)
}

fn messages(model: Model, messages: Vec<Message>) -> Value {
    body(&request(model, messages))["messages"].take()
}

fn mistral() -> Model {
    let mut mistral = chat();
    mistral.compat.max_tokens_field = true;
    mistral.compat.no_stream_usage = true;
    mistral.compat.short_tool_ids = true;
    mistral.compat.thinking_parts = true;
    mistral
}

#[test]
fn mistral_parts_and_complete_calls_round_trip() {
    let model = mistral();
    let stream = include_bytes!("../../../../../tests/fixtures/llm/mistral-thinking-tools.sse");
    let (message, status) = play(&model, stream);
    let expected = TurnStatus::Success {
        has_tool_calls: true,
        final_answer: false,
    };
    assert_eq!(status, expected);
    assert_eq!(
        message.content,
        [
            thinking("Two files 漢.", Some("mst+1=")),
            text("Reading both. 😀"),
            call("D681PevKs", json!({"path": "a"})),
            call("x9Kq2LmPz", json!({"path": "b"})),
        ]
    );
    let usage = message.usage;
    assert_eq!((usage.input, usage.cache_read, usage.output), (56, 64, 30));
    let conversation = vec![
        user("go"),
        Message::Assistant(message),
        result("D681PevKs", vec![ContentBlock::text("one")]),
        result("x9Kq2LmPz", vec![ContentBlock::text("two")]),
    ];
    let call = |id: &str, path: &str| {
        json!({"id": id, "type": "function",
            "function": {"name": "read", "arguments": json!({ "path": path }).to_string()}})
    };
    assert_eq!(
        messages(model, conversation),
        json!([
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": [{"type": "text", "text": "Two files 漢."}], "signature": "mst+1="},
                {"type": "text", "text": "Reading both. 😀"},
            ], "tool_calls": [call("D681PevKs", "a"), call("x9Kq2LmPz", "b")]},
            {"role": "tool", "tool_call_id": "D681PevKs", "content": "one"},
            {"role": "tool", "tool_call_id": "x9Kq2LmPz", "content": "two"},
        ])
    );
}

#[test]
fn ids_are_converted_to_nine_letters_and_digits() {
    let claude = model(Api::AnthropicMessages);
    let conversation = vec![
        user("go"),
        answer(
            &claude,
            vec![call("toolu_01A-b", json!({})), call("call_2", json!({}))],
        ),
    ];
    let sent = messages(mistral(), conversation);
    let mut ids = Vec::new();
    for (place, made) in sent[2]["tool_calls"].as_array().unwrap().iter().enumerate() {
        let id = made["id"].as_str().unwrap().to_owned();
        assert!(
            id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()),
            "{id}"
        );
        assert_eq!(sent[3 + place]["tool_call_id"], id);
        ids.push(id);
    }
    assert_ne!(ids[0], ids[1]);
}

#[test]
fn messages_have_the_required_form() {
    let mut odd = chat();
    odd.compat.answer_after_results = true;
    odd.compat.tool_result_name = true;
    odd.compat.text_required = true;
    let image = ContentBlock::Image {
        data: "AAAA".to_owned(),
        mime_type: "image/png".to_owned(),
    };
    let conversation = vec![
        user("go"),
        answer(&odd, vec![call("a", json!({}))]),
        result("a", vec![ContentBlock::text("one"), image]),
        user("and now?"),
    ];
    let sent = messages(odd, conversation);
    let roles: Vec<&str> = sent
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["role"].as_str().unwrap())
        .collect();
    assert_eq!(
        roles,
        [
            "system",
            "user",
            "assistant",
            "tool",
            "assistant",
            "user",
            "user"
        ]
    );
    assert_eq!(sent[2]["content"], "");
    assert_eq!(sent[3]["name"], "read");
}

#[test]
fn efforts_have_the_names_of_the_server() {
    let asked = |change: fn(&mut Model), level| {
        let mut model = chat();
        change(&mut model);
        let mut request = request(model, vec![user("hi")]);
        request.options.thinking = level;
        let body = body(&request);
        ["reasoning_effort", "prompt_mode", "reasoning_format"].map(|key| body[key].clone())
    };
    let null = Value::Null;
    let groq = |model: &mut Model| {
        let names = &mut model.compat.effort_names;
        names.insert(ThinkingLevel::High, "default".to_owned());
        let extra = &mut model.compat.extra_body;
        extra.insert("reasoning_format".to_owned(), "parsed".into());
    };
    assert_eq!(
        asked(groq, ThinkingLevel::High),
        [json!("default"), null.clone(), json!("parsed")]
    );
    let silent = |model: &mut Model| model.compat.silent_off = true;
    assert_eq!(asked(silent, ThinkingLevel::Off)[0], null);
    assert_eq!(asked(silent, ThinkingLevel::Low)[0], "low");
    let magistral = |model: &mut Model| model.compat.thinking_format = ThinkingFormat::PromptMode;
    assert_eq!(
        asked(magistral, ThinkingLevel::High),
        [null.clone(), json!("reasoning"), null.clone()]
    );
    assert_eq!(
        asked(magistral, ThinkingLevel::Off),
        [null.clone(), null.clone(), null]
    );
}

#[test]
fn thinking_of_another_vendor_is_text() {
    let claude = model(Api::AnthropicMessages);
    let conversation = vec![
        user("go"),
        answer(&claude, vec![thinking("hm", Some("sig")), text("yes")]),
    ];
    assert_eq!(
        messages(mistral(), conversation)[2],
        json!({"role": "assistant", "content": "<thinking>\nhm\n</thinking>yes"})
    );
    let own = AssistantBlock::Thinking {
        thinking: "kept".to_owned(),
        signature: None,
        redacted: false,
    };
    let sent = messages(
        mistral(),
        vec![user("go"), answer(&mistral(), vec![own, text("yes")])],
    );
    assert_eq!(sent[2]["content"][0]["type"], "thinking");
}
