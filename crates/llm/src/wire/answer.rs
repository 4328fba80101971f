//! What every decoder keeps of an answer: where its blocks go, its tokens, and that it ends once.

use serde_json::Value;

use crate::errors::{Fault, excerpt};
use crate::event::{Delta, StreamEvent};
use crate::message::StopReason;
use crate::model::Model;
use crate::status::TurnStatus;
use crate::usage::{Price, Usage};

/// The part of a decoder that no wire format changes.
#[derive(Debug)]
pub(crate) struct Answer {
    pub usage: Usage,
    /// What the vendor itself says the call cost, in dollars; counts where no price is known.
    pub vendor_cost: Option<f64>,
    provider: String,
    price: Price,
    context_window: u64,
    /// Index the next block gets.
    next: usize,
    has_calls: bool,
    has_text: bool,
    started: bool,
    ended: bool,
}

impl Answer {
    pub(crate) fn new(model: &Model) -> Self {
        Self {
            usage: Usage::default(),
            vendor_cost: None,
            provider: model.provider.clone(),
            price: model.price,
            context_window: model.context_window,
            next: 0,
            has_calls: false,
            has_text: false,
            started: false,
            ended: false,
        }
    }

    pub(crate) fn ended(&self) -> bool {
        self.ended
    }

    /// Says `Start`, the first time.
    pub(crate) fn start(&mut self, response_id: Option<String>, out: &mut Vec<StreamEvent>) {
        if !std::mem::replace(&mut self.started, true) {
            out.push(StreamEvent::Start { response_id });
        }
    }

    pub(crate) fn open_text(&mut self, out: &mut Vec<StreamEvent>) -> usize {
        let index = self.place();
        out.push(StreamEvent::Delta(Delta::TextStart { index }));
        index
    }

    pub(crate) fn text(&mut self, index: usize, delta: String, out: &mut Vec<StreamEvent>) {
        if !delta.is_empty() {
            self.has_text = true;
            out.push(StreamEvent::Delta(Delta::TextDelta { index, delta }));
        }
    }

    pub(crate) fn open_thinking(&mut self, out: &mut Vec<StreamEvent>) -> usize {
        let index = self.place();
        out.push(StreamEvent::Delta(Delta::ThinkingStart { index }));
        index
    }

    /// A thinking block that only its vendor can read.
    pub(crate) fn hidden_thinking(&mut self, data: String, out: &mut Vec<StreamEvent>) {
        let index = self.open_thinking(out);
        out.push(StreamEvent::Delta(Delta::ThinkingEnd {
            index,
            signature: Some(data),
            redacted: true,
        }));
    }

    pub(crate) fn open_call(
        &mut self,
        id: String,
        name: String,
        out: &mut Vec<StreamEvent>,
    ) -> usize {
        let index = self.place();
        self.has_calls = true;
        out.push(StreamEvent::Delta(Delta::ToolcallStart { index, id, name }));
        index
    }

    /// Ends a tool call whose arguments came as the text `raw`.
    pub(crate) fn close_call(
        index: usize,
        raw: String,
        signature: Option<String>,
        out: &mut Vec<StreamEvent>,
    ) {
        let (arguments, arguments_error) = parse_arguments(raw);
        out.push(StreamEvent::Delta(Delta::ToolcallEnd {
            index,
            arguments,
            arguments_error,
            signature,
        }));
    }

    /// Tells the tokens so far.
    pub(crate) fn tell_usage(&self, out: &mut Vec<StreamEvent>) {
        out.push(StreamEvent::Usage(self.usage));
    }

    /// The answer is complete, for the reason the server gave.
    pub(crate) fn done(&mut self, reason: StopReason, out: &mut Vec<StreamEvent>) {
        if self.ended {
            return;
        }
        let silent = !self.has_text && !self.has_calls;
        match reason {
            // A refusal is an answer only when it says something, and never a reason to run tools.
            StopReason::Refusal if silent || self.has_calls => {
                let message = format!(
                    "`{}` ended the answer: its safety filter refused",
                    self.provider
                );
                self.fail(
                    TurnStatus::ModelError {
                        message,
                        retryable: false,
                    },
                    out,
                );
            }
            // Some servers cut the prompt to fit and then have no room to answer.
            StopReason::Length if silent && self.window_is_full() => {
                let message = format!("the prompt fills the window of `{}`", self.provider);
                self.fail(TurnStatus::ContextOverflow { message }, out);
            }
            reason => {
                self.ended = true;
                let stop_reason = match reason {
                    StopReason::Stop if self.has_calls => StopReason::ToolUse,
                    StopReason::ToolUse if !self.has_calls => StopReason::Stop,
                    reason => reason,
                };
                let usage = self.priced();
                out.push(StreamEvent::Done { stop_reason, usage });
            }
        }
    }

    pub(crate) fn fail(&mut self, status: TurnStatus, out: &mut Vec<StreamEvent>) {
        if !std::mem::replace(&mut self.ended, true) {
            let usage = self.priced();
            out.push(StreamEvent::Failed { status, usage });
        }
    }

    /// The server told an error inside its stream.
    pub(crate) fn fail_with(&mut self, fault: &Fault, out: &mut Vec<StreamEvent>) {
        let status = fault.status(&self.provider, None);
        self.fail(status, out);
    }

    /// The answer outgrew the window while it was written.
    pub(crate) fn overflow(&mut self, out: &mut Vec<StreamEvent>) {
        let message = format!(
            "the conversation exceeds the context window of `{}`",
            self.provider
        );
        self.fail(TurnStatus::ContextOverflow { message }, out);
    }

    /// The stream carries data that is not the wire format.
    pub(crate) fn garbled(&mut self, data: &str, out: &mut Vec<StreamEvent>) {
        let message = format!(
            "`{}` sent something that is not its wire format: {}",
            self.provider,
            excerpt(data.as_bytes(), None)
        );
        self.fail(TurnStatus::InvalidResponse { message }, out);
    }

    /// The body ended before the answer did.
    pub(crate) fn cut_off(&mut self, out: &mut Vec<StreamEvent>) {
        let provider = &self.provider;
        let status = if self.started {
            TurnStatus::NetworkError {
                message: format!("the connection to `{provider}` closed before the answer ended"),
                retryable: true,
            }
        } else {
            TurnStatus::InvalidResponse {
                message: format!("`{provider}` sent an empty stream"),
            }
        };
        self.fail(status, out);
    }

    fn window_is_full(&self) -> bool {
        self.usage.context_tokens() >= self.context_window / 100 * 99
    }

    fn priced(&self) -> Usage {
        let mut usage = self.usage.priced(&self.price);
        if usage.cost.total == 0.0 {
            usage.cost.total = self.vendor_cost.unwrap_or_default();
        }
        usage
    }

    fn place(&mut self) -> usize {
        self.next += 1;
        self.next - 1
    }
}

/// The arguments object that `raw` is, or `Null` and `raw` itself. No text at all means no arguments.
pub(crate) fn parse_arguments(raw: String) -> (Value, Option<String>) {
    if raw.trim().is_empty() {
        return (Value::Object(serde_json::Map::new()), None);
    }
    match serde_json::from_str::<Value>(&raw) {
        Ok(value @ Value::Object(_)) => (value, None),
        _ => (Value::Null, Some(raw)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_a_complete_object_is_taken_as_arguments() {
        for (raw, expected) in [
            ("", json!({})),
            (" \n", json!({})),
            (
                "{\"a\": [1, {\"b\": null}]}",
                json!({"a": [1, {"b": null}]}),
            ),
        ] {
            assert_eq!(parse_arguments(raw.to_owned()), (expected, None), "{raw:?}");
        }
        for raw in ["{\"a\": 1", "[1]", "null", "\"{}\"", "{} trailing"] {
            assert_eq!(
                parse_arguments(raw.to_owned()),
                (Value::Null, Some(raw.to_owned()))
            );
        }
    }
}
