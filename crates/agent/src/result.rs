//! What a run left behind, as one immutable value, and how to go on from it.

use std::sync::Arc;

use super::agent::{Agent, AgentConfig};
use super::event::{Event, RunOutcome};
use super::log::{AccountingEntry, LogEntry};
use super::message::AgentMessage;
use super::op::Op;

/// The result of one run.
#[derive(Debug, Clone)]
pub struct RunResult {
    pub outcome: RunOutcome,
    /// The whole conversation after the run.
    pub messages: Vec<Arc<AgentMessage>>,
    pub accounting: Vec<AccountingEntry>,
    pub logs: Vec<LogEntry>,
    config: AgentConfig,
}

impl RunResult {
    /// Sends `op`, which starts a run, and follows it to its end.
    pub(super) async fn collect(agent: &Agent, op: Op, config: &AgentConfig) -> Self {
        let mut events = agent.subscribe();
        let mut logs = Vec::new();
        let mut accounting = Vec::new();
        agent.send(op);
        let outcome = loop {
            match events.recv().await {
                Some(Event::Log { entry }) => logs.push(entry),
                Some(Event::Accounting { entry }) => accounting.push(entry),
                Some(Event::AgentSettled { outcome }) => break outcome,
                Some(_) => {}
                None => break RunOutcome::Interrupted,
            }
        };
        let messages = agent.state().messages;
        Self {
            outcome,
            messages,
            accounting,
            logs,
            config: AgentConfig {
                history: agent.history(),
                ..config.clone()
            },
        }
    }

    /// The text of the last answer.
    pub fn answer(&self) -> Option<String> {
        self.messages
            .iter()
            .rev()
            .find_map(|message| match &**message {
                AgentMessage::Assistant(answer) => Some(answer.text()),
                _ => None,
            })
    }

    /// A new agent that has this conversation and begins with the next model of the list. Send it
    /// `Op::Continue` to go on where this run stopped; this result stays as it is.
    pub fn retry(&self) -> Agent {
        let mut config = self.config.clone();
        config.messages.clone_from(&self.messages);
        if config.models.len() > 1 {
            config.models.rotate_left(1);
        }
        Agent::spawn(config)
    }
}
