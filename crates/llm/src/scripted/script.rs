//! What a script says, turn by turn.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::Semaphore;

use crate::message::{ContentBlock, Message, StopReason};
use crate::provider::Request;
use crate::status::TurnStatus;
use crate::usage::Usage;

/// Characters of a chunk when a step does not say.
pub(super) const CHUNK: usize = 12;

/// A list of answers.
#[derive(Debug, Clone, Default)]
pub struct Script {
    pub(super) turns: Vec<Turn>,
}

/// One answer.
#[derive(Debug, Clone, Default)]
pub struct Turn {
    pub(super) when: Option<Matcher>,
    pub(super) repeat: bool,
    pub(super) steps: Vec<Step>,
}

/// Which requests a turn answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Matcher {
    /// The last user text holds this, whatever the case.
    User(String),
    /// The last message is a tool result that holds this, whatever the case.
    ToolResult(String),
}

/// A part of an answer, in order.
#[derive(Debug, Clone)]
pub enum Step {
    Text(Chunked),
    Thinking(Chunked),
    Tool {
        /// Made from the turn's place when not set.
        id: Option<String>,
        name: String,
        /// As streamed: the text of an object, or what a test wants to be broken.
        arguments: Chunked,
    },
    Wait(Duration),
    /// Holds the answer until the gate is opened.
    Gate(Gate),
    Usage(Usage),
    /// Ends the answer; without it an answer ends by itself, for the reason its tool calls give.
    Stop(StopReason),
    /// Ends the answer with a failure.
    Fail(TurnStatus),
}

/// Text and how it is streamed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunked {
    pub(super) text: String,
    /// Characters a piece.
    pub(super) chunk: usize,
    /// Before each piece.
    pub(super) delay: Duration,
    /// How often the whole text comes.
    pub(super) times: usize,
}

impl Chunked {
    /// Text in short pieces, without delay, once.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            chunk: CHUNK,
            delay: Duration::ZERO,
            times: 1,
        }
    }
}

/// Holds an answer at its place until a test lets it go on. Clones are the same gate.
#[derive(Debug, Clone)]
pub struct Gate {
    passes: Arc<Semaphore>,
}

impl Default for Gate {
    fn default() -> Self {
        Self {
            passes: Arc::new(Semaphore::new(0)),
        }
    }
}

impl Gate {
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets one answer pass, now or when it gets there.
    pub fn open(&self) {
        self.passes.add_permits(1);
    }

    pub(super) async fn pass(&self) {
        if let Ok(permit) = self.passes.acquire().await {
            permit.forget();
        }
    }
}

impl Script {
    pub fn new() -> Self {
        Self::default()
    }

    /// A script of one turn that says `text` to everything.
    pub fn always(text: &str) -> Self {
        Self::new().turn(|turn| turn.text(text).repeat())
    }

    /// Adds a turn.
    #[must_use]
    pub fn turn(mut self, build: impl FnOnce(Turn) -> Turn) -> Self {
        self.turns.push(build(Turn::default()));
        self
    }
}

impl Turn {
    /// Answers only when the last user text holds `part`.
    #[must_use]
    pub fn when_user(mut self, part: &str) -> Self {
        self.when = Some(Matcher::User(part.to_lowercase()));
        self
    }

    /// Answers only when the last message is a tool result that holds `part`.
    #[must_use]
    pub fn when_result(mut self, part: &str) -> Self {
        self.when = Some(Matcher::ToolResult(part.to_lowercase()));
        self
    }

    /// Plays again and again.
    #[must_use]
    pub fn repeat(mut self) -> Self {
        self.repeat = true;
        self
    }

    #[must_use]
    pub fn text(self, text: impl Into<String>) -> Self {
        self.step(Step::Text(Chunked::new(text)))
    }

    #[must_use]
    pub fn thinking(self, text: impl Into<String>) -> Self {
        self.step(Step::Thinking(Chunked::new(text)))
    }

    /// A call with complete arguments.
    #[must_use]
    #[expect(
        clippy::needless_pass_by_value,
        reason = "tests write `json!` in place"
    )]
    pub fn tool(self, name: &str, arguments: Value) -> Self {
        self.tool_raw(name, arguments.to_string())
    }

    /// A call with this text as its arguments, whether or not it is a JSON object.
    #[must_use]
    pub fn tool_raw(self, name: &str, arguments: impl Into<String>) -> Self {
        self.step(Step::Tool {
            id: None,
            name: name.to_owned(),
            arguments: Chunked::new(arguments),
        })
    }

    #[must_use]
    pub fn wait(self, duration: Duration) -> Self {
        self.step(Step::Wait(duration))
    }

    #[must_use]
    pub fn gate(self, gate: &Gate) -> Self {
        self.step(Step::Gate(gate.clone()))
    }

    #[must_use]
    pub fn usage(self, usage: Usage) -> Self {
        self.step(Step::Usage(usage))
    }

    #[must_use]
    pub fn stop(self, reason: StopReason) -> Self {
        self.step(Step::Stop(reason))
    }

    #[must_use]
    pub fn fail(self, status: TurnStatus) -> Self {
        self.step(Step::Fail(status))
    }

    /// Adds any step.
    #[must_use]
    pub fn step(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// Streams the last text, thinking or call in pieces of `chunk` characters, `delay` before each.
    #[must_use]
    pub fn paced(mut self, chunk: usize, delay: Duration) -> Self {
        if let Some(last) = self.last_chunked() {
            last.chunk = chunk.max(1);
            last.delay = delay;
        }
        self
    }

    /// Says the last text or thinking `times` times over.
    #[must_use]
    pub fn times(mut self, times: usize) -> Self {
        if let Some(last) = self.last_chunked() {
            last.times = times;
        }
        self
    }

    /// Gives the last call the id `id`.
    #[must_use]
    pub fn with_id(mut self, wanted: &str) -> Self {
        if let Some(Step::Tool { id, .. }) = self.steps.last_mut() {
            *id = Some(wanted.to_owned());
        }
        self
    }

    fn last_chunked(&mut self) -> Option<&mut Chunked> {
        self.steps.iter_mut().rev().find_map(|step| match step {
            Step::Text(chunked)
            | Step::Thinking(chunked)
            | Step::Tool {
                arguments: chunked, ..
            } => Some(chunked),
            _ => None,
        })
    }
}

impl Matcher {
    pub(super) fn fits(&self, request: &Request) -> bool {
        let messages = &request.context.messages;
        match self {
            Self::User(part) => messages
                .iter()
                .rev()
                .find_map(|message| match message {
                    Message::User(user) => Some(&user.content),
                    _ => None,
                })
                .is_some_and(|content| holds(content, part)),
            Self::ToolResult(part) => match messages.last() {
                Some(Message::ToolResult(result)) => holds(&result.content, part),
                _ => false,
            },
        }
    }
}

fn holds(content: &[ContentBlock], part: &str) -> bool {
    content
        .iter()
        .filter_map(ContentBlock::as_text)
        .any(|text| text.to_lowercase().contains(part))
}
