//! Answers of servers that nearly follow the wire format. An odd part is lost, but never its
//! neighbours.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::testing::{events, model, play};
use crate::aws_events;
use crate::errors::is_error;
use crate::event::StreamEvent;
use crate::message::{AssistantBlock, ToolCall};
use crate::model::Api;
use crate::status::TurnStatus;

use Api::{
    AnthropicMessages as Anthropic, BedrockConverse as Bedrock, GoogleGenerativeAi as Google,
    Ollama, OpenaiChatCompletions as Chat, OpenaiResponses as Responses,
};

/// An answer in words: thinking in parentheses, calls as `name{arguments}`.
fn words(api: Api, body: &str) -> String {
    words_of(api, body.as_bytes())
}

fn words_of(api: Api, body: &[u8]) -> String {
    let (message, status) = play(&model(api), body);
    let blocks = message.content.iter().map(|block| match block {
        AssistantBlock::Text { text, .. } => text.clone(),
        AssistantBlock::Thinking { thinking, .. } => format!("({thinking})"),
        AssistantBlock::ToolCall(call) => {
            let id = if call.id.starts_with("call_") || call.id.starts_with("nameless") {
                "?"
            } else {
                &call.id
            };
            format!("{id}:{}{}", call.name, call.arguments)
        }
    });
    let words = blocks.collect::<Vec<_>>().join(" ");
    match status {
        TurnStatus::Success { .. } => words,
        status => format!("{words} FAILED {}", status.message()),
    }
}

/// A stream of events.
fn stream(events: &[Value]) -> String {
    let events: Vec<String> = events
        .iter()
        .map(|data| format!("data: {data}\n\n"))
        .collect();
    events.concat()
}

/// A chat stream with `chunk` between a text and the end.
fn chat(chunk: &Value) -> String {
    let start = json!({"choices": [{"index": 0, "delta": {"content": "a"}}]});
    let end =
        json!({"choices": [{"index": 0, "delta": {"content": "z"}, "finish_reason": "stop"}]});
    stream(&[start, chunk.clone(), end]) + "data: [DONE]\n\n"
}

fn delta(delta: &Value) -> Value {
    json!({"choices": [{"index": 0, "delta": delta}]})
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn chat_chunks_in_every_form_are_read() {
    let call = |call: &Value| delta(&json!({"tool_calls": [call]}));
    let read = json!({"name": "read", "arguments": "{\"path\":\"x\"}"});
    for (chunk, expected) in [
        (json!(null), "az"),
        (json!(7), "az"),
        (json!([]), "az"),
        (json!({"choices": null}), "az"),
        (json!({"choices": {}}), "az"),
        (json!([delta(&json!({"content": "b"})), null, 3]), "abz"),
        (
            json!({"choices": {"0": {"index": 0, "delta": {"content": "b"}}}}),
            "abz",
        ),
        (json!({"error": {}}), "az"),
        (
            json!({"error": false, "choices": [{"delta": {"content": "b"}}]}),
            "abz",
        ),
        (
            json!({"error": "", "choices": [{"delta": {"content": "b"}}]}),
            "abz",
        ),
        (
            json!({"error": {"message": null, "code": 0}, "x_groq": {"error": {}}}),
            "az",
        ),
        (call(&json!({})), "az"),
        (call(&json!({"index": 0, "function": {}})), "az"),
        (call(&json!({"id": "c", "function": {"name": ""}})), "a z"),
        (delta(&json!({"tool_calls": {}, "content": "b"})), "abz"),
        (
            delta(&json!({"tool_calls": {"0": {"id": "c", "function": read}}})),
            "a c:read{\"path\":\"x\"} z",
        ),
        (json!({"choices": "x"}), "az"),
        (json!({"choices": [null, 3]}), "az"),
        (
            json!({"choices": {"index": 0, "delta": {"content": "b"}}}),
            "abz",
        ),
        (
            json!({"id": 5, "created": "x", "choices": [{"index": -1, "delta": {"content": "b"}}]}),
            "abz",
        ),
        (
            json!({"choices": [{"index": "0", "delta": {"content": "b"}}]}),
            "abz",
        ),
        (
            json!({"choices": [{"index": 0.0, "message": {"content": "b"}}]}),
            "abz",
        ),
        (json!({"choices": [{"delta": "b"}]}), "abz"),
        (json!({"choices": [{"text": "b"}]}), "abz"),
        (
            json!({"choices": [{"delta": {"content": "b"}, "finish_reason": {"reason": "stop"}, "logprobs": 3}]}),
            "abz",
        ),
        (delta(&json!({"content": {"text": "b"}})), "abz"),
        (
            delta(&json!({"content": {"type": "text", "value": "b"}})),
            "abz",
        ),
        (
            delta(&json!({"content": ["b", {"text": "c"}, {"type": "image"}, null]})),
            "abcz",
        ),
        (delta(&json!({"content": 12})), "a12z"),
        (delta(&json!({"content": [], "role": 1})), "az"),
        (delta(&json!({"content": {}})), "az"),
        (
            delta(&json!({"content": "b", "reasoning": {"content": "hm"}})),
            "a (hm) bz",
        ),
        (
            delta(&json!({"reasoning_content": [{"text": "h"}, {"text": "m"}]})),
            "a (hm) z",
        ),
        (
            delta(&json!({"reasoning_content": 3, "refusal": {"text": "no"}})),
            "a (3) noz",
        ),
        (
            delta(&json!({"reasoning_details": "x", "content": "b"})),
            "abz",
        ),
        (
            call(&json!({"index": 0, "id": 17, "function": read})),
            "a 17:read{\"path\":\"x\"} z",
        ),
        (
            call(&json!({"index": "0", "id": {"id": "c"}, "function": read})),
            "a c:read{\"path\":\"x\"} z",
        ),
        (
            call(&json!({"index": -1, "id": null, "function": [read]})),
            "a ?:read{\"path\":\"x\"} z",
        ),
        (
            call(&json!({"id": "c", "name": "read", "arguments": {"path": "x"}})),
            "a c:read{\"path\":\"x\"} z",
        ),
        (
            call(&json!({"id": "c", "function": {"name": "read", "arguments": {"path": "x"}}})),
            "a c:read{\"path\":\"x\"} z",
        ),
        (
            delta(&json!({"tool_calls": {"id": "c", "function": read}})),
            "a c:read{\"path\":\"x\"} z",
        ),
        (
            delta(&json!({"tool_calls": "x", "function_call": "y", "content": "b"})),
            "abz",
        ),
        (
            json!({"choices": [{"delta": {"content": "b"}}], "usage": "many", "x_groq": 3}),
            "abz",
        ),
    ] {
        assert_eq!(words(Chat, &chat(&chunk)), expected, "{chunk}");
    }
    // Texts that are not JSON.
    for filler in [
        "data: PROCESSING",
        "data: [PING]",
        "data: <ping>",
        "data: {\"choices\": [{\"delta\": {\"con",
        "event: ping\ndata:",
        "data: : keep-alive",
        ": comment",
        "event: ping\ndata: {}",
    ] {
        let body =
            chat(&delta(&json!({"content": "b"}))).replace("\n\n", &format!("\n\n{filler}\n\n"));
        assert_eq!(words(Chat, &body), "abz", "{filler}");
    }
}

#[test]
fn nearly_valid_json_is_read() {
    let (start, end) = (
        "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{\"content\":\"z\"},\"finish_reason\":\"stop\"}]}\n\n",
    );
    for (odd, expected) in [
        (
            "data: {\"choices\":[{\"delta\":{\"content\":\"b\",},\"logprobs\":NaN,}],}",
            "abz",
        ),
        (
            "data: {\"choices\":[{\"delta\":{\"content\":\"b\"}}],\"t\":-Infinity}",
            "abz",
        ),
        (
            "data: {\"choices\":[{\"delta\":{\"content\":\"b\ndata: c\"}}]}",
            "ab\ncz",
        ),
        (
            "data: {\"choices\":[{\"delta\":{\"content\":\"b\"}}]}\ndata: {\"choices\":[{\"delta\":{\"content\":\"c\"}}]}",
            "abcz",
        ),
        (
            "data: {\"choices\":[{\"delta\":{\"content\":\"b\"}}],\"choices\":[{\"delta\":{\"content\":\"c\"}}]}",
            "acz",
        ),
    ] {
        let body = format!("{start}{odd}\n\n{end}data: [DONE]\n\n");
        assert_eq!(words(Chat, &body), expected, "{odd}");
    }
    // The mark of the end without a blank line before it.
    let body = format!("{start}{}\ndata: [DONE]\n\n", end.trim_end());
    assert_eq!(words(Chat, &body), "az");
    // The answer has no alternative with the index 0.
    let body = (start.to_owned() + end).replace("\"delta\"", "\"index\":1,\"delta\"");
    assert_eq!(words(Chat, &body), "az");
    let body = body.replacen("{\"index\":1", "{\"index\":2", 1);
    assert_eq!(words(Chat, &(body + "data: [DONE]\n\n")), "a");
    // An answer without a readable part is a failure.
    let body = stream(&[
        json!({"choices": [{"delta": {"content": "", "tool_calls": 5}, "finish_reason": "stop"}]}),
    ]);
    assert_eq!(
        words(Chat, &body),
        " FAILED `vendor/model-1` sent no answer that osier can read: `choices.0.delta.tool_calls`"
    );
    // The reason for the end is a call that was lost.
    let body = stream(&[
        json!({"choices": [{"delta": {"tool_calls": [null, {}]}, "finish_reason": "tool_calls"}]}),
    ]);
    assert_eq!(
        words(Chat, &body),
        " FAILED `vendor/model-1` sent no answer that osier can read: `the call that ends the answer`"
    );
}

#[test]
fn an_event_that_is_lost_in_a_call_fails_the_answer() {
    let call = delta(
        &json!({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "read", "arguments": "{\"path\":"}}]}),
    );
    let end = json!({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]});
    let body = stream(&[call]) + "data: {\"choices\": [{\"del\n\n" + &stream(&[end]);
    let (_, status) = play(&model(Chat), body.as_bytes());
    assert!(
        matches!(status, TurnStatus::InvalidResponse { .. }),
        "{status:?}"
    );
}

#[test]
fn complete_bodies_are_read_instead_of_streams() {
    for (api, body, expected) in [
        (
            Chat,
            json!({"id": 3, "choices": [{"index": 0, "message": {"role": "assistant", "content": "hi", "tool_calls": [
                {"id": "c", "function": {"name": "read", "arguments": "{}"}}]}, "finish_reason": "tool_calls"}], "usage": {"prompt_tokens": 3}}),
            "hi c:read{}",
        ),
        (
            Chat,
            json!({"choices": [{"message": {"content": "hi"}}]}),
            "hi",
        ),
        (
            Responses,
            json!({"object": "response", "id": "r", "status": "completed", "output": [
                {"type": "reasoning", "summary": [{"text": "hm"}]},
                {"type": "message", "content": [{"type": "output_text", "text": "hi"}]},
                {"type": "function_call", "call_id": 5, "name": "read", "arguments": {"path": "x"}}]}),
            "(hm) hi 5:read{\"path\":\"x\"}",
        ),
        (
            Anthropic,
            json!({"type": "message", "id": "m", "content": [{"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "text", "text": "hi"}, {"type": "tool_use", "id": "c", "name": "read", "input": {"path": "x"}}],
                "stop_reason": "tool_use", "usage": {"input_tokens": 3, "output_tokens": 4}}),
            "(hm) hi c:read{\"path\":\"x\"}",
        ),
        (
            Anthropic,
            json!({"type": "message", "content": "hi", "stop_reason": "end_turn"}),
            "hi",
        ),
        (
            Anthropic,
            json!({"content": [{"text": "hi"}, "!"], "stop_reason": {"x": 1}}),
            "hi !",
        ),
        (
            Google,
            json!([{"candidates": [{"content": {"parts": [{"text": "h"}]}}]},
                {"candidates": [{"content": {"parts": [{"text": "i"}, {"functionCall": {"name": "read", "args": "{\"path\":\"x\"}"}}]}, "finishReason": "STOP"}]}]),
            "hi ?:read{\"path\":\"x\"}",
        ),
        (
            Ollama,
            json!([{"message": {"content": "hi"}, "done": true}]),
            "hi",
        ),
        (
            Bedrock,
            json!({"output": {"message": {"content": [{"text": "hi"}, {"toolUse": {"toolUseId": "c", "name": "read", "input": {"path": "x"}}}]}},
                "stopReason": "tool_use", "usage": {"inputTokens": 3, "outputTokens": 4}}),
            "hi c:read{\"path\":\"x\"}",
        ),
    ] {
        for body in [body.to_string(), format!("\u{feff}\n{body:#}\n")] {
            assert_eq!(words(api, &body), expected, "{api:?} {body}");
        }
    }
    // Lines of JSON without the framing, and events where lines are expected.
    let chunk = |text: &str| delta(&json!({ "content": text }));
    let lines = format!("{}\n{}\n", chunk("a"), chunk("b"));
    assert_eq!(words(Chat, &lines), "ab");
    let line = json!({"message": {"content": "hi"}, "done": true});
    assert_eq!(words(Ollama, &format!("data: {line}\n\n")), "hi");
    assert_eq!(words(Ollama, &format!("{line:#}\n")), "hi");
}

#[test]
fn bodies_that_are_cut_are_no_success() {
    let body = json!({"choices": [{"message": {"content": "hello"}, "finish_reason": "stop"}]})
        .to_string();
    for length in 1..body.len() {
        let (_, status) = play(&model(Chat), &body.as_bytes()[..length]);
        assert!(!status.is_success(), "{}", &body[..length]);
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn events_of_other_formats_in_every_form_are_read() {
    let start = json!({"type": "message_start", "message": {"id": 3, "usage": []}});
    let stop = json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}});
    let block = |index: Value, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    let grow = |index: Value, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    for (events, expected) in [
        (
            vec![
                block(json!("0"), json!({"type": "text", "text": "a"})),
                grow(json!(0), json!({"text": {"text": "b"}})),
            ],
            "ab",
        ),
        (
            vec![
                block(json!(-1), json!({"type": "text"})),
                grow(json!(-1), json!("ab")),
            ],
            "ab",
        ),
        // Without the start of the block.
        (vec![grow(json!(0), json!({"text": "ab"}))], "ab"),
        (
            vec![
                block(json!(0), json!({"type": "text", "text": ["a"]})),
                json!({"type": "content_block_stop"}),
                json!({"type": 7}),
                json!({"type": "new", "x": 1}),
            ],
            "a",
        ),
        (
            vec![
                block(
                    json!(0),
                    json!({"type": "tool_use", "id": 9, "name": "read", "input": {}}),
                ),
                grow(json!(0), json!({"partial_json": {"path": "x"}})),
            ],
            "9:read{\"path\":\"x\"}",
        ),
        (
            vec![
                block(
                    json!(0),
                    json!({"type": "thinking", "thinking": {"text": "hm"}, "signature": 4}),
                ),
                block(json!(1), json!({"type": "text", "text": "a"})),
            ],
            "(hm) a",
        ),
        (
            vec![
                block(json!(9), json!({"type": "tool_use"})),
                block(
                    json!(8),
                    json!({"type": "server_tool_use", "id": "s", "name": "web_search"}),
                ),
                grow(json!(8), json!({"partial_json": "{\"q\":1}"})),
                block(json!(0), json!(5)),
                block(json!(1), json!({"type": "text", "text": "a"})),
            ],
            // The step is stored, and not shown.
            "a ()",
        ),
    ] {
        let events = [vec![start.clone()], events, vec![stop.clone()]].concat();
        assert_eq!(words(Anthropic, &stream(&events)), expected, "{events:?}");
    }
    // The event has its name instead of its type.
    let body = "event: content_block_delta\ndata: {\"index\":0,\"delta\":{\"text\":\"a\"}}\n\nevent: message_stop\ndata: {}\n\n";
    assert_eq!(words(Anthropic, body), "a");

    let done = json!({"type": "response.completed", "response": {"output": "x", "usage": 3}});
    for (events, expected) in [
        (
            vec![
                json!({"type": "response.output_text.delta", "output_index": "0", "item_id": 5, "delta": {"text": "a"}}),
            ],
            "a",
        ),
        (
            vec![
                json!({"type": "response.output_item.added", "output_index": -1, "item": {"type": "function_call", "id": 1, "call_id": 2, "name": "read"}}),
                json!({"type": "response.function_call_arguments.done", "item_id": 1, "arguments": {"path": "x"}}),
            ],
            "2:read{\"path\":\"x\"}",
        ),
        (
            vec![
                json!({"type": "response.output_item.done", "item": {"type": "message", "content": "a"}}),
            ],
            "a",
        ),
        (
            vec![
                json!({"type": "response.output_item.done", "item": 3}),
                json!({"type": "response.output_text.delta", "delta": "a"}),
            ],
            "a",
        ),
        (
            vec![
                json!({"type": "response.new", "x": 1}),
                json!(null),
                json!({"type": "response.output_text.delta", "delta": "a"}),
            ],
            "a",
        ),
    ] {
        let events = [events, vec![done.clone()]].concat();
        assert_eq!(words(Responses, &stream(&events)), expected, "{events:?}");
    }

    for (candidate, expected) in [
        (
            json!({"index": "0", "content": {"parts": {"text": "a"}}, "finishReason": "STOP"}),
            "a",
        ),
        (
            json!({"content": "a", "finishReason": {"name": "STOP"}}),
            "a",
        ),
        (json!({"content": "a", "finishReason": {"STOP": {}}}), "a"),
        (json!({"content": "a", "finishReason": [[1]]}), "a"),
        (
            json!({"index": 1, "content": {"parts": [{"functionCall": {}}, {"text": "a"}]}, "finishReason": 1}),
            "a",
        ),
        (
            json!({"content": {"parts": ["a", {"text": 5}, {"thought": "true", "text": "hm"}, 3]}, "finishReason": "STOP", "groundingMetadata": 3}),
            "a5 (hm)",
        ),
        (
            json!({"content": {"parts": [{"functionCall": {"id": 4, "name": "read", "args": {"path": "x"}}}]}, "finishReason": "STOP"}),
            "4:read{\"path\":\"x\"}",
        ),
    ] {
        let body =
            stream(&[json!({"responseId": 3, "candidates": [candidate], "usageMetadata": "x"})]);
        assert_eq!(words(Google, &body), expected, "{body}");
    }

    for (line, expected) in [
        (
            json!({"message": {"content": {"text": "a"}, "thinking": ["hm"]}}),
            "(hm) a",
        ),
        (json!({"message": "a", "done": "false"}), "a"),
        (json!({"message": "a", "error": {}}), "a"),
        (
            json!({"message": {"content": "a", "tool_calls": [{}]}, "error": ""}),
            "a",
        ),
        (
            json!({"message": {"content": "<think>hm</think>a", "tool_calls": {"id": 3, "function": {"name": "read", "arguments": "{\"path\":\"x\"}"}}}}),
            "(hm) a 3:read{\"path\":\"x\"}",
        ),
    ] {
        let body = format!(
            "{line}\n{}\n",
            json!({"message": null, "done": true, "eval_count": "x"})
        );
        assert_eq!(words(Ollama, &body), expected, "{line}");
    }
}

#[test]
fn think_tags_in_text_are_thinking() {
    let chunks = ["<thi", "nk>h", "m</think", ">\n\nyes `<think>`"];
    let chunks: Vec<Value> = chunks
        .iter()
        .map(|text| delta(&json!({ "content": text })))
        .collect();
    let end = json!({"choices": [{"delta": {}, "finish_reason": "stop"}]});
    let body = stream(&[chunks, vec![end.clone()]].concat());
    assert_eq!(words(Chat, &body), "(hm) yes `<think>`");
    // The template has the first tag.
    let chunks = ["h", "m\n</th", "ink>\n\nyes"];
    let chunks: Vec<Value> = chunks
        .iter()
        .map(|text| delta(&json!({ "content": text })))
        .collect();
    let body = stream(&[chunks, vec![end]].concat());
    assert_eq!(words(Chat, &body), "(hm\n) yes");
    let line = json!({"message": {"content": "hm\n</think>\nyes"}, "done": true});
    assert_eq!(words(Ollama, &line.to_string()), "(hm\n) yes");
}

#[test]
fn parts_that_are_left_out_are_named() {
    let chunk = json!({"choices": [{"delta": {"content": "b", "tool_calls": 5}}, "x"]});
    let events = events(&model(Chat), chat(&chunk).as_bytes(), 9).unwrap();
    let warnings: Vec<&StreamEvent> = events
        .iter()
        .filter(|event| matches!(event, StreamEvent::Warning { .. }))
        .collect();
    let text = "`vendor/model-1` sent parts of an answer that osier cannot read, and leaves out: `choices.0.delta.tool_calls`, `choices.1`";
    assert_eq!(
        warnings,
        [&StreamEvent::Warning {
            text: text.to_owned()
        }]
    );
}

/// An answer of Bedrock.
pub(super) fn frames(events: &[Value]) -> Vec<u8> {
    let frames = events.iter().map(|event| {
        let Some((name, data)) = event.as_object().and_then(|event| event.iter().next()) else {
            return Vec::new();
        };
        let headers = [(":event-type", name.as_str()), (":message-type", "event")];
        aws_events::frame(&headers, &data.to_string())
    });
    frames.collect::<Vec<_>>().concat()
}

#[test]
fn frames_in_every_form_are_read() {
    let grow = |index: Value, delta: Value| json!({"contentBlockDelta": {"contentBlockIndex": index, "delta": delta}});
    let start = |index: Value, start: Value| json!({"contentBlockStart": {"contentBlockIndex": index, "start": start}});
    for (events, expected) in [
        (vec![start(json!(0), json!({"toolUse": {}}))], "a"),
        (
            vec![
                start(
                    json!(0),
                    json!({"toolUse": {"toolUseId": "s", "name": "web", "type": "server_tool_use"}}),
                ),
                grow(json!(0), json!({"toolUse": {"input": "{}"}})),
            ],
            "a",
        ),
        (
            vec![
                start(
                    json!("x"),
                    json!({"toolUse": {"toolUseId": 3, "name": "read"}}),
                ),
                grow(json!([]), json!({"toolUse": {"input": {"path": "x"}}})),
            ],
            "a 3:read{\"path\":\"x\"}",
        ),
        (
            vec![
                start(json!(2), json!({"toolUse": {"toolUseId": "c"}})),
                grow(json!(2), json!({"toolUse": {"input": "{\"path\":\"x\"}"}})),
            ],
            "a ?:unknown{\"path\":\"x\"}",
        ),
    ] {
        let first = grow(json!(7), json!({"text": "a"}));
        for end in [
            json!(null),
            json!(""),
            json!({}),
            json!({"stopReason": {"x": 1}}),
        ] {
            let all = [
                vec![first.clone()],
                events.clone(),
                vec![json!({"messageStop": end})],
            ];
            assert_eq!(
                words_of(Bedrock, &frames(&all.concat())),
                expected,
                "{events:?}"
            );
        }
    }
}

/// A wire format, the start of an answer, an event with a text, a call, and the end.
type Format = (Api, Vec<Value>, fn(&str) -> Value, Vec<Value>, Vec<Value>);

/// For each format: the start, an event with the text, a call of `read`, and the end.
fn formats() -> [Format; 6] {
    [
        (
            Chat,
            vec![],
            |text| json!({"id": "x", "object": "chunk", "choices": [{"index": 0, "delta": {"role": "assistant", "content": text, "reasoning": "hm"}, "finish_reason": null}]}),
            vec![delta(
                &json!({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "read", "arguments": "{\"path\":\"x\"}"}}]}),
            )],
            vec![json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})],
        ),
        (
            Anthropic,
            vec![
                json!({"type": "message_start", "message": {"id": "m"}}),
                json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
            ],
            |text| json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}),
            vec![
                json!({"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "c", "name": "read", "input": {}}}),
                json!({"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "{\"path\":\"x\"}"}}),
                json!({"type": "content_block_stop", "index": 1}),
            ],
            vec![
                json!({"type": "content_block_stop", "index": 0}),
                json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}),
                json!({"type": "message_stop"}),
            ],
        ),
        (
            Responses,
            vec![json!({"type": "response.created", "response": {"id": "r"}})],
            |text| json!({"type": "response.output_text.delta", "output_index": 0, "item_id": "i", "content_index": 0, "delta": text}),
            vec![
                json!({"type": "response.output_item.done", "output_index": 1, "item": {"type": "function_call", "call_id": "c", "name": "read", "arguments": "{\"path\":\"x\"}"}}),
            ],
            vec![json!({"type": "response.completed", "response": {"id": "r"}})],
        ),
        (
            Google,
            vec![],
            |text| json!({"responseId": "r", "candidates": [{"index": 0, "content": {"role": "model", "parts": [{"text": text}]}}], "modelVersion": "x"}),
            vec![
                json!({"candidates": [{"content": {"parts": [{"functionCall": {"id": "c", "name": "read", "args": {"path": "x"}}}]}}]}),
            ],
            vec![json!({"candidates": [{"content": {"parts": []}, "finishReason": "STOP"}]})],
        ),
        (
            Ollama,
            vec![],
            |text| json!({"model": "m", "created_at": "x", "message": {"role": "assistant", "content": text, "thinking": "hm"}}),
            vec![
                json!({"message": {"tool_calls": [{"id": "c", "function": {"name": "read", "arguments": {"path": "x"}}}]}}),
            ],
            vec![json!({"message": {"content": ""}, "done": true, "done_reason": "stop"})],
        ),
        (
            Bedrock,
            vec![json!({"messageStart": {"role": "assistant"}})],
            |text| json!({"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": text}}}),
            vec![
                json!({"contentBlockStart": {"contentBlockIndex": 1, "start": {"toolUse": {"toolUseId": "c", "name": "read"}}}}),
                json!({"contentBlockDelta": {"contentBlockIndex": 1, "delta": {"toolUse": {"input": "{\"path\":\"x\"}"}}}}),
            ],
            vec![json!({"messageStop": {"stopReason": "tool_use"}})],
        ),
    ]
}

/// The pointers of all values in `value`, except for itself.
fn pointers(value: &Value, path: &str, found: &mut Vec<String>) {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(map) => map
            .iter()
            .map(|(name, value)| (name.clone(), value))
            .collect(),
        Value::Array(list) => list
            .iter()
            .enumerate()
            .map(|(at, value)| (at.to_string(), value))
            .collect(),
        _ => return,
    };
    for (name, child) in children {
        let path = format!("{path}/{name}");
        pointers(child, &path, found);
        found.push(path);
    }
}

fn odd_value() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!(null),
        json!(-1),
        json!(7),
        json!("0"),
        json!(1.5),
        json!(true),
        json!([]),
        json!({}),
        json!([1]),
        json!(["x", null, {"text": "y"}]),
        json!({"a": 1}),
        json!("x"),
        json!({"text": "x"}),
        json!([[[]]]),
        json!(""),
        json!(18_446_744_073_709_551_615_u64),
        json!({"type": "x", "id": 3}),
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn odd_event_costs_no_neighbour(
        changes in prop::collection::vec((any::<prop::sample::Index>(), odd_value()), 1..4),
        (field, extra) in (prop::sample::select(vec!["extra", "error", "message", "choices", "candidates", "content", "id"]), odd_value()),
        of_call in any::<bool>(),
    ) {
        for (api, start, event, call, end) in formats() {
            let mut odd = event("odd");
            if of_call {
                // The extra part is a separate call.
                let text = call[0].to_string().replace("\"c\"", "\"odd\"");
                odd = serde_json::from_str(&text).unwrap();
                if let Some(index) = odd.pointer_mut("/choices/0/delta/tool_calls/0/index") {
                    *index = json!(5);
                }
                if api == Responses {
                    odd["output_index"] = json!(5);
                }
            }
            for (at, value) in &changes {
                let mut found = Vec::new();
                pointers(&odd, "", &mut found);
                if !found.is_empty() {
                    *odd.pointer_mut(&found[at.index(found.len())]).unwrap() = value.clone();
                }
            }
            // An error is not an odd part, and the type determines the meaning of an event.
            let is_error = matches!(field, "error" | "message") && is_error(&extra);
            if odd.is_object() && api != Bedrock && !is_error && odd.get(field).is_none() {
                odd[field] = extra.clone();
            }
            let all = [start, vec![event("alpha"), odd.clone(), event("omega")], call, end].concat();
            let body = match api {
                Ollama => all.iter().map(|line| format!("{line}\n")).collect::<Vec<_>>().concat().into_bytes(),
                Bedrock => frames(&all),
                _ => stream(&all).into_bytes(),
            };
            let (message, status) = play(&model(api), &body);
            prop_assert!(status.is_success(), "{:?} {} {:?}", api, odd, status);
            let text = message.text();
            prop_assert!(text.contains("alpha") && text.contains("omega"), "{:?} {} {}", api, odd, text);
            let is_read = |call: &ToolCall| call.name == "read" && call.arguments == json!({"path": "x"});
            prop_assert!(message.tool_calls().any(is_read), "{:?} {} {:?}", api, odd, message.content);
        }
    }
}
