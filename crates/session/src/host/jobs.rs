//! The background jobs of the open session, for whoever looks at them.

use std::sync::Arc;

use tokio_util::task::AbortOnDropHandle;

use super::asked::Jobs;
use super::event::Event;
use super::host::{Job, Task};
use osier_agent::{Severity, ToolUpdate, UpdateSink};
use osier_tools::JobObserver;

/// Tells the host's task that a job has begun or ended.
pub(super) fn observer(jobs: Jobs) -> JobObserver {
    Arc::new(move || {
        // A host that has ended has nobody to tell.
        let _ = jobs.send(Job::JobsChanged);
    })
}

impl Task {
    pub(super) fn list_jobs(&self) {
        let session = self.session.as_ref();
        let jobs = session.map(|session| session.workspace.background_jobs());
        self.publish(Event::Jobs {
            jobs: jobs.unwrap_or_default(),
        });
    }

    /// Sends the output of one job as it comes, and no longer that of another.
    pub(super) fn follow_job(&mut self, id: Option<String>) {
        self.followed_job = None;
        let (Some(id), Some(session)) = (id, &self.session) else {
            return;
        };
        let (name, publisher) = (id.clone(), Arc::clone(&self.publisher));
        let updates = UpdateSink::new(move |update| {
            let ToolUpdate::Output(output) = update else {
                return;
            };
            let id = id.clone();
            publisher.publish(Event::JobOutput { id, output });
        });
        match session.workspace.follow_job(&name, updates) {
            Some(follow) => {
                self.followed_job = Some(AbortOnDropHandle::new(tokio::spawn(follow)));
            }
            None => self.notice(Severity::Warning, format!("there is no job `{name}`")),
        }
    }

    /// Kills a job; `Event::Jobs` tells when it is gone.
    pub(super) fn kill_job(&self, id: String) {
        let Some(session) = &self.session else { return };
        let workspace = Arc::clone(&session.workspace);
        let jobs = self.jobs.clone();
        tokio::spawn(async move {
            if !workspace.kill_job(&id).await {
                let notice = Event::HostNotice {
                    severity: Severity::Warning,
                    text: format!("there is no job `{id}`"),
                    request: None,
                };
                // The host may have ended.
                let _ = jobs.send(Job::Publish(Box::new(notice)));
            }
        });
    }
}
