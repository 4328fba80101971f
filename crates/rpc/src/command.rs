//! A command of the protocol: its names, its parameters, its request and the events that answer it.

use osier_base::request::{Group, Kind, Parameter, Request};
use serde_json::{Map, Value};

use super::tracked_state::TrackedState;
use osier_protocol::Op;

/// One command.
#[derive(Debug, Clone)]
pub struct Command {
    pub name: &'static str,
    /// Other names: those of pi, of the first version of the protocol, and of the requests.
    pub aliases: Vec<&'static str>,
    pub group: Group,
    /// The description of the command, for the documentation.
    pub doc: &'static str,
    pub parameters: Vec<Parameter>,
    pub data: Data,
    pub(super) start: Start,
    pub(super) answer: Answer,
}

/// `data` of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Data {
    /// None: the command was executed.
    Nothing,
    /// The fields of this event without `type` and `request`. Missing if there was nothing to report.
    Event(&'static str),
    /// The type with this name in the schema.
    Shape(&'static str),
}

/// The request that a command sends to the session.
#[derive(Debug, Clone, Copy)]
pub(super) enum Start {
    /// The request with this name; the parameters are its fields.
    Request(&'static str),
    With(fn(&Map<String, Value>, &TrackedState) -> Result<FirstStep, String>),
    /// Nothing: the dispatcher executes it.
    Dispatcher,
}

/// The first step of a command.
#[derive(Debug)]
pub(super) enum FirstStep {
    Request(Op),
    /// Several requests. The text of the event that replies to the last one is the answer.
    Requests(Vec<Op>),
    /// A request with a number of its own, which its answer repeats.
    Numbered(fn(u64, Value) -> Option<Op>, Value),
    /// The answer, without a request.
    Data(Value),
}

/// The source of a command's answer.
#[derive(Debug, Clone, Copy)]
pub(super) enum Answer {
    /// The end of its request.
    Ended,
    /// The first event of one of these types.
    Event(&'static [&'static str], Shape),
    /// Several events.
    Steps(fn(&mut Value, &EventFields<'_>) -> Step),
}

/// Converts the fields of an event to the data of an answer, or to an error.
pub(super) type Shape = fn(Map<String, Value>, &TrackedState) -> Result<Value, String>;

/// An event that may concern a command.
#[derive(Debug, Clone, Copy)]
pub(super) struct EventFields<'a> {
    /// The `type` of the event.
    pub kind: &'a str,
    pub fields: &'a Map<String, Value>,
    /// The parameters of the command.
    pub parameters: &'a Map<String, Value>,
}

/// The meaning of an event for a pending command.
#[derive(Debug)]
pub(super) enum Step {
    /// Nothing.
    Ignore,
    /// The event is a part of the answer.
    Partial,
    /// The answer is complete.
    Done(Value),
    Failed(String),
    /// This request is next.
    Request(fn(u64, Value) -> Option<Op>, Value),
}

impl Command {
    /// A command that sends the request with the same name and is answered by the end of it.
    pub(super) fn new(group: Group, name: &'static str, doc: &'static str) -> Self {
        Self {
            name,
            aliases: Vec::new(),
            group,
            doc,
            parameters: Vec::new(),
            data: Data::Nothing,
            start: Start::Request(name),
            answer: Answer::Ended,
        }
    }

    /// The command of a request, as the row of the request declares it.
    pub(super) fn from_request(request: &'static Request) -> Self {
        let name = request.command.unwrap_or(request.name);
        let own_name = request.command.map(|_| request.name);
        let parameters = request.parameters.iter().copied().map(|parameter| {
            if parameter.name == REQUEST.name {
                REQUEST
            } else {
                parameter
            }
        });
        let command = Self {
            aliases: own_name
                .into_iter()
                .chain(request.aliases.iter().copied())
                .collect(),
            parameters: parameters.collect(),
            start: Start::Request(request.name),
            ..Self::new(request.group, name, request.doc)
        };
        if request.replies.is_empty() {
            command
        } else {
            command.events(request.replies)
        }
    }

    pub(super) fn with_aliases(mut self, aliases: &[&'static str]) -> Self {
        self.aliases.extend(aliases);
        self
    }

    /// Sends the request with this name.
    pub(super) fn request(mut self, name: &'static str) -> Self {
        self.start = Start::Request(name);
        self
    }

    pub(super) fn parameters(mut self, parameters: &[Parameter]) -> Self {
        self.parameters = parameters.to_vec();
        self
    }

    /// Answered by the fields of the first of these events.
    pub(super) fn events(mut self, events: &'static [&'static str]) -> Self {
        self.data = Data::Event(events[0]);
        self.answer = Answer::Event(events, all_fields);
        self
    }

    /// Answered by the result of `shape` for the first of these events.
    pub(super) fn with_answer(
        mut self,
        data: &'static str,
        events: &'static [&'static str],
        shape: Shape,
    ) -> Self {
        self.data = Data::Shape(data);
        self.answer = Answer::Event(events, shape);
        self
    }

    /// Answered by several events.
    pub(super) fn steps(
        mut self,
        data: &'static str,
        step: fn(&mut Value, &EventFields<'_>) -> Step,
    ) -> Self {
        self.data = Data::Shape(data);
        self.answer = Answer::Steps(step);
        self
    }

    pub(super) fn starts_with(
        mut self,
        start: fn(&Map<String, Value>, &TrackedState) -> Result<FirstStep, String>,
    ) -> Self {
        self.start = Start::With(start);
        self
    }

    /// Executed by the dispatcher.
    pub(super) fn dispatcher(mut self, data: Data) -> Self {
        self.start = Start::Dispatcher;
        self.data = data;
        self
    }

    /// All names.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }

    /// Whether its request carries a number that its answer repeats.
    pub(super) fn is_numbered(&self) -> bool {
        self.parameters
            .iter()
            .any(|parameter| parameter.name == REQUEST.name)
    }
}

/// A required parameter.
pub(super) const fn required(name: &'static str, kind: Kind, doc: &'static str) -> Parameter {
    Parameter {
        name,
        aliases: &[],
        kind,
        required: true,
        doc,
    }
}

/// An optional parameter.
pub(super) const fn optional(name: &'static str, kind: Kind, doc: &'static str) -> Parameter {
    Parameter {
        required: false,
        ..required(name, kind, doc)
    }
}

/// The number that the answer repeats. The dispatcher sets it if the client does not.
pub(super) const REQUEST: Parameter = optional(
    "request",
    Kind::Number,
    "a number that the events about it repeat; chosen when missing",
);

/// All fields of an event.
#[expect(
    clippy::unnecessary_wraps,
    reason = "the rows of the table share one signature"
)]
pub(super) fn all_fields(fields: Map<String, Value>, _: &TrackedState) -> Result<Value, String> {
    Ok(Value::Object(fields))
}
