//! The wire formats: each one encodes requests and decodes the stream of the answer.
//!
//! Encoders and decoders perform no I/O: bodies are values, decoders are state machines over stream events.
//! Differences between providers of one format are data in `Compat`.

mod answer;
mod anthropic;
mod bedrock;
mod binding;
mod cache_marks;
#[cfg(test)]
mod file_tests;
mod format;
mod google;
#[cfg(test)]
mod handover_tests;
mod headers;
#[cfg(test)]
mod hosted_search_tests;
mod limit;
#[cfg(test)]
mod odd_tests;
mod ollama;
mod openai_chat;
mod openai_responses;
mod repair;
mod reported;
#[cfg(any(test, fuzzing))]
pub(crate) mod testing;
mod think_tags;
mod tool_schema;
mod values;
mod vocabulary;
#[cfg(test)]
mod vocabulary_tests;

pub(crate) use answer::parse_arguments;
pub(crate) use format::{Body, Decoder, Wire};
pub use tool_schema::valid_schema;
pub(crate) use tool_schema::{OriginalKeys, original_keys};

use serde_json::json;

use crate::model::{Api, Model, ThinkingLevel};
use crate::provider::{CallOptions, Context, Request, ToolSpec};
use crate::tuning::Tuning;

// recipe: a wire format, 1: its row, and a folder in this one
// recipe: a wire format, 2: `tests/fixtures/llm/`: recorded answers
/// All wire formats.
pub(crate) const WIRES: &[Wire] = &[
    anthropic::WIRE,
    openai_responses::WIRE,
    openai_chat::WIRE,
    google::WIRE,
    ollama::WIRE,
    bedrock::WIRE,
];

/// The wire format of `api`; `None` for scripts.
pub(crate) fn find(api: Api) -> Option<&'static Wire> {
    WIRES.iter().find(|wire| wire.api == api)
}

/// Whether requests to `model` at this thinking level are sent without the temperature that the user has set.
pub fn ignores_temperature(model: &Model, thinking: ThinkingLevel) -> bool {
    let Some(wire) = find(model.api) else {
        return false;
    };
    let request = Request {
        model: model.clone().into(),
        context: Context::default(),
        options: CallOptions {
            temperature: Some(1.0),
            thinking: model.clamp(thinking),
            ..CallOptions::default()
        },
        api_key: None,
        signing: None,
    };
    let body = (wire.body)(&request).json.to_string();
    !body.contains("\"temperature\"")
}

/// An option of requests that the user can set for a model: its name, whether it is set, and how to
/// remove it.
type RequestOption = (&'static str, fn(&Tuning) -> bool, fn(&mut Tuning));

const OPTIONS: [RequestOption; 3] = [
    (
        "verbosity",
        |tuning| tuning.verbosity.is_some(),
        |tuning| tuning.verbosity = None,
    ),
    (
        "service_tier",
        |tuning| tuning.service_tier.is_some(),
        |tuning| tuning.service_tier = None,
    ),
    (
        "parallel_calls",
        // Several calls are the default, so only `false` is a setting.
        |tuning| tuning.parallel_calls == Some(false),
        |tuning| tuning.parallel_calls = None,
    ),
];

/// The options of `model` that its API does not have: requests are the same without them.
pub fn ignored_options(model: &Model) -> Vec<&'static str> {
    let Some(wire) = find(model.api) else {
        return Vec::new();
    };
    let body = |model: Model| {
        let tool = ToolSpec {
            name: "tool".to_owned(),
            description: String::new(),
            parameters: json!({"type": "object"}),
            freeform: None,
        };
        let context = Context {
            tools: vec![tool],
            ..Context::default()
        };
        let request = Request {
            model: model.into(),
            context,
            options: CallOptions::default(),
            api_key: None,
            signing: None,
        };
        (wire.body)(&request).json.to_string()
    };
    let is_ignored = |(_, is_set, remove): &&RequestOption| {
        let mut without = model.clone();
        remove(&mut without.tuning);
        is_set(&model.tuning) && body(without) == body(model.clone())
    };
    let ignored = OPTIONS.iter().filter(is_ignored);
    ignored.map(|(name, ..)| *name).collect()
}

#[cfg(test)]
mod tests {
    use super::testing::{model, play};
    use super::*;
    use crate::frames::Framing;
    use crate::tuning::Verbosity;
    use proptest::prelude::*;

    #[test]
    fn a_temperature_that_is_not_sent_is_known() {
        for (api, level, expected) in [
            (Api::AnthropicMessages, ThinkingLevel::Medium, true),
            (Api::AnthropicMessages, ThinkingLevel::Off, false),
            (Api::BedrockConverse, ThinkingLevel::Medium, true),
            (Api::OpenaiResponses, ThinkingLevel::Medium, true),
            (Api::OpenaiResponses, ThinkingLevel::Off, false),
            (Api::OpenaiChatCompletions, ThinkingLevel::Medium, false),
            (Api::Ollama, ThinkingLevel::Medium, false),
            (Api::Scripted, ThinkingLevel::Medium, false),
        ] {
            let mut model = model(api);
            model.thinking_levels = ThinkingLevel::ALL.to_vec();
            model.compat.adaptive_thinking = true;
            assert_eq!(
                ignores_temperature(&model, level),
                expected,
                "{api:?} {level:?}"
            );
        }
    }

    #[test]
    fn options_that_an_api_does_not_have_are_known() {
        for (api, expected) in [
            (Api::OpenaiResponses, &[] as &[&str]),
            (Api::OpenaiChatCompletions, &[]),
            (Api::AnthropicMessages, &["verbosity"]),
            (
                Api::GoogleGenerativeAi,
                &["verbosity", "service_tier", "parallel_calls"],
            ),
            (
                Api::Ollama,
                &["verbosity", "service_tier", "parallel_calls"],
            ),
            (
                Api::BedrockConverse,
                &["verbosity", "service_tier", "parallel_calls"],
            ),
        ] {
            let mut model = model(api);
            assert_eq!(ignored_options(&model), Vec::<&str>::new(), "{api:?}");
            model.tuning.verbosity = Some(Verbosity::Low);
            model.tuning.service_tier = Some("flex".to_owned());
            model.tuning.parallel_calls = Some(false);
            assert_eq!(ignored_options(&model), expected, "{api:?}");
        }
    }

    /// Events of all formats, and invalid ones.
    const EVENTS: &[&str] = &[
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
        fn any_stream_ends_exactly_once(
            events in prop::collection::vec(prop::sample::select(EVENTS), 0..12),
            cut in 0_usize..40,
        ) {
            for wire in WIRES {
                let start = match wire.framing {
                    Framing::Events => "data: ",
                    Framing::Lines => "",
                    // The events of this format have names, which the test events lack.
                    Framing::AwsEvents => continue,
                };
                let mut stream: String = events.iter().flat_map(|event| [start, event, "\n\n"]).collect();
                stream.truncate(stream.len().saturating_sub(cut));
                // Checks that exactly one event is the last, and that the message can be built.
                play(&model(wire.api), stream.as_bytes());
            }
        }
    }

    #[test]
    fn urls_are_built_from_base_url_and_path() {
        for (api, base, expected) in [
            (
                Api::AnthropicMessages,
                "https://api.anthropic.com",
                "https://api.anthropic.com/v1/messages",
            ),
            // The version is not repeated.
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
            assert_eq!(find(api).unwrap().url(&model), expected);
        }
    }
}
