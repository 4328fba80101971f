//! Background jobs of the open session, as clients see them.

use std::sync::Arc;

use tokio_util::task::AbortOnDropHandle;

use osier_agent::{Severity, ToolUpdate, UpdateSink};
use osier_protocol::Event;
use osier_tools::{JobObserver, Workspace};

use super::subagents::Registry;
use crate::emitter::{Callback, Emitter};

/// Reports that a job has begun or ended.
pub(crate) fn observer(changed: Callback<()>) -> JobObserver {
    Arc::new(move || changed.call(()))
}

/// The view of clients on background jobs.
#[derive(Debug, Default)]
pub(crate) struct JobView {
    /// Publishes the output of one job.
    followed: Option<AbortOnDropHandle<()>>,
}

impl JobView {
    /// Publishes the jobs of the open session: commands, then subagents.
    pub(crate) fn list(
        workspace: Option<&Workspace>,
        subagents: Option<&Registry>,
        emitter: &Emitter,
    ) {
        let mut jobs = workspace
            .map(Workspace::background_jobs)
            .unwrap_or_default();
        if let Some(subagents) = subagents {
            let lost = subagents.lost_jobs(&jobs);
            jobs.splice(..0, lost);
            jobs.extend(subagents.jobs());
        }
        emitter.publish(Event::Jobs { jobs });
    }

    /// Publishes the output of the job `id` from now on, and no longer that of another.
    pub(crate) fn follow(&mut self, id: &str, workspace: &Workspace, emitter: &Emitter) {
        self.unfollow();
        let (name, output) = (id.to_owned(), emitter.detached());
        let updates = UpdateSink::new(move |update| {
            if let ToolUpdate::Output(text) = update {
                let id = name.clone();
                output.publish(Event::JobOutput { id, output: text });
            }
        });
        match workspace.follow_job(id, updates) {
            Some(follow) => {
                self.followed = Some(AbortOnDropHandle::new(osier_base::task::spawn(follow)));
            }
            None => emitter.notice(Severity::Warning, unknown(id)),
        }
    }

    pub(crate) fn unfollow(&mut self) {
        self.followed = None;
    }

    /// Kills a job; `Event::Jobs` follows when it has ended.
    pub(crate) fn kill(id: String, workspace: &Arc<Workspace>, emitter: &Emitter) {
        let (workspace, emitter) = (Arc::clone(workspace), emitter.clone());
        osier_base::task::spawn(async move {
            if !workspace.kill_job(&id).await {
                emitter.post_notice(Severity::Warning, unknown(&id));
            }
        });
    }
}

fn unknown(id: &str) -> String {
    format!("no background job with the id `{id}`")
}
