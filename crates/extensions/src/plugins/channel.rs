//! The channel between a plugin's thread and the session. The plugin sends requests; the session actor, which
//! owns the session, the models and the screen, answers.

use osier_protocol::PluginKey;
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use super::allowance::Share;
use osier_agent::{Severity, ToolContext, ToolOutput};
use osier_base::problem::Problem;
use osier_llm::ToolSpec;
use osier_protocol::{AddedCommand, StyledLine};
use osier_sandbox::Confinement;

/// A request of a plugin.
#[derive(Debug)]
pub enum Request {
    Notify {
        severity: Severity,
        text: String,
    },
    Problem(Problem),
    Status {
        plugin: String,
        text: Option<String>,
    },
    Widget {
        plugin: String,
        lines: Vec<StyledLine>,
    },
    Message(Box<PluginMessage>),
    /// The data of every entry of this kind on the current branch.
    Entries {
        kind: String,
        reply: oneshot::Sender<Vec<Value>>,
    },
    Model {
        reply: oneshot::Sender<String>,
    },
    SetModel {
        reference: String,
        reply: oneshot::Sender<Result<(), String>>,
    },
    Session {
        reply: oneshot::Sender<Value>,
    },
    /// Whether a program can run, and in which sandbox.
    MayRun {
        plugin: String,
        command: String,
        reply: oneshot::Sender<MayRun>,
    },
}

/// The sandbox for a program, if any, or why the program cannot run.
pub type MayRun = Result<Option<Arc<Confinement>>, String>;

/// A message or entry of a plugin.
#[derive(Debug, Default)]
pub struct PluginMessage {
    pub kind: String,
    /// The text for the model; an entry has none.
    pub text: String,
    pub data: Value,
    pub lines: Vec<StyledLine>,
    pub display: bool,
    pub trigger_turn: bool,
}

/// The channel to the session. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Link(mpsc::UnboundedSender<(Request, Option<Share>)>);

/// The session's end of the channel.
#[derive(Debug)]
pub struct Requests(mpsc::UnboundedReceiver<(Request, Option<Share>)>);

impl Requests {
    /// The next request. Cancel safe.
    pub async fn recv(&mut self) -> Option<Request> {
        Some(self.0.recv().await?.0)
    }

    /// A request that waits.
    pub fn try_recv(&mut self) -> Option<Request> {
        Some(self.0.try_recv().ok()?.0)
    }
}

impl Link {
    /// Creates a link and the receiver of its requests.
    pub fn new() -> (Self, Requests) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (Self(sender), Requests(receiver))
    }

    /// Sends a request of osier itself.
    pub(super) fn send(&self, request: Request) {
        // The session may have ended.
        let _ = self.0.send((request, None));
    }

    /// Sends a request of a plugin. `share` is the part of the plugin's allowance that the request
    /// uses while it waits.
    pub(super) fn send_limited(&self, request: Request, share: Share) {
        let _ = self.0.send((request, Some(share)));
    }

    pub(super) fn report(&self, problem: Problem) {
        self.send(Request::Problem(problem));
    }
}

/// A call of a plugin's functions.
#[derive(Debug)]
pub(super) enum Call {
    /// Calls all handlers of the event; answered with the fields that they changed.
    Ask {
        event: &'static str,
        payload: Value,
        reply: oneshot::Sender<Result<Value, String>>,
    },
    Tell {
        event: &'static str,
        payload: Value,
    },
    Tool {
        name: String,
        arguments: Value,
        cx: ToolContext,
        reply: oneshot::Sender<ToolOutput>,
    },
    Command {
        name: String,
        argument: String,
    },
    Key {
        keys: String,
    },
}

/// Everything that a plugin registers.
#[derive(Debug, Clone, Default)]
pub struct Registration {
    pub tools: Vec<ToolSpec>,
    pub commands: Vec<AddedCommand>,
    pub keys: Vec<PluginKey>,
    pub events: Vec<&'static str>,
}
