//! Hooks of a session: the files that configure them, the start and end of a session, and notifications. What happens
//! inside of a run is in `osier_extensions`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use osier_agent::{AgentMessage, Severity};
use osier_base::config_file::ConfigFile;
use osier_base::path;
use osier_base::problem::Problem;
use osier_extensions::hooks::{
    HookCheck, HookFile, HookNews, Hooks, Opening, SessionHooks, context_message,
};
use osier_permissions::trust::project_root;
use osier_protocol::Event;
use osier_protocol::questions::{Answer, Question, QuestionKind, Questions, Subject};
use tokio_util::sync::CancellationToken;

use crate::emitter::{Callback, Emitter};
use crate::safety::programs::ProgramTrust;
use crate::safety::trust;
use crate::setup::SessionSetup;
use osier_peers::PeerFolders;

/// How the open session was started, as hooks receive it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    Startup,
    Clear,
    Resume,
    Fork,
}

impl Source {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Startup => "startup",
            Self::Clear => "clear",
            Self::Resume => "resume",
            Self::Fork => "fork",
        }
    }
}

/// The configured hooks and their state in the open session.
#[derive(Debug)]
pub(crate) struct HookRunner {
    hooks: Arc<Hooks>,
    source: Option<Source>,
    /// Notifies hooks that the session is idle. Dropping it cancels that.
    idle: Option<AbortOnDropHandle<()>>,
}

impl HookRunner {
    pub(crate) fn new(
        setup: &SessionSetup,
        questions: &Questions,
    ) -> (Self, mpsc::UnboundedReceiver<HookNews>) {
        let guard = Arc::new(ProgramTrust::new(setup, questions.clone()));
        let callbacks = setup.hook_callbacks.clone();
        let (hooks, news) = Hooks::new(project_root(&setup.cwd), callbacks, Some(guard));
        let runner = Self {
            hooks,
            source: None,
            idle: None,
        };
        (runner, news)
    }

    pub(crate) fn configured(&self) -> &Arc<Hooks> {
        &self.hooks
    }

    /// Reads the files that configure hooks. Returns the problems because of which hooks are missing that could deny a
    /// call.
    pub(crate) fn load(&self, setup: &SessionSetup, emitter: &Emitter) -> Vec<Problem> {
        let (problems, faults) = self.hooks.load(&files(setup));
        emitter.problems(&problems);
        faults
    }

    pub(crate) fn list(&self, emitter: &Emitter) {
        let hooks = self.hooks.list();
        emitter.publish(Event::Hooks { hooks });
    }

    /// Stops the hooks that run.
    pub(crate) fn interrupt(&self) {
        self.hooks.interrupt();
    }

    /// How the open session was started.
    pub(crate) fn source(&self) -> Option<Source> {
        self.source
    }

    /// A session has opened. Its first prompt waits for the hooks.
    pub(crate) fn start(
        &mut self,
        source: Source,
        hooks: Option<Arc<SessionHooks>>,
        opening: Opening,
    ) {
        self.source = Some(source);
        if let Some(hooks) = hooks {
            osier_base::task::spawn(async move { hooks.start(opening).await });
        }
    }

    /// The session is about to close and waits for no hook.
    pub(crate) fn give_up(&mut self, hooks: Option<&SessionHooks>) {
        self.idle = None;
        if let Some(hooks) = hooks {
            hooks.give_up();
        }
    }

    /// Notifies hooks when nothing happens for a while after a run.
    pub(crate) fn on_event(
        &mut self,
        event: &Event,
        hooks: Option<&Arc<SessionHooks>>,
        setup: &SessionSetup,
    ) {
        match event {
            Event::Agent(osier_agent::Event::AgentStart) => self.idle = None,
            Event::Agent(osier_agent::Event::AgentSettled { .. }) if setup.answers_questions => {
                let Some(hooks) = hooks.cloned() else { return };
                let (cwd, delay) = (setup.cwd.clone(), setup.idle_after);
                let notifying = osier_base::task::spawn(async move {
                    tokio::time::sleep(delay).await;
                    hooks
                        .notify("idle_prompt", "osier is waiting for your input", &cwd)
                        .await;
                });
                self.idle = Some(AbortOnDropHandle::new(notifying));
            }
            _ => {}
        }
    }
}

/// The problems because of which hooks are missing that could deny a call.
pub(crate) fn check(setup: &SessionSetup) -> Vec<Problem> {
    Hooks::check(&files(setup))
}

/// Checks the configured hooks without running them.
pub async fn check_hooks(setup: &SessionSetup) -> HookCheck {
    Hooks::check_all(&files(setup), &setup.cwd, &project_root(&setup.cwd)).await
}

/// The files that can configure hooks. Files of the project are included only if it is trusted.
fn files(setup: &SessionSetup) -> Vec<HookFile> {
    let file = |file: ConfigFile, of_project: bool, of_settings: bool| HookFile {
        file,
        of_project,
        of_settings,
    };
    let mut files = Vec::new();
    if setup.settings.claude_hooks == Some(true)
        && let Some(path) = claude_settings(setup)
    {
        files.push(file(path.into(), false, true));
    }
    files.push(file(setup.folders.hooks().into(), false, false));
    let trusted = trust::trusted_files(setup);
    for (name, of_settings) in [
        (".claude/settings.json", true),
        (".claude/settings.local.json", true),
        (".osier/hooks.json", false),
    ] {
        files.extend(
            trusted
                .get(name)
                .map(|found| file(found, true, of_settings)),
        );
    }
    files
}

/// The user's settings of Claude Code.
fn claude_settings(setup: &SessionSetup) -> Option<PathBuf> {
    let peers = PeerFolders::of(&setup.folders.environment)?;
    Some(peers.claude.join("settings.json"))
}

/// Asks whether the hooks in the user's settings of Claude Code run, if there are any and the user has not decided.
pub(crate) fn ask_about_claude(
    setup: &SessionSetup,
    questions: Questions,
    emitter: Emitter,
    decided: Callback<bool>,
) {
    let Some(path) = claude_settings(setup).filter(|_| setup.settings.claude_hooks.is_none())
    else {
        return;
    };
    let interactive = setup.answers_questions;
    osier_base::task::spawn(async move {
        let file = HookFile {
            file: path.clone().into(),
            of_project: false,
            of_settings: true,
        };
        let found = osier_base::task::spawn_blocking(move || Hooks::described(&file)).await;
        let found = found.unwrap_or_default();
        if found.is_empty() {
            return;
        }
        let shown = path::below_home(&path);
        if !interactive {
            let what = match found.len() {
                1 => format!("the hook in `{shown}` does not run"),
                count => format!("the {count} hooks in `{shown}` do not run"),
            };
            let text = format!("{what}; set `claude_hooks` to true or false in `settings.toml`");
            return emitter.post_notice(Severity::Warning, text);
        }
        let question = Question {
            id: String::new(),
            origin: "Claude Code".to_owned(),
            subagent: None,
            title: format!("`{shown}` has hooks. Run them in osier, too?"),
            subject: Some(Subject::Text {
                text: found.join("\n"),
            }),
            kind: QuestionKind::Confirm,
        };
        match questions.ask(question, &CancellationToken::new()).await {
            Answer::Yes => decided.call(true),
            Answer::Refuse { .. } => decided.call(false),
            _ => {}
        }
    });
}

/// Publishes what hooks report. Returns the context that one adds to the conversation.
pub(crate) fn publish(news: HookNews, emitter: &Emitter) -> Option<AgentMessage> {
    match news {
        HookNews::Notice { severity, text } => emitter.notice(severity, text),
        // The actor applies them.
        HookNews::Variables(_) => {}
        HookNews::Ran(run) => emitter.publish(Event::HookRan { run }),
        HookNews::Context { event, text } => return Some(context_message(event, &text)),
    }
    None
}

/// Notifies hooks of a pending question.
pub(crate) fn notify_of_question(hooks: Arc<SessionHooks>, question: &Question, cwd: &Path) {
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
    let cwd = cwd.to_owned();
    osier_base::task::spawn(async move { hooks.notify(kind, &message, &cwd).await });
}
