//! The end of a plugin that exceeds a limit. An error in Lua would not be enough: mlua closes the variables of the function
//! while the limits do not apply, and the handlers of these variables could run endlessly. So the thread of the plugin
//! waits for the end of the program, and nothing of the plugin runs again.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use tokio_util::sync::CancellationToken;

use super::channel::{Call, Link};
use super::discover::Source;
use super::fault;
use osier_base::problem::Problem;

/// The hint about a plugin that exceeded a limit.
pub(super) const UNTIL_RELOAD: &str = "the plugin is not called until it is reloaded";

/// Whether a plugin was halted. Shared by its thread and its callers.
#[derive(Debug)]
pub(super) struct Halt {
    name: String,
    path: PathBuf,
    chunk: String,
    link: Link,
    /// The error for the first callers.
    message: OnceLock<String>,
    pub token: CancellationToken,
}

impl Halt {
    pub(super) fn new(source: &Source, link: &Link) -> Arc<Self> {
        Arc::new(Self {
            name: source.name.clone(),
            path: source.path.clone(),
            chunk: source.chunk(),
            link: link.clone(),
            message: OnceLock::new(),
            token: CancellationToken::new(),
        })
    }

    /// Reports the reason, and answers all callers.
    pub(super) fn tell(&self, error: &mlua::Error) {
        let mut problem = fault::problem(&self.path, &self.chunk, error);
        UNTIL_RELOAD.clone_into(&mut problem.hint);
        let text = fault::text(&problem, &self.chunk);
        let message = format!("the plugin `{}` failed: {text}", self.name);
        if self.message.set(message).is_ok() {
            self.link.report(problem);
        }
        self.token.cancel();
    }

    /// Ends the thread's work.
    pub(super) fn halt(&self, error: &mlua::Error) -> ! {
        self.tell(error);
        loop {
            std::thread::park();
        }
    }

    /// The answer to a call that waited.
    pub(super) fn message(&self) -> String {
        self.message.get().cloned().unwrap_or_default()
    }

    /// The answer to a call of a plugin whose thread is gone.
    pub(super) fn ended(&self) -> String {
        format!("the plugin `{}` has ended", self.name)
    }

    /// The answer to a later call.
    pub(super) fn refusal(&self) -> String {
        format!("the plugin `{}` was stopped: reload it", self.name)
    }

    /// Reports a later call that nobody waits for.
    pub(super) fn refuse(&self, call: &Call) {
        if matches!(call, Call::Command { .. } | Call::Key { .. }) {
            let problem = Problem::of_file(&self.path, self.refusal(), "");
            self.link.report(problem);
        }
    }
}
