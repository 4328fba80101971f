//! Answers that several features of the open session contribute to.

use tokio::sync::mpsc;

use super::NO_SESSION;
use super::dispatch::{Actor, Completion};
use super::mailbox::Delivery;
use crate::agents::jobs::JobView;
use crate::agents::terminals::{self, TerminalNews};
use crate::files::project_map;
use crate::sessions::open_session::OpenSession;
use crate::sessions::status::{self, GeneralStatus, SessionStatus, StoredStatus};
use osier_agent::{Severity, ShellRun};
use osier_protocol::questions::Request;
use osier_protocol::{About, Budget, Event, Op};

impl Actor {
    pub(super) fn get_usage(&self) {
        let stored = self.session.as_ref().map(OpenSession::stored_part);
        let done = self.callback(Completion::UsageCounted);
        self.usage
            .get(stored, &self.selection.models, &self.emitter, done);
    }

    /// Changes the budget, or only publishes it.
    pub(super) fn budget(&self, change: Option<Budget>) {
        let Some(session) = &self.session else {
            return self.notice(Severity::Error, NO_SESSION);
        };
        let emitter = self.emitter.clone();
        match change {
            Some(change) => session.budget.change(&change, emitter),
            None => session.budget.publish(emitter),
        }
    }

    pub(super) fn get_context(&self) {
        let Some(session) = &self.session else { return };
        let done = self.callback(|measured| Completion::ContextMeasured(Box::new(measured)));
        let options = session.tree.compaction_options();
        let model = self.selection.models.chosen();
        let part = session.stored_part();
        self.usage
            .measure_context(part, &session.agent, &model, options, done);
    }

    pub(super) fn use_map(&self, op: Op) {
        let workspace = self.session.as_ref().map(|session| &session.workspace);
        project_map::apply(op, workspace, &self.emitter);
    }

    pub(super) fn get_status(&self) {
        match &self.session {
            Some(session) => {
                let done = self.callback(Completion::StatusRead);
                status::read(&session.store, &session.agent, done);
            }
            None => self.publish_status(&StoredStatus::default()),
        }
    }

    pub(super) fn publish_status(&self, stored: &StoredStatus) {
        let general = GeneralStatus {
            model: self.selection.models.info(&self.selection.models.chosen()),
            thinking_level: self.selection.level,
            permissions: self.permissions.mode(),
            cwd: self.setup.cwd.to_string_lossy().into_owned(),
            auto_compaction: self.setup.settings.auto_compact,
        };
        let session = self.session.as_ref().map(|session| SessionStatus {
            store: &session.store,
            agent: &session.agent,
            is_compacting: session.tree.is_compacting(),
            auto_compaction: session.tree.auto_compaction(),
        });
        let status = stored.complete(general, session);
        self.publish(Event::Status { status });
    }

    pub(super) fn get_about(&self) {
        let about = Box::new(About {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            platform: [std::env::consts::OS, std::env::consts::ARCH].join(" "),
            config: self.setup.folders.config.to_string_lossy().into_owned(),
            data: self.setup.folders.data.to_string_lossy().into_owned(),
            cwd: self.setup.cwd.to_string_lossy().into_owned(),
        });
        self.publish(Event::About { about });
    }

    /// Continues the commands of the model in the background; `Event::Jobs` follows.
    pub(super) fn move_to_background(&self) {
        let session = self.session.as_ref();
        let moved = session.map_or(0, |session| session.workspace.move_to_background());
        if moved == 0 {
            let text = "no command of the model runs that could continue in the background";
            self.notice(Severity::Warning, text);
        }
    }

    /// Runs a command of the user.
    pub(super) fn run_shell(&mut self, command: String, exclude_from_context: bool) {
        if let Some(session) = &self.session {
            let done = self.callback(Completion::ShellEnded);
            let workspace = &session.workspace;
            self.shell.run(
                command,
                exclude_from_context,
                workspace,
                &self.emitter,
                done,
            );
        }
    }

    /// Handles a request about terminals.
    pub(super) fn use_terminal(&self, op: Op) {
        if let Some(session) = &self.session {
            terminals::apply(op, &session.workspace, &self.emitter);
        }
    }

    pub(super) fn terminal_news(&self, news: &TerminalNews) {
        let Some(session) = &self.session else {
            return;
        };
        match news {
            TerminalNews::Changed => terminals::list(Some(&session.workspace), &self.emitter),
            TerminalNews::Watched(text) => terminals::wake(&session.agent, text),
        }
    }

    pub(super) fn list_jobs(&self) {
        let session = self.session.as_ref();
        let workspace = session.map(|session| &*session.workspace);
        JobView::list(workspace, &self.emitter);
    }

    /// Reads the to-do list of the current branch, once the file is indexed.
    pub(super) fn read_todo(&self) {
        if let Some(session) = self.session.as_ref().filter(|session| session.indexed) {
            let done = self.detached_callback(Completion::TodoRead);
            self.todo.read(&session.store, done);
        }
    }

    pub(super) fn question(&mut self, request: Request) {
        if let Some(question) = self.pending_questions.receive(request, &self.emitter) {
            self.notify_of(&question);
        }
    }

    pub(super) fn shell_ended(&mut self, run: Box<ShellRun>) {
        if let Some(message) = self.shell.ended(run, &self.emitter)
            && let Some(session) = &self.session
        {
            session.append(message);
        }
    }

    /// Stops the user's command and stores its output.
    pub(super) async fn end_shell(&mut self, finished: &mut mpsc::UnboundedReceiver<Delivery>) {
        self.shell.cancel();
        while self.shell.is_running()
            && let Some(delivery) = finished.recv().await
        {
            self.take(delivery).await;
        }
    }
}
