//! What a row of the table is: a command's names, what it takes and gives, and how it becomes an op.

use serde_json::{Map, Value};

use super::view::View;
use osier_session::host::Op;

/// One command.
#[derive(Debug, Clone, Copy)]
pub struct Command {
    pub name: &'static str,
    /// Other names it goes by: those of pi and of the first protocol, and those of the ops.
    pub aliases: &'static [&'static str],
    pub group: Group,
    /// What it does, for the documentation.
    pub doc: &'static str,
    pub takes: &'static [Field],
    pub gives: Gives,
    pub(super) begin: Begin,
    pub(super) answer: Answer,
}

/// Commands that belong together in the documentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    Connection,
    Prompting,
    State,
    Session,
    Tree,
    Files,
    Models,
    Tools,
    Safety,
    Surroundings,
}

/// One parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    pub name: &'static str,
    /// Other names it is taken under.
    pub aliases: &'static [&'static str],
    pub kind: Kind,
    pub required: bool,
    pub doc: &'static str,
}

/// What a parameter has to be. `null` is taken for a parameter that is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Text,
    /// A whole number from 0.
    Number,
    Flag,
    /// One of these words.
    Word(&'static [&'static str]),
    Texts,
    /// A list of what the schema has under this name.
    List(&'static str),
    /// What the schema has under this name.
    Object(&'static str),
    /// Anything.
    Any,
}

/// What stands in `data` of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gives {
    /// Nothing: it was done.
    Nothing,
    /// The fields of this event, but for its `type` and `request`. Nothing when there was nothing to tell.
    Event(&'static str),
    /// What the schema has under this name.
    Shape(&'static str),
}

/// How a command begins.
#[derive(Debug, Clone, Copy)]
pub(super) enum Begin {
    /// The parameters are the fields of this op.
    Op(&'static str),
    With(fn(&Map<String, Value>, &View) -> Result<First, String>),
    /// The dispatcher does it.
    Here,
}

/// What a command does first.
#[derive(Debug)]
pub(super) enum First {
    Op(Op),
    /// The same for one whose answer is told by a `request` of its own.
    Numbered(fn(u64, Value) -> Option<Op>, Value),
    /// Nothing has to be asked.
    Data(Value),
}

/// How a command is answered.
#[derive(Debug, Clone, Copy)]
pub(super) enum Answer {
    /// With the end of its op.
    Ended,
    /// With the first event of one of these types, which it may shape.
    Event(&'static [&'static str], Shape),
    /// With what comes of several events and ops.
    Steps(fn(&mut Value, &Heard<'_>) -> Step),
}

/// Makes the data of an answer of an event's fields, or an error of them.
pub(super) type Shape = fn(Map<String, Value>, &View) -> Result<Value, String>;

/// An event that may concern a command.
#[derive(Debug, Clone, Copy)]
pub(super) struct Heard<'a> {
    /// Its `type`.
    pub kind: &'a str,
    pub fields: &'a Map<String, Value>,
}

/// What an event means for a command.
#[derive(Debug)]
pub(super) enum Step {
    /// It has nothing to do with it.
    Pass,
    /// A part of the answer, which is kept.
    Keep,
    /// The answer.
    Done(Value),
    Failed(String),
    /// This has to be asked next.
    Ask(fn(u64, Value) -> Option<Op>, Value),
}

impl Command {
    /// An op of this name, answered by its end.
    pub(super) const fn op(group: Group, name: &'static str, doc: &'static str) -> Self {
        Self {
            name,
            aliases: &[],
            group,
            doc,
            takes: &[],
            gives: Gives::Nothing,
            begin: Begin::Op(name),
            answer: Answer::Ended,
        }
    }

    pub(super) const fn also(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    /// The op has another name.
    pub(super) const fn of(mut self, op: &'static str) -> Self {
        self.begin = Begin::Op(op);
        self
    }

    pub(super) const fn takes(mut self, fields: &'static [Field]) -> Self {
        self.takes = fields;
        self
    }

    /// Answered by the fields of this event.
    pub(super) const fn told(mut self, events: &'static [&'static str]) -> Self {
        self.gives = Gives::Event(events[0]);
        self.answer = Answer::Event(events, whole);
        self
    }

    /// Answered by what becomes of the fields of one of these events.
    pub(super) const fn shaped(
        mut self,
        gives: &'static str,
        events: &'static [&'static str],
        shape: Shape,
    ) -> Self {
        self.gives = Gives::Shape(gives);
        self.answer = Answer::Event(events, shape);
        self
    }

    pub(super) const fn stepped(
        mut self,
        gives: &'static str,
        step: fn(&mut Value, &Heard<'_>) -> Step,
    ) -> Self {
        self.gives = Gives::Shape(gives);
        self.answer = Answer::Steps(step);
        self
    }

    pub(super) const fn begins(
        mut self,
        begin: fn(&Map<String, Value>, &View) -> Result<First, String>,
    ) -> Self {
        self.begin = Begin::With(begin);
        self
    }

    pub(super) const fn here(mut self, gives: Gives) -> Self {
        self.begin = Begin::Here;
        self.gives = gives;
        self
    }

    /// Every name it goes by.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }

    /// Whether its op carries a number that comes back with the answer.
    pub(super) fn is_numbered(&self) -> bool {
        self.takes.iter().any(|field| field.name == "request")
    }
}

/// A parameter that has to be there.
pub(super) const fn needs(name: &'static str, kind: Kind, doc: &'static str) -> Field {
    Field {
        name,
        aliases: &[],
        kind,
        required: true,
        doc,
    }
}

/// A parameter that may be left out.
pub(super) const fn may(name: &'static str, kind: Kind, doc: &'static str) -> Field {
    Field {
        required: false,
        ..needs(name, kind, doc)
    }
}

impl Field {
    pub(super) const fn also(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }
}

/// The number that comes back with an answer: the dispatcher gives one when the client does not.
pub(super) const REQUEST: Field = may(
    "request",
    Kind::Number,
    "comes back with events about it; chosen when left out",
);

/// All fields of an event.
#[expect(
    clippy::unnecessary_wraps,
    reason = "the rows of the table share one signature"
)]
pub(super) fn whole(fields: Map<String, Value>, _: &View) -> Result<Value, String> {
    Ok(Value::Object(fields))
}
