//! Hooks beside the session: which files name them, when a session begins and ends, and when the person
//! is waited for. What happens inside of a run is theirs alone (`coding::hooks`).

use std::path::PathBuf;
use std::sync::Arc;

use tokio_util::task::AbortOnDropHandle;

use super::event::Event;
use super::host::Task;
use osier_agent::message::CustomMessage;
use osier_agent::{AgentMessage, Severity};
use osier_base::clock;
use osier_extensions::hooks::{HookFile, HookNews, SessionHooks};
use osier_permissions::trust::{Trust, project_root};
use osier_protocol::questions::{Question, QuestionKind};

/// How the session that is open came to be; the word that hooks are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    Startup,
    Clear,
    Resume,
    Fork,
}

impl Source {
    fn word(self) -> &'static str {
        match self {
            Self::Startup => "startup",
            Self::Clear => "clear",
            Self::Resume => "resume",
            Self::Fork => "fork",
        }
    }
}

/// What a host keeps for its hooks.
#[derive(Debug, Default)]
pub(super) struct HookState {
    source: Option<Source>,
    /// Tells that the person is waited for. Dropping it ends that.
    idle: Option<AbortOnDropHandle<()>>,
}

impl Task {
    /// The files that may name hooks; those of the project only when it may run code.
    fn hook_files(&self) -> Vec<HookFile> {
        let file = |path: PathBuf, of_project: bool, of_settings: bool| HookFile {
            path,
            of_project,
            of_settings,
        };
        let mut files = Vec::new();
        if self.setup.settings.claude_hooks
            && let Some(folder) = self.claude_folder()
        {
            files.push(file(folder.join("settings.json"), false, true));
        }
        files.push(file(self.setup.folders.hooks(), false, false));
        if Trust::new(&self.setup.folders).allows(&self.setup.cwd) {
            let root = project_root(&self.setup.cwd);
            for name in [".claude/settings.json", ".claude/settings.local.json"] {
                files.push(file(root.join(name), true, true));
            }
            files.push(file(root.join(".osier/hooks.json"), true, false));
        }
        files
    }

    /// Where Claude Code keeps the user's settings.
    fn claude_folder(&self) -> Option<PathBuf> {
        let variable = |name: &str| {
            let value = self.setup.environment.get(name);
            value.filter(|value| !value.is_empty()).map(PathBuf::from)
        };
        variable("CLAUDE_CONFIG_DIR").or_else(|| Some(variable("HOME")?.join(".claude")))
    }

    /// Reads the files that name hooks again; they hold at once.
    pub(super) fn load_hooks(&self) {
        for problem in self.hooks.load(&self.hook_files()) {
            self.notice(Severity::Warning, problem.to_string());
        }
    }

    /// The project may run code from now on: its hooks hold, and those that wait for a session have one.
    pub(super) fn trust_hooks(&mut self) {
        self.load_hooks();
        if let Some(source) = self.hook_state.source {
            self.start_hooks(source);
        }
    }

    pub(super) fn list_hooks(&self) {
        let hooks = self.hooks.list();
        self.publish(Event::Hooks { hooks });
    }

    fn session_hooks(&self) -> Option<Arc<SessionHooks>> {
        self.session.as_ref()?.guard.hooks().cloned()
    }

    /// A session has opened. Its first prompt waits for what hooks say to that, nothing else does.
    pub(super) fn start_hooks(&mut self, source: Source) {
        let Some(session) = &self.session else { return };
        let resumed = source == Source::Startup && session.info().resumed;
        let source = if resumed { Source::Resume } else { source };
        self.hook_state.source = Some(source);
        let Some(hooks) = self.session_hooks() else {
            return;
        };
        let (model, cwd) = (self.models.chosen().reference(), self.setup.cwd.clone());
        tokio::spawn(async move { hooks.start(source.word(), &model, &cwd).await });
    }

    /// The session is about to close: no hook holds that up.
    pub(super) fn give_up_hooks(&mut self, hooks: Option<&SessionHooks>) {
        self.hook_state.idle = None;
        if let Some(hooks) = hooks {
            hooks.give_up();
        }
    }

    /// The session closes, for this reason.
    pub(super) async fn end_hooks(&self, hooks: Option<Arc<SessionHooks>>, reason: &str) {
        if let Some(hooks) = hooks {
            hooks.end(reason, &self.setup.cwd).await;
        }
    }

    /// What hooks want to be known.
    pub(super) fn hook_news(&mut self, news: HookNews) {
        match news {
            HookNews::Notice { severity, text } => self.notice(severity, text),
            HookNews::Ran(run) => self.publish(Event::HookRan { run }),
            HookNews::Context { event, text } => {
                let Some(session) = &self.session else { return };
                let message = AgentMessage::Custom(CustomMessage {
                    kind: "hook".to_owned(),
                    text: format!("<hook event=\"{}\">\n{text}\n</hook>", event.name()),
                    display: true,
                    details: serde_json::Value::Null,
                    timestamp: clock::now_ms(),
                });
                let message = Box::new(message);
                session
                    .agent
                    .send(osier_agent::Op::AppendMessage { message });
            }
        }
    }

    /// Whoever is waited for may have gone away: hooks are told when nothing happens for a while.
    pub(super) fn await_person(&mut self, event: &Event) {
        match event {
            Event::Agent(osier_agent::Event::AgentStart) => self.hook_state.idle = None,
            Event::Agent(osier_agent::Event::AgentSettled { .. })
                if self.setup.answers_questions =>
            {
                let Some(hooks) = self.session_hooks() else {
                    return;
                };
                let (cwd, patience) = (self.setup.cwd.clone(), self.setup.idle_after);
                let telling = tokio::spawn(async move {
                    tokio::time::sleep(patience).await;
                    hooks
                        .notify("idle_prompt", "osier is waiting for your input", &cwd)
                        .await;
                });
                self.hook_state.idle = Some(AbortOnDropHandle::new(telling));
            }
            _ => {}
        }
    }

    /// A question waits.
    pub(super) fn notify_of(&self, question: &Question) {
        let Some(hooks) = self.session_hooks() else {
            return;
        };
        let (kind, message) = match &question.kind {
            QuestionKind::Permission { tool, .. } => (
                "permission_prompt",
                format!(
                    "osier needs your permission to use {}",
                    hooks.tool_name(tool)
                ),
            ),
            _ => (
                "elicitation_dialog",
                format!("{}: {}", question.origin, question.title),
            ),
        };
        let cwd = self.setup.cwd.clone();
        tokio::spawn(async move { hooks.notify(kind, &message, &cwd).await });
    }
}
