//! What the actor and a running turn share: the state behind one short lock, the publisher, and the
//! parts that never change during an agent's life.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::agent::AgentConfig;
use super::event::{Event, RunOutcome};
use super::interceptor::{Interceptor, StopRun};
use super::mailbox::Publisher;
use super::message::{AgentMessage, Severity, UserMessage};
use super::op::Op;
use super::queue::Queues;
use super::state::State;
use super::tool::ToolSet;
use super::toolbox::Toolbox;
use osier_base::{clock, ids};

#[derive(Debug)]
pub(super) struct Core {
    pub config: AgentConfig,
    pub publisher: Arc<Publisher<Event>>,
    /// Ends the wait before a model call is tried again.
    pub retry_aborted: Notify,
    state: Mutex<State>,
}

/// What the actor must do after an op.
#[derive(Debug, PartialEq)]
pub(super) enum Next {
    Nothing,
    /// Start a run; the messages to begin with wait in the queues or are given here.
    Run(Vec<UserMessage>),
    Abort,
}

impl Core {
    pub(super) fn new(config: AgentConfig) -> Self {
        let toolbox = Toolbox::new(all_tools(&config));
        let state = State {
            system_prompt: config.system_prompt.clone(),
            models: config.models.clone(),
            thinking: config.thinking,
            toolbox: Arc::new(toolbox),
            messages: config.messages.clone(),
            history: config.history.clone(),
            ..State::default()
        };
        Self {
            config,
            publisher: Arc::new(Publisher::new()),
            retry_aborted: Notify::new(),
            state: Mutex::new(state),
        }
    }

    /// The state, for a moment. Never held across an await.
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn publish(&self, event: Event) {
        self.publisher.publish(event);
    }

    pub(super) fn notice(&self, severity: Severity, text: impl Into<String>) {
        self.publish(Event::Notice {
            severity,
            text: text.into(),
        });
    }

    pub(super) fn interceptors(&self) -> &[Arc<dyn Interceptor>] {
        &self.config.interceptors
    }

    /// Asks the sources of tools again and tells of what changed. Not between a request and its calls.
    pub(super) fn refresh_tools(&self) {
        if self.config.sources.is_empty() {
            return;
        }
        let known = Arc::clone(&self.state().toolbox);
        let toolbox = known.with(all_tools(&self.config));
        if !toolbox.is_same(&known) {
            self.state().toolbox = Arc::new(toolbox);
            self.publish_tools();
        }
    }

    fn publish_tools(&self) {
        let (toolbox, withheld) = {
            let state = self.state();
            (Arc::clone(&state.toolbox), state.withheld.clone())
        };
        let tools = toolbox.list(&withheld);
        self.publish(Event::Tools { tools });
    }

    /// Stores a final message and takes it into the conversation. `id` names it in events; a message
    /// that had no `MessageStart` yet gets one.
    pub(super) async fn commit(
        &self,
        message: AgentMessage,
        id: Option<String>,
    ) -> Result<Arc<AgentMessage>, StopRun> {
        for interceptor in self.interceptors() {
            interceptor.commit(&message).await?;
        }
        let message = Arc::new(message);
        let id = id.unwrap_or_else(|| {
            let id = ids::prefixed("message");
            self.publish(Event::MessageStart {
                id: id.clone(),
                message: Arc::clone(&message),
            });
            id
        });
        self.state().messages.push(Arc::clone(&message));
        self.publish(Event::MessageEnd {
            id,
            message: Arc::clone(&message),
        });
        Ok(message)
    }

    /// Puts the earlier part of the conversation, which was just read, in its place.
    pub(super) fn prepend(&self, earlier: Vec<AgentMessage>) {
        let earlier = earlier.into_iter().map(Arc::new);
        let mut state = self.state();
        state.history = None;
        state.messages.splice(..0, earlier);
    }

    /// Goes on with another conversation.
    pub(super) fn replace(&self, messages: Vec<AgentMessage>) {
        let mut state = self.state();
        state.history = None;
        state.messages = messages.into_iter().map(Arc::new).collect();
    }

    /// Publishes the queues as they are.
    pub(super) fn publish_queues(&self) {
        let (steering, follow_up) = {
            let state = self.state();
            (state.queues.steering.list(), state.queues.follow_up.list())
        };
        self.publish(Event::QueueUpdate {
            steering,
            follow_up,
        });
    }

    /// Applies one op. The table of what is allowed while a run is on is this match, read with
    /// `State::running`.
    pub(super) async fn apply(&self, op: Op) -> Next {
        let running = self.state().running;
        match op {
            Op::Prompt { text, attachments } | Op::Steer { text, attachments } => {
                let message = UserMessage {
                    text,
                    attachments,
                    timestamp: clock::now_ms(),
                };
                self.enqueue_or_run(running, message, |queues| &mut queues.steering)
            }
            Op::FollowUp { text, attachments } => {
                let message = UserMessage {
                    text,
                    attachments,
                    timestamp: clock::now_ms(),
                };
                self.enqueue_or_run(running, message, |queues| &mut queues.follow_up)
            }
            Op::Abort => Next::Abort,
            Op::Continue if running => Next::Nothing,
            Op::Continue => Next::Run(Vec::new()),
            Op::RecallQueue => {
                let messages = self.state().queues.recall();
                self.publish(Event::QueueRecalled { messages });
                self.publish_queues();
                Next::Nothing
            }
            Op::ReplaceMessages { .. } if running => {
                self.notice(
                    Severity::Warning,
                    "the conversation was not replaced: a run is on",
                );
                Next::Nothing
            }
            Op::ReplaceMessages { messages } => {
                let count = messages.len();
                self.replace(messages);
                self.publish(Event::MessagesReplaced { count });
                Next::Nothing
            }
            Op::AppendMessage { message } if running => {
                self.state().held.push(*message);
                Next::Nothing
            }
            Op::AppendMessage { message } => {
                if let Err(stop) = self.commit(*message, None).await {
                    self.notice(Severity::Error, stop.message);
                }
                Next::Nothing
            }
            Op::GetState => {
                let state = Box::new(self.state().snapshot());
                self.publish(Event::State { state });
                Next::Nothing
            }
            Op::ListTools => {
                if !running {
                    self.refresh_tools();
                }
                self.publish_tools();
                Next::Nothing
            }
            setting => {
                self.set(setting);
                Next::Nothing
            }
        }
    }

    /// Settings take effect with the next request, run or no run.
    fn set(&self, op: Op) {
        match op {
            Op::SetModels { models } if !models.is_empty() => {
                let references = {
                    let mut state = self.state();
                    state.models = models.into_iter().map(Arc::new).collect();
                    let chosen = state.models[0].provider.clone();
                    // Whoever picks a provider by hand wants it tried again.
                    state.disabled_providers.remove(&chosen);
                    state.model_references()
                };
                self.publish(Event::ModelsChanged { models: references });
                self.publish_thinking();
            }
            Op::EnableProvider { provider } => {
                self.state().disabled_providers.remove(&provider);
            }
            Op::SetThinkingLevel { level } => {
                self.state().thinking = level;
                self.publish_thinking();
            }
            Op::SetSystemPrompt { prompt } => self.state().system_prompt = prompt,
            Op::SetTools { names } => {
                let known = self.state().toolbox.names();
                for name in names.iter().filter(|name| !known.contains(name)) {
                    let known = known.join(", ");
                    self.notice(
                        Severity::Warning,
                        format!("unknown tool `{name}`; expected one of {known}"),
                    );
                }
                let others = known.into_iter().filter(|name| !names.contains(name));
                self.state().withheld = others.collect();
                self.publish_tools();
            }
            Op::SetQueueMode {
                steering,
                follow_up,
            } => {
                let (steering, follow_up) = {
                    let queues = &mut self.state().queues;
                    queues.steering.mode = steering.unwrap_or(queues.steering.mode);
                    queues.follow_up.mode = follow_up.unwrap_or(queues.follow_up.mode);
                    (queues.steering.mode, queues.follow_up.mode)
                };
                self.publish(Event::QueueModeChanged {
                    steering,
                    follow_up,
                });
            }
            Op::SetAutoRetry { enabled } => {
                self.state().no_retry = !enabled;
                self.publish(Event::AutoRetryChanged { enabled });
            }
            Op::AbortRetry => self.retry_aborted.notify_waiters(),
            _ => {}
        }
    }

    /// What waits although the run has ended: steering first.
    pub(super) fn take_queued(&self) -> Vec<UserMessage> {
        let taken = {
            let queues = &mut self.state().queues;
            let steering = queues.steering.take();
            if steering.is_empty() {
                queues.follow_up.take()
            } else {
                steering
            }
        };
        if !taken.is_empty() {
            self.publish_queues();
        }
        taken
    }

    /// Ends a run: held messages enter, the state is idle again.
    pub(super) async fn settle(&self, outcome: &RunOutcome) {
        let held = {
            let mut state = self.state();
            state.running = false;
            state.partial = None;
            state.pending_tool_calls.clear();
            state.error = outcome.error();
            std::mem::take(&mut state.held)
        };
        for message in held {
            if let Err(stop) = self.commit(message, None).await {
                self.notice(Severity::Error, stop.message);
            }
        }
    }

    fn publish_thinking(&self) {
        let (level, effective) = {
            let state = self.state();
            (state.thinking, state.effective_thinking())
        };
        self.publish(Event::ThinkingLevelChanged { level, effective });
    }

    fn enqueue_or_run(
        &self,
        running: bool,
        message: UserMessage,
        queue: impl Fn(&mut Queues) -> &mut super::queue::Queue,
    ) -> Next {
        if !running {
            return Next::Run(vec![message]);
        }
        queue(&mut self.state().queues).push(message);
        self.publish_queues();
        Next::Nothing
    }
}

/// What stands at all times, then what the sources offer now.
fn all_tools(config: &AgentConfig) -> ToolSet {
    let offered = config.sources.iter().flat_map(|source| source.tools());
    config.tools.iter().cloned().chain(offered).collect()
}
