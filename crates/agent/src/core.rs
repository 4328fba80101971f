//! The state that the task of an agent and a run share.

use parking_lot::{Mutex, MutexGuard};
use std::sync::Arc;

use osier_base::ids;
use osier_llm::{Model, ThinkingLevel, ToolSpec};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::config::AgentConfig;
use crate::data::{AgentMessage, Event, Severity};
use crate::interceptor::{AgentAccess, Interceptor, StopRun};
use crate::mailbox::Publisher;
use crate::retry::RetryPolicy;
use crate::state::{AgentState, Conversation, ModelSelection};
use crate::tool::{Tool, ToolSelection};
use crate::transport::Transport;

/// The configuration, the event publisher and the state of an agent.
#[derive(Debug)]
pub(crate) struct Core {
    pub config: AgentConfig,
    pub publisher: Arc<Publisher<Event>>,
    /// Cancels the wait before a retry.
    pub retry_aborted: Notify,
    state: Mutex<AgentState>,
}

impl Core {
    pub(crate) fn new(config: AgentConfig) -> Self {
        let state = AgentState::new(
            config.system_prompt.clone(),
            ModelSelection::new(config.models.clone(), config.thinking),
            ToolSelection::new(config.current_tools()),
            Conversation::new(config.messages.clone(), config.history.clone()),
        );
        Self {
            config,
            publisher: Arc::new(Publisher::new()),
            retry_aborted: Notify::new(),
            state: Mutex::new(state),
        }
    }

    /// Locks the state. The guard must not be held across an await.
    pub(crate) fn state(&self) -> MutexGuard<'_, AgentState> {
        self.state.lock()
    }

    pub(crate) fn notice(&self, severity: Severity, text: impl Into<String>) {
        self.publish(Event::Notice {
            severity,
            text: text.into(),
        });
    }

    /// Queries the tool sources and publishes changes. Must not be called between a request and its calls.
    pub(crate) fn refresh_tools(&self) {
        if self.config.sources.is_empty() {
            return;
        }
        let tools = self.config.current_tools();
        let is_changed = self.state().tools.replace(tools);
        if is_changed {
            self.publish_tools();
        }
    }

    /// A tool that its source offers only on demand.
    pub(crate) fn unlisted_tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let mut sources = self.config.sources.iter();
        let tool = sources.find_map(|source| source.unlisted(name))?;
        (!self.state().tools.is_withheld(name)).then_some(tool)
    }

    pub(crate) fn publish_tools(&self) {
        let tools = self.state().tools.clone();
        self.publish(Event::Tools {
            tools: tools.info(),
        });
    }

    pub(crate) fn publish_queues(&self) {
        let (steering, follow_up) = {
            let state = self.state();
            (state.queues.steering.list(), state.queues.follow_up.list())
        };
        self.publish(Event::QueueUpdate {
            steering,
            follow_up,
        });
    }

    /// Stores a final message and adds it to the conversation.
    pub(crate) async fn commit(&self, message: AgentMessage) -> Result<(), StopRun> {
        let message = self.store(message).await?;
        let id = ids::prefixed("message");
        self.publish(Event::MessageStart {
            id: id.clone(),
            message: Arc::clone(&message),
        });
        self.append(id, message);
        Ok(())
    }

    /// Like `commit`, for a message whose `MessageStart` with this id was already published.
    pub(crate) async fn commit_started(
        &self,
        id: &str,
        message: AgentMessage,
    ) -> Result<(), StopRun> {
        let message = self.store(message).await?;
        self.append(id.to_owned(), message);
        Ok(())
    }

    async fn store(&self, message: AgentMessage) -> Result<Arc<AgentMessage>, StopRun> {
        for interceptor in self.interceptors() {
            interceptor.commit(&message).await?;
        }
        Ok(Arc::new(message))
    }

    fn append(&self, id: String, message: Arc<AgentMessage>) {
        self.state().conversation.push(Arc::clone(&message));
        self.publish(Event::MessageEnd { id, message });
    }

    /// Loads the earlier part of the conversation if necessary. Returns false when the user interrupts.
    pub(crate) async fn load_history(&self, cancel: &CancellationToken) -> Result<bool, StopRun> {
        let Some(history) = self.state().conversation.history().cloned() else {
            return Ok(true);
        };
        let window = self
            .models()
            .first()
            .map_or(0, |model| model.context_window);
        tokio::select! {
            biased;
            () = cancel.cancelled() => Ok(false),
            earlier = history.load(window) => {
                let earlier = earlier?;
                if earlier.is_cut {
                    self.notice(
                        Severity::Warning,
                        format!(
                            "the conversation is far longer than the context window: the model gets the last {} messages",
                            earlier.messages.len()
                        ),
                    );
                }
                self.state().conversation.prepend(earlier.messages);
                Ok(true)
            }
        }
    }
}

impl AgentAccess for Core {
    fn publish(&self, event: Event) {
        self.publisher.publish(event);
    }

    fn messages(&self) -> Vec<Arc<AgentMessage>> {
        self.state().conversation.messages().to_vec()
    }

    fn models(&self) -> Vec<Arc<Model>> {
        self.state().models.list().to_vec()
    }

    fn thinking(&self) -> ThinkingLevel {
        let state = self.state();
        let wanted = state.models.thinking;
        let model = state.models.list().first();
        model.map_or(wanted, |model| model.clamp(wanted))
    }

    fn system_prompt(&self) -> String {
        self.state().system_prompt.clone()
    }

    fn tools(&self) -> Vec<ToolSpec> {
        self.state().tools.specs()
    }

    fn transport(&self) -> Arc<dyn Transport> {
        Arc::clone(&self.config.transport)
    }

    fn retry(&self) -> RetryPolicy {
        self.config.retry
    }

    fn interceptors(&self) -> &[Arc<dyn Interceptor>] {
        &self.config.interceptors
    }
}
