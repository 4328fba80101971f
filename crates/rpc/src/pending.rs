//! Commands without an answer, and how events answer them.

use serde_json::{Map, Value, json};

use super::answers::{CommandText, OP_ENDED};
use super::command::{Answer, EventFields, Shape, Step, all_fields};
use super::frame::Response;
use super::tracked_state::TrackedState;
use osier_agent::Severity;
use osier_base::request::Request;
use osier_protocol::{Event, Op, slash};

/// Events that report a failure in `message`.
const FAILURES: &[&str] = &[
    "branch_summary_failed",
    "library_refused",
    "search_cancelled",
    "session_failed",
];

/// The last event of a session. It answers every pending command.
const SHUT_DOWN: &str = "shut_down";

/// A command without an answer.
#[derive(Debug)]
pub(super) struct PendingCommand {
    answer: Answer,
    form: Form,
    /// The response without its result.
    pub response: Response,
    /// The number of its ops.
    pub request: u64,
    /// The `request` number of the events that answer it.
    pub reply_number: Option<u64>,
    /// Notices of its ops.
    pub notices: Vec<(Severity, String)>,
    /// The number of ops of the command that have not ended.
    ops: usize,
    /// Whether the agent carries out the op: events of the agent have no number.
    with_agent: bool,
    /// The last event that can be the answer, although no number says so.
    candidate: Option<Candidate>,
    /// The collected parts of the answer.
    partial: Value,
    parameters: Map<String, Value>,
}

/// The part of its event that the answer contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Fields,
    /// The fields and the `type`.
    Event,
    /// Its text.
    Text,
}

/// An event that may be an answer.
#[derive(Debug)]
struct Candidate {
    kind: String,
    fields: Map<String, Value>,
}

/// The progress of a command after an event.
#[derive(Debug)]
pub(super) enum Progress {
    Waiting,
    /// The event was a part of its answer.
    Partial,
    /// This op is next.
    Next(Op),
    Done(Value),
    Failed(String),
}

impl PendingCommand {
    pub(super) fn new(
        answer: Answer,
        response: Response,
        request: u64,
        reply_number: Option<u64>,
    ) -> Self {
        Self {
            answer,
            form: Form::Fields,
            response,
            request,
            reply_number,
            notices: Vec::new(),
            ops: 1,
            with_agent: false,
            candidate: None,
            partial: Value::Null,
            parameters: Map::new(),
        }
    }

    /// The parameters of the command, for an answer of several parts.
    pub(super) fn with_parameters(mut self, parameters: Map<String, Value>) -> Self {
        if matches!(self.answer, Answer::Steps(_)) {
            self.parameters = parameters;
        }
        self
    }

    /// Answers with the event that replies to `request`, in this form.
    pub(super) fn with_reply(
        mut self,
        request: &'static Request,
        number: Option<u64>,
        form: Form,
    ) -> Self {
        self.form = form;
        self.answer = match request.replies {
            [] => Answer::Ended,
            replies => Answer::Event(replies, all_fields),
        };
        self.reply_number = number.filter(|_| !request.replies.is_empty());
        self
    }

    /// The answer when there is nothing to report.
    fn nothing(&self) -> Progress {
        Progress::Done(match self.form {
            Form::Text => json!(CommandText::default()),
            Form::Fields | Form::Event => Value::Null,
        })
    }

    /// Handles an event about the request `cause`. `fields` is the event without `type` and `request`.
    pub(super) fn on_event(
        &mut self,
        kind: &str,
        fields: &Map<String, Value>,
        tracked: &TrackedState,
        cause: Option<u64>,
    ) -> Progress {
        let step = match self.answer {
            Answer::Ended => return Progress::Waiting,
            Answer::Event(kinds, _) if !kinds.contains(&kind) => return Progress::Waiting,
            Answer::Event(_, shape) => {
                // The event is the answer if its number says so, if it answers all clients, or if events of this op have no number.
                let is_own = cause == Some(self.request) || self.reply_number.is_some();
                if is_own || self.with_agent || kind == SHUT_DOWN {
                    return self.answer_with(kind, fields, shape, tracked);
                }
                if cause.is_none() {
                    let (kind, fields) = (kind.to_owned(), fields.clone());
                    self.candidate = Some(Candidate { kind, fields });
                }
                return Progress::Waiting;
            }
            Answer::Steps(step) => {
                let parameters = &self.parameters;
                let event = EventFields {
                    kind,
                    fields,
                    parameters,
                };
                step(&mut self.partial, &event)
            }
        };
        match step {
            Step::Ignore => Progress::Waiting,
            Step::Partial => Progress::Partial,
            Step::Done(data) => Progress::Done(data),
            Step::Failed(error) => Progress::Failed(error),
            Step::Request(make, value) => match make(self.request, value) {
                Some(op) => {
                    self.ops += 1;
                    Progress::Next(op)
                }
                None => Progress::Failed("cannot request the next part of the answer".to_owned()),
            },
        }
    }

    /// The answer that this event gives.
    fn answer_with(
        &self,
        kind: &str,
        fields: &Map<String, Value>,
        shape: Shape,
        tracked: &TrackedState,
    ) -> Progress {
        if FAILURES.contains(&kind) {
            let message = fields.get("message").and_then(Value::as_str);
            return Progress::Failed(message.unwrap_or(kind).to_owned());
        }
        match shape(fields.clone(), tracked) {
            Ok(Value::Object(mut data)) if self.form != Form::Fields => {
                data.insert("type".to_owned(), kind.into());
                if let Some(number) = self.reply_number {
                    data.insert("request".to_owned(), number.into());
                }
                let event = Value::Object(data);
                Progress::Done(match self.form {
                    Form::Text => text_of(event),
                    Form::Fields | Form::Event => event,
                })
            }
            Ok(data) => Progress::Done(data),
            Err(error) => Progress::Failed(error),
        }
    }

    /// Handles the end of one of its ops. Returns the answer if no further event can bring it.
    pub(super) fn op_ended(
        &mut self,
        with_agent: bool,
        tracked: &TrackedState,
    ) -> Option<Progress> {
        // A server can report the end of an op twice.
        self.ops = self.ops.saturating_sub(1);
        if self.ops > 0 {
            return None;
        }
        self.with_agent = with_agent;
        let is_refused = matches!(
            self.notices.last(),
            Some((Severity::Warning | Severity::Error, _))
        );
        if let (Answer::Event(_, shape), Some(Candidate { kind, fields })) =
            (self.answer, self.candidate.take())
            && !is_refused
        {
            return Some(self.answer_with(&kind, &fields, shape, tracked));
        }
        let notices = self
            .notices
            .last()
            .map(|(severity, text)| (*severity, text));
        match (self.answer, notices) {
            (Answer::Ended, Some((Severity::Warning | Severity::Error, text))) => {
                Some(Progress::Failed(text.clone()))
            }
            (Answer::Ended, _) => Some(self.nothing()),
            (_, Some((_, text))) => Some(Progress::Failed(text.clone())),
            _ if with_agent => None,
            _ if tracked.no_session => Some(Progress::Failed(
                "no session is open; start one with `new_session`".to_owned(),
            )),
            (Answer::Steps(step), None) => {
                let fields = &Map::new();
                let event = EventFields {
                    kind: OP_ENDED,
                    fields,
                    parameters: &self.parameters,
                };
                Some(match step(&mut self.partial, &event) {
                    Step::Done(data) => Progress::Done(data),
                    _ => Progress::Done(Value::Null),
                })
            }
            (Answer::Event(..), None) => Some(self.nothing()),
        }
    }
}

/// The text of an event.
fn text_of(event: Value) -> Value {
    let event: Option<Event> = serde_json::from_value(event).ok();
    let text = event.as_ref().and_then(slash::describe);
    json!(CommandText { text })
}
