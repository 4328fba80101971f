//! Reminders for the model at the end of the conversation: where it works, files that others changed, and a to-do list
//! that it forgot. Reminders are messages, so that the cached beginning of a request does not change.

mod changed_files;
mod environment;
mod message;
mod stale_todo;

use async_trait::async_trait;
use osier_agent::{AgentAccess, AgentMessage, Interceptor};
use osier_protocol::Event;
use osier_tools::Workspace;
use std::sync::Arc;

pub(crate) use self::environment::Environment;
pub(crate) use self::message::message;

/// The interceptor of one agent that adds the reminders.
#[derive(Debug)]
pub(crate) struct Reminders {
    workspace: Arc<Workspace>,
    /// Not set if the user has turned the description of the environment off.
    environment: Option<Environment>,
}

impl Reminders {
    pub(crate) fn new(workspace: &Arc<Workspace>, environment: Option<Environment>) -> Self {
        let workspace = Arc::clone(workspace);
        Self {
            workspace,
            environment,
        }
    }
}

#[async_trait]
impl Interceptor for Reminders {
    async fn reminders(&self, agent: &dyn AgentAccess) -> Vec<AgentMessage> {
        let messages = agent.messages();
        let mut reminders = Vec::new();
        if let Some(environment) = &self.environment {
            reminders.extend(
                environment
                    .reminder(&messages, self.workspace.shell_program())
                    .await,
            );
        }
        reminders.extend(changed_files::reminder(&self.workspace).await);
        let has_todo = || {
            agent
                .tools()
                .iter()
                .any(|tool| tool.name == osier_protocol::TOOL)
        };
        reminders.extend(stale_todo::reminder(&messages).filter(|_| has_todo()));
        reminders
    }
}

/// The event for clients when a reminder was added to the conversation.
pub(crate) fn event(event: &osier_agent::Event) -> Option<Event> {
    match event {
        osier_agent::Event::MessageEnd { message, .. } => changed_files::event(message),
        _ => None,
    }
}
