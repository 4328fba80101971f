//! One of several agents that answer the same prompt: its files, its branch, and what it is doing.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::copy::Copy;
use crate::compaction::Compactor;
use crate::guard::Guard;
use osier_agent::{
    AccountingEntry, Agent, AgentConfig, AgentMessage, Interceptor, RetryPolicy, RunOutcome,
    Transport, UserMessage,
};
use osier_base::text::tail_bytes;
use osier_extensions::hooks::Role;
use osier_store::recorder::{Keeper, StoredHistory};
use osier_store::{EntryKind, FileChanges, SessionError, SessionStore};

use osier_llm::{Delta, Model, ThinkingLevel, Usage};
use osier_store::writer::Writer;

/// Bytes of the end of an answer that are told while it grows.
const TAIL: usize = 2_000;
/// No more than one word of progress in this time.
const PACE: Duration = Duration::from_millis(100);

/// What a lane is made of.
#[derive(Debug)]
pub struct LaneParts {
    pub number: usize,
    pub model: Arc<Model>,
    pub thinking: ThinkingLevel,
    pub transport: Arc<dyn Transport>,
    pub store: SessionStore,
    /// The entry the branch hangs on.
    pub parent: Option<String>,
    pub system_prompt: String,
    /// Names of the tools to offer; all when not set.
    pub tools: Option<Vec<String>>,
    /// What holds for every agent of the session beside storing and compacting.
    pub rules: Vec<Arc<dyn Interceptor>>,
    pub guard: Guard,
    pub retry: RetryPolicy,
    pub max_turns: Option<u32>,
    pub automatic_compaction: bool,
}

/// A lane that has ended, with its files.
#[derive(Debug)]
pub struct Lane {
    pub state: LaneState,
    pub copy: Copy,
    /// The end of its branch.
    pub tip: Option<String>,
}

/// What is told of a lane.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LaneState {
    pub lane: usize,
    /// `PROVIDER/ID`.
    pub model: String,
    /// Where it works.
    pub directory: PathBuf,
    pub status: LaneStatus,
    /// Why it failed.
    pub error: Option<String>,
    /// The end of what it says.
    pub text: String,
    /// The tool it runs.
    pub tool: Option<String>,
    pub turns: u32,
    pub usage: Usage,
    pub duration_ms: u64,
    /// What it changed, once it has ended.
    pub files: Vec<(PathBuf, FileChanges)>,
    /// The end of its branch, once it has ended.
    pub leaf: Option<String>,
}

/// What a lane says while it works.
#[derive(Debug)]
pub enum LaneNews {
    State(LaneState),
    Spent(AccountingEntry),
}

/// How far a lane is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LaneStatus {
    Working,
    Done,
    Failed,
    Interrupted,
}

impl LaneState {
    pub fn new(lane: usize, model: &Model, directory: PathBuf) -> Self {
        Self {
            lane,
            model: model.reference(),
            directory,
            status: LaneStatus::Working,
            error: None,
            text: String::new(),
            tool: None,
            turns: 0,
            usage: Usage::default(),
            duration_ms: 0,
            files: Vec::new(),
            leaf: None,
        }
    }

    /// Takes an event of the lane's agent; whether there is something to tell now.
    fn follow(&mut self, event: &osier_agent::Event) -> bool {
        match event {
            osier_agent::Event::TurnStart { turn } => self.turns = *turn,
            osier_agent::Event::MessageStart { message, .. } => {
                if matches!(**message, AgentMessage::Assistant(_)) {
                    self.text.clear();
                }
            }
            osier_agent::Event::MessageUpdate {
                delta: Delta::TextDelta { delta, .. },
                ..
            } => {
                self.text.push_str(delta);
                if self.text.len() > 2 * TAIL {
                    self.text = tail_bytes(&self.text, TAIL).to_owned();
                }
                return false;
            }
            osier_agent::Event::MessageEnd { message, .. } => {
                if let AgentMessage::Assistant(answer) = &**message {
                    self.usage += answer.usage;
                    let text = answer.text();
                    if !text.trim().is_empty() {
                        tail_bytes(text.trim(), TAIL).clone_into(&mut self.text);
                    }
                }
            }
            osier_agent::Event::ToolExecutionStart { tool_name, .. } => {
                self.tool = Some(tool_name.clone());
            }
            osier_agent::Event::ToolExecutionEnd { .. } => self.tool = None,
            osier_agent::Event::AgentSettled { outcome } => {
                self.tool = None;
                self.status = match outcome {
                    RunOutcome::Completed => LaneStatus::Done,
                    RunOutcome::Interrupted => LaneStatus::Interrupted,
                    _ => LaneStatus::Failed,
                };
                self.error = outcome.error();
            }
            _ => return false,
        }
        true
    }
}

impl LaneParts {
    /// Runs the prompt to its end in `copy`, telling how far it is.
    ///
    /// # Errors
    /// The branch cannot be stored, or there is no such tool.
    pub async fn run(
        self,
        copy: Copy,
        prompt: UserMessage,
        cancel: CancellationToken,
        tell: impl Fn(LaneNews) + Send,
    ) -> Result<Lane, (Copy, String)> {
        let cwd = copy.cwd().to_owned();
        let mut state = LaneState::new(self.number, &self.model, cwd);
        tell(LaneNews::State(state.clone()));
        let writer = Writer::beside(self.store.clone(), self.parent.clone());
        if let Err(error) = self.announce(&writer).await {
            return Err((copy, error.to_string()));
        }
        let agent = match self.agent(&copy, &writer) {
            Ok(agent) => agent,
            Err(message) => return Err((copy, message)),
        };
        let mut events = agent.subscribe();
        agent.prompt(prompt.text, prompt.attachments);
        let started = Instant::now();
        let mut told = started;
        loop {
            let event = tokio::select! {
                biased;
                () = cancel.cancelled(), if !cancel_was_sent(&state) => {
                    state.status = LaneStatus::Interrupted;
                    agent.abort();
                    continue;
                }
                event = events.recv() => event,
            };
            let Some(event) = event else { break };
            if let osier_agent::Event::Accounting { entry } = event {
                tell(LaneNews::Spent(entry));
                continue;
            }
            let now = state.follow(&event);
            if matches!(event, osier_agent::Event::AgentSettled { .. }) {
                break;
            }
            if now || told.elapsed() > PACE {
                told = Instant::now();
                state.duration_ms = elapsed(started);
                tell(LaneNews::State(state.clone()));
            }
        }
        state.duration_ms = elapsed(started);
        state.leaf = writer.leaf();
        let tip = state.leaf.clone();
        Ok(Lane { state, copy, tip })
    }

    /// The branch remembers whose it is.
    async fn announce(&self, writer: &Writer) -> Result<(), SessionError> {
        let (provider, model_id) = (self.model.provider.clone(), self.model.id.clone());
        writer
            .append(EntryKind::ModelChange { provider, model_id })
            .await?;
        let thinking_level = self.thinking;
        writer
            .append(EntryKind::ThinkingLevelChange { thinking_level })
            .await?;
        Ok(())
    }

    fn agent(&self, copy: &Copy, writer: &Writer) -> Result<Agent, String> {
        let workspace = Arc::new(self.guard.workspace(copy.cwd()));
        let tools = osier_tools::build(&workspace, self.tools.as_deref())
            .map_err(|error| error.to_string())?;
        // Nobody here asks which entry a message became.
        let (stored, _) = mpsc::unbounded_channel();
        let compactor = Compactor::new(writer.clone(), stored.clone(), self.automatic_compaction);
        let (hooks, gate) = self.guard.around(&workspace, Role::Lane);
        let mut interceptors = self.rules.clone();
        interceptors.extend(hooks.map(|hooks| hooks as Arc<dyn Interceptor>));
        interceptors.push(Arc::new(Keeper::new(writer.clone(), stored)));
        interceptors.push(Arc::new(compactor));
        interceptors.push(Arc::new(gate));
        let history = StoredHistory::new(self.store.clone(), self.parent.clone());
        Ok(Agent::spawn(AgentConfig {
            models: vec![Arc::clone(&self.model)],
            thinking: self.thinking,
            system_prompt: self.system_prompt.clone(),
            tools,
            interceptors,
            history: Some(Arc::new(history)),
            retry: self.retry,
            max_turns: self.max_turns,
            cache_key: Some(format!("{}-{}", self.store.id(), self.number)),
            ..AgentConfig::new(Arc::clone(&self.transport), (*self.model).clone())
        }))
    }
}

/// Whether the agent was told to stop.
fn cancel_was_sent(state: &LaneState) -> bool {
    state.status == LaneStatus::Interrupted
}

fn elapsed(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}
