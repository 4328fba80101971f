//! Token counts as servers report them. They are only information, so invalid ones never fail an answer.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// The maximum plausible number of tokens in one call.
const MAX_COUNT: u64 = 1_000_000_000;

/// A number of tokens, if the server reported one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Option<u64>")]
pub(super) struct Count(pub Option<u64>);

impl Count {
    pub(super) fn or_zero(self) -> u64 {
        self.0.unwrap_or(0)
    }
}

impl TryFrom<Option<u64>> for Count {
    type Error = String;

    fn try_from(count: Option<u64>) -> Result<Self, String> {
        match count {
            Some(count) if count > MAX_COUNT => Err(format!("{count} is not a number of tokens")),
            count => Ok(Self(count)),
        }
    }
}

/// A `usage` object with the valid counts of `T`.
#[derive(Debug)]
pub(super) struct Reported<T> {
    pub counts: Option<T>,
    /// Whether a part of the object could not be read.
    pub is_invalid: bool,
}

impl<T> Default for Reported<T> {
    fn default() -> Self {
        Self {
            counts: None,
            is_invalid: false,
        }
    }
}

impl<T> Reported<T> {
    pub(super) fn is_some(&self) -> bool {
        self.counts.is_some() || self.is_invalid
    }

    /// The count, or `other` if the count is absent.
    pub(super) fn or(self, other: Self) -> Self {
        if self.is_some() { self } else { other }
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Reported<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Read as text, because some numbers that JSON allows have no value.
        let raw = Option::<Box<RawValue>>::deserialize(deserializer)?;
        Ok(raw.map(|raw| Self::parse(raw.get())).unwrap_or_default())
    }
}

impl<T: DeserializeOwned> Reported<T> {
    fn parse(text: &str) -> Self {
        if let Ok(counts) = serde_json::from_str(text) {
            return Self {
                counts,
                is_invalid: false,
            };
        }
        let Ok(mut value) = serde_json::from_str::<Value>(text) else {
            return Self {
                counts: None,
                is_invalid: true,
            };
        };
        round(&mut value);
        if let Ok(counts) = T::deserialize(&value) {
            return Self {
                counts: Some(counts),
                is_invalid: false,
            };
        }
        remove_invalid(&mut value);
        Self {
            counts: T::deserialize(&value).ok(),
            is_invalid: true,
        }
    }
}

/// The field that is an amount of money.
const COST: &str = "cost";

/// Replaces fractions with whole numbers, as some servers write every number with a decimal point.
fn round(value: &mut Value) {
    if let Some(fields) = value.as_object_mut() {
        let counts = fields.iter_mut().filter(|(name, _)| *name != COST);
        counts.for_each(|(_, value)| round(value));
    } else if let Some(float) = value.as_f64().filter(|float| *float >= 0.0)
        && !value.is_u64()
    {
        *value = Value::from(float.round() as u64);
    }
}

/// Removes everything except for counts, their groups and the cost.
fn remove_invalid(value: &mut Value) {
    let Some(fields) = value.as_object_mut() else {
        return;
    };
    fields.retain(|name, value| {
        value.is_object()
            || value.as_u64().is_some_and(|count| count <= MAX_COUNT)
            || (name == COST && value.is_number())
    });
    fields.values_mut().for_each(remove_invalid);
}

#[cfg(test)]
mod tests {
    use super::super::testing::{built, events, model};
    use crate::event::StreamEvent;
    use crate::message::AssistantMessage;
    use crate::model::Api;
    use crate::status::TurnStatus;

    struct Played {
        message: AssistantMessage,
        status: TurnStatus,
        warned: bool,
    }

    impl Played {
        fn of(api: Api, answer: &str) -> Self {
            let model = model(api);
            let events = events(&model, answer.as_bytes(), 7).unwrap();
            let warnings = events
                .iter()
                .filter(|event| matches!(event, StreamEvent::Warning { .. }));
            let warned = warnings.count();
            assert!(warned < 2, "{events:?}");
            let (message, status) = built(&model, &events);
            Self {
                message,
                status,
                warned: warned == 1,
            }
        }
    }

    /// A complete answer of each format; `COUNT` is a count, `USAGE` the object around it.
    const ANSWERS: [(Api, &str); 5] = [
        (
            Api::AnthropicMessages,
            r#"data: {"type":"message_start","message":{"id":"m","usage":{"input_tokens":COUNT}}}

data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"hi"}}

data: {"type":"content_block_stop","index":0}

data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":COUNT,"output_tokens":7,"output_tokens_details":{"thinking_tokens":COUNT}}}

data: {"type":"message_stop"}

"#,
        ),
        (
            Api::OpenaiResponses,
            r#"data: {"type":"response.created","response":{"id":"r"}}

data: {"type":"response.output_text.delta","output_index":0,"delta":"hi"}

data: {"type":"response.completed","response":{"usage":{"input_tokens":COUNT,"output_tokens":7,"input_tokens_details":{"cached_tokens":COUNT}}}}

"#,
        ),
        (
            Api::OpenaiChatCompletions,
            r#"data: {"choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":"stop"}]}

data: {"choices":[],"usage":{"prompt_tokens":COUNT,"completion_tokens":7,"total_tokens":COUNT,"completion_tokens_details":{"reasoning_tokens":COUNT}}}

data: [DONE]

"#,
        ),
        (
            Api::GoogleGenerativeAi,
            r#"data: {"candidates":[{"content":{"parts":[{"text":"hi"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":COUNT,"candidatesTokenCount":7,"thoughtsTokenCount":COUNT}}

"#,
        ),
        (
            Api::Ollama,
            r#"{"message":{"content":"hi"},"done":true,"done_reason":"stop","prompt_eval_count":COUNT,"eval_count":7}
"#,
        ),
    ];

    #[test]
    fn invalid_counts_never_fail_an_answer() {
        for (api, answer) in ANSWERS {
            for (count, is_reported) in [
                ("3", false),
                ("3.0", false),
                ("null", false),
                ("-1", true),
                ("-0.5", true),
                ("18446744073709551615", true),
                ("1e30", true),
                ("1e400", true),
                ("\"many\"", true),
                ("[1]", true),
                ("true", true),
            ] {
                let played = Played::of(api, &answer.replace("COUNT", count));
                let name = api.name();
                assert!(
                    matches!(played.status, TurnStatus::Success { .. }),
                    "{name} {count}: {:?}",
                    played.status
                );
                assert_eq!(played.message.text(), "hi", "{name} {count}");
                assert_eq!(played.warned, is_reported, "{name} {count}");
                let usage = played.message.usage;
                if count.starts_with('3') {
                    assert_eq!(usage.context_tokens(), 3, "{name} {count}");
                }
                // Only a number without a value makes the other numbers of its object unusable.
                if count != "1e400" {
                    assert!(usage.output >= 7, "{name} {count}");
                }
                assert!(usage.total_tokens() < 100, "{name} {count}: {usage:?}");
                assert!(usage.cost.total >= 0.0 && usage.cost.total < 1.0);
            }
        }
    }

    #[test]
    fn usage_and_cost_of_any_type_never_fail_an_answer() {
        for (usage, is_reported) in [
            ("7", true),
            ("\"x\"", true),
            ("{}", false),
            (r#"{"prompt_tokens_details":5}"#, true),
            (r#"{"cost":-3.5}"#, true),
            (r#"{"cost":1e300}"#, true),
            (r#"{"cost":"free"}"#, true),
            (r#"{"cost":0.25,"queue_time":0.1,"tier":"x"}"#, false),
        ] {
            let answer = format!(
                "data: {{\"choices\":[{{\"delta\":{{\"content\":\"hi\"}},\"finish_reason\":\"stop\"}}]}}\n\n\
                 data: {{\"choices\":[],\"usage\":{usage}}}\n\ndata: [DONE]\n\n"
            );
            let played = Played::of(Api::OpenaiChatCompletions, &answer);
            assert!(
                matches!(played.status, TurnStatus::Success { .. }),
                "{usage}: {:?}",
                played.status
            );
            assert_eq!(played.warned, is_reported, "{usage}");
            let cost = played.message.usage.cost.total;
            let expected = if usage.contains("0.25") { 0.25 } else { 0.0 };
            assert!((cost - expected).abs() < 1e-9, "{usage}: {cost}");
        }
    }
}
