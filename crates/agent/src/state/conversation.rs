//! The messages of an agent.

use std::sync::Arc;

use crate::data::AgentMessage;
use crate::history::History;

/// A conversation: the messages in memory, and the source of earlier messages until they are loaded.
#[derive(Debug, Default)]
pub(crate) struct Conversation {
    messages: Vec<Arc<AgentMessage>>,
    history: Option<Arc<dyn History>>,
    /// Messages appended during a run; they enter before the next request.
    deferred: Vec<AgentMessage>,
    /// The model has to answer one of them.
    awaits_answer: bool,
}

impl Conversation {
    pub(crate) fn new(messages: Vec<Arc<AgentMessage>>, history: Option<Arc<dyn History>>) -> Self {
        Self {
            messages,
            history,
            deferred: Vec::new(),
            awaits_answer: false,
        }
    }

    /// The messages in memory, oldest first.
    pub(crate) fn messages(&self) -> &[Arc<AgentMessage>] {
        &self.messages
    }

    /// The source of the messages that are not loaded yet.
    pub(crate) fn history(&self) -> Option<&Arc<dyn History>> {
        self.history.as_ref()
    }

    pub(crate) fn push(&mut self, message: Arc<AgentMessage>) {
        self.messages.push(message);
    }

    /// Inserts the loaded history before the messages in memory.
    pub(crate) fn prepend(&mut self, earlier: Vec<AgentMessage>) {
        self.history = None;
        self.messages.splice(..0, earlier.into_iter().map(Arc::new));
    }

    pub(crate) fn replace(&mut self, messages: Vec<AgentMessage>) {
        self.history = None;
        self.messages = messages.into_iter().map(Arc::new).collect();
    }

    /// Replaces the conversation by one that is loaded with the next request.
    pub(crate) fn replace_with_history(&mut self, history: Arc<dyn History>) {
        self.messages.clear();
        self.history = Some(history);
    }

    pub(crate) fn defer(&mut self, message: AgentMessage, respond: bool) {
        self.deferred.push(message);
        self.awaits_answer |= respond;
    }

    /// Whether the model has to answer a message that was appended during the run.
    pub(crate) fn awaits_answer(&self) -> bool {
        self.awaits_answer
    }

    pub(crate) fn take_deferred(&mut self) -> Vec<AgentMessage> {
        self.awaits_answer = false;
        std::mem::take(&mut self.deferred)
    }
}
