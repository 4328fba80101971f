//! A fan: several models run side by side with one prompt. It is a change in the task of the session's agent, which
//! waits meanwhile: an interrupt stops all lanes.

use async_trait::async_trait;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::join_all;
use tokio_util::sync::CancellationToken;

use super::{
    ApplyError, Applying, Copy, Lane, LaneNews, LaneParts, LanePlan, Stamps, changes, plan,
};
use crate::context::prompt::{PromptParts, system_prompt};
use crate::conversation::compaction::CompactionOptions;
use crate::conversation::tree::Target;
use crate::emitter::{Callback, Emitter};
use crate::files::checkpoints::{SessionFiles, adopt_unrecorded, finish_interrupted};
use crate::models::Models;
use crate::safety::tool_policy::ToolPolicy;
use osier_agent::{
    AccountingEntry, AgentAccess, Change, ChangeOutcome, Interceptor, Severity, UserMessage,
};
use osier_base::clock;
use osier_checkpoint::{CheckpointError, CheckpointStore, StateId};
use osier_llm::{Model, ThinkingLevel};
use osier_protocol::{Event, FilesAt, LaneState, LaneStatus, TreeEvent};
use osier_store::SessionStore;

/// The maximum of lanes.
const LANES: usize = 8;

/// A fan to run.
#[derive(Debug)]
pub(crate) struct Fan {
    pub store: SessionStore,
    pub lanes: Vec<(Arc<Model>, ThinkingLevel)>,
    /// The prompt to send; the last one if not set.
    pub prompt: Option<String>,
    pub cwd: PathBuf,
    pub directories: Vec<PathBuf>,
    /// The recorded files.
    pub files: Option<SessionFiles>,
    /// The folder of the copies.
    pub folder: PathBuf,
    pub tools: Option<Vec<String>>,
    /// The replacement of the system prompt, and the text to append.
    pub prompts: (Option<String>, Option<String>),
    /// The project context.
    pub context: String,
    pub rules: Vec<Arc<dyn Interceptor>>,
    pub policy: ToolPolicy,
    pub max_turns: Option<u32>,
    pub compaction: CompactionOptions,
    pub emitter: Emitter,
    pub done: Callback<FanOutcome>,
}

/// Lanes that have ended, and the files of the working directory when they began.
#[derive(Debug)]
pub(crate) struct EndedFan {
    session: String,
    lanes: Vec<Lane>,
    before: Arc<Stamps>,
}

/// The result of a fan.
#[derive(Debug)]
pub(crate) enum FanOutcome {
    Ended(Box<EndedFan>),
    /// A lane has used tokens.
    Spent(AccountingEntry),
    /// The agent is working.
    Refused,
}

/// The lanes that can be applied.
#[derive(Debug, Default)]
pub(crate) struct FanState {
    ended: Option<EndedFan>,
}

/// Where the files of a lane go.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LaneTarget<'a> {
    /// osier's data directory.
    pub data: &'a Path,
    pub cwd: &'a Path,
    /// The recorded files of the session, if it records any.
    pub files: Option<&'a SessionFiles>,
}

/// A lane that was applied.
#[derive(Debug)]
pub(crate) struct AppliedLane {
    /// The end of its branch.
    pub tip: Option<String>,
    pub files: Vec<PathBuf>,
    /// The folder of the overwritten files.
    pub kept: Option<PathBuf>,
}

impl FanState {
    /// The lanes of a fan have ended. Their changes can be applied if the session of the fan is still open.
    pub(crate) fn ended(&mut self, fan: EndedFan, open: Option<&str>, emitter: &Emitter) {
        let lanes = fan.lanes.iter().map(|lane| lane.state.clone()).collect();
        if open == Some(&fan.session) {
            self.ended = Some(fan);
        }
        emitter.publish(Event::Tree(TreeEvent::FanEnded { lanes }));
    }

    /// Applies the files of a lane to the working directory: all of them or none. Publishes the reason of a failure.
    pub(crate) async fn apply(
        &mut self,
        number: usize,
        force: bool,
        target: LaneTarget<'_>,
        emitter: &Emitter,
    ) -> Option<AppliedLane> {
        let is_lane = |lane: &Lane| lane.state.lane == number;
        if !self.ended.as_ref()?.lanes.iter().any(is_lane) {
            emitter.notice(Severity::Warning, format!("no lane {number}"));
            return None;
        }
        let LaneTarget { data, cwd, files } = target;
        let store = CheckpointStore::new(data, cwd);
        finish_interrupted(&store, files, emitter).await;
        let (fan, cwd) = (self.ended.take()?, cwd.to_owned());
        let stamp = clock::rfc3339(clock::now_ms()).replace(':', "-");
        let keep = data.join("fans").join(format!("overwritten-{stamp}"));
        let (planning, record) = (store.clone(), files.is_some());
        let planned = osier_base::task::spawn_blocking(move || {
            let lane = fan.lanes.iter().find(|lane| lane.state.lane == number);
            let planned = lane.map(|lane| {
                let applying = Applying {
                    cwd: &cwd,
                    before: &fan.before,
                    force,
                    keep: &keep,
                    record,
                };
                let planned = plan(&planning, &lane.copy, applying);
                (planned, lane.tip.clone())
            });
            (fan, planned)
        });
        let (fan, planned) = planned.await.ok()?;
        self.ended = Some(fan);
        let (planned, tip) = planned?;
        let LanePlan {
            plan,
            files: paths,
            kept,
        } = match planned {
            Ok(planned) => planned,
            Err(ApplyError::Conflicts(files)) => {
                let lane = number;
                emitter.publish(Event::Tree(TreeEvent::LaneConflicts { lane, files }));
                return None;
            }
            Err(error) => {
                emitter.notice(Severity::Error, error.to_string());
                return None;
            }
        };
        let adopted = match files {
            Some(files) => files.adopt(plan, tip.clone()).await,
            None => adopt_unrecorded(&store, plan).await,
        };
        if let Err(error) = adopted {
            emitter.notice(Severity::Error, error);
            return None;
        }
        Some(AppliedLane {
            tip,
            files: paths,
            kept,
        })
    }

    /// Whether there are lanes to apply.
    pub(crate) fn has_lanes(&self) -> bool {
        self.ended.is_some()
    }

    /// Deletes the copies; the branches stay.
    pub(crate) async fn clear(&mut self) {
        for lane in self.ended.take().into_iter().flat_map(|fan| fan.lanes) {
            lane.copy.remove().await;
        }
    }
}

/// The models that `references` name, with their levels. Publishes an error if they do not fit a fan.
pub(crate) fn lane_models(
    references: &[String],
    models: &Models,
    level: ThinkingLevel,
    emitter: &Emitter,
) -> Option<Vec<(Arc<Model>, ThinkingLevel)>> {
    if references.len() < 2 || references.len() > LANES {
        let text = format!("name two to {LANES} models: `/fan MODEL MODEL …`");
        emitter.notice(Severity::Warning, text);
        return None;
    }
    let mut lanes = Vec::with_capacity(references.len());
    for reference in references {
        match models.find(reference) {
            Ok((model, named)) => {
                if let Some(note) = models.assumed_of(&model) {
                    emitter.notice(Severity::Warning, note);
                }
                let level = model.clamp(named.unwrap_or(level));
                lanes.push((model, level));
            }
            Err(error) => {
                emitter.notice(Severity::Error, error.to_string());
                return None;
            }
        }
    }
    Some(lanes)
}

#[async_trait]
impl Change for Fan {
    async fn perform(
        self: Box<Self>,
        desk: &dyn AgentAccess,
        cancel: &CancellationToken,
    ) -> ChangeOutcome {
        let ended = self.run(desk, cancel).await;
        ChangeOutcome {
            on_complete: Some(Box::new(move || self.ended(ended))),
            ..ChangeOutcome::default()
        }
    }

    fn refused(self: Box<Self>) {
        self.done.call(FanOutcome::Refused);
    }
}

impl Fan {
    fn publish(&self, event: Event) {
        self.emitter.post(event);
    }

    fn notice(&self, severity: Severity, text: String) {
        let request = None;
        self.publish(Event::Notice {
            severity,
            text,
            request,
        });
    }

    /// Reports the end of the fan.
    fn ended(&self, fan: Result<EndedFan, String>) {
        match fan {
            Ok(fan) => {
                self.done.call(FanOutcome::Ended(Box::new(fan)));
            }
            Err(text) => {
                self.notice(Severity::Error, text);
                self.publish(Event::Tree(TreeEvent::FanEnded { lanes: Vec::new() }));
            }
        }
    }

    async fn run(
        &self,
        desk: &dyn AgentAccess,
        cancel: &CancellationToken,
    ) -> Result<EndedFan, String> {
        let (parent, prompt) = self.start().await?;
        let models = self.lanes.iter().map(|(model, _)| model.reference());
        self.publish(Event::Tree(TreeEvent::FanStarted {
            models: models.collect(),
        }));
        let (cwd, store) = (self.cwd.clone(), self.store.clone());
        let before = osier_base::task::spawn_blocking(move || Stamps::of(&cwd)).await;
        let before = Arc::new(before.map_err(|error| error.to_string())?);
        // A new branch needs a file.
        store.flush().await.map_err(|error| error.to_string())?;
        let mut copies = Vec::with_capacity(self.lanes.len());
        for _ in &self.lanes {
            if cancel.is_cancelled() {
                break;
            }
            match Copy::new(&self.cwd, &self.folder).await {
                Ok(copy) => copies.push(copy),
                Err(error) => {
                    for copy in copies {
                        copy.remove().await;
                    }
                    return Err(error.to_string());
                }
            }
        }
        if self.prompt.is_none() {
            self.restore_copies(&copies).await;
        }
        let begun = match copies.first() {
            Some(copy) => self.capture(copy, None).await,
            None => None,
        };
        let lanes = copies.into_iter().enumerate().map(|(number, copy)| {
            let parts = self.parts(number, desk, &copy, parent.clone());
            let (emitter, done) = (self.emitter.clone(), self.done.clone());
            let tell = move |news| match news {
                LaneNews::Spent(entry) => done.call(FanOutcome::Spent(entry)),
                LaneNews::State(state) => {
                    let state = Box::new(state);
                    emitter.post(Event::Tree(TreeEvent::LaneUpdate { state }));
                }
            };
            let model = Arc::clone(&parts.model);
            let running = parts.run(copy, prompt.clone(), cancel.clone(), tell);
            async move { (number, model, running.await) }
        });
        let ended = join_all(lanes).await;
        let lanes = ended.into_iter().map(|(number, model, ended)| match ended {
            Ok(lane) => lane,
            Err((copy, message)) => failed(number, &model, copy, message),
        });
        let mut lanes: Vec<Lane> = lanes.collect();
        let cwd = self.cwd.clone();
        let compared = osier_base::task::spawn_blocking(move || {
            for lane in &mut lanes {
                lane.state.files = changes(&lane.copy, &cwd);
            }
            lanes
        });
        let lanes = compared.await.map_err(|error| error.to_string())?;
        if let (Some(files), Some(begun)) = (&self.files, begun) {
            self.record(files, begun, &lanes).await;
        }
        let _ = self.store.sync().await;
        let session = self.store.id().to_owned();
        Ok(EndedFan {
            session,
            lanes,
            before,
        })
    }

    /// The states of the working directory, which is `base` if it is known, and of a copy. `None` if the session records no files, or
    /// these cannot be recorded.
    async fn capture(&self, copy: &Copy, base: Option<StateId>) -> Option<(StateId, StateId)> {
        let (files, stamps) = (self.files.clone()?, copy.stamps.clone());
        let root = copy.cwd().to_owned();
        let captured = osier_base::task::spawn_blocking(move || {
            let changed = stamps.changed(&Stamps::of(&root));
            files.capture_copy(&root, &changed, base)
        });
        match captured.await {
            Ok(Ok(states)) => Some(states),
            // A message about the session said so.
            Ok(Err(CheckpointError::TooMany { .. } | CheckpointError::NoProject { .. }))
            | Err(_) => None,
            Ok(Err(error)) => {
                let text = format!("the files of a lane are not recorded: {error}");
                self.notice(Severity::Warning, text);
                None
            }
        }
    }

    /// Records the files of the lanes, so that their branches have them.
    async fn record(&self, files: &SessionFiles, begun: (StateId, StateId), lanes: &[Lane]) {
        let mut states = Vec::with_capacity(lanes.len());
        for lane in lanes {
            let Some(tip) = &lane.tip else { continue };
            if let Some((_, state)) = self.capture(&lane.copy, Some(begun.0)).await {
                states.push((tip.clone(), state));
            }
        }
        if let Err(error) = files.record_lanes(begun, states).await {
            let text = format!("the files of the lanes are not recorded: {error}");
            self.notice(Severity::Warning, text);
        }
    }

    /// Restores the files from before the prompt that is sent again.
    async fn restore_copies(&self, copies: &[Copy]) {
        let Some(files) = &self.files else { return };
        for copy in copies {
            let (files, root) = (files.clone(), copy.cwd().to_owned());
            let back = osier_base::task::spawn_blocking(move || {
                files.restore_copy(&root, &FilesAt::LastPrompt)
            });
            let back = back.await;
            if let Ok(Err(error)) = back {
                let text = format!(
                    "cannot restore the files of a lane, it uses the current ones: {error}"
                );
                self.notice(Severity::Warning, text);
            }
        }
    }

    /// The entry that the branches start from, and the prompt.
    async fn start(&self) -> Result<(Option<String>, UserMessage), String> {
        let index = self.store.index().clone();
        if let Some(text) = &self.prompt {
            let prompt = UserMessage::new(text.clone(), clock::now_ms());
            return Ok((index.leaf(), prompt));
        }
        let found = osier_base::task::spawn_blocking(move || Target::LastPrompt.find(&index)).await;
        let (parent, prompt) = found.unwrap_or_else(|error| Err(error.to_string()))?;
        let (_, prompt) = prompt.ok_or("no prompt to send; use `/fan MODEL MODEL -- PROMPT`")?;
        Ok((parent, prompt))
    }

    fn parts(
        &self,
        number: usize,
        desk: &dyn AgentAccess,
        copy: &Copy,
        parent: Option<String>,
    ) -> LaneParts {
        let (model, thinking) = &self.lanes[number];
        let tools: Vec<String> = desk.tools().into_iter().map(|tool| tool.name).collect();
        LaneParts {
            number,
            model: Arc::clone(model),
            thinking: *thinking,
            transport: desk.transport(),
            store: self.store.clone(),
            parent,
            system_prompt: system_prompt(PromptParts {
                cwd: copy.cwd(),
                directories: &self.directories,
                replacement: self.prompts.0.as_deref(),
                addition: self.prompts.1.as_deref(),
                context: &self.context,
                tools: &tools,
            }),
            tools: self.tools.clone(),
            rules: self.rules.clone(),
            policy: self.policy.clone(),
            retry: desk.retry(),
            max_turns: self.max_turns,
            compaction: self.compaction.clone(),
        }
    }
}

/// A lane that could not start.
fn failed(number: usize, model: &Model, copy: Copy, message: String) -> Lane {
    let mut state = LaneState::new(number, model, copy.cwd().to_owned());
    state.status = LaneStatus::Failed;
    state.error = Some(message);
    let tip = None;
    Lane { state, copy, tip }
}
