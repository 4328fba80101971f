//! The subagents of a session, as clients see and control them.

use parking_lot::Mutex;
use std::sync::{Arc, Weak};

use osier_agent::Severity;
use osier_protocol::{Event, JobInfo, SubagentInfo, SubagentOp, SubagentStatus};
use tokio_util::task::AbortOnDropHandle;

use super::news::{List, Reporter, SubagentNews};
use super::subagent::Subagent;
use crate::emitter::{Callback, Emitter};

/// Subagents in the list, running or ended; the oldest that ended is removed first.
const MAX_LISTED: usize = 32;

/// The list of a session's subagents.
#[derive(Debug)]
pub(crate) struct Registry {
    list: Mutex<Listed>,
    reporter: Reporter,
    /// Locked while the list is published, so that no older list follows a newer one.
    publishing: Mutex<()>,
}

#[derive(Debug, Default)]
struct Listed {
    entries: Vec<Entry>,
    started: usize,
}

#[derive(Debug)]
struct Entry {
    subagent: Arc<Subagent>,
    /// Its work, which ends with the session.
    _work: AbortOnDropHandle<()>,
}

impl Registry {
    pub(crate) fn new(session: &str, emitter: Emitter, news: Callback<SubagentNews>) -> Arc<Self> {
        Arc::new_cyclic(|list: &Weak<Self>| Self {
            list: Mutex::default(),
            reporter: Reporter {
                session: session.to_owned(),
                emitter,
                news,
                list: list.clone() as Weak<dyn List>,
            },
            publishing: Mutex::default(),
        })
    }

    /// The id of the next subagent, and its reporter.
    pub(super) fn next(&self) -> (String, Reporter) {
        let mut list = self.list.lock();
        list.started += 1;
        (format!("agent{}", list.started), self.reporter.clone())
    }

    /// Lists a subagent whose work has begun.
    pub(super) fn add(&self, subagent: Arc<Subagent>, work: AbortOnDropHandle<()>) {
        let mut list = self.list.lock();
        if list.entries.len() >= MAX_LISTED {
            let mut entries = list.entries.iter();
            if let Some(ended) = entries.position(|entry| !entry.subagent.info().is_active()) {
                list.entries.remove(ended);
            }
        }
        list.entries.push(Entry {
            subagent,
            _work: work,
        });
        drop(list);
        self.publish();
    }

    fn all(&self) -> Vec<Arc<Subagent>> {
        let list = self.list.lock();
        let all = list.entries.iter();
        all.map(|entry| Arc::clone(&entry.subagent)).collect()
    }

    fn infos(&self) -> Vec<SubagentInfo> {
        self.all().iter().map(|subagent| subagent.info()).collect()
    }

    /// Whether it lists a subagent with this id.
    pub(crate) fn has(&self, id: &str) -> bool {
        self.all().iter().any(|subagent| subagent.id == id)
    }

    /// The subagents in the background as jobs.
    pub(crate) fn jobs(&self) -> Vec<JobInfo> {
        let infos = self.infos().into_iter();
        let jobs = infos.filter(|info| info.background).map(|info| JobInfo {
            running: info.is_active(),
            exit_code: match info.status {
                SubagentStatus::Done => Some(0),
                SubagentStatus::Failed | SubagentStatus::Stopped => Some(1),
                _ => None,
            },
            id: info.id,
            command: info.task,
            started_at: info.started_at,
            duration: info.duration,
            ..JobInfo::default()
        });
        jobs.collect()
    }

    /// Stops all subagents.
    pub(crate) fn close(&self) {
        for subagent in self.all() {
            let _ = subagent.stop();
        }
    }

    /// Handles a request about subagents.
    pub(crate) fn handle(&self, op: SubagentOp, emitter: &Emitter) {
        let find = |id: &str| {
            let found = self.all().into_iter().find(|subagent| subagent.id == id);
            found.ok_or_else(|| format!("no subagent with the id `{id}`"))
        };
        let done = match op {
            SubagentOp::ListSubagents => {
                let _publishing = self.publishing.lock();
                let subagents = self.infos();
                emitter.publish(Event::Subagents { subagents });
                Ok(())
            }
            SubagentOp::FollowSubagent { subagent } => {
                find(&subagent).map(|subagent| subagent.follow(emitter))
            }
            SubagentOp::UnfollowSubagent { subagent } => {
                find(&subagent).map(|subagent| subagent.unfollow())
            }
            SubagentOp::SteerSubagent { subagent, text } => {
                find(&subagent).and_then(|subagent| subagent.steer(text))
            }
            SubagentOp::StopSubagent { subagent } => {
                find(&subagent).and_then(|subagent| subagent.stop())
            }
            SubagentOp::MoveSubagentToBackground { subagent } => {
                find(&subagent).and_then(|subagent| subagent.move_to_background())
            }
        };
        if let Err(text) = done {
            emitter.notice(Severity::Warning, text);
        }
    }
}

impl List for Registry {
    fn publish(&self) {
        let _publishing = self.publishing.lock();
        let subagents = self.infos();
        self.reporter.publish(Event::Subagents { subagents });
    }
}
