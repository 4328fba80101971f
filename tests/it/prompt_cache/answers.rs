//! The streams of a server of each wire format: a turn with thinking, text and parallel calls, and a final turn.

use serde_json::{Value, json};

use crate::support::web_server::{aws_stream, events, plain};

/// Tokens in every answer: input, cache read, cache write, output.
pub(crate) const USAGE: [u64; 4] = [20, 80, 10, 5];

/// The calls of turn `place`: a text, an image, and sometimes a missing file.
fn calls(place: usize) -> Vec<(String, Value)> {
    let mut files = vec!["notes.txt", "picture.png"];
    if place.is_multiple_of(6) {
        files.push("gone.txt");
    }
    let call = |(number, file)| (format!("{place}x{number}"), json!({"file_path": file}));
    files.into_iter().enumerate().map(call).collect()
}

/// Whether turn `place` calls tools.
fn goes_on(place: usize) -> bool {
    place.is_multiple_of(2)
}

fn thought(place: usize) -> String {
    format!("Thought {place} \u{6f22}.")
}

fn said(place: usize) -> String {
    format!("Said {place}.")
}

fn chat_end(place: usize) -> Value {
    let reason = if goes_on(place) { "tool_calls" } else { "stop" };
    let [input, read, _, output] = USAGE;
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}],
        "usage": {"prompt_tokens": input + read, "completion_tokens": output,
                  "prompt_tokens_details": {"cached_tokens": read}}})
}

/// A stream of chat completions that thinks with these deltas.
fn chat_with(place: usize, thinking: impl IntoIterator<Item = Value>) -> Vec<u8> {
    let chunk = |delta: Value| json!({"choices": [{"index": 0, "delta": delta}]});
    let mut chunks: Vec<Value> = thinking.into_iter().map(chunk).collect();
    chunks.push(chunk(json!({"content": said(place)})));
    if goes_on(place) {
        for (index, (id, arguments)) in calls(place).into_iter().enumerate() {
            let function = json!({"name": "read", "arguments": arguments.to_string()});
            let call = json!({"index": index, "id": format!("call_{id}"), "type": "function", "function": function});
            chunks.push(chunk(json!({"tool_calls": [call]})));
        }
    }
    chunks.push(chat_end(place));
    events(&chunks)
}

pub(crate) fn chat(place: usize) -> Vec<u8> {
    chat_with(place, [json!({"reasoning_content": thought(place)})])
}

pub(crate) fn openrouter(place: usize) -> Vec<u8> {
    let text = json!({"type": "reasoning.text", "text": thought(place), "index": 0});
    let sign = json!({"type": "reasoning.text", "signature": format!("sig-{place}"), "index": 0});
    chat_with(
        place,
        [
            json!({"reasoning": thought(place), "reasoning_details": [text]}),
            json!({"content": "", "reasoning_details": [sign]}),
        ],
    )
}

pub(crate) fn mistral(place: usize) -> Vec<u8> {
    let text = json!([{"type": "text", "text": thought(place)}]);
    let signature = format!("sig-{place}");
    chat_with(
        place,
        [
            json!({"content": [{"type": "thinking", "thinking": text, "closed": true, "signature": signature}]}),
        ],
    )
}

/// An answer with one word.
pub(crate) fn anthropic_says(text: &str, usage: [u64; 4]) -> Vec<u8> {
    let block = json!({"type": "text", "text": ""});
    let said = json!({"type": "text_delta", "text": text});
    anthropic_message(vec![(block, vec![said])], "end_turn", usage)
}

pub(crate) fn anthropic(place: usize) -> Vec<u8> {
    let mut blocks = vec![
        (
            json!({"type": "thinking", "thinking": "", "signature": ""}),
            vec![
                json!({"type": "thinking_delta", "thinking": thought(place)}),
                json!({"type": "signature_delta", "signature": format!("sig-{place}")}),
            ],
        ),
        (
            json!({"type": "redacted_thinking", "data": format!("hidden-{place}")}),
            vec![],
        ),
        (
            json!({"type": "text", "text": ""}),
            vec![json!({"type": "text_delta", "text": said(place)})],
        ),
    ];
    if goes_on(place) {
        blocks.extend(calls(place).into_iter().map(|(id, arguments)| {
            let input = json!({"type": "input_json_delta", "partial_json": arguments.to_string()});
            let id = format!("toolu_{id}");
            (
                json!({"type": "tool_use", "id": id, "name": "read", "input": {}}),
                vec![input],
            )
        }));
    }
    let stop = if goes_on(place) {
        "tool_use"
    } else {
        "end_turn"
    };
    anthropic_message(blocks, stop, USAGE)
}

/// A complete message of these blocks, each with its deltas.
fn anthropic_message(blocks: Vec<(Value, Vec<Value>)>, stop: &str, usage: [u64; 4]) -> Vec<u8> {
    let [input, read, write, output] = usage;
    let usage = json!({"input_tokens": input, "cache_read_input_tokens": read, "cache_creation_input_tokens": write});
    let mut stream = vec![json!({"type": "message_start", "message": {"id": "m", "usage": usage}})];
    for (index, (block, deltas)) in blocks.into_iter().enumerate() {
        stream.push(json!({"type": "content_block_start", "index": index, "content_block": block}));
        let delta = |delta| json!({"type": "content_block_delta", "index": index, "delta": delta});
        stream.extend(deltas.into_iter().map(delta));
        stream.push(json!({"type": "content_block_stop", "index": index}));
    }
    let usage = json!({"output_tokens": output});
    stream.push(json!({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": usage}));
    stream.push(json!({"type": "message_stop"}));
    events(&stream)
}

pub(crate) fn responses(place: usize) -> Vec<u8> {
    let [input, read, _, output] = USAGE;
    let mut items = vec![
        json!({"type": "reasoning", "id": format!("rs_{place}"), "encrypted_content": format!("sig-{place}"),
            "summary": [{"type": "summary_text", "text": thought(place)}]}),
        json!({"type": "message", "id": format!("msg_{place}"), "role": "assistant", "phase": "commentary",
            "content": [{"type": "output_text", "text": said(place), "annotations": []}]}),
    ];
    if goes_on(place) {
        items.extend(calls(place).into_iter().map(|(id, arguments)| {
            json!({"type": "function_call", "id": format!("fc_{id}"), "call_id": format!("call_{id}"),
                "name": "read", "arguments": arguments.to_string()})
        }));
    }
    let mut stream = vec![json!({"type": "response.created", "response": {"id": "r"}})];
    for (index, item) in items.iter().enumerate() {
        stream.push(
            json!({"type": "response.output_item.done", "output_index": index, "item": item}),
        );
    }
    let usage = json!({"input_tokens": input + read, "output_tokens": output,
        "input_tokens_details": {"cached_tokens": read}});
    let response = json!({"id": "r", "status": "completed", "output": items, "usage": usage});
    stream.push(json!({"type": "response.completed", "response": response}));
    events(&stream)
}

pub(crate) fn google(place: usize) -> Vec<u8> {
    let [input, read, _, output] = USAGE;
    let mut parts = vec![
        json!({"text": thought(place), "thought": true}),
        json!({"text": said(place)}),
    ];
    if goes_on(place) {
        let calls = calls(place).into_iter().enumerate();
        parts.extend(calls.map(|(number, (_, arguments))| {
            let mut part = json!({"functionCall": {"name": "read", "args": arguments}});
            if number == 0 {
                part["thoughtSignature"] = format!("sig-{place}").into();
            }
            part
        }));
    } else {
        parts.push(json!({"text": "", "thoughtSignature": format!("sig-{place}")}));
    }
    let usage = json!({"promptTokenCount": input + read, "cachedContentTokenCount": read, "candidatesTokenCount": output});
    let last = parts.len() - 1;
    let chunks: Vec<Value> = parts
        .into_iter()
        .enumerate()
        .map(|(number, part)| {
            let mut candidate = json!({"content": {"role": "model", "parts": [part]}});
            if number == last {
                candidate["finishReason"] = "STOP".into();
            }
            json!({"candidates": [candidate], "usageMetadata": usage})
        })
        .collect();
    events(&chunks)
}

pub(crate) fn ollama(place: usize) -> Vec<u8> {
    let mut message = json!({"role": "assistant", "content": said(place)});
    if goes_on(place) {
        let call = |(_, arguments)| json!({"function": {"name": "read", "arguments": arguments}});
        message["tool_calls"] = calls(place).into_iter().map(call).collect();
    }
    let thinking = json!({"role": "assistant", "content": "", "thinking": thought(place)});
    let done = json!({"message": {"role": "assistant", "content": ""}, "done": true, "done_reason": "stop",
        "prompt_eval_count": USAGE[0], "eval_count": USAGE[3]});
    let lines = [
        json!({"message": thinking, "done": false}),
        json!({"message": message, "done": false}),
        done,
    ];
    let body: String = lines.iter().map(|line| format!("{line}\n")).collect();
    plain("200 OK", "content-type: application/x-ndjson\r\n", body)
}

pub(crate) fn bedrock(place: usize) -> Vec<u8> {
    let [input, read, write, output] = USAGE;
    let delta = |index: usize, delta: Value| {
        (
            "contentBlockDelta",
            json!({"contentBlockIndex": index, "delta": delta}),
        )
    };
    let end = |index: usize| ("contentBlockStop", json!({"contentBlockIndex": index}));
    let mut stream = vec![
        ("messageStart", json!({"role": "assistant"})),
        delta(0, json!({"reasoningContent": {"text": thought(place)}})),
        delta(
            0,
            json!({"reasoningContent": {"signature": format!("sig-{place}")}}),
        ),
        end(0),
        delta(1, json!({"text": said(place)})),
        end(1),
    ];
    if goes_on(place) {
        for (number, (id, arguments)) in calls(place).into_iter().enumerate() {
            let index = number + 2;
            let id = format!("tooluse_{id}");
            let start = json!({"toolUse": {"toolUseId": id, "name": "read"}});
            stream.push((
                "contentBlockStart",
                json!({"contentBlockIndex": index, "start": start}),
            ));
            let input = arguments.to_string();
            stream.push(delta(index, json!({"toolUse": {"input": input}})));
            stream.push(end(index));
        }
    }
    let stop = if goes_on(place) {
        "tool_use"
    } else {
        "end_turn"
    };
    stream.push(("messageStop", json!({"stopReason": stop})));
    let usage = json!({"inputTokens": input, "outputTokens": output,
        "cacheReadInputTokens": read, "cacheWriteInputTokens": write});
    stream.push(("metadata", json!({"usage": usage})));
    aws_stream(&stream)
}
