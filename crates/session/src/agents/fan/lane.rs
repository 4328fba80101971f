//! A lane of a fan: one agent with its files, its branch and its progress.

use osier_protocol::{LaneState, LaneStatus};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::copy::Copy;
use crate::context::attachments::AttachedTexts;
use crate::conversation::compaction::{CompactionOptions, Compactor, message_tokens};
use crate::safety::tool_policy::ToolPolicy;
use osier_agent::{
    AccountingEntry, Agent, AgentConfig, Interceptor, RetryPolicy, Transport, UserMessage,
};
use osier_extensions::hooks::Role;
use osier_protocol::EntryKind;
use osier_store::recorder::{MessageRecorder, StoredHistory};
use osier_store::{SessionError, SessionStore};

use osier_llm::{Model, ThinkingLevel};
use osier_store::writer::Writer;

/// The least time between two progress events.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// The parts of a lane.
#[derive(Debug)]
pub(crate) struct LaneParts {
    pub number: usize,
    pub model: Arc<Model>,
    pub thinking: ThinkingLevel,
    pub transport: Arc<dyn Transport>,
    pub store: SessionStore,
    /// The entry that the branch starts from.
    pub parent: Option<String>,
    pub system_prompt: String,
    /// Names of the tools to offer; all if not set.
    pub tools: Option<Vec<String>>,
    /// The interceptors of every agent of the session, except for storing and compaction.
    pub rules: Vec<Arc<dyn Interceptor>>,
    pub policy: ToolPolicy,
    pub retry: RetryPolicy,
    pub max_turns: Option<u32>,
    pub compaction: CompactionOptions,
}

/// A lane that has ended, with its files.
#[derive(Debug)]
pub(crate) struct Lane {
    pub state: LaneState,
    pub copy: Copy,
    /// The end of its branch.
    pub tip: Option<String>,
}

/// A report of a running lane.
#[derive(Debug)]
pub(crate) enum LaneNews {
    State(LaneState),
    Spent(AccountingEntry),
}

impl LaneParts {
    /// Runs the prompt in `copy` and reports progress to `tell`.
    ///
    /// # Errors
    /// The branch cannot be stored, or a tool does not exist.
    pub(crate) async fn run(
        self,
        copy: Copy,
        prompt: UserMessage,
        cancel: CancellationToken,
        tell: impl Fn(LaneNews) + Send,
    ) -> Result<Lane, (Copy, String)> {
        let cwd = copy.cwd().to_owned();
        let mut state = LaneState::new(self.number, &self.model, cwd);
        tell(LaneNews::State(state.clone()));
        let writer = Writer::on_branch(self.store.clone(), self.parent.clone());
        if let Err(error) = self.announce(&writer).await {
            return Err((copy, error.to_string()));
        }
        let agent = match self.agent(&copy, &writer) {
            Ok(agent) => agent,
            Err(message) => return Err((copy, message)),
        };
        let mut events = agent.subscribe();
        agent.send(osier_agent::Op::Prompt {
            text: prompt.text,
            attachments: prompt.attachments,
            typed: prompt.typed,
            once: None,
        });
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
            if now || told.elapsed() > PROGRESS_INTERVAL {
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

    /// Records the model in the branch.
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
        let workspace = Arc::new(self.policy.workspace(copy.cwd()));
        let tools = osier_tools::build(&workspace, self.tools.as_deref())
            .map_err(|error| error.to_string())?;
        // The entries of the messages are not needed.
        let (stored, _) = mpsc::unbounded_channel();
        let (options, own) = (self.compaction.clone(), Arc::clone(&workspace));
        let compactor = Compactor::new(writer.clone(), stored.clone(), options, own);
        let (hooks, gate) = self
            .policy
            .clone()
            .on_branch(writer)
            .interceptors(&workspace, Role::Lane);
        let mut interceptors = self.rules.clone();
        interceptors.push(Arc::new(AttachedTexts::new(&workspace)));
        interceptors.push(self.policy.plan_reminder());
        interceptors.extend(hooks.map(|hooks| hooks as Arc<dyn Interceptor>));
        interceptors.push(Arc::new(MessageRecorder::new(writer.clone(), stored)));
        interceptors.push(Arc::new(compactor));
        interceptors.push(Arc::new(gate));
        interceptors.extend(self.policy.guards());
        let history = StoredHistory::new(self.store.clone(), self.parent.clone(), message_tokens);
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

/// Whether the agent was aborted.
fn cancel_was_sent(state: &LaneState) -> bool {
    state.status == LaneStatus::Interrupted
}

fn elapsed(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}
