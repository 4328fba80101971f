//! Decodes answers of Responses.
//!
//! Uses `data.type`, because some proxies remove the `event:` field. Unknown events and items are
//! skipped. An answer is complete only after `response.completed` or `response.incomplete`, which
//! repeat all items: missing parts of the stream are taken from these events (encrypted reasoning
//! on Azure, all items of servers that do not really stream).

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::{Value, json};

use super::frame::{ARGUMENTS_FRAME, FRAME, Frame, RESPONSE, Response};
use super::item::Items;
use crate::errors::Fault;
use crate::event::StreamEvent;
use crate::model::Model;
use crate::wire::answer::Answer;
use crate::wire::format::ObjectDecoder;
use crate::wire::repair;
use crate::wire::vocabulary::{End, PartRow, ReasonRow, Use, find};

/// The status of a complete answer, and the reasons of an incomplete one.
pub(super) const REASONS: &[ReasonRow] = &[
    ("completed", End::Done),
    ("max_output_tokens", End::Cut),
    ("content_filter", End::Refused),
    ("refusal", End::Refused),
    ("max_messages", End::Partial),
    ("steered", End::Partial),
    ("no reason given", End::Partial),
];

/// The items of an answer.
pub(super) const PARTS: &[PartRow] = &[
    ("message", Use::Text),
    ("reasoning", Use::Thinking),
    ("function_call", Use::Call),
    ("custom_tool_call", Use::Call),
    ("web_search_call", Use::Source),
    ("file_search_call", Use::Hosted),
    ("function_call_output", Use::Hosted),
    ("custom_tool_call_output", Use::Hosted),
    ("computer_call", Use::Hosted),
    ("computer_call_output", Use::Hosted),
    ("program", Use::Hosted),
    ("program_output", Use::Hosted),
    ("tool_search_call", Use::Hosted),
    ("tool_search_output", Use::Hosted),
    ("additional_tools", Use::Hosted),
    ("compaction", Use::Hosted),
    ("code_interpreter_call", Use::Hosted),
    ("local_shell_call", Use::Hosted),
    ("local_shell_call_output", Use::Hosted),
    ("shell_call", Use::Hosted),
    ("shell_call_output", Use::Hosted),
    ("apply_patch_call", Use::Hosted),
    ("apply_patch_call_output", Use::Hosted),
    ("mcp_call", Use::Hosted),
    ("mcp_list_tools", Use::Hosted),
    ("mcp_approval_request", Use::Hosted),
    ("mcp_approval_response", Use::Hosted),
    ("image_generation_call", Use::LeftOut),
];

#[derive(Debug)]
pub(super) struct ResponsesDecoder {
    answer: Answer,
    items: Items,
    refused: bool,
}

/// The effect of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Begin,
    Open,
    Say,
    Refuse,
    Think,
    Argue,
    Argued,
    Settle,
    Complete,
    Incomplete,
    Fail,
}

/// The known events.
const STEPS: &[(&str, Step)] = &[
    ("response.created", Step::Begin),
    ("response.queued", Step::Begin),
    ("response.in_progress", Step::Begin),
    ("response.output_item.added", Step::Open),
    ("response.output_text.delta", Step::Say),
    ("response.refusal.delta", Step::Refuse),
    ("response.reasoning_summary_text.delta", Step::Think),
    ("response.reasoning_text.delta", Step::Think),
    ("response.function_call_arguments.delta", Step::Argue),
    ("response.custom_tool_call_input.delta", Step::Argue),
    ("response.function_call_arguments.done", Step::Argued),
    ("response.custom_tool_call_input.done", Step::Argued),
    ("response.output_item.done", Step::Settle),
    ("response.completed", Step::Complete),
    ("response.incomplete", Step::Incomplete),
    ("response.failed", Step::Fail),
    ("response.cancelled", Step::Fail),
    ("error", Step::Fail),
];

/// The name of an event.
#[derive(Deserialize)]
struct Kind<'a> {
    #[serde(borrow, default)]
    r#type: Option<Cow<'a, str>>,
}

impl ResponsesDecoder {
    pub(super) fn new(model: &Model) -> Self {
        Self {
            answer: Answer::new(model),
            items: Items::default(),
            refused: false,
        }
    }

    fn decode(&mut self, step: Step, mut frame: Frame, out: &mut Vec<StreamEvent>) {
        let id = frame
            .response
            .as_ref()
            .and_then(|response| response.id.clone());
        self.answer.start(id, out);
        let delta = frame.delta.take().unwrap_or_default();
        let Self { answer, items, .. } = self;
        match step {
            Step::Begin | Step::Fail => {}
            Step::Open => {
                // A call without a name starts only when its end has the name.
                let item = frame.item.filter(|item| !item.fields.is_nameless_call());
                if let Some(item) = item {
                    items.open(frame.output_index, &item.fields, answer, out);
                }
            }
            Step::Say => items
                .of(&frame, "message", answer, out)
                .say(delta, answer, out),
            Step::Refuse => {
                self.refused = true;
                items
                    .of(&frame, "message", answer, out)
                    .say(delta, answer, out);
            }
            Step::Think => items
                .of(&frame, "reasoning", answer, out)
                .think(&frame, delta, out),
            Step::Argue => {
                if let Some(call) = items.call(&frame) {
                    call.argue(&delta, out);
                }
            }
            Step::Argued => {
                let arguments = frame.arguments.as_deref().or(frame.input.as_deref());
                if let (Some(call), Some(arguments)) = (items.call(&frame), arguments) {
                    call.set_arguments(arguments, out);
                }
            }
            Step::Settle => {
                if let Some(item) = frame.item {
                    answer.note_part(&item.fields.r#type, PARTS);
                    self.refused |= item.fields.refuses();
                    items.settle(frame.output_index, &item, true, answer, out);
                }
            }
            Step::Complete => self.end(frame.response, false, out),
            Step::Incomplete => self.end(frame.response, true, out),
        }
    }

    fn end(&mut self, response: Option<Response>, is_incomplete: bool, out: &mut Vec<StreamEvent>) {
        let mut reason = None;
        if let Some(response) = response {
            let nothing_streamed = self.items.is_empty();
            for (index, item) in response.output.iter().enumerate() {
                sources(&item.raw, out);
                self.answer.note_part(&item.fields.r#type, PARTS);
                self.refused |= item.fields.refuses();
                let index = u64::try_from(index).ok();
                let answer = &mut self.answer;
                self.items
                    .settle(index, item, nothing_streamed, answer, out);
            }
            if let Some(usage) = self.answer.counts(response.usage) {
                self.answer.usage = usage.disjoint();
                self.answer.set_vendor_cost(usage.cost);
            }
            reason = response
                .incomplete_details
                .and_then(|details| details.reason);
        }
        self.items.finish(out);
        let is_complete = !is_incomplete && reason.is_none();
        let reason = match reason.as_deref() {
            _ if self.refused => "refusal",
            _ if is_complete => "completed",
            reason => reason.unwrap_or("no reason given"),
        };
        let end = find(REASONS, reason).or(is_incomplete.then_some(End::Partial));
        self.answer.end_as(reason, end, out);
    }

    /// Handles a complete response instead of a stream.
    fn decode_complete(&mut self, data: &str, out: &mut Vec<StreamEvent>) {
        let body = serde_json::from_str::<Value>(data).unwrap_or_default();
        let response = repair::read::<Response>(data, RESPONSE, &mut self.answer);
        let Some(response) = response else {
            return self.answer.garbled(data, out);
        };
        match body["status"].as_str() {
            Some("failed" | "cancelled") => self.fail_from(&json!({ "response": body }), data, out),
            status => {
                self.answer.start(response.id.clone(), out);
                let is_incomplete = status == Some("incomplete");
                self.end(Some(response), is_incomplete, out);
            }
        }
    }

    /// Handles an `error` event or a failed response.
    fn fail_from(&mut self, body: &Value, data: &str, out: &mut Vec<StreamEvent>) {
        let error = body
            .pointer("/response/error")
            .filter(|error| !error.is_null());
        let fault = match error {
            Some(error) => Fault::from_body(&json!({ "error": error })),
            None => Fault::from_body(body),
        };
        match fault {
            Some(fault) => self.answer.fail_with(&fault, out),
            None => self.answer.garbled(data, out),
        }
    }
}

impl ObjectDecoder for ResponsesDecoder {
    fn answer(&mut self) -> &mut Answer {
        &mut self.answer
    }

    fn object(&mut self, event: Option<&str>, data: &str, out: &mut Vec<StreamEvent>) -> bool {
        let kind = serde_json::from_str::<Kind>(data).ok();
        let name = kind.and_then(|kind| kind.r#type);
        let name = name.or(event.map(Cow::Borrowed));
        match name.as_deref().map(step) {
            Some(Some(step)) if step != Step::Fail => {
                let shape = if step == Step::Argue {
                    ARGUMENTS_FRAME
                } else {
                    FRAME
                };
                let frame = repair::read::<Frame>(data, shape, &mut self.answer);
                let Some(frame) = frame else { return false };
                self.decode(step, frame, out);
            }
            None if is_response(data) => self.decode_complete(data, out),
            known => {
                let body = serde_json::from_str::<Value>(data).unwrap_or_default();
                let fails = known == Some(Some(Step::Fail));
                if fails || (name.is_none() && Fault::from_body(&body).is_some()) {
                    self.fail_from(&body, data, out);
                }
            }
        }
        true
    }

    fn close(&mut self, out: &mut Vec<StreamEvent>) {
        self.answer.cut_off(out);
    }
}

/// Whether `data` is a complete response.
fn is_response(data: &str) -> bool {
    let body = serde_json::from_str::<Value>(data).unwrap_or_default();
    body["output"].is_array() || body["object"] == "response"
}

/// Reports the pages that a search has found, and those that a message cites.
fn sources(item: &Value, out: &mut Vec<StreamEvent>) {
    let list = |value: &Value, path: &str| -> Vec<Value> {
        let list = value.pointer(path).and_then(Value::as_array);
        list.cloned().unwrap_or_default()
    };
    let found = list(item, "/action/sources");
    let parts = list(item, "/content");
    let cited = parts.iter().flat_map(|part| list(part, "/annotations"));
    for source in found.into_iter().chain(cited) {
        Answer::source(&source, "url", out);
    }
}

fn step(name: &str) -> Option<Step> {
    let known = STEPS.iter().find(|(known, _)| *known == name);
    known.map(|(_, step)| *step)
}
