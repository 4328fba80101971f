//! The other end: a program that drives an agent, in this process or another, over any pair of streams.
//!
//! A task owns the streams. Calls are answered in any order; dropping a call forgets its answer. Events come
//! on a stream of their own, which may be dropped by who does not want them. When the last [`Client`] is
//! dropped the agent's input is closed: it finishes what it was told and ends.

mod calls;
mod link;

use std::io;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, oneshot};

use self::link::{Call, Link};
use super::PROTOCOL;
use super::frame::{Code, Greeting, Response};
use super::ui::UiRequest;
use osier_agent::{RunOutcome, Severity};
use osier_base::process::{Invocation, spawn_piped};
use osier_protocol::Event;
use osier_protocol::questions::Answer;

pub use calls::Selected;

/// A way to an agent. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Client {
    calls: mpsc::UnboundedSender<Call>,
    greeting: Greeting,
    patience: Option<Duration>,
}

/// What an agent says, from the first of its events that are told to this client.
#[derive(Debug)]
pub struct Events(mpsc::UnboundedReceiver<Event>);

/// Who answers what an agent asks of a person.
pub trait Person: Send + Sync + 'static {
    /// Decides. The future is dropped when the request is closed otherwise: by a time-out, an interrupt, or
    /// another client.
    fn answer(&self, request: UiRequest) -> BoxFuture<'static, Answer>;

    /// Is told something that needs no answer.
    fn notice(&self, _severity: Severity, _text: String) {}

    /// Whether anybody is there; without, requests are dismissed by the agent itself.
    fn is_there(&self) -> bool {
        true
    }
}

/// Nobody is there.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nobody;

impl Person for Nobody {
    fn answer(&self, _: UiRequest) -> BoxFuture<'static, Answer> {
        std::future::ready(Answer::Dismissed).boxed()
    }

    fn is_there(&self) -> bool {
        false
    }
}

/// Requests as messages: whoever receives them sends the answer back, or drops it to dismiss.
impl Person for mpsc::UnboundedSender<(UiRequest, oneshot::Sender<Answer>)> {
    fn answer(&self, request: UiRequest) -> BoxFuture<'static, Answer> {
        let (reply, answered) = oneshot::channel();
        let sent = self.send((request, reply));
        async move {
            match sent {
                Ok(()) => answered.await.unwrap_or(Answer::Dismissed),
                Err(_) => Answer::Dismissed,
            }
        }
        .boxed()
    }
}

/// Why a call came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The agent refused, or did not understand.
    #[error("`{command}`: {message}")]
    Refused {
        command: String,
        code: Option<Code>,
        message: String,
    },
    #[error("`{command}` was not answered within {after:?}")]
    TimedOut { command: String, after: Duration },
    /// The agent has ended; `said` is the end of what it wrote to its standard error.
    #[error("the agent has ended{}", behind(.said))]
    Closed { said: String },
    /// The answer is not what this version expects.
    #[error("the answer to `{command}` is not what was expected: {source}")]
    Unexpected {
        command: String,
        source: serde_json::Error,
    },
    #[error("`{program}` cannot be started: {source}")]
    Start { program: String, source: io::Error },
}

fn behind(said: &str) -> String {
    match said.trim() {
        "" => String::new(),
        said => format!(": {said}"),
    }
}

impl Client {
    /// Starts a program that speaks the protocol, such as `osier rpc`, and greets it.
    pub async fn start(
        invocation: &Invocation,
        person: impl Person,
    ) -> Result<(Self, Events), CallError> {
        let (child, pipes) = spawn_piped(invocation).map_err(|source| CallError::Start {
            program: invocation.program.to_string_lossy().into_owned(),
            source,
        })?;
        let link = Link::new(pipes.stdout, pipes.stdin, person);
        Self::greet(link.of_child(child, pipes.stderr)).await
    }

    /// Greets the agent at the other end of two streams.
    pub async fn over(
        input: impl AsyncRead + Send + Unpin + 'static,
        output: impl AsyncWrite + Send + Unpin + 'static,
        person: impl Person,
    ) -> Result<(Self, Events), CallError> {
        Self::greet(Link::new(input, output, person)).await
    }

    async fn greet(
        link: Link<
            impl AsyncRead + Send + Unpin + 'static,
            impl AsyncWrite + Send + Unpin + 'static,
            impl Person,
        >,
    ) -> Result<(Self, Events), CallError> {
        let ui = link.has_person();
        let (calls, received) = mpsc::unbounded_channel();
        let (publisher, events) = mpsc::unbounded_channel();
        tokio::spawn(link.run(received, publisher));
        let mut client = Self {
            calls,
            greeting: Greeting::default(),
            patience: None,
        };
        let hello = json!({
            "protocol": PROTOCOL,
            "client": concat!("osier ", env!("CARGO_PKG_VERSION")),
            "ui": ui,
        });
        client.greeting = client.call("hello", hello).await?;
        Ok((client, Events(events)))
    }

    /// The same with a limit on how long a call may take.
    #[must_use]
    pub fn patient(mut self, patience: Duration) -> Self {
        self.patience = Some(patience);
        self
    }

    /// What the agent said of itself.
    pub fn greeting(&self) -> &Greeting {
        &self.greeting
    }

    /// Calls a command of the protocol; `parameters` is an object.
    pub async fn call<T: DeserializeOwned>(
        &self,
        command: &str,
        parameters: Value,
    ) -> Result<T, CallError> {
        let (reply, answered) = oneshot::channel();
        let call = Call {
            command: command.to_owned(),
            parameters,
            reply,
        };
        let closed = || CallError::Closed {
            said: String::new(),
        };
        self.calls.send(call).map_err(|_| closed())?;
        let answer = match self.patience {
            None => answered.await,
            Some(after) => {
                let late = |_| CallError::TimedOut {
                    command: command.to_owned(),
                    after,
                };
                tokio::time::timeout(after, answered).await.map_err(late)?
            }
        };
        let response = answer.map_err(|_| closed())??;
        let Response {
            success: true,
            data,
            ..
        } = response
        else {
            return Err(CallError::Refused {
                command: command.to_owned(),
                code: response.code,
                message: response.error.unwrap_or_default(),
            });
        };
        serde_json::from_value(data.unwrap_or_default()).map_err(|source| CallError::Unexpected {
            command: command.to_owned(),
            source,
        })
    }
}

impl Events {
    /// The next event; `None` when the agent has ended. Cancel safe.
    pub async fn next(&mut self) -> Option<Event> {
        self.0.recv().await
    }

    /// Waits until the run has ended and nothing is queued that would start another.
    pub async fn settled(&mut self) -> Option<RunOutcome> {
        loop {
            if let Event::Agent(osier_agent::Event::AgentSettled { outcome }) = self.next().await? {
                return Some(outcome);
            }
        }
    }
}
