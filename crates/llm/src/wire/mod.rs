//! The wire formats: for each, how a request is written and how the stream of its answer is read.
//!
//! All of it is pure: bodies are values, decoders are state machines over server-sent events, and no
//! code asks which provider it talks to (`Compat` says what differs). `WIRES` is the whole list.

mod answer;
mod anthropic;
mod bedrock;
mod google;
mod headers;
mod limit;
#[cfg(test)]
mod matrix;
mod ollama;
mod openai_chat;
mod openai_responses;
#[cfg(test)]
pub(crate) mod testing;

pub(crate) use answer::parse_arguments;

use std::borrow::Cow;

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::event::StreamEvent;
use super::frames::Framing;
use super::model::{Api, KeyHeader, Model};
use super::provider::Request;
use super::sse::SseEvent;
use super::status::TurnStatus;
use osier_base::percent;

/// Longest `prompt_cache_key`.
const CACHE_KEY_LENGTH: usize = 64;

/// One wire format.
pub(crate) struct Wire {
    pub api: Api,
    /// Appended to the model's base URL; `{model}` stands for the model's id.
    pub path: &'static str,
    pub framing: Framing,
    /// Where the key goes, unless `Compat` says otherwise.
    pub key_header: KeyHeader,
    pub own_headers: fn(&Request) -> Vec<(&'static str, String)>,
    pub body: fn(&Request) -> Value,
    pub decoder: fn(&Model) -> Box<dyn Decoder>,
}

/// Every wire format there is.
pub(crate) const WIRES: &[Wire] = &[
    anthropic::WIRE,
    openai_responses::WIRE,
    openai_chat::WIRE,
    google::WIRE,
    ollama::WIRE,
    bedrock::WIRE,
];

impl Wire {
    pub(crate) fn find(api: Api) -> Option<&'static Self> {
        WIRES.iter().find(|wire| wire.api == api)
    }

    /// The address of a call, with a version that the base URL already ends with not repeated.
    pub(crate) fn url(&self, model: &Model) -> String {
        let base = model.base_url.trim_end_matches('/');
        if model.compat.on_vertex {
            return format!(
                "{base}/models/{}:streamRawPredict",
                percent::segment(model.id.as_bytes())
            );
        }
        let (base, path) = match (self.path.strip_prefix("/v1"), base.strip_suffix("/v1")) {
            (Some(_), Some(base)) => (base, self.path),
            // The compatible endpoint's address, where the own one is spoken.
            (None, Some(base)) if self.path.starts_with("/api/") => (base, self.path),
            _ => (base, self.path),
        };
        format!(
            "{base}{}",
            path.replace("{model}", &percent::segment(model.id.as_bytes()))
        )
    }

    pub(crate) fn key_header(&self, model: &Model) -> KeyHeader {
        model.compat.key_header.unwrap_or(self.key_header)
    }
}

/// Reads the events of one answer. Says `Done` or `Failed` exactly once, and nothing after it.
pub(crate) trait Decoder: Send {
    /// Takes one event and appends what it means.
    fn push(&mut self, event: &SseEvent, out: &mut Vec<StreamEvent>);

    /// The body has ended well. Appends the last event when none came yet.
    fn finish(&mut self, out: &mut Vec<StreamEvent>);

    /// The call failed from outside (cut off, timed out): ends the answer with `status`.
    fn fail(&mut self, status: TurnStatus, out: &mut Vec<StreamEvent>);

    /// Whether the last event was said.
    fn ended(&self) -> bool;
}

/// `null` where a value should be means none.
pub(crate) fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Option::<T>::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// Adds the fields that `Compat` names. They win over the format's own.
pub(crate) fn add_extra(request: &Request, body: &mut Map<String, Value>) {
    for (name, value) in &request.model.compat.extra_body {
        body.insert(name.clone(), value.clone());
    }
}

/// The `prompt_cache_key` of OpenAI's formats, where the server takes one.
pub(crate) fn cache_key(request: &Request) -> Option<String> {
    let wanted = request.model.compat.prompt_cache_key;
    let key = request.options.cache_key.as_deref().filter(|_| wanted)?;
    Some(key.chars().take(CACHE_KEY_LENGTH).collect())
}

/// A decimal as written, without the digits that widening a float makes up.
pub(crate) fn decimal(value: f32) -> Value {
    value
        .to_string()
        .parse::<f64>()
        .map_or(Value::Null, Value::from)
}

/// `text`, or a note for the model where there is none.
pub(crate) fn or_note(text: &str) -> Cow<'_, str> {
    match text.trim() {
        "" => Cow::Borrowed("(no output)"),
        _ => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::testing::{model, play};
    use super::*;
    use proptest::prelude::*;

    /// Pieces of every format, and of none.
    const PIECES: &[&str] = &[
        r#"{"type":"message_start","message":{"id":"m","usage":{"input_tokens":3}}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"a"}}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"n","input":{}}}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"thinking"}}"#,
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"a\":"}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"b"}}"#,
        r#"{"type":"content_block_stop","index":1}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":null}}"#,
        r#"{"type":"message_stop"}"#,
        r#"{"type":"error","error":{"type":"overloaded_error","message":"busy"}}"#,
        r#"{"choices":[{"index":0,"delta":{"content":"a","reasoning":"b"}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"n","arguments":"{"}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"}"}},{"id":"y"}]}}]}"#,
        r#"{"choices":[{"delta":null,"finish_reason":"length"}],"usage":{"prompt_tokens":1,"prompt_tokens_details":{"cached_tokens":9}}}"#,
        r#"{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":null}}"#,
        r#"{"choices":7}"#,
        r#"{"type":"response.created","response":{"id":"r"}}"#,
        r#"{"type":"response.output_item.added","item":{"type":"function_call","id":"f","call_id":"c","name":"n","arguments":""}}"#,
        r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"s","summary":[]}}"#,
        r#"{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":1,"delta":"hm"}"#,
        r#"{"type":"response.function_call_arguments.delta","item_id":"f","delta":"{}"}"#,
        r#"{"type":"response.output_text.delta","output_index":0,"delta":"a"}"#,
        r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"message","phase":"p","content":[{"refusal":"no"}]}}"#,
        r#"{"type":"response.incomplete","response":{"usage":{"input_tokens":1}}}"#,
        r#"{"type":"response.completed","response":{"output":[{"type":"function_call","name":"n"}]}}"#,
        r#"{"candidates":[{"content":{"parts":[{"text":"a","thought":true},{"text":"","thoughtSignature":"s"}]}}]}"#,
        r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"n"}},{"text":"b"}]},"finishReason":"STOP"}]}"#,
        r#"{"message":{"content":"a","thinking":"b","tool_calls":[{"function":{"name":"n","arguments":{}}}]},"done":false}"#,
        r#"{"message":null,"done":true,"done_reason":"stop","eval_count":3}"#,
        r#"{"promptFeedback":{"blockReason":"SAFETY"}}"#,
        r#"{"usageMetadata":{"promptTokenCount":1,"cachedContentTokenCount":5}}"#,
        "[DONE]",
        "",
        "{",
        "null",
    ];

    proptest! {
        #[test]
        fn whatever_comes_ends_once(
            pieces in prop::collection::vec(prop::sample::select(PIECES), 0..12),
            cut in 0_usize..40,
        ) {
            for wire in WIRES {
                let start = match wire.framing {
                    Framing::Events => "data: ",
                    Framing::Lines => "",
                    // Told apart by their names, which these pieces have none of.
                    Framing::AwsEvents => continue,
                };
                let mut stream: String = pieces.iter().flat_map(|piece| [start, piece, "\n\n"]).collect();
                stream.truncate(stream.len().saturating_sub(cut));
                // Checks that exactly one event is the last, and that the message can be built.
                play(&model(wire.api), stream.as_bytes());
            }
        }
    }

    #[test]
    fn addresses_are_put_together() {
        for (api, base, expected) in [
            (
                Api::AnthropicMessages,
                "https://api.anthropic.com",
                "https://api.anthropic.com/v1/messages",
            ),
            // A version is not repeated.
            (
                Api::AnthropicMessages,
                "http://127.0.0.1:8080/v1/",
                "http://127.0.0.1:8080/v1/messages",
            ),
            (
                Api::OpenaiChatCompletions,
                "https://api.groq.com/openai/v1",
                "https://api.groq.com/openai/v1/chat/completions",
            ),
            (
                Api::GoogleGenerativeAi,
                "https://generativelanguage.googleapis.com/v1beta",
                "https://generativelanguage.googleapis.com/v1beta/models/a%2Fb%3A1:streamGenerateContent?alt=sse",
            ),
            (
                Api::Ollama,
                "http://127.0.0.1:11434/v1",
                "http://127.0.0.1:11434/api/chat",
            ),
        ] {
            let model = Model {
                id: "a/b:1".to_owned(),
                base_url: base.to_owned(),
                ..model(api)
            };
            assert_eq!(Wire::find(api).unwrap().url(&model), expected);
        }
    }
}
