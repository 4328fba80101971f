//! A command that is not answered yet, and how events bring its answer.

use serde_json::{Map, Value};

use super::answers::ENDED;
use super::command::{Answer, Heard, Step, all_fields};
use super::frame::Response;
use super::view::View;
use osier_agent::Severity;
use osier_base::request::Request;
use osier_protocol::Op;

/// Events that say in `message` why something was not done.
const FAILURES: &[&str] = &["branch_summary_failed", "library_refused", "session_failed"];

/// A command that is not answered yet.
#[derive(Debug)]
pub(super) struct Pending {
    answer: Answer,
    /// The answer contains the `type` of its event.
    is_typed: bool,
    /// The answer, but for what it says.
    pub response: Response,
    /// The number its ops are asked under.
    pub request: u64,
    /// The number that the events which answer it carry.
    pub numbered: Option<u64>,
    /// Notices about it.
    pub told: Vec<(Severity, String)>,
    /// Ops of it that have not ended.
    ops: usize,
    /// Parts of the answer.
    kept: Value,
}

/// Whether it is answered.
#[derive(Debug)]
pub(super) enum End {
    NotYet,
    /// Not yet, and the event was a part of its answer.
    Kept,
    /// Not before this op is done.
    Next(Op),
    Done(Value),
    Failed(String),
}

impl Pending {
    pub(super) fn new(
        answer: Answer,
        response: Response,
        request: u64,
        numbered: Option<u64>,
    ) -> Self {
        Self {
            answer,
            is_typed: false,
            response,
            request,
            numbered,
            told: Vec::new(),
            ops: 1,
            kept: Value::Null,
        }
    }

    /// Answered by the event that replies to a request, with its `type`.
    pub(super) fn with_reply(mut self, request: &'static Request, number: Option<u64>) -> Self {
        if !request.replies.is_empty() {
            self.answer = Answer::Event(request.replies, all_fields);
            self.is_typed = true;
            self.numbered = number;
        }
        self
    }

    /// Takes an event, without its `type` and `request`.
    pub(super) fn hear(&mut self, kind: &str, fields: &Map<String, Value>, view: &View) -> End {
        let step = match self.answer {
            Answer::Ended => return End::NotYet,
            Answer::Event(kinds, _) if !kinds.contains(&kind) => return End::NotYet,
            Answer::Event(..) if FAILURES.contains(&kind) => {
                let message = fields.get("message").and_then(Value::as_str);
                return End::Failed(message.unwrap_or(kind).to_owned());
            }
            Answer::Event(_, shape) => {
                return match shape(fields.clone(), view) {
                    Ok(Value::Object(mut data)) if self.is_typed => {
                        data.insert("type".to_owned(), kind.into());
                        if let Some(number) = self.numbered {
                            data.insert("request".to_owned(), number.into());
                        }
                        End::Done(Value::Object(data))
                    }
                    Ok(data) => End::Done(data),
                    Err(fault) => End::Failed(fault),
                };
            }
            Answer::Steps(step) => step(&mut self.kept, &Heard { kind, fields }),
        };
        match step {
            Step::Pass => End::NotYet,
            Step::Keep => End::Kept,
            Step::Done(data) => End::Done(data),
            Step::Failed(fault) => End::Failed(fault),
            Step::Ask(make, value) => match make(self.request, value) {
                Some(op) => {
                    self.ops += 1;
                    End::Next(op)
                }
                None => End::Failed("the next part cannot be asked for".to_owned()),
            },
        }
    }

    /// Takes the end of one of its ops; the answer, when nothing more can bring it.
    pub(super) fn op_ended(&mut self, with_agent: bool, sessionless: bool) -> Option<End> {
        self.ops -= 1;
        if self.ops > 0 {
            return None;
        }
        let told = self.told.last().map(|(severity, text)| (*severity, text));
        match (self.answer, told) {
            (Answer::Ended, Some((Severity::Warning | Severity::Error, text))) => {
                Some(End::Failed(text.clone()))
            }
            (Answer::Ended, _) => Some(End::Done(Value::Null)),
            (_, Some((_, text))) => Some(End::Failed(text.clone())),
            _ if with_agent => None,
            _ if sessionless => Some(End::Failed(
                "no session is open: begin one with `new_session`".to_owned(),
            )),
            (Answer::Steps(step), None) => {
                let fields = &Map::new();
                let heard = Heard {
                    kind: ENDED,
                    fields,
                };
                Some(match step(&mut self.kept, &heard) {
                    Step::Done(data) => End::Done(data),
                    _ => End::Done(Value::Null),
                })
            }
            (Answer::Event(..), None) => Some(End::Done(Value::Null)),
        }
    }
}
