//! The handle of an agent.

use std::sync::Arc;

use osier_llm::ToolSpec;
use tokio::sync::{mpsc, oneshot};

use super::task::{Command, Task};
use crate::change::Change;
use crate::config::AgentConfig;
use crate::core::Core;
use crate::data::{Attachment, Event, Op, StateSnapshot, last_answer};
use crate::interceptor::AgentAccess;
use crate::mailbox::Subscription;

/// The handle of a running agent. Cheap to clone; dropping the last handle cancels the run.
///
/// Agents share no state, so hundreds can run in one process.
#[derive(Debug, Clone)]
pub struct Agent {
    commands: mpsc::UnboundedSender<Command>,
    core: Arc<Core>,
}

impl Agent {
    /// Starts the agent's task on the current tokio runtime.
    pub fn spawn(config: AgentConfig) -> Self {
        let core = Arc::new(Core::new(config));
        let (commands, received) = mpsc::unbounded_channel();
        osier_base::task::spawn(Task::new(Arc::clone(&core), received).serve());
        Self { commands, core }
    }

    /// Sends an op to the agent. Never blocks.
    pub fn send(&self, op: Op) {
        // The task lives as long as a sender does.
        let _ = self.commands.send(Command::Op(op));
    }

    /// Changes the conversation after all ops sent before. Rejected during a run or a longer change.
    pub fn change(&self, change: Box<dyn Change>) {
        let _ = self.commands.send(Command::Change(change));
    }

    /// Waits until all ops sent before have been received. A run they start may still be in progress.
    pub async fn caught_up(&self) {
        let (sender, reached) = oneshot::channel();
        let _ = self.commands.send(Command::Sync(sender));
        // A task that has ended has received everything.
        let _ = reached.await;
    }

    /// Subscribes to every event from now on.
    pub fn subscribe(&self) -> Subscription<Event> {
        self.core.publisher.subscribe()
    }

    /// A copy of the current state.
    pub fn state(&self) -> StateSnapshot {
        self.core.state().snapshot()
    }

    /// The text of the newest answer that has any.
    pub fn last_answer(&self) -> Option<String> {
        let messages = self.state().messages;
        last_answer(messages.iter().map(|message| &**message))
    }

    pub fn system_prompt(&self) -> String {
        self.core.system_prompt()
    }

    /// The specifications of the offered tools.
    pub fn tool_specs(&self) -> Vec<ToolSpec> {
        self.core.tools()
    }

    pub fn prompt(&self, text: impl Into<String>, attachments: Vec<Attachment>) {
        self.send(Op::Prompt {
            text: text.into(),
            attachments,
            typed: None,
            once: None,
        });
    }

    pub fn steer(&self, text: impl Into<String>, attachments: Vec<Attachment>) {
        self.send(Op::Steer {
            text: text.into(),
            attachments,
            typed: None,
            once: None,
        });
    }

    pub fn follow_up(&self, text: impl Into<String>, attachments: Vec<Attachment>) {
        self.send(Op::FollowUp {
            text: text.into(),
            attachments,
            typed: None,
            once: None,
        });
    }

    pub fn abort(&self) {
        self.send(Op::Abort);
    }

    /// The agent's configuration, including the history that is not loaded yet.
    pub(super) fn config(&self) -> AgentConfig {
        AgentConfig {
            history: self.core.state().conversation.history().cloned(),
            ..self.core.config.clone()
        }
    }
}
