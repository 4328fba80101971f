//! The turns and steps of scripts.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::Semaphore;

use crate::message::{ContentBlock, Message, StopReason};
use crate::provider::Request;
use crate::status::TurnStatus;
use crate::usage::Usage;

/// The default size of a chunk in characters.
pub(super) const CHUNK: usize = 12;

/// A list of answers.
///
/// ```
/// use osier_llm::Script;
/// use serde_json::json;
///
/// let script = Script::new()
///     .turn(|turn| turn.text("Reading it.").tool("read", json!({"file_path": "a.rs"})))
///     .turn(|turn| turn.text("Done."));
/// # let _ = script;
/// ```
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
    /// The last user text contains this text, ignoring case.
    User(String),
    /// The last message is a tool result that contains this text, ignoring case.
    ToolResult(String),
}

/// A part of an answer, in order.
#[derive(Debug, Clone)]
pub enum Step {
    Text(Chunked),
    Thinking(Chunked),
    Tool {
        /// The id of the call; derived from the index of the turn when not set.
        id: Option<String>,
        name: String,
        /// The arguments as they are streamed: the JSON text of an object, or invalid text.
        arguments: Chunked,
    },
    Wait(Duration),
    /// Delays the answer until the gate is opened.
    Gate(Hold),
    Usage(Usage),
    /// Ends the answer. Without it, the stop reason depends on whether there are tool calls.
    Stop(StopReason),
    /// Ends the answer with a failure.
    Fail(TurnStatus),
}

/// A text and how it is streamed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunked {
    pub(super) text: String,
    /// Characters per chunk.
    pub(super) chunk: usize,
    /// The delay before each chunk.
    pub(super) delay: Duration,
    /// How often the text is repeated.
    pub(super) times: usize,
}

impl Chunked {
    /// Streams the text once, in short chunks without delay.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            chunk: CHUNK,
            delay: Duration::ZERO,
            times: 1,
        }
    }
}

/// Delays an answer until a test opens it. Clones share one gate.
#[derive(Debug, Clone)]
pub struct Hold {
    passes: Arc<Semaphore>,
}

impl Default for Hold {
    fn default() -> Self {
        Self {
            passes: Arc::new(Semaphore::new(0)),
        }
    }
}

impl Hold {
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets one answer continue, now or when it reaches the gate.
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

    /// A script that answers every request with `text`.
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
    /// Limits the turn to requests whose last user text contains `part`.
    #[must_use]
    pub fn when_user(mut self, part: &str) -> Self {
        self.when = Some(Matcher::User(part.to_lowercase()));
        self
    }

    /// Limits the turn to requests whose last message is a tool result that contains `part`.
    #[must_use]
    pub fn when_result(mut self, part: &str) -> Self {
        self.when = Some(Matcher::ToolResult(part.to_lowercase()));
        self
    }

    /// Plays the turn any number of times.
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

    /// Adds a call with valid arguments.
    #[must_use]
    #[expect(
        clippy::needless_pass_by_value,
        reason = "tests write `json!` in place"
    )]
    pub fn tool(self, name: &str, arguments: Value) -> Self {
        self.tool_raw(name, arguments.to_string())
    }

    /// Adds a call with this text as its arguments, valid or not.
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
    pub fn gate(self, gate: &Hold) -> Self {
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

    /// Adds a step.
    #[must_use]
    pub fn step(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// Streams the last text, thinking or call in chunks of `chunk` characters, with `delay` before each.
    #[must_use]
    pub fn paced(mut self, chunk: usize, delay: Duration) -> Self {
        if let Some(last) = self.last_chunked() {
            last.chunk = chunk.max(1);
            last.delay = delay;
        }
        self
    }

    /// Repeats the last text or thinking `times` times.
    #[must_use]
    pub fn times(mut self, times: usize) -> Self {
        if let Some(last) = self.last_chunked() {
            last.times = times;
        }
        self
    }

    /// Sets the id of the last call.
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
        // Reminders of the program come after the message that the script waits for.
        let mut messages = messages
            .iter()
            .rev()
            .filter(|message| !is_reminder(message));
        match self {
            Self::User(part) => messages
                .find_map(|message| match message {
                    Message::User(user) => Some(&user.content),
                    _ => None,
                })
                .is_some_and(|content| holds(content, part)),
            Self::ToolResult(part) => match messages.next() {
                Some(Message::ToolResult(result)) => holds(&result.content, part),
                _ => false,
            },
        }
    }
}

fn is_reminder(message: &Message) -> bool {
    let Message::User(user) = message else {
        return false;
    };
    let text = user.content.first().and_then(ContentBlock::as_text);
    text.is_some_and(|text| text.starts_with("<system-reminder>"))
}

fn holds(content: &[ContentBlock], part: &str) -> bool {
    content
        .iter()
        .filter_map(ContentBlock::as_text)
        .any(|text| text.to_lowercase().contains(part))
}
