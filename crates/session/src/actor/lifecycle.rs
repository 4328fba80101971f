//! Opening and closing the session of an actor.

use super::run::{Actor, cx};
use crate::choices::{BranchChoices, Origin};
use crate::conversation::transcript::missing_page;
use crate::conversation::usage::Usage;
use crate::extensions::hooks::Source;
use crate::extensions::mcp::{self, FIRST_PROMPT_WAIT};
use crate::files::checkpoints::finish_interrupted;
use crate::models::SmallModels;
use crate::sessions::open_session::OpenSession;
use crate::sessions::open_session::{OpenError, SessionContext, relocate};
use crate::sessions::session_index::IndexHandle;
use crate::setup::SessionChoice;
use futures_util::future::FutureExt as _;
use osier_agent::Severity;
use osier_checkpoint::CheckpointStore;
use osier_protocol::{EntryKind, Event, IndexEvent, IndexOp, Opening, SessionOp, TreeEvent};
use osier_store::{Findings, SessionError, holder};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Time without an event after which a closing session asks its agent again.
const RECHECK: Duration = Duration::from_millis(50);

impl Actor {
    /// Handles a request about the open session.
    pub(super) async fn apply_session(&mut self, op: SessionOp) {
        match op {
            SessionOp::NewSession => {
                self.close("clear").await;
                let choice = match self.setup.session {
                    SessionChoice::Unstored => SessionChoice::Unstored,
                    _ => SessionChoice::New,
                };
                let origin = Origin::Continued(self.choices());
                self.open((choice, origin), Source::Clear).await;
            }
            SessionOp::ResumeSession { target, opening } => self.resume(target, opening).await,
            SessionOp::ContinueHere { target } => self.continue_here(target).await,
            SessionOp::ListSessions { all, limit } => {
                IndexHandle::list((all, limit), &self.setup, &self.emitter);
            }
            SessionOp::ReadTranscript { request, page } => match &self.session {
                Some(session) => {
                    let emitter = self.emitter.clone();
                    session
                        .transcript
                        .read(request, page, session.indexed, emitter);
                }
                None => self.publish(missing_page(request)),
            },
            SessionOp::SearchTranscript { request, query } => {
                if let Some(session) = &mut self.session {
                    let (indexed, emitter) = (session.indexed, self.emitter.clone());
                    session.transcript.search(request, &query, indexed, emitter);
                }
            }
            SessionOp::RenameSession { name } => self.rename(name).await,
        }
    }

    /// Handles a request about stored sessions.
    pub(super) async fn apply_index(&mut self, op: IndexOp) {
        let session = self.session.as_ref();
        let open = session.and_then(|session| session.store.path());
        match op {
            IndexOp::NameSession { path, name } if open == Some(&path) => {
                self.rename(name).await;
                self.publish(Event::Index(IndexEvent::SessionsChanged));
            }
            op => {
                let cx = cx(&self.setup, &self.emitter, session);
                self.index.handle(op, cx);
            }
        }
    }

    /// Opens a session. If that fails none is open: the client decides how to continue.
    pub(super) async fn open(&mut self, choice: (SessionChoice, Origin), source: Source) {
        if let Err(error) = self
            .selection
            .ask_server_first(&self.setup, &self.emitter)
            .await
        {
            let message = error.to_string();
            self.publish(Event::SessionFailed {
                message,
                in_use: None,
                holder: None,
            });
            return;
        }
        let context = self.session_context();
        match OpenSession::open(&self.setup, &mut self.selection.models, choice, context).await {
            Ok(mut session) => {
                self.progress.usage = Usage::default();
                if let Some(last) = session.last_message() {
                    self.progress.usage.saw(last);
                }
                let source = session.source(source);
                self.publish(session.opened_event());
                if let Some(elsewhere) = session.elsewhere() {
                    let elsewhere = Box::new(elsewhere.clone());
                    self.publish(Event::SessionElsewhere { elsewhere });
                }
                self.safety.permissions.publish_changed(&self.emitter);
                if !session.indexed {
                    self.await_index(&session);
                }
                self.selection.level = session.agent.state().thinking_level;
                session.budget.announce();
                self.emitter.log().open(session.store.path().map(|path| {
                    let folder = self.setup.folders.outputs().join(session.id());
                    (folder, path.to_owned())
                }));
                let requested = self.detached(|actor, (session, process): (String, u32)| {
                    actor.hand_over(&session, process);
                });
                session.offer_handover(&self.setup, requested);
                let continues = session.continues;
                self.session = Some(session);
                self.announce_program_choices();
                self.store_choices().await;
                self.finish_interrupted().await;
                self.progress.todo.clear(&self.emitter);
                self.want_title();
                self.read_todo();
                self.find_lost_work();
                self.start_hooks(source);
                self.offer_subagents();
                self.update_prompt();
                self.selection
                    .publish_selected(&self.setup.settings, &self.emitter);
                self.warn_about_options();
                self.wait_for_servers().await;
                if continues {
                    self.continue_run();
                }
            }
            Err(error) => self.not_opened(&error).await,
        }
    }

    /// Another process takes the session over: this process stores its work and ends.
    fn hand_over(&mut self, session: &str, process: u32) {
        if self
            .session
            .as_ref()
            .is_some_and(|open| open.id() == session)
        {
            self.publish(Event::SessionTakenOver { process });
            self.is_ending = true;
        }
    }

    /// Continues the run that another process stopped to hand the session over.
    fn continue_run(&self) {
        let text = "the run that the other osier stopped continues here";
        self.notice(Severity::Info, text.to_owned());
        let continued = self.async_detached(|actor, ()| {
            async move { actor.apply(osier_agent::Op::Continue.into()).await }.boxed()
        });
        continued.call(());
    }

    /// Requests a title for a new session, if a user sees the title.
    fn want_title(&mut self) {
        let settings = &self.setup.settings;
        let is_seen = self.setup.answers_questions && settings.titles;
        let is_new = self.session.as_ref().is_some_and(|session| {
            !session.info().resumed
                && session.info().name.is_none()
                && session.store.path().is_some()
        });
        self.progress.titles.opened(is_seen && is_new);
    }

    /// Waits for the servers where no user watches. Servers that are not ready are named: their tools are missing.
    async fn wait_for_servers(&self) {
        let Some(session) = self.session.as_ref() else {
            return;
        };
        if !self.setup.waits_for_servers {
            return;
        }
        let late = session.mcp.ready(FIRST_PROMPT_WAIT).await;
        if !late.is_empty() {
            self.notice(Severity::Warning, mcp::late_servers(&late));
        }
    }

    /// Finishes a change of files that another osier left incomplete.
    async fn finish_interrupted(&self) {
        let store = CheckpointStore::new(&self.setup.folders.data, &self.setup.cwd);
        let files = self
            .session
            .as_ref()
            .and_then(|session| session.files.as_ref());
        finish_interrupted(&store, files, &self.emitter).await;
    }

    /// Ends all work and closes the file. `reason` is for hooks.
    pub(super) async fn close(&mut self, reason: &str) {
        self.work.fan.clear().await;
        self.extensions.plugins.loaded_plugins().interrupt();
        self.extensions.hooks.interrupt();
        self.cancel_reading().await;
        if !self.waiting.is_empty()
            && let Some(session) = &self.session
        {
            let findings = session.store.findings().await;
            self.indexed(findings.map_err(|error| error.to_string()))
                .await;
        }
        self.work.jobs.unfollow();
        let Some(mut session) = self.session.take() else {
            return;
        };
        let hooks = session.policy.hooks().cloned();
        self.extensions.hooks.give_up(hooks.as_deref());
        session.subagents.registry().close();
        // `GetState` comes after the requests before it, so that a sent prompt is stored.
        session.agent.send(osier_agent::Op::Abort);
        session.agent.send(osier_agent::Op::GetState);
        loop {
            // A change that is cancelled, such as a compaction, ends without an event that settles the agent.
            let next = tokio::time::timeout(RECHECK, session.events.recv());
            let Ok(event) = next.await else {
                session.agent.send(osier_agent::Op::GetState);
                continue;
            };
            let Some(event) = event else { break };
            let settled = match &event {
                osier_agent::Event::State { state } if !state.is_streaming => break,
                osier_agent::Event::State { .. } => continue,
                event => matches!(event, osier_agent::Event::AgentSettled { .. }),
            };
            self.forward(session.events_for(event));
            if settled {
                break;
            }
        }
        session.close().await;
        if let Some(hooks) = hooks {
            hooks.end(reason, &self.setup.cwd).await;
        }
    }

    pub(super) async fn rename(&mut self, name: String) {
        let name = Some(name.trim().to_owned()).filter(|name| !name.is_empty());
        self.progress.titles.named();
        self.store(EntryKind::SessionInfo { name: name.clone() })
            .await;
        self.publish(Event::SessionRenamed { name });
    }

    pub(super) async fn resume(&mut self, target: String, opening: Opening) {
        match OpenSession::find(&self.setup, &target) {
            Err(error) => self.notice(Severity::Error, error.to_string()),
            Ok(path) => {
                self.close("resume").await;
                let target = path.to_string_lossy().into_owned();
                let choice = SessionChoice::opening(opening, target);
                self.open((choice, Origin::Stored), Source::Resume).await;
            }
        }
    }

    /// Continues the session `target`, or the open one, in this directory; its file names this
    /// directory from now on.
    async fn continue_here(&mut self, target: Option<String>) {
        let open = self
            .session
            .as_ref()
            .and_then(|session| session.store.path());
        let path = match target {
            Some(target) => {
                OpenSession::find(&self.setup, &target).map_err(|error| error.to_string())
            }
            None => open
                .map(Path::to_owned)
                .ok_or_else(|| "the session is not stored".to_owned()),
        };
        let path = match path {
            Ok(path) => path,
            Err(error) => return self.notice(Severity::Error, error),
        };
        self.close("resume").await;
        match relocate(&self.setup, &path).await {
            Ok(path) => {
                let target = path.to_string_lossy().into_owned();
                let choice = (SessionChoice::Resume(target), Origin::Stored);
                self.open(choice, Source::Resume).await;
            }
            Err(error) => self.not_opened(&error).await,
        }
    }

    /// Publishes why no session is open now, and which file another process has open.
    pub(super) async fn not_opened(&self, error: &OpenError) {
        let path = match error {
            OpenError::Session {
                error: SessionError::Locked { path, .. } | SessionError::NotHandedOver { path, .. },
            } => Some(path.clone()),
            _ => None,
        };
        let in_use = path
            .as_ref()
            .map(|path| path.to_string_lossy().into_owned());
        let folder = self.setup.folders.handover();
        let asking =
            path.map(|path| osier_base::task::spawn_blocking(move || holder(&folder, &path)));
        let holder = match asking {
            Some(asking) => asking.await.ok(),
            None => None,
        };
        self.publish(Event::SessionFailed {
            message: error.to_string(),
            in_use,
            holder,
        });
    }

    /// The context of a session that opens.
    pub(super) fn session_context(&self) -> SessionContext {
        SessionContext {
            emitter: self.emitter.detached(),
            mcp_changed: self.detached(|actor, news| actor.mcp_changed(news)),
            review_news: self.detached(Self::review_news),
            sampling_news: self.detached(Self::sampling_news),
            subagent_news: self.async_detached(|actor, news| actor.subagent_news(news).boxed()),
            small_models: SmallModels::new(self.detached(Self::send_small_model)),
            terminal_news: self.detached(|actor, news| actor.terminal_news(&news)),
            jobs_changed: self.detached(|actor, ()| actor.list_jobs()),
            trust_decided: self.detached(|actor, decision| actor.trusted(&decision)),
            questions: self.safety.questions.clone(),
            policy: self.safety.permissions.policy(
                &self.safety.questions,
                self.setup.answers_questions,
                &self.setup,
                &self.emitter,
            ),
            plugins: Arc::clone(self.extensions.plugins.loaded_plugins()),
            hooks: Arc::clone(self.extensions.hooks.configured()),
            nearby: self.extensions.context.nearby().clone(),
        }
    }

    /// Waits in the background for the index of the file.
    fn await_index(&self, session: &OpenSession) {
        let store = session.store.clone();
        let done = self.async_detached(|actor, (id, findings): (String, _)| {
            async move {
                if actor.session.as_ref().is_some_and(|open| open.id() == id) {
                    actor.indexed(findings).await;
                }
            }
            .boxed()
        });
        osier_base::task::spawn(async move {
            let findings = store.findings().await.map_err(|error| error.to_string());
            done.call((store.id().to_owned(), findings));
        });
    }

    /// The complete file is indexed: handles the requests that waited for it.
    pub(super) async fn indexed(&mut self, findings: Result<Findings, String>) {
        let Some(session) = self.session.as_mut().filter(|session| !session.indexed) else {
            return;
        };
        match findings {
            Ok(findings) => {
                let models = &mut self.selection.models;
                let before = models.chosen().reference();
                let (events, level) = session.now_indexed(&self.setup, models, findings).await;
                let changed =
                    level != self.selection.level || models.chosen().reference() != before;
                self.forward(events);
                if changed {
                    self.selection.level = level;
                    self.selection
                        .publish_selected(&self.setup.settings, &self.emitter);
                }
            }
            Err(message) => {
                session.active.indexed = true;
                self.notice(Severity::Error, message);
            }
        }
        self.store_choices().await;
        self.read_todo();
        self.find_lost_work();
        self.apply_waiting().await;
    }

    /// The choices of the current branch.
    fn choices(&self) -> BranchChoices {
        BranchChoices {
            model: Some(self.selection.models.chosen_name()),
            level: self.selection.level,
        }
    }

    /// Stores the choices of the branch that its file does not have.
    async fn store_choices(&mut self) {
        let Some(session) = self.session.as_mut().filter(|session| session.indexed) else {
            return;
        };
        if session.store.is_read_only() {
            return;
        }
        for kind in session.take_unstored() {
            self.store(kind).await;
        }
    }

    /// Gives a session the choices of the program, and announces them.
    fn announce_program_choices(&mut self) {
        let Some(session) = &self.session else { return };
        for op in self.program.requests() {
            session.agent.send(op);
        }
        if std::mem::take(&mut self.has_chosen_tools) {
            session.agent.send(osier_agent::Op::ListTools);
        }
        if let Some(enabled) = self.program.auto_compact {
            session.tree.compactor.set_automatic(enabled);
            self.publish(Event::Tree(TreeEvent::AutoCompactChanged { enabled }));
        }
    }
}
