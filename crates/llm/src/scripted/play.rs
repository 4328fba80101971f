//! Plays one turn as the events of a call. Without usage in the script, four characters count as one token,
//! so that costs and context are shown.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::task::consume_budget;
use tokio::time::sleep;

use super::script::{Chunked, Step, Turn};
use crate::event::{Delta, StreamEvent};
use crate::message::StopReason;
use crate::provider::Request;
use crate::status::TurnStatus;
use crate::usage::Usage;
use crate::wire::parse_arguments;

const CHARACTERS_PER_TOKEN: usize = 4;

/// A turn being played.
pub(super) struct Player {
    request: Request,
    steps: VecDeque<Step>,
    ready: VecDeque<StreamEvent>,
    /// The step that is streaming.
    current: Option<Streaming>,
    failure: Option<String>,
    begun: bool,
    ended: bool,
    /// The index of the next block.
    next: usize,
    calls: usize,
    usage: Usage,
    usage_told: bool,
}

/// A text that is being streamed.
struct Streaming {
    kind: Kind,
    index: usize,
    source: Chunked,
    /// The offset of the next chunk in the text.
    offset: usize,
    left: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Thinking,
    Arguments,
}

impl Player {
    pub(super) fn new(request: Request, turn: Result<Turn, String>) -> Self {
        let (steps, failure) = match turn {
            Ok(turn) => (turn.steps.into(), None),
            Err(reason) => (VecDeque::new(), Some(reason)),
        };
        Self {
            request,
            steps,
            ready: VecDeque::new(),
            current: None,
            failure,
            begun: false,
            ended: false,
            next: 0,
            calls: 0,
            usage: Usage::default(),
            usage_told: false,
        }
    }

    /// The next event; `None` after the last.
    pub(super) async fn next(&mut self) -> Option<StreamEvent> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            if self.ended {
                return None;
            }
            if !std::mem::replace(&mut self.begun, true) {
                self.begin();
            } else if let Some(streaming) = &self.current {
                pause(streaming.source.delay).await;
                // Yields regularly, so that a long script does not block other tasks.
                consume_budget().await;
                self.stream_on();
            } else if let Some(step) = self.steps.pop_front() {
                self.play(step).await;
            } else {
                self.end(StopReason::Stop);
            }
        }
    }

    fn begin(&mut self) {
        let body = serde_json::to_string(&self.request.context).unwrap_or_default();
        self.usage.input = (body.len() / CHARACTERS_PER_TOKEN) as u64;
        self.ready.push_back(StreamEvent::Request {
            prefix_hash: None,
            bytes: body.len(),
            body: self.request.options.trace.then_some(body),
        });
        match self.failure.take() {
            Some(message) => self.fail(TurnStatus::ModelError {
                message,
                retryable: false,
            }),
            None => self
                .ready
                .push_back(StreamEvent::Start { response_id: None }),
        }
    }

    async fn play(&mut self, step: Step) {
        match step {
            Step::Text(source) => {
                let index = self.next_index();
                self.say(Delta::TextStart { index });
                self.stream(Kind::Text, index, source);
            }
            Step::Thinking(source) => {
                let index = self.next_index();
                self.say(Delta::ThinkingStart { index });
                self.stream(Kind::Thinking, index, source);
            }
            Step::Tool {
                id,
                name,
                arguments,
            } => {
                let id = id.unwrap_or_else(|| self.call_id());
                let index = self.next_index();
                self.calls += 1;
                self.say(Delta::ToolcallStart { index, id, name });
                self.stream(Kind::Arguments, index, arguments);
            }
            Step::Wait(duration) => pause(duration).await,
            Step::Gate(gate) => gate.pass().await,
            Step::Usage(usage) => {
                self.usage = usage;
                self.usage_told = true;
                self.ready.push_back(StreamEvent::Usage(usage));
            }
            Step::Stop(reason) => self.end(reason),
            Step::Fail(status) => self.fail(status),
        }
    }

    /// The id of a call. It is unique within a session because the conversation grows with every
    /// request.
    fn call_id(&self) -> String {
        format!(
            "call_{}_{}",
            self.request.context.messages.len(),
            self.calls
        )
    }

    fn stream(&mut self, kind: Kind, index: usize, source: Chunked) {
        let left = match source.text.as_str() {
            "" => 0,
            _ => source.times,
        };
        self.current = Some(Streaming {
            kind,
            index,
            source,
            offset: 0,
            left,
        });
        if left == 0 {
            self.close();
        }
    }

    /// Streams the next chunk of the current text.
    fn stream_on(&mut self) {
        let Some(streaming) = &mut self.current else {
            return;
        };
        let rest = &streaming.source.text[streaming.offset..];
        let length = rest
            .char_indices()
            .nth(streaming.source.chunk)
            .map_or(rest.len(), |(at, _)| at);
        let delta = rest[..length].to_owned();
        streaming.offset += length;
        if streaming.offset == streaming.source.text.len() {
            streaming.offset = 0;
            streaming.left -= 1;
        }
        let (index, kind, done) = (streaming.index, streaming.kind, streaming.left == 0);
        if !self.usage_told {
            self.usage.output += delta.chars().count().div_ceil(CHARACTERS_PER_TOKEN) as u64;
        }
        self.say(match kind {
            Kind::Text => Delta::TextDelta { index, delta },
            Kind::Thinking => Delta::ThinkingDelta { index, delta },
            Kind::Arguments => Delta::ToolcallDelta { index, delta },
        });
        if done {
            self.close();
        }
    }

    fn close(&mut self) {
        let Some(Streaming {
            kind,
            index,
            source,
            ..
        }) = self.current.take()
        else {
            return;
        };
        self.say(match kind {
            Kind::Text => Delta::TextEnd {
                index,
                signature: None,
            },
            Kind::Thinking => Delta::ThinkingEnd {
                index,
                signature: None,
                redacted: false,
            },
            Kind::Arguments => {
                let (arguments, arguments_error) = parse_arguments(source.text);
                Delta::ToolcallEnd {
                    index,
                    arguments,
                    arguments_error,
                    signature: None,
                }
            }
        });
    }

    fn end(&mut self, reason: StopReason) {
        self.ended = true;
        let stop_reason = match reason {
            StopReason::Stop if self.calls > 0 => StopReason::ToolUse,
            reason => reason,
        };
        let usage = self.usage.priced(&self.request.model.price);
        self.ready
            .push_back(StreamEvent::Done { stop_reason, usage });
    }

    fn fail(&mut self, status: TurnStatus) {
        self.ended = true;
        let usage = self.usage.priced(&self.request.model.price);
        self.ready.push_back(StreamEvent::Failed { status, usage });
    }

    fn say(&mut self, delta: Delta) {
        self.ready.push_back(StreamEvent::Delta(delta));
    }

    fn next_index(&mut self) -> usize {
        self.next += 1;
        self.next - 1
    }
}

async fn pause(duration: Duration) {
    if !duration.is_zero() {
        sleep(duration).await;
    }
}
