//! One prompt to several models at once. While they work the session's own agent does nothing else: the
//! fan is a change of its task, so interrupting it interrupts them all, and nothing moves meanwhile.

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt, join_all};
use tokio_util::sync::CancellationToken;

use super::asked::Jobs;
use super::checkpoints::SessionFiles;
use super::event::Event;
use super::host::{Job, Task};
use super::moves::{Leave, Place, Then};
use super::session::OpenSession;
use super::tree::{BUSY, TreeJob};
use super::tree_op::TreeEvent;
use crate::fan::{
    ApplyError, Copy, Lane, LaneNews, LaneParts, LaneState, LaneStatus, Stamps, apply, changes,
};
use crate::guard::Guard;
use crate::prompt::{PromptParts, system_prompt};
use osier_agent::{Change, Changed, Desk, Interceptor, Severity, UserMessage};
use osier_base::clock;
use osier_llm::{Model, ThinkingLevel};
use osier_store::SessionStore;

/// Lanes at most.
const LANES: usize = 8;

/// What a fan needs to know.
#[derive(Debug)]
struct Fan {
    store: SessionStore,
    lanes: Vec<(Arc<Model>, ThinkingLevel)>,
    /// The prompt to send; the last one again when not set.
    prompt: Option<String>,
    cwd: PathBuf,
    directories: Vec<PathBuf>,
    /// What is known of earlier files.
    files: Option<SessionFiles>,
    /// Where the copies go.
    folder: PathBuf,
    tools: Option<Vec<String>>,
    prompts: (Option<String>, Option<String>),
    /// What the project tells the model.
    context: String,
    rules: Vec<Arc<dyn Interceptor>>,
    guard: Guard,
    max_turns: Option<u32>,
    automatic_compaction: bool,
    jobs: Jobs,
}

/// Lanes that have ended, and what the working directory looked like when they began.
#[derive(Debug)]
pub(super) struct EndedFan {
    session: String,
    lanes: Vec<Lane>,
    before: Arc<Stamps>,
}

impl Task {
    /// Sends a prompt to several models.
    pub(super) async fn fan_out(&mut self, references: &[String], prompt: Option<String>) {
        if references.len() < 2 || references.len() > LANES {
            let text = format!("name two to {LANES} models: `/fan MODEL MODEL …`");
            return self.notice(Severity::Warning, text);
        }
        let mut lanes = Vec::with_capacity(references.len());
        for reference in references {
            match self.models.find(reference) {
                Ok((model, level)) => {
                    let level = model.clamp(level.unwrap_or(self.level));
                    lanes.push((model, level));
                }
                Err(error) => return self.notice(Severity::Error, error.to_string()),
            }
        }
        self.end_fan().await;
        let Some(session) = &self.session else { return };
        session.agent.change(Box::new(Fan {
            store: session.store.clone(),
            lanes,
            prompt: prompt.filter(|prompt| !prompt.trim().is_empty()),
            cwd: self.setup.cwd.clone(),
            directories: self.setup.directories.clone(),
            files: session.files.clone(),
            folder: self.setup.folders.data.join("fans"),
            tools: self.setup.tools.clone(),
            prompts: (
                self.setup.system_prompt.clone(),
                self.setup.append_system_prompt.clone(),
            ),
            context: self.context.known.prompt(true),
            rules: session.rules.clone(),
            guard: session.guard.clone(),
            max_turns: self.setup.max_turns,
            automatic_compaction: session.tree.compactor.is_automatic(),
            jobs: self.jobs.clone(),
        }));
    }

    /// The lanes have ended.
    pub(super) fn fanned(&mut self, fan: EndedFan) {
        let states = fan.lanes.iter().map(|lane| lane.state.clone()).collect();
        let is_open = self
            .session
            .as_ref()
            .is_some_and(|session| session.store.id() == fan.session);
        if is_open {
            self.fan = Some(fan);
        }
        self.publish(Event::Tree(TreeEvent::FanEnded { lanes: states }));
    }

    /// One lane's files become those of the working directory, and the conversation goes on with it.
    pub(super) async fn take_lane(&mut self, number: usize, force: bool) {
        let Some(fan) = self.fan.take() else {
            return self.notice(
                Severity::Warning,
                "there is no branch to take: `/fan` first",
            );
        };
        let is_busy = |open: &OpenSession| open.agent.state().is_streaming;
        if self.session.as_ref().is_some_and(is_busy) {
            self.fan = Some(fan);
            return self.notice(Severity::Warning, BUSY);
        }
        if !fan.lanes.iter().any(|lane| lane.state.lane == number) {
            self.notice(Severity::Warning, format!("there is no lane {number}"));
            self.fan = Some(fan);
            return;
        }
        let (cwd, data) = (self.setup.cwd.clone(), self.setup.folders.data.clone());
        let applied = tokio::task::spawn_blocking(move || {
            let lane = fan.lanes.iter().find(|lane| lane.state.lane == number);
            let applied = lane.map(|lane| {
                let stamp = clock::rfc3339(clock::now_ms()).replace(':', "-");
                let keep = data.join("fans").join(format!("overwritten-{stamp}"));
                apply(&lane.copy, &cwd, &fan.before, force, &keep)
            });
            (fan, applied)
        });
        let Ok((fan, Some(applied))) = applied.await else {
            return;
        };
        let tip = fan
            .lanes
            .iter()
            .find(|lane| lane.state.lane == number)
            .and_then(|lane| lane.tip.clone());
        self.fan = Some(fan);
        match applied {
            Ok(applied) => {
                let then = Then::Taken(number, applied.files, applied.kept);
                self.go(Place::Behind(tip), Leave::Silently, then);
                self.end_fan().await;
            }
            Err(ApplyError::Conflicts(files)) => {
                let lane = number;
                self.publish(Event::Tree(TreeEvent::LaneConflicts { lane, files }));
            }
            Err(error) => self.notice(Severity::Error, error.to_string()),
        }
    }

    /// Forgets the copies; the branches stay.
    pub(super) async fn end_fan(&mut self) {
        for lane in self.fan.take().into_iter().flat_map(|fan| fan.lanes) {
            lane.copy.remove().await;
        }
    }

    /// The same, told to everybody who may show the lanes.
    pub(super) async fn drop_fan(&mut self) {
        if self.fan.is_some() {
            self.end_fan().await;
            self.publish(Event::Tree(TreeEvent::FanEnded { lanes: Vec::new() }));
        }
    }
}

impl Change for Fan {
    fn perform<'a>(
        self: Box<Self>,
        desk: Desk<'a>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Changed> {
        async move {
            let ended = self.run(desk, cancel).await;
            Changed {
                tell: Some(Box::new(move || self.ended(ended))),
                ..Changed::default()
            }
        }
        .boxed()
    }

    fn refused(self: Box<Self>) {
        let _ = self.jobs.send(Job::Tree(TreeJob::Refused));
    }
}

impl Fan {
    fn publish(&self, event: Event) {
        let _ = self.jobs.send(Job::Publish(Box::new(event)));
    }

    fn notice(&self, severity: Severity, text: String) {
        let request = None;
        self.publish(Event::HostNotice {
            severity,
            text,
            request,
        });
    }

    /// Tells how it ended.
    fn ended(&self, fan: Result<EndedFan, String>) {
        match fan {
            Ok(fan) => {
                let _ = self.jobs.send(Job::Tree(TreeJob::Fanned(Box::new(fan))));
            }
            Err(text) => {
                self.notice(Severity::Error, text);
                self.publish(Event::Tree(TreeEvent::FanEnded { lanes: Vec::new() }));
            }
        }
    }

    async fn run(&self, desk: Desk<'_>, cancel: &CancellationToken) -> Result<EndedFan, String> {
        let (parent, prompt) = self.place().await?;
        let models = self.lanes.iter().map(|(model, _)| model.reference());
        self.publish(Event::Tree(TreeEvent::FanStarted {
            models: models.collect(),
        }));
        let (cwd, store) = (self.cwd.clone(), self.store.clone());
        let before = tokio::task::spawn_blocking(move || Stamps::of(&cwd)).await;
        let before = Arc::new(before.map_err(|error| error.to_string())?);
        // A branch beside the leaf needs a file to hang in.
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
            self.bring_back(&copies).await;
        }
        let lanes = copies.into_iter().enumerate().map(|(number, copy)| {
            let parts = self.parts(number, desk, &copy, parent.clone());
            let jobs = self.jobs.clone();
            let tell = move |news| {
                let job = match news {
                    LaneNews::Spent(entry) => Job::Tree(TreeJob::Spent(entry)),
                    LaneNews::State(state) => {
                        let state = Box::new(state);
                        let event = Event::Tree(TreeEvent::LaneUpdate { state });
                        Job::Publish(Box::new(event))
                    }
                };
                let _ = jobs.send(job);
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
        let looked = tokio::task::spawn_blocking(move || {
            for lane in &mut lanes {
                lane.state.files = changes(&lane.copy, &cwd);
            }
            lanes
        });
        let lanes = looked.await.map_err(|error| error.to_string())?;
        let _ = self.store.sync().await;
        let session = self.store.id().to_owned();
        Ok(EndedFan {
            session,
            lanes,
            before,
        })
    }

    /// A prompt that is sent again finds the files as it found them the first time.
    async fn bring_back(&self, copies: &[Copy]) {
        let Some(files) = &self.files else { return };
        for copy in copies {
            let (files, root) = (files.clone(), copy.cwd().to_owned());
            let back = tokio::task::spawn_blocking(move || files.bring_copy_back(&root)).await;
            if let Ok(Err(error)) = back {
                let text = format!("a copy has the files as they are now: {error}");
                self.notice(Severity::Warning, text);
            }
        }
    }

    /// What the branches hang on, and the prompt.
    async fn place(&self) -> Result<(Option<String>, UserMessage), String> {
        let index = self.store.index().clone();
        if let Some(text) = &self.prompt {
            let prompt = UserMessage::new(text.clone(), clock::now_ms());
            return Ok((index.leaf(), prompt));
        }
        let found = tokio::task::spawn_blocking(move || Place::LastPrompt.find(&index)).await;
        let (parent, prompt) = found.unwrap_or_else(|error| Err(error.to_string()))?;
        let prompt = prompt.ok_or("there is no prompt to send: `/fan MODEL MODEL -- PROMPT`")?;
        Ok((parent, prompt))
    }

    fn parts(
        &self,
        number: usize,
        desk: Desk<'_>,
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
            guard: self.guard.clone(),
            retry: desk.retry(),
            max_turns: self.max_turns,
            automatic_compaction: self.automatic_compaction,
        }
    }
}

/// A lane that could not begin.
fn failed(number: usize, model: &Model, copy: Copy, message: String) -> Lane {
    let mut state = LaneState::new(number, model, copy.cwd().to_owned());
    state.status = LaneStatus::Failed;
    state.error = Some(message);
    let tip = None;
    Lane { state, copy, tip }
}
