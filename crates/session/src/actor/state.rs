//! Answers that several features of the open session contribute to, and news of its work.

use super::run::Actor;
use crate::agents::jobs::JobView;
use crate::agents::lost_work::{self, FoundWork};
use crate::agents::subagents::{NewsKind, SubagentNews};
use crate::agents::terminals::{self, TerminalNews};
use crate::context::reminders;
use crate::conversation::todo::StoredTodo;
use crate::conversation::usage_report::{self, CountedUsage};
use crate::run_log;
use crate::sessions::status::{self, StoredStatus};
use osier_agent::{AccountingEntry, ShellRun};
use osier_protocol::questions::Request;
use osier_protocol::{About, EntryKind, Event, StateOp};
use osier_tools::{SUBAGENT, TERMINAL};
use serde_json::Value;

impl Actor {
    /// Handles a request about the state of the session.
    #[expect(clippy::needless_pass_by_value, reason = "as all groups of requests")]
    pub(super) fn apply_state(&self, op: StateOp) {
        let emitter = self.emitter.clone();
        let session = self.session.as_ref();
        match op {
            StateOp::GetUsage => {
                let done = self.callback(|actor, earlier| {
                    let open = actor.session.as_ref().map(|session| session.id());
                    let models = &actor.selection.models;
                    let usage = &mut actor.progress.usage;
                    usage.counted(earlier, open, models, &actor.emitter);
                });
                let active = session.map(|session| &session.active);
                let models = &self.selection.models;
                self.progress.usage.get(active, models, &emitter, done);
            }
            StateOp::GetUsageReport { scope, period } => {
                let done = self.callback(|actor, counted: CountedUsage| {
                    let models = &actor.selection.models;
                    usage_report::publish(&counted, models, &actor.emitter);
                    if !counted.complete {
                        actor.index.update(&actor.emitter);
                    }
                });
                let store = session.map(|session| &session.store);
                let data = &self.setup.folders.data;
                usage_report::count((scope, period), data, store, done);
            }
            StateOp::GetBudget => {
                if let Some(session) = self.needs_session() {
                    session.budget.publish(emitter);
                }
            }
            StateOp::SetBudget { budget } => {
                if let Some(session) = self.needs_session() {
                    session.budget.change(&budget, emitter);
                }
            }
            StateOp::GetStatus => match session {
                Some(session) => {
                    let done = self.callback(|actor, stored| actor.publish_status(stored));
                    status::read(session, done);
                }
                None => self.publish_status(StoredStatus::default()),
            },
            StateOp::GetAbout => self.get_about(),
            StateOp::GetLog => self.get_log(),
        }
    }

    pub(super) fn get_context(&self) {
        let Some(session) = &self.session else { return };
        let done = self.callback(|actor, measured| {
            let open = actor.session.as_ref().map(|session| session.id());
            let models = &actor.selection.models;
            let usage = &mut actor.progress.usage;
            usage.context_measured(measured, open, models, &actor.emitter);
        });
        let options = session.tree.compactor.options();
        let model = self.selection.models.chosen();
        let usage = &self.progress.usage;
        usage.measure_context(session, &model, options, done);
    }

    fn publish_status(&self, stored: StoredStatus) {
        let models = &self.selection.models;
        let model = (models.info(&models.chosen()), self.selection.level);
        let mode = self.safety.permissions.mode();
        let status = stored.complete(self.session.as_ref(), model, mode, &self.setup);
        self.publish(Event::Status { status });
    }

    fn get_log(&self) {
        let Some(session) = self.needs_session() else {
            return;
        };
        let folder = self.setup.folders.outputs().join(session.id());
        let emitter = self.emitter.clone();
        osier_base::task::spawn_blocking(move || {
            let lines = run_log::read(&folder);
            emitter.post(Event::SessionLog { lines });
        });
    }

    fn get_about(&self) {
        let about = Box::new(About {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            platform: [std::env::consts::OS, std::env::consts::ARCH].join(" "),
            config: self.setup.folders.config.to_string_lossy().into_owned(),
            data: self.setup.folders.data.to_string_lossy().into_owned(),
            cwd: self.setup.cwd.to_string_lossy().into_owned(),
        });
        self.publish(Event::About { about });
    }

    pub(super) fn terminal_news(&self, news: &TerminalNews) {
        let Some(session) = &self.session else {
            return;
        };
        match news {
            TerminalNews::Changed => terminals::list(Some(&session.workspace), &self.emitter),
            TerminalNews::Watched(text) => session.wake(TERMINAL, text, Value::Null),
        }
    }

    /// Counts a call of a subagent in the background, or gives the model its answer as a watcher would.
    pub(super) async fn subagent_news(&mut self, news: SubagentNews) {
        let session = self.session.as_ref();
        let Some(session) = session.filter(|session| session.id() == news.session) else {
            return;
        };
        match news.kind {
            NewsKind::JobsChanged => self.list_jobs(),
            NewsKind::Ended { id, text } => session.wake(SUBAGENT, &text, lost_work::end_of(&id)),
            NewsKind::Stopped { id, text } => {
                session.append(reminders::message(SUBAGENT, &text, lost_work::end_of(&id)));
            }
            NewsKind::Used(entry) => {
                if let AccountingEntry::Llm {
                    provider,
                    model,
                    usage,
                    ..
                } = &entry
                {
                    let name = format!("{provider}/{model}");
                    self.progress.usage.outside(&name, *usage);
                    let stored = EntryKind::Usage {
                        kind: SUBAGENT.to_owned(),
                        provider: provider.clone(),
                        model: model.clone(),
                        usage: *usage,
                    };
                    self.store(stored).await;
                }
                self.publish(Event::Agent(osier_agent::Event::Accounting { entry }));
            }
        }
    }

    pub(super) fn list_jobs(&self) {
        let session = self.session.as_ref();
        let workspace = session.map(|session| &*session.workspace);
        let subagents = session.map(|session| session.subagents.registry());
        JobView::list(workspace, subagents, &self.emitter);
    }

    /// Finds the work that an earlier run of osier lost, once the file is indexed.
    pub(super) fn find_lost_work(&self) {
        if let Some(session) = self.session.as_ref().filter(|session| session.indexed) {
            let done = self.detached(|actor, found: FoundWork| {
                let session = actor.session.as_ref();
                if let Some(session) = session.filter(|session| session.id() == found.session) {
                    session.subagents.registry().set_lost(found.lost);
                }
            });
            lost_work::read(&session.store, done);
        }
    }

    /// Reads the to-do list of the current branch, once the file is indexed.
    pub(super) fn read_todo(&self) {
        if let Some(session) = self.session.as_ref().filter(|session| session.indexed) {
            let done = self.detached(|actor, stored: StoredTodo| {
                let open = actor.session.as_ref().map(|session| session.id());
                actor.progress.todo.loaded(stored, open, &actor.emitter);
            });
            self.progress.todo.read(&session.store, done);
        }
    }

    pub(super) fn question(&mut self, request: Request) {
        if let Some(question) = self.safety.pending.receive(request, &self.emitter) {
            self.notify_of(&question);
        }
    }

    pub(super) fn shell_ended(&mut self, run: Box<ShellRun>) {
        if let Some(message) = self.work.shell.ended(run, &self.emitter)
            && let Some(session) = &self.session
        {
            session.append(message);
        }
    }
}
