//! Hooks: programs of the user, and of a trusted project, that are asked or told at fixed moments. The
//! contract is that of Claude Code, so that scripts written for it work as they are: JSON on the standard
//! input, exit code 2 blocks, JSON or text on the standard output (`said`).
//!
//! [`Hooks`] is what a host has of them, [`SessionHooks`] adds what a session knows, and [`AgentHooks`]
//! stands in the loop of one agent. Nothing here fails a run: what a hook does wrong is one line for the
//! person. Hooks run unconfined; they are the user's own.

mod agent;
mod config;
pub mod event;
mod matcher;
mod names;
mod response;
mod run;
mod said;
mod session;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

pub use agent::{AgentHooks, Role};
use config::Handler;
pub use config::HookFile;
pub use event::HookEvent;
use osier_agent::Severity;
use osier_base::problem::Problem;
pub use session::SessionHooks;

/// The hooks of a host. The list changes when the files are read again; whoever holds this sees it.
#[derive(Debug)]
pub struct Hooks {
    /// What `CLAUDE_PROJECT_DIR` says.
    root: PathBuf,
    news: mpsc::UnboundedSender<HookNews>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    handlers: Arc<Vec<Arc<Handler>>>,
    /// How each went last.
    last: HashMap<Key, LastRun>,
    /// Fires when the user interrupts: whoever waits for a hook waits no more.
    interrupt: CancellationToken,
}

/// What makes two hooks the same.
type Key = (HookEvent, String, Option<Vec<String>>);

/// What is told of hooks.
#[derive(Debug)]
pub enum HookNews {
    /// Something the person should know.
    Notice { severity: Severity, text: String },
    /// For the model, now.
    Context { event: HookEvent, text: String },
    /// One has run.
    Ran(Box<HookRun>),
}

/// One run of a hook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct HookRun {
    pub event: HookEvent,
    pub command: String,
    #[serde(flatten)]
    pub run: LastRun,
}

/// How a hook went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LastRun {
    /// One word or two: `ok`, `blocked`, `failed`, `allowed`, `asks`, `rewrote`, `added context`,
    /// `stopped`, `interrupted`, `goes on`.
    pub outcome: String,
    /// The reason, or what went wrong; may be empty.
    pub message: String,
    pub duration_ms: u64,
}

/// A hook as a list shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct HookInfo {
    pub event: HookEvent,
    /// Empty for every call or kind.
    pub matcher: String,
    pub command: String,
    /// The file that names it.
    pub file: String,
    /// Not set before it has run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<LastRun>,
}

impl Hooks {
    /// None yet, for the project at `root`; what is to be told comes out at the other end.
    pub fn new(root: PathBuf) -> (Arc<Self>, mpsc::UnboundedReceiver<HookNews>) {
        let (news, told) = mpsc::unbounded_channel();
        let hooks = Self {
            root,
            news,
            state: Mutex::default(),
        };
        (Arc::new(hooks), told)
    }

    /// Takes what stands in `files` now; what is wrong there. Blocks.
    pub fn load(&self, files: &[HookFile]) -> Vec<Problem> {
        let config = config::load(files);
        self.lock().handlers = Arc::new(config.handlers);
        config.problems
    }

    /// Gives up whatever is waited for.
    pub fn interrupt(&self) {
        let running = std::mem::take(&mut self.lock().interrupt);
        running.cancel();
    }

    /// Every hook in the order of the files.
    pub fn list(&self) -> Vec<HookInfo> {
        let state = self.lock();
        let listed = state.handlers.iter().map(|handler| HookInfo {
            event: handler.event,
            matcher: handler.matcher.text(),
            command: shown(handler),
            file: handler.file.to_string_lossy().into_owned(),
            last: state.last.get(&key(handler)).cloned(),
        });
        listed.collect()
    }

    /// Whether any hook waits for the event.
    fn has(&self, event: HookEvent) -> bool {
        let state = self.lock();
        state.handlers.iter().any(|handler| handler.event == event)
    }

    fn handlers(&self) -> Arc<Vec<Arc<Handler>>> {
        Arc::clone(&self.lock().handlers)
    }

    fn interrupted(&self) -> CancellationToken {
        self.lock().interrupt.clone()
    }

    /// Remembers how one went and tells it.
    fn note(&self, handler: &Handler, run: LastRun) {
        self.lock().last.insert(key(handler), run.clone());
        self.tell(HookNews::Ran(Box::new(HookRun {
            event: handler.event,
            command: shown(handler),
            run,
        })));
    }

    fn warn(&self, text: String) {
        let severity = Severity::Warning;
        self.tell(HookNews::Notice { severity, text });
    }

    fn tell(&self, news: HookNews) {
        // A host that has ended wants to hear nothing.
        let _ = self.news.send(news);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(handler: &Handler) -> Key {
    (handler.event, handler.command.clone(), handler.args.clone())
}

/// The command with its arguments.
fn shown(handler: &Handler) -> String {
    let args = handler.args.iter().flatten().map(String::as_str);
    let words: Vec<&str> = std::iter::once(handler.command.as_str())
        .chain(args)
        .collect();
    words.join(" ")
}
