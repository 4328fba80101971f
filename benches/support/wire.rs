//! The server side of three wire formats: the events of an answer.

use serde_json::{Value, json};

/// A wire format, selected by the path of the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wire {
    Chat,
    Messages,
    Responses,
}

/// A command for the model's shell tool.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) arguments: Value,
}

impl Wire {
    pub(crate) fn of(path: &str) -> Option<Self> {
        [
            ("/chat/completions", Self::Chat),
            ("/messages", Self::Messages),
            ("/responses", Self::Responses),
        ]
        .into_iter()
        .find_map(|(end, wire)| path.ends_with(end).then_some(wire))
    }

    /// The answer to a request that does not stream.
    pub(crate) fn whole(self) -> Value {
        match self {
            Self::Chat => {
                json!({"id": "c1", "object": "chat.completion", "created": 1, "model": "mock",
                "choices": [{"index": 0, "message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}],
                "usage": chat_usage()})
            }
            Self::Messages => {
                json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "mock",
                "content": [{"type": "text", "text": "ok"}], "stop_reason": "end_turn", "stop_sequence": null,
                "usage": {"input_tokens": 10, "output_tokens": 2}})
            }
            Self::Responses => response("completed", &[]),
        }
    }

    /// The events before the text.
    pub(crate) fn begin_text(self) -> String {
        match self {
            Self::Chat => chat(&json!({"role": "assistant", "content": ""}), None),
            Self::Messages => {
                let block = json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}});
                message_start() + &named(&block)
            }
            Self::Responses => {
                let item = response_message("in_progress", "");
                let part = json!({"type": "output_text", "text": "", "annotations": []});
                let part = json!({"type": "response.content_part.added", "item_id": "msg_1",
                    "output_index": 0, "content_index": 0, "part": part});
                created() + &item_event("added", &item) + &named(&part)
            }
        }
    }

    /// The event of a text delta.
    pub(crate) fn delta(self, text: &str) -> String {
        match self {
            Self::Chat => chat(&json!({"content": text}), None),
            Self::Messages => named(&json!({"type": "content_block_delta", "index": 0,
                "delta": {"type": "text_delta", "text": text}})),
            Self::Responses => named(
                &json!({"type": "response.output_text.delta", "item_id": "msg_1",
                "output_index": 0, "content_index": 0, "delta": text}),
            ),
        }
    }

    /// The events after the text; `text` is the complete text.
    pub(crate) fn end_text(self, text: &str) -> String {
        match self {
            Self::Chat => chat(&json!({}), Some("stop")) + &chat_end(),
            Self::Messages => messages_end("end_turn"),
            Self::Responses => {
                let done = json!({"type": "response.output_text.done", "item_id": "msg_1",
                    "output_index": 0, "content_index": 0, "text": text});
                named(&done) + &responses_end(response_message("completed", text))
            }
        }
    }

    /// A complete answer with one tool call.
    pub(crate) fn call(self, call: &Call) -> String {
        let arguments = call.arguments.to_string();
        match self {
            Self::Chat => {
                let function = json!({"name": call.name, "arguments": arguments});
                let calls =
                    json!([{"index": 0, "id": call.id, "type": "function", "function": function}]);
                chat(&json!({"role": "assistant", "tool_calls": calls}), None)
                    + &chat(&json!({}), Some("tool_calls"))
                    + &chat_end()
            }
            Self::Messages => {
                let block =
                    json!({"type": "tool_use", "id": call.id, "name": call.name, "input": {}});
                let delta = json!({"type": "input_json_delta", "partial_json": arguments});
                message_start()
                    + &named(
                        &json!({"type": "content_block_start", "index": 0, "content_block": block}),
                    )
                    + &named(&json!({"type": "content_block_delta", "index": 0, "delta": delta}))
                    + &messages_end("tool_use")
            }
            Self::Responses => {
                let item = |status: &str, arguments: &str| {
                    json!({"id": "fc_1", "type": "function_call", "status": status,
                    "call_id": call.id, "name": call.name, "arguments": arguments})
                };
                let part = |kind: &str, field: &str| {
                    named(
                        &json!({"type": format!("response.function_call_arguments.{kind}"),
                    "item_id": "fc_1", "output_index": 0, field: arguments}),
                    )
                };
                created()
                    + &item_event("added", &item("in_progress", ""))
                    + &part("delta", "delta")
                    + &part("done", "arguments")
                    + &responses_end(item("completed", &arguments))
            }
        }
    }
}

/// An event named like its type.
fn named(data: &Value) -> String {
    let name = data["type"].as_str().unwrap_or_default();
    format!("event: {name}\ndata: {data}\n\n")
}

fn chat(delta: &Value, finish: Option<&str>) -> String {
    let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
    chat_chunk(&json!([choice]), None)
}

fn chat_end() -> String {
    chat_chunk(&json!([]), Some(chat_usage())) + "data: [DONE]\n\n"
}

fn chat_chunk(choices: &Value, usage: Option<Value>) -> String {
    let mut chunk = json!({"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "mock", "choices": choices});
    if let Some(usage) = usage {
        chunk["usage"] = usage;
    }
    format!("data: {chunk}\n\n")
}

fn chat_usage() -> Value {
    json!({"prompt_tokens": 1000, "completion_tokens": 500, "total_tokens": 1500})
}

fn message_start() -> String {
    let usage = json!({"input_tokens": 1000, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 1});
    let message = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "mock", "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": usage});
    named(&json!({"type": "message_start", "message": message}))
}

fn messages_end(reason: &str) -> String {
    let delta = json!({"stop_reason": reason, "stop_sequence": null});
    named(&json!({"type": "content_block_stop", "index": 0}))
        + &named(&json!({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 500}}))
        + &named(&json!({"type": "message_stop"}))
}

fn response(status: &str, output: &[Value]) -> Value {
    json!({"id": "resp_1", "object": "response", "created_at": 1, "status": status, "model": "mock", "output": output})
}

fn response_message(status: &str, text: &str) -> Value {
    let parts = match text {
        "" => json!([]),
        text => json!([{"type": "output_text", "text": text, "annotations": []}]),
    };
    json!({"id": "msg_1", "type": "message", "status": status, "role": "assistant", "content": parts})
}

fn created() -> String {
    named(&json!({"type": "response.created", "response": response("in_progress", &[])}))
}

fn item_event(kind: &str, item: &Value) -> String {
    named(&json!({"type": format!("response.output_item.{kind}"), "output_index": 0, "item": item}))
}

fn responses_end(item: Value) -> String {
    let done = item_event("done", &item);
    let mut response = response("completed", &[item]);
    response["usage"] = json!({"input_tokens": 1000, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 500,
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 1500});
    done + &named(&json!({"type": "response.completed", "response": response}))
}
