use serde_json::{Value, json};

use crate::message::{
    AssistantBlock, AssistantMessage, ContentBlock, Message, StopReason, ToolCall,
};
use crate::model::{Api, Model, ThinkingFormat, ThinkingLevel};
use crate::provider::ToolChoice;
use crate::status::TurnStatus;
use crate::usage::Usage;
use crate::wire::testing::{
    answer, body, call, model, play, play_data, request, result, text, thinking, user,
};

fn chat() -> Model {
    model(Api::OpenaiChatCompletions)
}

fn delta(delta: &Value) -> Value {
    json!({"id": "c1", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

fn finish(reason: &str) -> Value {
    json!({"id": "c1", "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

fn calls(pieces: &Value) -> Value {
    delta(&json!({ "tool_calls": pieces }))
}

fn content(data: &[Value]) -> Vec<AssistantBlock> {
    let (message, status) = play_data(&chat(), data);
    assert!(status.is_success(), "{status:?}");
    message.content
}

#[test]
fn recorded_tool_call_is_decoded() {
    let stream = include_bytes!("../../../../../tests/fixtures/llm/llamacpp-chat-tool.sse");
    let (message, status) = play(&chat(), stream);
    assert_eq!(
        status,
        TurnStatus::Success {
            has_tool_calls: true,
            final_answer: false
        }
    );
    let AssistantBlock::ToolCall(read) = &message.content[1] else {
        panic!("{message:?}");
    };
    let expected = AssistantMessage {
        content: vec![
            text(
                "The function should return a JSON object with the following structure:\n\n```json\n",
            ),
            AssistantBlock::ToolCall(ToolCall {
                id: read.id.clone(),
                name: "read_file".to_owned(),
                arguments: json!({"path": "src/main.rs"}),
                ..ToolCall::default()
            }),
        ],
        provider: "vendor".to_owned(),
        model: "model-1".to_owned(),
        api: "openai-chat-completions".to_owned(),
        usage: Usage {
            input: 265,
            output: 63,
            ..Usage::default()
        }
        .priced(&chat().price),
        stop_reason: StopReason::ToolUse,
        response_id: Some("chatcmpl-MijaNxqH5bNutnqTGeoN4mReBHu8HJEZ".to_owned()),
        ..AssistantMessage::default()
    };
    assert_eq!(message, expected);
    assert!(!read.id.is_empty());
}

#[test]
fn fragments_are_joined_by_index_and_id() {
    let two = [
        call("a", json!({"path": "x"})),
        call("b", json!({"path": "y"})),
    ];
    let whole = |index: Option<u64>, id: &str, path: &str| {
        let mut piece =
            json!({"function": {"name": "read", "arguments": format!("{{\"path\":\"{path}\"}}")}});
        if let Some(index) = index {
            piece["index"] = index.into();
        }
        if !id.is_empty() {
            piece["id"] = id.into();
        }
        piece
    };
    // Interleaved fragments with an index.
    assert_eq!(
        content(&[
            delta(&json!({"role": "assistant", "content": ""})),
            calls(
                &json!([{"index": 0, "id": "a", "type": "function", "function": {"name": "read", "arguments": ""}}])
            ),
            calls(
                &json!([{"index": 1, "id": "b", "type": "function", "function": {"name": "read", "arguments": "{\"pa"}}])
            ),
            calls(&json!([{"index": 0, "function": {"arguments": "{\"path\":\"x\"}"}}])),
            calls(&json!([{"index": 1, "function": {"arguments": "th\":\"y\"}"}}])),
            finish("tool_calls"),
        ]),
        two
    );
    // Complete calls in one chunk: with indices, without, and all with index 0.
    for index in [[Some(0), Some(1)], [None, None], [Some(0), Some(0)]] {
        assert_eq!(
            content(&[
                calls(&json!([
                    whole(index[0], "a", "x"),
                    whole(index[1], "b", "y")
                ])),
                finish("tool_calls"),
            ]),
            two,
            "{index:?}"
        );
    }
}

#[test]
fn calls_in_unusual_forms_are_decoded() {
    let two = [
        call("a", json!({"path": "x"})),
        call("b", json!({"path": "y"})),
    ];
    // The server sends the id in every fragment, a null name, and `stop` as the reason.
    let (message, _) = play_data(
        &chat(),
        &[
            calls(
                &json!([{"index": 0, "id": "a", "function": {"name": "read", "arguments": "{\"path\":"}}]),
            ),
            calls(
                &json!([{"index": 0, "id": "a", "function": {"name": null, "arguments": "\"x\"}"}}]),
            ),
            finish("stop"),
        ],
    );
    assert_eq!(message.content, two[..1]);
    assert_eq!(message.stop_reason, StopReason::ToolUse);
    // The start has no valid index, the rest has one.
    let split = content(&[
        calls(&json!([{"index": null, "id": "a", "function": {"name": "read", "arguments": ""}}])),
        calls(&json!([{"index": 0, "function": {"arguments": "{\"path\":\"x\"}"}}])),
        finish("tool_calls"),
    ]);
    assert_eq!(split, two[..1]);
    // No ids: complete calls after one another, arguments as an object, generated ids.
    let made = content(&[
        calls(&json!([{"index": 0, "function": {"name": "read", "arguments": {"path": "x"}}}])),
        calls(&json!([{"index": 0, "function": {"name": "read", "arguments": {"path": "y"}}}])),
        finish("tool_calls"),
    ]);
    let made: Vec<_> = made
        .iter()
        .map(|block| match block {
            AssistantBlock::ToolCall(call) => (call.id.starts_with("call_"), &call.arguments),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        made,
        [(true, &json!({"path": "x"})), (true, &json!({"path": "y"}))]
    );
    // The name follows the arguments, or the call has the deprecated form.
    assert_eq!(
        content(&[
            calls(&json!([{"index": 0, "id": "a", "function": {"arguments": "{\"path\":"}}])),
            calls(&json!([{"index": 0, "function": {"name": "read", "arguments": "\"x\"}"}}])),
            finish("tool_calls"),
        ]),
        two[..1]
    );
    let old = content(&[
        delta(&json!({"function_call": {"name": "read", "arguments": ""}})),
        delta(&json!({"function_call": {"arguments": ""}})),
        finish("function_call"),
    ]);
    assert!(matches!(&old[..], [AssistantBlock::ToolCall(call)] if call.arguments == json!({})));
}

#[test]
fn incomplete_arguments_are_an_error() {
    let blocks = content(&[
        calls(
            &json!([{"index": 0, "id": "a", "function": {"name": "read", "arguments": "{\"path\""}}]),
        ),
        finish("length"),
    ]);
    let half = ToolCall {
        id: "a".to_owned(),
        name: "read".to_owned(),
        arguments_error: Some("{\"path\"".to_owned()),
        ..ToolCall::default()
    };
    assert_eq!(blocks, [AssistantBlock::ToolCall(half)]);
}

#[test]
fn reasoning_is_decoded_from_every_field() {
    for field in ["reasoning_content", "reasoning", "reasoning_text"] {
        let blocks = content(&[
            delta(&json!({ field: "hm" })),
            delta(&json!({ field: "m", "content": "" })),
            delta(&json!({"content": "yes"})),
            finish("stop"),
        ]);
        assert_eq!(blocks, [thinking("hmm", None), text("yes")], "{field}");
    }
    // Two fields with the same text; Mistral's parts.
    assert_eq!(
        content(&[
            delta(&json!({"reasoning": "hm", "reasoning_content": "hm"})),
            delta(&json!({"content": [
                {"type": "thinking", "thinking": [{"type": "text", "text": "!"}]},
                {"type": "text", "text": "yes"},
            ]})),
            finish("stop"),
        ]),
        [thinking("hm!", None), text("yes")]
    );
}

#[test]
fn reasoning_details_round_trip() {
    let detail =
        |text: &str| json!([{"type": "reasoning.text", "text": text, "index": 0, "format": "f"}]);
    let blocks = content(&[
        delta(&json!({"reasoning": "a", "reasoning_details": detail("a")})),
        delta(&json!({"reasoning": "b", "reasoning_details": detail("b")})),
        delta(
            &json!({"reasoning_details": [{"type": "reasoning.text", "index": 0, "signature": "s"}]}),
        ),
        delta(&json!({"content": "yes"})),
        delta(
            &json!({"reasoning_details": [{"type": "reasoning.encrypted", "data": "d", "index": 1}]}),
        ),
        finish("stop"),
    ]);
    let model = chat();
    let request = request(
        model.clone(),
        vec![user("hi"), answer(&model, blocks), user("more")],
    );
    assert_eq!(
        body(&request)["messages"][2],
        json!({"role": "assistant", "content": "yes", "reasoning_details": [
            {"type": "reasoning.text", "text": "ab", "index": 0, "format": "f", "signature": "s"},
            {"type": "reasoning.encrypted", "data": "d", "index": 1},
        ]})
    );
}

#[test]
fn usage_is_read_from_every_field() {
    let usage = |prompt: u64, details: Value| {
        let mut usage = json!({"prompt_tokens": prompt, "completion_tokens": 3});
        usage
            .as_object_mut()
            .unwrap()
            .extend(details.as_object().unwrap().clone());
        usage
    };
    let counts = |last: Value| {
        let (message, _) = play_data(
            &chat(),
            &[delta(&json!({"content": "x"})), finish("stop"), last],
        );
        let usage = message.usage;
        [
            usage.input,
            usage.cache_read,
            usage.cache_write,
            usage.output,
            usage.reasoning,
        ]
    };
    let cached = json!({"prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 2}});
    assert_eq!(
        counts(json!({"choices": [], "usage": usage(9, cached)})),
        [3, 4, 2, 3, 0]
    );
    assert_eq!(
        counts(json!({"choices": [], "usage": usage(9, json!({"prompt_cache_hit_tokens": 4}))})),
        [5, 4, 0, 3, 0]
    );
    assert_eq!(
        counts(json!({"choices": [{"delta": {}, "usage": usage(9, json!({"cached_tokens": 9}))}]})),
        [0, 9, 0, 3, 0]
    );
    assert_eq!(
        counts(json!({"x_groq": {"usage": usage(9, json!({}))}})),
        [9, 0, 0, 3, 0]
    );
    let apart = json!({"total_tokens": 19, "completion_tokens_details": {"reasoning_tokens": 7}});
    assert_eq!(
        counts(json!({"choices": [], "usage": usage(9, apart)})),
        [9, 0, 0, 10, 7]
    );
}

#[test]
fn answer_is_complete_only_with_its_end_marker() {
    let some = delta(&json!({"content": "half"}));
    let (message, status) = play_data(&chat(), std::slice::from_ref(&some));
    assert!(matches!(
        status,
        TurnStatus::NetworkError {
            retryable: true,
            ..
        }
    ));
    assert_eq!(message.content, [text("half")]);
    let stream = format!("data: {some}\n\n: keep-alive\n\ndata: [DONE]\n\n");
    assert!(play(&chat(), stream.as_bytes()).1.is_success());
    for empty in ["", "data: [DONE]\n\n"] {
        let (_, status) = play(&chat(), empty.as_bytes());
        assert!(
            matches!(status, TurnStatus::InvalidResponse { .. }),
            "{status:?}"
        );
    }
    let (_, status) = play(&chat(), b"data: {\"choices\":[{\"delta\":\n\n");
    assert!(matches!(status, TurnStatus::InvalidResponse { .. }));
}

#[test]
fn errors_in_the_stream_and_in_the_finish_reason_fail_the_call() {
    let some = delta(&json!({"content": "half"}));
    let error = json!({"error": {"message": "Provider returned error", "code": 502}, "choices": [{"delta": {}, "finish_reason": "error"}]});
    let (_, status) = play_data(&chat(), &[some.clone(), error]);
    assert_eq!(
        status,
        TurnStatus::ModelError {
            message: "`vendor` answered 502: Provider returned error".to_owned(),
            retryable: true
        }
    );
    for (reason, retryable) in [("error", true), ("network_error", true)] {
        let (_, status) = play_data(&chat(), &[some.clone(), finish(reason)]);
        assert_eq!(status.is_retryable(), retryable, "{reason}");
        assert!(!status.is_success());
    }
    let (_, status) = play_data(&chat(), &[finish("content_filter")]);
    assert!(matches!(
        status,
        TurnStatus::ModelError {
            retryable: false,
            ..
        }
    ));
    let (_, status) = play_data(&chat(), &[finish("model_context_window_exceeded")]);
    assert!(matches!(status, TurnStatus::ContextOverflow { .. }));
    // The prompt was truncated to the window, without room for an answer.
    let full = json!({"choices": [], "usage": {"prompt_tokens": 199_999, "completion_tokens": 0}});
    let (_, status) = play_data(&chat(), &[finish("length"), full]);
    assert!(matches!(status, TurnStatus::ContextOverflow { .. }));
    // Chunks without choices are not errors.
    let (_, status) = play_data(
        &chat(),
        &[
            json!({"choices": [], "prompt_filter_results": []}),
            json!({"ping": 1}),
            some,
            finish("stop"),
        ],
    );
    assert!(status.is_success());
}

fn conversation(model: &Model) -> Vec<Message> {
    let image = ContentBlock::Image {
        data: "AAAA".to_owned(),
        mime_type: "image/png".to_owned(),
    };
    vec![
        Message::User(crate::message::UserMessage {
            content: vec![ContentBlock::text("look"), image.clone()],
            timestamp: 0,
        }),
        answer(
            model,
            vec![
                thinking("hm", None),
                call("a", json!({"path": "x"})),
                call("b", json!({})),
            ],
        ),
        result(
            "a",
            vec![ContentBlock::text("one"), ContentBlock::text("more")],
        ),
        result("b", vec![image]),
        answer(model, vec![text("done")]),
        user("thanks"),
    ]
}

#[test]
fn complete_conversation_is_encoded() {
    let mut model = chat();
    model.compat.replay_reasoning_field = Some("reasoning_content".to_owned());
    model.compat.prompt_cache_key = true;
    let mut request = request(model.clone(), conversation(&model));
    request.options.tool_choice = ToolChoice::Required;
    request.options.temperature = Some(0.1);
    request.options.thinking = ThinkingLevel::High;
    request.options.cache_key = Some("session".to_owned());
    let picture = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}});
    assert_eq!(
        body(&request),
        json!({
            "model": "model-1",
            "stream": true,
            "stream_options": {"include_usage": true},
            "max_completion_tokens": 8192,
            "temperature": 0.1,
            "prompt_cache_key": "session",
            "reasoning_effort": "high",
            "tools": [{"type": "function", "function": {
                "name": "read",
                "description": "Reads a file",
                "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
            }}],
            "tool_choice": "required",
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": [{"type": "text", "text": "look"}, picture]},
                {"role": "assistant", "content": null, "reasoning_content": "hm", "tool_calls": [
                    {"id": "a", "type": "function", "function": {"name": "read", "arguments": "{\"path\":\"x\"}"}},
                    {"id": "b", "type": "function", "function": {"name": "read", "arguments": "{}"}},
                ]},
                {"role": "tool", "tool_call_id": "a", "content": "one\nmore"},
                {"role": "tool", "tool_call_id": "b", "content": "(see the file that follows)"},
                {"role": "user", "content": [{"type": "text", "text": "Files of the tool results:"}, picture]},
                {"role": "assistant", "content": "done"},
                {"role": "user", "content": "thanks"},
            ],
        })
    );
}

#[test]
fn compat_changes_the_request() {
    let mut model = chat();
    model.compat.max_tokens_field = true;
    model.compat.developer_role = true;
    model.compat.no_stream_usage = true;
    model.compat.short_tool_ids = true;
    model.compat.cache_control = true;
    let request = request(model.clone(), conversation(&model));
    let body = body(&request);
    assert_eq!(body["max_tokens"], 8192);
    assert_eq!(body.get("stream_options"), None);
    let messages = body["messages"].as_array().unwrap();
    let mark = json!({"type": "ephemeral"});
    assert_eq!(
        messages[0],
        json!({"role": "developer", "content": [{"type": "text", "text": "Be brief.", "cache_control": mark}]})
    );
    assert_eq!(messages[7]["content"][0]["cache_control"], mark);
    let id = messages[3]["tool_call_id"].as_str().unwrap();
    assert_eq!(id.len(), 9);
    assert_eq!(messages[2]["tool_calls"][0]["id"], id);
}

#[test]
fn cache_marks_move_without_changing_messages() {
    let mut model = chat();
    model.compat.cache_control = true;
    let step = |id: &str, said: &str| {
        let mut blocks = vec![call(id, json!({}))];
        if !said.is_empty() {
            blocks.insert(0, text(said));
        }
        [
            answer(&model, blocks),
            result(id, vec![ContentBlock::text("r")]),
        ]
    };
    let mut messages = vec![user("go")];
    messages.extend(step("a", "first"));
    messages.extend(step("b", "second"));
    messages.extend(step("c", ""));
    let body = body(&request(model.clone(), messages));
    let part = |text: &str, marked: bool| {
        let mut part = json!({"type": "text", "text": text});
        if marked {
            part["cache_control"] = json!({"type": "ephemeral"});
        }
        json!([part])
    };
    let contents: Vec<Value> = body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["content"].clone())
        .collect();
    assert_eq!(
        contents,
        [
            part("Be brief.", true),
            part("go", true),
            part("first", false),
            json!("r"),
            part("second", true),
            json!("r"),
            Value::Null,
            json!("r"),
        ]
    );
}

#[test]
fn thinking_is_requested_in_the_form_of_the_server() {
    let asked = |format, level| {
        let mut model = chat();
        model.compat.thinking_format = format;
        let mut request = request(model, vec![user("hi")]);
        request.options.thinking = level;
        let body = body(&request);
        [
            "reasoning_effort",
            "reasoning",
            "thinking",
            "enable_thinking",
            "chat_template_kwargs",
        ]
        .into_iter()
        .filter_map(|key| Some((key.to_owned(), body.get(key)?.clone())))
        .collect::<Value>()
    };
    for (format, on, off) in [
        (
            ThinkingFormat::Effort,
            json!({"reasoning_effort": "medium"}),
            json!({"reasoning_effort": "none"}),
        ),
        (
            ThinkingFormat::Openrouter,
            json!({"reasoning": {"effort": "medium"}}),
            json!({"reasoning": {"effort": "none"}}),
        ),
        (
            ThinkingFormat::ReasoningEnabled,
            json!({"reasoning": {"enabled": true}}),
            json!({"reasoning": {"enabled": false}}),
        ),
        (
            ThinkingFormat::Thinking,
            json!({"reasoning_effort": "medium", "thinking": {"type": "enabled"}}),
            json!({"thinking": {"type": "disabled"}}),
        ),
        (
            ThinkingFormat::EnableThinking,
            json!({"enable_thinking": true}),
            json!({"enable_thinking": false}),
        ),
        (
            ThinkingFormat::ChatTemplate,
            json!({"chat_template_kwargs": {"enable_thinking": true}}),
            json!({"chat_template_kwargs": {"enable_thinking": false}}),
        ),
    ] {
        assert_eq!(asked(format, ThinkingLevel::Medium), on);
        assert_eq!(asked(format, ThinkingLevel::Off), off);
    }
    assert_eq!(
        asked(ThinkingFormat::None, ThinkingLevel::Medium),
        json!({})
    );
}

#[test]
fn request_extends_the_previous_request() {
    let model = chat();
    let mut messages = vec![user("one")];
    let bytes = |messages: &[Message]| body(&request(model.clone(), messages.to_vec())).to_string();
    let mut before = bytes(&messages);
    for turn in 0..4 {
        let id = format!("call:{turn}");
        messages.push(answer(&model, vec![call(&id, json!({"path": turn}))]));
        messages.push(result(&id, vec![ContentBlock::text("done")]));
        let after = bytes(&messages);
        assert!(after.starts_with(before.strip_suffix("]}").unwrap()));
        before = after;
    }
}
