//! The result of a run.

use std::sync::Arc;

use super::handle::Agent;
use crate::config::AgentConfig;
use crate::data::{
    AccountingEntry, AgentMessage, Attachment, Event, LogEntry, Op, RunOutcome, last_answer,
};

/// The result of a run, returned by [`Agent::run`].
#[derive(Debug, Clone)]
pub struct RunResult {
    pub outcome: RunOutcome,
    /// The conversation after the run.
    pub messages: Vec<Arc<AgentMessage>>,
    pub accounting: Vec<AccountingEntry>,
    pub logs: Vec<LogEntry>,
    config: AgentConfig,
}

impl RunResult {
    /// The last answer.
    pub fn answer(&self) -> Option<String> {
        last_answer(self.messages.iter().map(|message| &**message))
    }

    /// A new agent with this conversation whose preferred model is the next one of the list. Send it
    /// `Op::Continue` to continue where this run stopped.
    pub fn retry(&self) -> Agent {
        let mut config = self.config.clone();
        config.messages.clone_from(&self.messages);
        if config.models.len() > 1 {
            config.models.rotate_left(1);
        }
        Agent::spawn(config)
    }
}

impl Agent {
    /// Sends a prompt and waits for the end of its run.
    pub async fn run(&self, text: impl Into<String>, attachments: Vec<Attachment>) -> RunResult {
        let mut events = self.subscribe();
        let mut logs = Vec::new();
        let mut accounting = Vec::new();
        self.send(Op::Prompt {
            text: text.into(),
            attachments,
            typed: None,
            once: None,
        });
        let outcome = loop {
            match events.recv().await {
                Some(Event::Log { entry }) => logs.push(entry),
                Some(Event::Accounting { entry }) => accounting.push(entry),
                Some(Event::AgentSettled { outcome }) => break outcome,
                Some(_) => {}
                None => break RunOutcome::Interrupted,
            }
        };
        RunResult {
            outcome,
            messages: self.state().messages,
            accounting,
            logs,
            config: self.config(),
        }
    }
}
