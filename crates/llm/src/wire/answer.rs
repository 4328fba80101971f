//! The state of an answer that all decoders share: block indices, tokens, and whether it has ended.

use serde_json::Value;

use super::reported::Reported;
use crate::errors::{Fault, clean, excerpt};
use crate::event::{Delta, StreamEvent};
use crate::message::StopReason;
use crate::model::Model;
use crate::status::TurnStatus;
use crate::usage::{Price, Usage};

/// The name of a call whose name the server omitted.
pub(super) const UNKNOWN_TOOL: &str = "unknown";
/// Maximum number of parts that a warning names.
const ODD_PARTS: usize = 5;
/// The maximum plausible cost of a call in US dollars.
const MAX_COST: f64 = 1e6;

/// The part of a decoder that is independent of the wire format.
#[derive(Debug)]
pub(crate) struct Answer {
    pub usage: Usage,
    /// The cost in US dollars as reported by the vendor; used when no price is known.
    vendor_cost: Option<f64>,
    /// Whether the server reported impossible tokens or costs.
    has_invalid_usage: bool,
    /// Parts of events that could not be read.
    odd: Vec<String>,
    provider: String,
    /// `PROVIDER/ID`.
    reference: String,
    price: Price,
    context_window: u64,
    /// The index of the next block.
    next: usize,
    has_calls: bool,
    has_text: bool,
    /// The index of the alternative that is used: only one is requested.
    chosen: Option<u64>,
    /// The text of the first block, while it can become thinking.
    first_text: Option<String>,
    /// The server's explanation for the end of the answer.
    explanation: Option<String>,
    started: bool,
    ended: bool,
}

impl Answer {
    pub(crate) fn new(model: &Model) -> Self {
        Self {
            usage: Usage::default(),
            vendor_cost: None,
            has_invalid_usage: false,
            odd: Vec::new(),
            provider: model.provider.clone(),
            reference: model.reference(),
            price: model.price,
            context_window: model.context_window,
            next: 0,
            has_calls: false,
            has_text: false,
            chosen: None,
            first_text: None,
            explanation: None,
            started: false,
            ended: false,
        }
    }

    pub(crate) fn ended(&self) -> bool {
        self.ended
    }

    pub(super) fn has_started(&self) -> bool {
        self.started
    }

    /// Records a part of an event that could not be read, for the warning.
    pub(super) fn leave_out(&mut self, part: String) {
        // A part is named once, even if every chunk has it.
        if !self.odd.contains(&part) && self.odd.len() < ODD_PARTS {
            self.odd.push(part);
        }
    }

    /// Skips an event that has no part of an answer.
    pub(super) fn skip(&mut self, data: &str) {
        let start: String = data.chars().take(40).collect();
        self.leave_out(start);
    }

    /// Skips an event that cannot be read. The answer fails if it has not begun yet, or if a call
    /// is open, whose arguments a missing event can change.
    pub(super) fn lose(&mut self, data: &str, out: &mut Vec<StreamEvent>) {
        if self.started && !self.has_calls {
            self.skip(data);
        } else {
            self.garbled(data, out);
        }
    }

    /// Emits `Start` once.
    pub(crate) fn start(&mut self, response_id: Option<String>, out: &mut Vec<StreamEvent>) {
        if !std::mem::replace(&mut self.started, true) {
            out.push(StreamEvent::Start { response_id });
        }
    }

    /// Stores the server's explanation for the end of the answer, for the error if there is no
    /// answer.
    pub(super) fn explain(&mut self, explanation: Option<&str>) {
        let given = explanation.map(str::trim).filter(|text| !text.is_empty());
        if let Some(text) = given {
            self.explanation = Some(text.to_owned());
        }
    }

    /// The name of the provider.
    pub(super) fn provider(&self) -> &str {
        &self.provider
    }

    /// Emits a warning for the user about the answer: `text` continues a sentence about the model.
    pub(super) fn warn(&self, text: &str, out: &mut Vec<StreamEvent>) {
        let text = clean(&format!("`{}` {text}", self.reference), None);
        out.push(StreamEvent::Warning { text });
    }

    /// The explanation after a colon.
    pub(super) fn explanation(&self) -> String {
        let text = self.explanation.as_ref();
        text.map_or_else(String::new, |text| clean(&format!(": {text}"), None))
    }

    pub(super) fn is_silent(&self) -> bool {
        !self.has_text && !self.has_calls
    }

    /// Whether the alternative `index` of the answer is used: the first one with content.
    pub(super) fn is_chosen(&mut self, index: Option<u64>, has_content: bool) -> bool {
        let Some(index) = index else { return true };
        if has_content {
            self.chosen.get_or_insert(index);
        }
        let is_chosen = self.chosen.is_none_or(|chosen| chosen == index);
        if !is_chosen && has_content {
            self.leave_out(format!("the alternative answer {index}"));
        }
        is_chosen
    }

    /// Turns the text so far into thinking whose start the server omitted. Returns false if that is
    /// not possible: only the first block can be thinking.
    pub(super) fn text_was_thinking(&mut self, index: usize, out: &mut Vec<StreamEvent>) -> bool {
        let Some(delta) = self.first_text.take().filter(|_| index == 0) else {
            return false;
        };
        self.has_text = false;
        // The start of an existing block replaces it.
        out.push(StreamEvent::Delta(Delta::ThinkingStart { index }));
        out.push(StreamEvent::Delta(Delta::ThinkingDelta { index, delta }));
        true
    }

    pub(crate) fn open_text(&mut self, out: &mut Vec<StreamEvent>) -> usize {
        let index = self.next_index();
        self.first_text = (index == 0).then(String::new);
        out.push(StreamEvent::Delta(Delta::TextStart { index }));
        index
    }

    pub(crate) fn text(&mut self, index: usize, delta: String, out: &mut Vec<StreamEvent>) {
        if !delta.is_empty() {
            self.has_text = true;
            if let Some(first) = self.first_text.as_mut().filter(|_| index == 0) {
                first.push_str(&delta);
            }
            out.push(StreamEvent::Delta(Delta::TextDelta { index, delta }));
        }
    }

    pub(crate) fn open_thinking(&mut self, out: &mut Vec<StreamEvent>) -> usize {
        let index = self.next_index();
        out.push(StreamEvent::Delta(Delta::ThinkingStart { index }));
        index
    }

    /// Adds a thinking block that only its vendor can read.
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
        let index = self.next_index();
        self.has_calls = true;
        out.push(StreamEvent::Delta(Delta::ToolcallStart { index, id, name }));
        index
    }

    /// Ends a tool call with the arguments `raw`.
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

    /// Reports a page that the provider has found: `value` has its title, and its address in the field `url`.
    pub(crate) fn source(value: &Value, url: &str, out: &mut Vec<StreamEvent>) {
        let text = |name: &str| value.get(name).and_then(Value::as_str);
        if let Some(url) = text(url) {
            out.push(StreamEvent::Source {
                title: text("title").unwrap_or_default().to_owned(),
                url: url.to_owned(),
            });
        }
    }

    /// The valid counts of `reported`.
    pub(super) fn counts<T>(&mut self, reported: Reported<T>) -> Option<T> {
        self.has_invalid_usage |= reported.is_invalid;
        reported.counts
    }

    /// Sets the cost that the vendor reported, in US dollars.
    pub(crate) fn set_vendor_cost(&mut self, cost: Option<f64>) {
        let (valid, invalid) = match cost {
            Some(cost) if (0.0..MAX_COST).contains(&cost) => (Some(cost), false),
            cost => (None, cost.is_some()),
        };
        self.vendor_cost = valid.or(self.vendor_cost);
        self.has_invalid_usage |= invalid;
    }

    /// Emits the usage so far.
    pub(crate) fn emit_usage(&self, out: &mut Vec<StreamEvent>) {
        out.push(StreamEvent::Usage(self.usage));
    }

    /// Ends the answer with the server's stop reason.
    pub(crate) fn done(&mut self, reason: StopReason, out: &mut Vec<StreamEvent>) {
        if self.ended {
            return;
        }
        if reason == StopReason::ToolUse && !self.has_calls {
            self.leave_out("the call that ends the answer".to_owned());
        }
        if let Some(status) = self.failure(reason) {
            return self.fail(status, out);
        }
        self.ended = true;
        let stop_reason = match reason {
            StopReason::Stop | StopReason::Paused if self.has_calls => StopReason::ToolUse,
            StopReason::ToolUse if !self.has_calls => StopReason::Stop,
            reason => reason,
        };
        if self.has_invalid_usage {
            let text = "reported invalid token counts or costs: usage and cost may be wrong";
            self.warn(text, out);
        }
        if !self.odd.is_empty() {
            let text = format!(
                "sent parts of an answer that osier cannot read, and leaves out: `{}`",
                self.odd.join("`, `")
            );
            self.warn(&text, out);
        }
        if stop_reason == StopReason::Refusal && self.explanation.is_some() {
            self.warn(&format!("refused{}", self.explanation()), out);
        }
        let usage = self.priced();
        out.push(StreamEvent::Done { stop_reason, usage });
    }

    /// The status if an answer that ended for this reason is a failure.
    fn failure(&self, reason: StopReason) -> Option<TurnStatus> {
        let silent = self.is_silent();
        match reason {
            // A refusal is an answer only if it contains text, and never runs tools.
            StopReason::Refusal if silent || self.has_calls => Some(TurnStatus::ModelError {
                message: format!(
                    "`{}` ended the answer: its safety filter refused{}",
                    self.provider,
                    self.explanation()
                ),
                retryable: false,
            }),
            // Some servers truncate the prompt and then have no room for an answer.
            StopReason::Length if silent && self.window_is_full() => {
                let message = format!("the prompt fills the context window of `{}`", self.provider);
                Some(TurnStatus::ContextOverflow { message })
            }
            StopReason::Stop | StopReason::ToolUse | StopReason::Length
                if silent && !self.odd.is_empty() =>
            {
                let message = format!(
                    "`{}` sent no answer that osier can read: `{}`",
                    self.reference,
                    self.odd.join("`, `")
                );
                let message = clean(&message, None);
                Some(TurnStatus::InvalidResponse { message })
            }
            _ => None,
        }
    }

    pub(crate) fn fail(&mut self, status: TurnStatus, out: &mut Vec<StreamEvent>) {
        if !std::mem::replace(&mut self.ended, true) {
            let usage = self.priced();
            out.push(StreamEvent::Failed { status, usage });
        }
    }

    /// Ends the answer with an error that the server sent in the stream.
    pub(crate) fn fail_with(&mut self, fault: &Fault, out: &mut Vec<StreamEvent>) {
        let status = fault.status(&self.provider, None);
        self.fail(status, out);
    }

    /// Ends the answer because it exceeded the context window.
    pub(crate) fn overflow(&mut self, out: &mut Vec<StreamEvent>) {
        let message = format!(
            "the conversation exceeds the context window of `{}`",
            self.provider
        );
        self.fail(TurnStatus::ContextOverflow { message }, out);
    }

    /// Ends the answer because of invalid data in the stream.
    pub(crate) fn garbled(&mut self, data: &str, out: &mut Vec<StreamEvent>) {
        let message = format!(
            "`{}` sent an invalid response: {}",
            self.provider,
            excerpt(data.as_bytes(), None)
        );
        self.fail(TurnStatus::InvalidResponse { message }, out);
    }

    /// Ends the answer because the body ended too early.
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

    fn next_index(&mut self) -> usize {
        self.next += 1;
        self.next - 1
    }
}

/// Parses the arguments: the object, or `Null` and `raw` itself. Empty text means no arguments.
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
    fn arguments_must_be_a_complete_object() {
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
