//! The subagents of a session, as clients see and control them.

use async_trait::async_trait;
use parking_lot::Mutex;
use std::sync::{Arc, Weak};

use osier_agent::{AgentAccess, AgentMessage, Interceptor, Severity};
use osier_protocol::{Event, JobInfo, SubagentInfo, SubagentOp, SubagentStatus};
use tokio_util::task::AbortOnDropHandle;

use super::news::{List, NewsKind, Reporter, SubagentNews};
use super::subagent::Subagent;
use crate::agents::lost_work::LostWork;
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
    /// Subagents of an earlier run of osier whose end is not known.
    lost: Vec<SubagentInfo>,
    /// Jobs of an earlier run of osier whose end is not known.
    lost_jobs: Vec<JobInfo>,
    /// Tells the model of them with the next request.
    reminder: Option<AgentMessage>,
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
        self.reporter.send(NewsKind::JobsChanged);
    }

    fn all(&self) -> Vec<Arc<Subagent>> {
        let list = self.list.lock();
        let all = list.entries.iter();
        all.map(|entry| Arc::clone(&entry.subagent)).collect()
    }

    /// Lists the work that an earlier run of osier lost. `started` is the number of subagents that it started.
    pub(crate) fn set_lost(&self, lost: LostWork) {
        let mut list = self.list.lock();
        list.started = list.started.max(lost.started);
        list.reminder = lost.reminder();
        let lives = |id: &str| list.entries.iter().any(|entry| entry.subagent.id == id);
        let subagents = lost.subagents.into_iter().filter(|info| !lives(&info.id));
        let subagents = subagents.collect();
        list.lost = subagents;
        list.lost_jobs = lost.jobs;
        let is_empty = list.lost.is_empty() && list.lost_jobs.is_empty();
        drop(list);
        if !is_empty {
            self.publish();
            self.reporter.send(NewsKind::JobsChanged);
        }
    }

    /// The jobs that an earlier run of osier lost, without those whose id is in use again.
    pub(crate) fn lost_jobs(&self, known: &[JobInfo]) -> Vec<JobInfo> {
        let lost = self.list.lock().lost_jobs.clone();
        let is_known = |job: &JobInfo| known.iter().any(|known| known.id == job.id);
        lost.into_iter().filter(|job| !is_known(job)).collect()
    }

    fn infos(&self) -> Vec<SubagentInfo> {
        let mut infos = self.list.lock().lost.clone();
        infos.extend(self.all().iter().map(|subagent| subagent.info()));
        infos
    }

    /// Whether it lists a subagent with this id.
    pub(crate) fn has(&self, id: &str) -> bool {
        self.infos().iter().any(|info| info.id == id)
    }

    /// The subagents as jobs.
    pub(crate) fn jobs(&self) -> Vec<JobInfo> {
        let jobs = self.infos().into_iter().map(|info| JobInfo {
            running: info.is_active(),
            lost: info.status == SubagentStatus::Lost,
            foreground: !info.background,
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

    /// Sends the subagents that a call waits for to the background. Returns their ids.
    pub(crate) fn move_all_to_background(&self) -> Vec<String> {
        let all = self.all().into_iter();
        let waited = all.filter(|subagent| !subagent.info().background);
        let moved = waited.filter(|subagent| subagent.move_to_background().is_ok());
        moved.map(|subagent| subagent.id.clone()).collect()
    }

    /// Stops all subagents.
    pub(crate) fn close(&self) {
        for subagent in self.all() {
            let _ = subagent.stop();
        }
    }

    /// Handles a request about subagents.
    pub(crate) fn handle(&self, op: SubagentOp, emitter: &Emitter) {
        let is_lost = |id: &str| self.list.lock().lost.iter().any(|lost| lost.id == id);
        let find = |id: &str| {
            if is_lost(id) {
                return Err(format!("{id} was lost when osier ended"));
            }
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
            // Its conversation was only in memory.
            SubagentOp::FollowSubagent { subagent } if is_lost(&subagent) => {
                emitter.publish(Event::SubagentTranscript {
                    subagent,
                    skipped: 0,
                    events: Vec::new(),
                });
                Ok(())
            }
            SubagentOp::UnfollowSubagent { subagent } if is_lost(&subagent) => Ok(()),
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

#[async_trait]
impl Interceptor for Registry {
    async fn reminders(&self, _: &dyn AgentAccess) -> Vec<AgentMessage> {
        self.list.lock().reminder.take().into_iter().collect()
    }
}

impl List for Registry {
    fn publish(&self) {
        let _publishing = self.publishing.lock();
        let subagents = self.infos();
        self.reporter.publish(Event::Subagents { subagents });
    }
}
