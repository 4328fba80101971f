//! Answers of a model in the formats of the vendors, one frame for each event.

use serde_json::{Value, json};

/// A wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire {
    Anthropic,
    Bedrock,
    Chat,
    Google,
    Ollama,
    Responses,
}

/// The answer of a model.
#[derive(Debug, Clone, Default)]
pub(crate) struct Turn {
    /// The deltas of the text.
    pub(crate) text: Vec<String>,
    /// Name and arguments of each call.
    pub(crate) calls: Vec<(String, Value)>,
}

impl Turn {
    pub(crate) fn says(text: &str) -> Self {
        let words = text.split_inclusive(' ').map(str::to_owned);
        Self {
            text: words.collect(),
            calls: Vec::new(),
        }
    }

    pub(crate) fn calls(name: &str, arguments: Value) -> Self {
        Self {
            text: Vec::new(),
            calls: vec![(name.to_owned(), arguments)],
        }
    }
}

impl Wire {
    pub(crate) const ALL: [Self; 6] = [
        Self::Anthropic,
        Self::Bedrock,
        Self::Chat,
        Self::Google,
        Self::Ollama,
        Self::Responses,
    ];

    /// The name in `models.json`, and in the path of the model server.
    pub(crate) fn api(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic-messages",
            Self::Bedrock => "bedrock-converse",
            Self::Chat => "openai-chat-completions",
            Self::Google => "google-generative-ai",
            Self::Ollama => "ollama",
            Self::Responses => "openai-responses",
        }
    }

    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Self::Bedrock => "application/vnd.amazon.eventstream",
            Self::Ollama => "application/x-ndjson",
            _ => "text/event-stream",
        }
    }

    /// The events of an answer.
    pub(crate) fn frames(self, turn: &Turn) -> Vec<Vec<u8>> {
        match self {
            Self::Anthropic => anthropic(turn),
            Self::Bedrock => bedrock(turn),
            Self::Chat => chat(turn),
            Self::Google => google(turn),
            Self::Ollama => ollama(turn),
            Self::Responses => responses(turn),
        }
    }
}

fn event(value: &Value) -> Vec<u8> {
    format!("data: {value}\n\n").into_bytes()
}

fn named(value: &Value) -> Vec<u8> {
    let name = value["type"].as_str().unwrap_or_default();
    format!("event: {name}\ndata: {value}\n\n").into_bytes()
}

fn chat(turn: &Turn) -> Vec<Vec<u8>> {
    let chunk = |delta: Value| json!({"choices": [{"index": 0, "delta": delta}]});
    let mut values: Vec<Value> = Vec::new();
    for text in &turn.text {
        values.push(chunk(json!({"content": text})));
    }
    for (index, (name, arguments)) in turn.calls.iter().enumerate() {
        let function = json!({"name": name, "arguments": arguments.to_string()});
        let call =
            json!({"index": index, "id": call_id(index), "type": "function", "function": function});
        values.push(chunk(json!({"tool_calls": [call]})));
    }
    let reason = if turn.calls.is_empty() {
        "stop"
    } else {
        "tool_calls"
    };
    values.push(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}));
    values.push(
        json!({"choices": [], "usage": {"prompt_tokens": 1100, "completion_tokens": 50,
        "prompt_tokens_details": {"cached_tokens": 900}}}),
    );
    let mut frames: Vec<Vec<u8>> = values.iter().map(event).collect();
    frames.push(b"data: [DONE]\n\n".to_vec());
    frames
}

fn call_id(index: usize) -> String {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    format!("call_{}_{index}", NEXT.fetch_add(1, Ordering::Relaxed))
}

fn anthropic(turn: &Turn) -> Vec<Vec<u8>> {
    let usage = json!({"input_tokens": 200, "cache_read_input_tokens": 900, "cache_creation_input_tokens": 10});
    let mut values =
        vec![json!({"type": "message_start", "message": {"id": "msg_1", "usage": usage}})];
    let mut index = 0;
    let mut block = |start: Value, deltas: Vec<Value>| {
        values.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
        for delta in deltas {
            values.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        }
        values.push(json!({"type": "content_block_stop", "index": index}));
        index += 1;
    };
    if !turn.text.is_empty() {
        let delta = |text: &String| json!({"type": "text_delta", "text": text});
        block(
            json!({"type": "text", "text": ""}),
            turn.text.iter().map(delta).collect(),
        );
    }
    for (place, (name, arguments)) in turn.calls.iter().enumerate() {
        let start = json!({"type": "tool_use", "id": call_id(place), "name": name, "input": {}});
        let input = json!({"type": "input_json_delta", "partial_json": arguments.to_string()});
        block(start, vec![input]);
    }
    let stop = if turn.calls.is_empty() {
        "end_turn"
    } else {
        "tool_use"
    };
    values.push(json!({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 50}}));
    values.push(json!({"type": "message_stop"}));
    values.iter().map(named).collect()
}

fn responses(turn: &Turn) -> Vec<Vec<u8>> {
    let mut values = vec![json!({"type": "response.created", "response": {"id": "resp_1"}})];
    let mut items = Vec::new();
    if !turn.text.is_empty() {
        for text in &turn.text {
            values.push(
                json!({"type": "response.output_text.delta", "output_index": 0, "delta": text}),
            );
        }
        let content =
            json!([{"type": "output_text", "text": turn.text.concat(), "annotations": []}]);
        items.push(
            json!({"type": "message", "id": "msg_1", "role": "assistant", "content": content}),
        );
    }
    for (place, (name, arguments)) in turn.calls.iter().enumerate() {
        let id = call_id(place);
        items.push(
            json!({"type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": name,
            "arguments": arguments.to_string()}),
        );
    }
    for (index, item) in items.iter().enumerate() {
        values.push(
            json!({"type": "response.output_item.done", "output_index": index, "item": item}),
        );
    }
    let usage = json!({"input_tokens": 1100, "output_tokens": 50, "input_tokens_details": {"cached_tokens": 900}});
    let response = json!({"id": "resp_1", "status": "completed", "output": items, "usage": usage});
    values.push(json!({"type": "response.completed", "response": response}));
    values.iter().map(named).collect()
}

fn google(turn: &Turn) -> Vec<Vec<u8>> {
    let mut parts: Vec<Value> = turn.text.iter().map(|text| json!({"text": text})).collect();
    for (name, arguments) in &turn.calls {
        parts.push(json!({"functionCall": {"name": name, "args": arguments}}));
    }
    let usage = json!({"promptTokenCount": 1100, "cachedContentTokenCount": 900, "candidatesTokenCount": 50});
    let last = parts.len().saturating_sub(1);
    let candidate = |(number, part): (usize, Value)| {
        let mut candidate = json!({"content": {"role": "model", "parts": [part]}});
        if number == last {
            candidate["finishReason"] = "STOP".into();
        }
        json!({"candidates": [candidate], "usageMetadata": usage})
    };
    let values = parts.into_iter().enumerate().map(candidate);
    values.map(|value| event(&value)).collect()
}

fn ollama(turn: &Turn) -> Vec<Vec<u8>> {
    let message = |message: Value| json!({"message": message, "done": false});
    let mut values: Vec<Value> = Vec::new();
    for text in &turn.text {
        values.push(message(json!({"role": "assistant", "content": text})));
    }
    for (name, arguments) in &turn.calls {
        let call = json!({"function": {"name": name, "arguments": arguments}});
        values.push(message(
            json!({"role": "assistant", "content": "", "tool_calls": [call]}),
        ));
    }
    values.push(
        json!({"message": {"role": "assistant", "content": ""}, "done": true, "done_reason": "stop",
        "prompt_eval_count": 1100, "eval_count": 50}),
    );
    values
        .iter()
        .map(|value| format!("{value}\n").into_bytes())
        .collect()
}

fn bedrock(turn: &Turn) -> Vec<Vec<u8>> {
    let delta = |index: usize, delta: Value| {
        let value = json!({"contentBlockIndex": index, "delta": delta});
        aws_frame("contentBlockDelta", &value)
    };
    let stop = |index: usize| aws_frame("contentBlockStop", &json!({"contentBlockIndex": index}));
    let mut frames = vec![aws_frame("messageStart", &json!({"role": "assistant"}))];
    let mut index = 0;
    if !turn.text.is_empty() {
        for text in &turn.text {
            frames.push(delta(index, json!({"text": text})));
        }
        frames.push(stop(index));
        index += 1;
    }
    for (place, (name, arguments)) in turn.calls.iter().enumerate() {
        let start = json!({"toolUse": {"toolUseId": call_id(place), "name": name}});
        let value = json!({"contentBlockIndex": index, "start": start});
        frames.push(aws_frame("contentBlockStart", &value));
        let input = arguments.to_string();
        frames.push(delta(index, json!({"toolUse": {"input": input}})));
        frames.push(stop(index));
        index += 1;
    }
    let reason = if turn.calls.is_empty() {
        "end_turn"
    } else {
        "tool_use"
    };
    frames.push(aws_frame("messageStop", &json!({"stopReason": reason})));
    let usage = json!({"inputTokens": 200, "outputTokens": 50, "cacheReadInputTokens": 900});
    frames.push(aws_frame("metadata", &json!({"usage": usage})));
    frames
}

/// A binary message of Amazon: lengths, headers and payload, each part with its checksum.
pub(crate) fn aws_frame(name: &str, payload: &Value) -> Vec<u8> {
    let mut headers = Vec::new();
    for (key, value) in [(":event-type", name), (":message-type", "event")] {
        headers.push(key.len() as u8);
        headers.extend(key.bytes());
        headers.push(7);
        headers.extend((value.len() as u16).to_be_bytes());
        headers.extend(value.bytes());
    }
    let payload = payload.to_string();
    let whole = 12 + headers.len() + payload.len() + 4;
    let mut message = (whole as u32).to_be_bytes().to_vec();
    message.extend((headers.len() as u32).to_be_bytes());
    message.extend(crc32fast::hash(&message).to_be_bytes());
    message.extend(headers);
    message.extend(payload.bytes());
    message.extend(crc32fast::hash(&message).to_be_bytes());
    message
}
