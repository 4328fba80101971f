//! A client for programs that control an agent, in this process or another, over any pair of streams.
//!
//! A task owns the streams. Calls can be answered in any order; dropping a call discards its answer. Events have their
//! own receiver, which can be dropped. When the last [`Client`] is dropped, the agent's input is closed: the agent
//! finishes its work and exits.

mod calls;
mod error;
mod questions;
mod task;

use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, oneshot};

use self::task::{Call, ClientTask};
use super::PROTOCOL;
use super::frame::{Greeting, Response};
use osier_agent::RunOutcome;
use osier_base::process::{Invocation, spawn_piped};
use osier_protocol::Event;

pub use calls::ModelSelection;
pub use error::CallError;
pub use questions::{DismissQuestions, QuestionHandler};

/// A connection to an agent. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Client {
    calls: mpsc::UnboundedSender<Call>,
    greeting: Greeting,
    timeout: Option<Duration>,
}

/// The events of an agent.
#[derive(Debug)]
pub struct Events(mpsc::UnboundedReceiver<Event>);

impl Client {
    /// Starts a program that speaks the protocol, such as `osier rpc`, and connects to it.
    pub async fn start(
        invocation: &Invocation,
        questions: impl QuestionHandler,
    ) -> Result<(Self, Events), CallError> {
        let agent = Invocation {
            has_keys: true,
            ..invocation.clone()
        };
        let (child, pipes) = spawn_piped(&agent).map_err(|source| CallError::Start {
            program: invocation.program.to_string_lossy().into_owned(),
            source,
        })?;
        let task = ClientTask::new(pipes.stdout, pipes.stdin, questions);
        Self::handshake(task.with_child(child, pipes.stderr)).await
    }

    /// Connects to an agent over two streams.
    pub async fn connect(
        input: impl AsyncRead + Send + Unpin + 'static,
        output: impl AsyncWrite + Send + Unpin + 'static,
        questions: impl QuestionHandler,
    ) -> Result<(Self, Events), CallError> {
        Self::handshake(ClientTask::new(input, output, questions)).await
    }

    async fn handshake(
        task: ClientTask<
            impl AsyncRead + Send + Unpin + 'static,
            impl AsyncWrite + Send + Unpin + 'static,
            impl QuestionHandler,
        >,
    ) -> Result<(Self, Events), CallError> {
        let ui = task.can_answer();
        let (calls, received) = mpsc::unbounded_channel();
        let (publisher, events) = mpsc::unbounded_channel();
        osier_base::task::spawn(task.run(received, publisher));
        let mut client = Self {
            calls,
            greeting: Greeting::default(),
            timeout: None,
        };
        let hello = json!({
            "protocol": PROTOCOL,
            "client": concat!("osier ", env!("CARGO_PKG_VERSION")),
            "ui": ui,
        });
        client.greeting = client.call("hello", hello).await?;
        Ok((client, Events(events)))
    }

    /// Sets a time limit for each call.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// The version and the commands of the agent.
    pub fn greeting(&self) -> &Greeting {
        &self.greeting
    }

    /// Sends a command and returns its data; `parameters` is an object.
    pub async fn call<T: DeserializeOwned>(
        &self,
        command: &str,
        parameters: Value,
    ) -> Result<T, CallError> {
        let (reply, response) = oneshot::channel();
        let call = Call {
            command: command.to_owned(),
            parameters,
            reply,
        };
        let closed = || CallError::Closed {
            stderr: String::new(),
        };
        self.calls.send(call).map_err(|_| closed())?;
        let answer = match self.timeout {
            None => response.await,
            Some(after) => {
                let timed_out = |_| CallError::TimedOut {
                    command: command.to_owned(),
                    after,
                };
                tokio::time::timeout(after, response)
                    .await
                    .map_err(timed_out)?
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
    /// The next event; `None` when the agent has exited. Cancel safe.
    pub async fn next(&mut self) -> Option<Event> {
        self.0.recv().await
    }

    /// Waits until the run has ended and no queued message will start another.
    pub async fn settled(&mut self) -> Option<RunOutcome> {
        loop {
            if let Event::Agent(osier_agent::Event::AgentSettled { outcome }) = self.next().await? {
                return Some(outcome);
            }
        }
    }
}
