//! The handle of one agent and the task that owns it.
//!
//! An agent is a universe of its own: no state is shared with another, so hundreds run in one process.
//! Dropping the last handle cancels what runs.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::change::{Change, Desk};
use super::core::{Core, Next};
use super::event::{Event, RunOutcome};
use super::history::History;
use super::interceptor::Interceptor;
use super::mailbox::Subscription;
use super::message::{AgentMessage, Attachment, UserMessage};
use super::op::Op;
use super::result::RunResult;
use super::retry::RetryPolicy;
use super::state::StateSnapshot;
use super::tool::{ToolSet, ToolSource};
use super::transport::Transport;
use super::turn;
use osier_llm::{Model, ThinkingLevel, ToolSpec};

/// Everything an agent starts with.
#[derive(Debug, Clone)]
pub struct AgentConfig {
    pub transport: Arc<dyn Transport>,
    /// Best first; the others are fallbacks.
    pub models: Vec<Arc<Model>>,
    pub thinking: ThinkingLevel,
    pub system_prompt: String,
    pub tools: ToolSet,
    /// Where more tools come from while the agent lives; their tools stand behind `tools`, in this
    /// order.
    pub sources: Vec<Arc<dyn ToolSource>>,
    /// Asked in this order.
    pub interceptors: Vec<Arc<dyn Interceptor>>,
    /// The conversation so far.
    pub messages: Vec<Arc<AgentMessage>>,
    /// What stands before `messages` and is read when the first request is made.
    pub history: Option<Arc<dyn History>>,
    pub retry: RetryPolicy,
    /// Model calls a run may make; no limit when not set.
    pub max_turns: Option<u32>,
    pub temperature: Option<f32>,
    /// Groups the calls of one session for the provider's prompt cache.
    pub cache_key: Option<String>,
    /// Make trace log entries with whole requests and answers.
    pub trace: bool,
}

impl AgentConfig {
    /// The smallest agent: one model, no tools, nothing stored.
    pub fn new(transport: Arc<dyn Transport>, model: Model) -> Self {
        Self {
            transport,
            models: vec![Arc::new(model)],
            thinking: ThinkingLevel::Off,
            system_prompt: String::new(),
            tools: Vec::new(),
            sources: Vec::new(),
            interceptors: Vec::new(),
            messages: Vec::new(),
            history: None,
            retry: RetryPolicy::default(),
            max_turns: None,
            temperature: None,
            cache_key: None,
            trace: false,
        }
    }
}

/// A running agent. Cheap to clone; needs a tokio runtime.
#[derive(Debug, Clone)]
pub struct Agent {
    commands: mpsc::UnboundedSender<Command>,
    core: Arc<Core>,
}

/// What the task of an agent receives.
enum Command {
    Op(Op),
    Change(Box<dyn Change>),
    /// Told when it is reached.
    Mark(oneshot::Sender<()>),
}

impl Agent {
    /// Starts the agent's task on the current runtime.
    pub fn spawn(config: AgentConfig) -> Self {
        let core = Arc::new(Core::new(config));
        let (commands, received) = mpsc::unbounded_channel();
        tokio::spawn(serve(Arc::clone(&core), received));
        Self { commands, core }
    }

    /// Tells the agent to do something. Never blocks.
    pub fn send(&self, op: Op) {
        // The task lives as long as a sender does.
        let _ = self.commands.send(Command::Op(op));
    }

    /// Has the conversation changed, behind what was said before. Refused while a run is on.
    pub fn change(&self, change: Box<dyn Change>) {
        let _ = self.commands.send(Command::Change(change));
    }

    /// Waits until everything said before has been taken; what it starts may still go on.
    pub async fn caught_up(&self) {
        let (mark, reached) = oneshot::channel();
        let _ = self.commands.send(Command::Mark(mark));
        // A task that has ended has taken everything.
        let _ = reached.await;
    }

    /// Every event from now on.
    pub fn subscribe(&self) -> Subscription<Event> {
        self.core.publisher.subscribe()
    }

    /// The state at this moment.
    pub fn state(&self) -> StateSnapshot {
        self.core.state().snapshot()
    }

    pub fn system_prompt(&self) -> String {
        self.core.state().system_prompt.clone()
    }

    /// The tools that are offered.
    pub fn tool_specs(&self) -> Vec<ToolSpec> {
        Desk::new(&self.core).tools()
    }

    /// What stands before the messages and was not read yet.
    pub(super) fn history(&self) -> Option<Arc<dyn History>> {
        self.core.state().history.clone()
    }

    pub fn prompt(&self, text: impl Into<String>, attachments: Vec<Attachment>) {
        self.send(Op::Prompt {
            text: text.into(),
            attachments,
        });
    }

    pub fn steer(&self, text: impl Into<String>, attachments: Vec<Attachment>) {
        self.send(Op::Steer {
            text: text.into(),
            attachments,
        });
    }

    pub fn follow_up(&self, text: impl Into<String>, attachments: Vec<Attachment>) {
        self.send(Op::FollowUp {
            text: text.into(),
            attachments,
        });
    }

    pub fn abort(&self) {
        self.send(Op::Abort);
    }

    /// Prompts, waits until the agent has settled, and gives everything the run left behind.
    pub async fn run(&self, text: impl Into<String>, attachments: Vec<Attachment>) -> RunResult {
        let op = Op::Prompt {
            text: text.into(),
            attachments,
        };
        RunResult::collect(self, op, &self.core.config).await
    }
}

/// The agent's task: applies commands in order, one run or change at a time, until every handle is gone.
async fn serve(core: Arc<Core>, mut commands: mpsc::UnboundedReceiver<Command>) {
    while let Some(command) = commands.recv().await {
        match command {
            Command::Op(op) => {
                if let Next::Run(input) = core.apply(op).await {
                    run_until_settled(&core, &mut commands, input).await;
                }
            }
            Command::Change(change) => change_alone(&core, &mut commands, change).await,
            Command::Mark(mark) => drop(mark.send(())),
        }
    }
}

/// Changes the conversation while nothing else does. What was said meanwhile starts a run.
async fn change_alone(
    core: &Core,
    commands: &mut mpsc::UnboundedReceiver<Command>,
    change: Box<dyn Change>,
) {
    core.state().running = true;
    let cancel = CancellationToken::new();
    let work = change.perform(Desk::new(core), &cancel);
    let changed = beside_commands(core, commands, &cancel, work).await;
    if let Some(history) = changed.history {
        let mut state = core.state();
        state.messages.clear();
        state.history = Some(history);
    }
    core.settle(&RunOutcome::Completed).await;
    for event in changed.events {
        core.publish(event);
    }
    if let Some(tell) = changed.tell {
        tell();
    }
    let waiting = core.take_queued();
    if !waiting.is_empty() {
        run_until_settled(core, commands, waiting).await;
    }
}

/// Runs, and runs again while a message arrived too late for the run before.
async fn run_until_settled(
    core: &Core,
    commands: &mut mpsc::UnboundedReceiver<Command>,
    mut input: Vec<UserMessage>,
) {
    core.state().running = true;
    let outcome = loop {
        let cancel = CancellationToken::new();
        let run = turn::run(core, &cancel, input);
        let outcome = beside_commands(core, commands, &cancel, run).await;
        input = match outcome {
            RunOutcome::Completed => core.take_queued(),
            _ => Vec::new(),
        };
        if input.is_empty() {
            break outcome;
        }
    };
    core.settle(&outcome).await;
    for interceptor in core.interceptors() {
        interceptor.on_settled(&outcome).await;
    }
    core.publish(Event::AgentSettled { outcome });
}

/// Waits for `work` while commands keep being applied; an abort cancels it.
async fn beside_commands<T>(
    core: &Core,
    commands: &mut mpsc::UnboundedReceiver<Command>,
    cancel: &CancellationToken,
    work: impl Future<Output = T>,
) -> T {
    tokio::pin!(work);
    let mut abandoned = false;
    loop {
        tokio::select! {
            biased;
            command = commands.recv(), if !abandoned => match command {
                None => {
                    abandoned = true;
                    cancel.cancel();
                }
                Some(Command::Change(change)) => change.refused(),
                Some(Command::Mark(mark)) => drop(mark.send(())),
                Some(Command::Op(op)) => {
                    if core.apply(op).await == Next::Abort {
                        cancel.cancel();
                    }
                }
            },
            end = &mut work => return end,
        }
    }
}
