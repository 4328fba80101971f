//! Work beside the task that only tells: where one is, what there is. Each answers by an event.

use std::sync::Arc;

use super::event::Event;
use super::host::{Job, Task};
use super::session::OpenSession;
use crate::history;
use crate::models::discover;
use osier_agent::Severity;
use osier_tools::files;

impl Task {
    /// Work that may come after the first paint: the branch, local servers.
    pub(super) fn look_around(&self) {
        let (cwd, jobs) = (self.setup.cwd.clone(), self.jobs.clone());
        tokio::task::spawn_blocking(move || {
            let event = super::workspace::describe(&cwd);
            let _ = jobs.send(Job::Publish(Box::new(event)));
        });
        self.refresh_models();
        if !self.setup.settings.discover_local_models {
            return;
        }
        let jobs = self.jobs.clone();
        tokio::spawn(async move {
            let _ = jobs.send(Job::Discovered(discover().await));
        });
    }

    pub(super) fn list_sessions(&self, all: bool) {
        let (setup, jobs) = (self.setup.clone(), self.jobs.clone());
        tokio::task::spawn_blocking(move || {
            let event = Event::Sessions {
                all,
                sessions: OpenSession::list(&setup, all),
            };
            let _ = jobs.send(Job::Publish(Box::new(event)));
        });
    }

    pub(super) fn list_files(&self) {
        let (cwd, jobs, walk) = (self.setup.cwd.clone(), self.jobs.clone(), self.walk.clone());
        tokio::task::spawn_blocking(move || {
            let show = |paths: &[String]| {
                // A program that asks has one answer.
                if jobs.asked().is_none() {
                    let event = Event::Files {
                        paths: Arc::new(paths.to_vec()),
                        complete: false,
                    };
                    let _ = jobs.send(Job::Publish(Box::new(event)));
                }
            };
            let (paths, complete) = files::list(&cwd, &walk, show);
            let event = Event::Files {
                paths: Arc::new(paths),
                complete,
            };
            let _ = jobs.send(Job::Publish(Box::new(event)));
        });
    }

    pub(super) fn list_history(&self) {
        let (path, jobs) = (self.setup.folders.history(), self.jobs.clone());
        tokio::task::spawn_blocking(move || {
            let event = Event::History {
                prompts: history::load(&path),
            };
            let _ = jobs.send(Job::Publish(Box::new(event)));
        });
    }

    pub(super) fn add_history(&self, text: &str) {
        let path = self.setup.folders.history();
        if let Err(error) = history::append(&path, text) {
            let path = path.display();
            let text = format!("the prompt was not remembered in `{path}`: {error}");
            self.notice(Severity::Warning, text);
        }
    }
}
