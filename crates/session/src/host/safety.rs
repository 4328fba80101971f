//! What the host does about permissions and trust. It holds the rules and tells of them; the gate before
//! each call decides.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::context::Reading;
use super::event::Event;
use super::host::{Job, Task};
use super::setup::HostSetup;
use crate::guard::Guard;
use osier_agent::Severity;
use osier_base::path;
use osier_permissions::trust::{Standing, Trust};
use osier_permissions::{Mode, Permissions};
use osier_protocol::questions::{Answer, Grant, Question, QuestionKind, Questions, Subject};
use osier_sandbox::{Confinement, SandboxMode};
use osier_settings::Settings;

/// The rules a host starts with.
pub(super) fn permissions(setup: &HostSetup) -> Arc<Permissions> {
    let mode = setup.permissions.unwrap_or(setup.settings.permissions);
    let store = setup.folders.permissions();
    Arc::new(Permissions::new(
        &setup.cwd,
        store,
        mode,
        setup.settings.rules(),
    ))
}

/// What holds for the commands of a host.
pub(super) fn confinement(setup: &HostSetup, questions: &Questions) -> Arc<Confinement> {
    let confinement = Confinement::new(&setup.cwd, setup.helper.clone());
    confine(&confinement, setup);
    let mode = setup.permissions.unwrap_or(setup.settings.permissions);
    confinement.set_plan(mode == Mode::Plan);
    if setup.answers_questions {
        confinement.set_asker(questions.clone());
    }
    Arc::new(confinement)
}

fn confine(confinement: &Confinement, setup: &HostSetup) {
    let settings = &setup.settings;
    let mode = setup.sandbox.unwrap_or(settings.sandbox);
    let folders = settings.sandbox_write.iter();
    let folders = folders.map(|folder| path::resolve(&setup.cwd, folder));
    let folders = folders.chain(setup.directories.iter().cloned()).collect();
    confinement.set(mode, settings.sandbox_network, folders);
}

impl Task {
    /// What a session that opens is guarded by. What was granted for the one before is forgotten.
    pub(super) fn guard(&self) -> Guard {
        if self.permissions.forget_session() {
            self.tell_permissions();
        }
        Guard::new(
            Arc::clone(&self.permissions),
            Arc::clone(&self.confinement),
            self.questions.clone(),
            self.setup.answers_questions,
        )
    }

    pub(super) fn set_permissions(&self, mode: Mode) {
        self.permissions.set_mode(mode);
        self.confinement.set_plan(mode == Mode::Plan);
        self.tell_permissions();
    }

    pub(super) fn tell_permissions(&self) {
        self.publish(Event::Permissions {
            mode: self.permissions.mode(),
            rules: self.permissions.list(),
            sandbox: self.confinement.mode(),
        });
    }

    /// A session has opened: what differs from the defaults is told.
    pub(super) fn tell_opened_permissions(&self) {
        let is_usual = self.permissions.mode() == Mode::default()
            && self.permissions.list().is_empty()
            && self.confinement.mode() == SandboxMode::Off;
        if !is_usual {
            self.tell_permissions();
        }
    }

    pub(super) fn add_permission(&self, grant: &Grant) {
        if let Err(error) = self.permissions.grant(grant) {
            self.notice(Severity::Warning, format!("the rule was not kept: {error}"));
        }
        self.tell_permissions();
    }

    pub(super) fn remove_permission(&self, rule: &str) {
        match self.permissions.forget(rule) {
            Ok(true) => {}
            Ok(false) => {
                let text = format!(
                    "`{rule}` is no rule that was given in a dialog: those of the settings stand in their file"
                );
                self.notice(Severity::Warning, text);
            }
            Err(error) => self.notice(Severity::Warning, error.to_string()),
        }
        self.tell_permissions();
    }

    /// Asks whether the project may run code through its files, when it has such files and nobody has
    /// decided on them as they are.
    pub(super) fn ask_for_trust(&self) {
        let trust = Trust::new(&self.setup.folders);
        let (cwd, jobs) = (self.setup.cwd.clone(), self.jobs.own());
        let questions = self.questions.clone();
        let answered = self.setup.answers_questions;
        tokio::spawn(async move {
            let looked = {
                let (trust, cwd) = (trust.clone(), cwd.clone());
                tokio::task::spawn_blocking(move || trust.standing(&cwd)).await
            };
            let (files, changed) = match looked {
                Ok(Standing::Undecided(files)) => (files, false),
                Ok(Standing::Changed(files)) => (files, true),
                _ => return,
            };
            let listed: Vec<String> = files.iter().map(|file| path::display(file, &cwd)).collect();
            let listed = listed.join("\n");
            let answer = if answered {
                questions
                    .ask(trust_question(listed, changed), &CancellationToken::new())
                    .await
            } else {
                Answer::Dismissed
            };
            // The host may have ended.
            let _ = match answer {
                Answer::Yes => jobs.send(Job::Trusted(true)),
                Answer::Refuse { .. } => jobs.send(Job::Trusted(false)),
                _ => jobs.send(Job::Publish(Box::new(Event::HostNotice {
                    severity: Severity::Warning,
                    text: "the project's own settings, hooks, plug-ins and servers are left out: the folder is not trusted; `--trust` trusts it".to_owned(),
                    request: None,
                }))),
            };
        });
    }

    /// Keeps the decision; what the project brings holds from now on.
    pub(super) fn trusted(&mut self, trusted: bool) {
        let trust = Trust::new(&self.setup.folders);
        if let Err(error) = trust.decide(&self.setup.cwd, trusted) {
            self.notice(
                Severity::Warning,
                format!("the decision was not kept: {error}"),
            );
            return;
        }
        if trusted {
            self.load_settings();
            self.trust_hooks();
            self.load_servers();
            self.read_context(Reading::Everything);
            self.publish(Event::ProjectTrusted);
        }
    }

    /// Reads the settings again; rules hold at once.
    pub(super) fn load_settings(&mut self) {
        let (settings, problems) = Settings::load_for(&self.setup.folders, &self.setup.cwd);
        for problem in problems {
            self.notice(Severity::Warning, problem.to_string());
        }
        self.permissions.reload(settings.rules());
        if settings.permissions > self.permissions.mode() && self.setup.permissions.is_none() {
            self.permissions.set_mode(settings.permissions);
            self.confinement
                .set_plan(settings.permissions == Mode::Plan);
        }
        if settings.sandbox > self.setup.settings.sandbox && self.setup.sandbox.is_none() {
            self.setup.settings.sandbox = settings.sandbox;
            confine(&self.confinement, &self.setup);
        }
        self.setup.settings.claude_hooks = settings.claude_hooks;
        self.setup.settings.favourites = settings.favourites;
        self.setup.settings.plan_model = settings.plan_model;
        self.setup.settings.edit_model = settings.edit_model;
        self.setup.settings.allow = settings.allow;
        self.setup.settings.ask = settings.ask;
        self.setup.settings.deny = settings.deny;
        self.tell_permissions();
    }
}

fn trust_question(files: String, changed: bool) -> Question {
    let title = if changed {
        "Its files that can run code have changed. Trust this folder as it is now?"
    } else {
        "It has files that can run code: settings, hooks, plug-ins or servers. Trust this folder?"
    };
    Question {
        id: String::new(),
        origin: "this project".to_owned(),
        title: title.to_owned(),
        subject: Some(Subject::Text { text: files }),
        kind: QuestionKind::Confirm,
    }
}
