//! Watchers: the model gets a message when the output of a terminal or a background job matches, or when it ends.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use osier_base::text::{head_bytes, single_line};
use regex::Regex;
use tokio_util::task::AbortOnDropHandle;

use crate::commands::jobs::Job;
use crate::commands::outcome::describe;
use crate::terminal::{Search, TerminalChange, TerminalObserver, TerminalSession};
use crate::workspace::Workspace;

/// Watchers of a session.
const MAX_WATCHERS: usize = 16;
/// Bytes of a line in a message.
const LINE: usize = 500;
/// Time between two searches.
const PAUSE: Duration = Duration::from_millis(100);

impl Workspace {
    /// Reports once when new output of the terminal or job `id` matches `regex`, or when it ends.
    pub(super) fn watch(&self, id: &str, regex: Regex) -> Result<(), String> {
        let Some(observer) = self.terminals.observer.clone() else {
            return Err("watching is not available here".to_owned());
        };
        let mut watchers = self
            .terminals
            .watchers
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        watchers.retain(|watcher| !watcher.is_finished());
        if watchers.len() >= MAX_WATCHERS {
            return Err("too many watchers are active".to_owned());
        }
        let watcher = Watcher { regex, observer };
        let task = if let Some(job) = self.commands.jobs.find(id) {
            osier_base::task::spawn(watcher.watch_job(job))
        } else {
            let terminal = self.known_terminal(id)?;
            let search = terminal.search(watcher.regex.clone());
            osier_base::task::spawn(watcher.watch_terminal(terminal, search))
        };
        watchers.push(AbortOnDropHandle::new(task));
        Ok(())
    }
}

struct Watcher {
    regex: Regex,
    observer: TerminalObserver,
}

impl Watcher {
    async fn watch_terminal(self, terminal: Arc<TerminalSession>, search: Arc<Search>) {
        let mut progress = terminal.progress();
        loop {
            let ended = progress.borrow_and_update().ended;
            let found = terminal.found(&search);
            if self.report(&terminal.id, found.iter().map(String::as_str)) {
                return;
            }
            if let Some(exit) = ended {
                return self.end(&format!("{}: {}", terminal.id, describe(exit)));
            }
            if progress.changed().await.is_err() {
                return;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn watch_job(self, job: Arc<Job>) {
        let mut at = None;
        loop {
            let is_running = job.is_running();
            let (text, next) = job.text_since(at);
            // A line may be incomplete: it is searched again with its end.
            at = Some(next);
            if self.report(&job.id, text.lines()) {
                return;
            }
            if !is_running {
                return self.end(&job.status());
            }
            job.grown_or_ended().await;
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Reports the first line that matches; whether there is one.
    fn report<'a>(&self, id: &str, mut lines: impl Iterator<Item = &'a str>) -> bool {
        let Some(line) = lines.find(|line| self.regex.is_match(line)) else {
            return false;
        };
        let line = single_line(line);
        let line = head_bytes(&line, LINE);
        self.send(format!(
            "{id} printed a line that matches `{}`: {line}",
            self.regex
        ));
        true
    }

    fn end(&self, status: &str) {
        self.send(format!("{status}; nothing matched `{}`", self.regex));
    }

    fn send(&self, text: String) {
        (self.observer)(TerminalChange::Watched(text));
    }
}
