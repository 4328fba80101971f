//! What passes between a plug-in's thread and the host. A plug-in asks; the host's task, which owns the
//! session, the models and the screen, answers.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use super::lines::StyledLine;
use osier_agent::{Severity, ToolContext, ToolOutput};
use osier_base::problem::Problem;
use osier_context::AddedCommand;
use osier_llm::ToolSpec;
use osier_sandbox::Confinement;

/// What a plug-in wants of the host.
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
    /// Whether a program may run, and what it has to be confined by.
    MayRun {
        plugin: String,
        command: String,
        reply: oneshot::Sender<MayRun>,
    },
}

/// Whether a program may run: what has to confine it, if anything, or why it may not.
pub type MayRun = Result<Option<Arc<Confinement>>, String>;

/// A message or entry of a plug-in.
#[derive(Debug, Default)]
pub struct PluginMessage {
    pub kind: String,
    /// What the model reads; an entry has none.
    pub text: String,
    pub data: Value,
    pub lines: Vec<StyledLine>,
    pub display: bool,
    pub trigger_turn: bool,
}

/// The way to the host. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Link(pub(super) mpsc::UnboundedSender<Request>);

impl Link {
    /// A link, and the end where requests arrive.
    pub fn new() -> (Self, mpsc::UnboundedReceiver<Request>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (Self(sender), receiver)
    }

    pub(super) fn send(&self, request: Request) {
        // A host that has ended shows nothing more.
        let _ = self.0.send(request);
    }

    pub(super) fn report(&self, problem: Problem) {
        self.send(Request::Problem(problem));
    }
}

/// What a plug-in is called for.
#[derive(Debug)]
pub(super) enum Call {
    /// Asks every function of the event; answered by the fields they changed.
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

/// A key of a plug-in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PluginKey {
    /// As a keymap has it: `alt+j t`.
    pub keys: String,
    pub description: String,
    pub plugin: String,
}

/// What a plug-in brings.
#[derive(Debug, Clone, Default)]
pub struct Registration {
    pub tools: Vec<ToolSpec>,
    pub commands: Vec<AddedCommand>,
    pub keys: Vec<PluginKey>,
    pub events: Vec<&'static str>,
}
