//! Who asked: an op that came through `Host::ask` has a number, and what comes of it is told with it.
//!
//! While such an op is done, every `Jobs` that is handed to work beside the task carries a share of its
//! [`Asked`], and so does what that work sends back. A notice that is told on its behalf names the number;
//! when the last share is gone nothing more comes of the op, and `Event::OpEnded` says so. Whoever keeps a
//! `Jobs` for longer than the op takes `Jobs::own`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::mpsc;

use super::event::Event;
use super::host::{Job, Task};
use super::op::Op;

/// The way back to the host's task.
#[derive(Debug, Clone)]
pub(super) struct Jobs {
    sender: mpsc::UnboundedSender<Posted>,
    asked: Option<Arc<Asked>>,
}

/// What came back, and on whose behalf.
#[derive(Debug)]
pub(super) struct Posted {
    job: Job,
    asked: Option<Arc<Asked>>,
}

/// The task has ended: nobody takes what was sent.
#[derive(Debug)]
pub(super) struct Ended;

/// An op that somebody waits for.
#[derive(Debug)]
pub(super) struct Asked {
    request: u64,
    /// The agent, or another task, goes on with it.
    with_agent: AtomicBool,
    sender: mpsc::UnboundedSender<Posted>,
}

impl Jobs {
    pub(super) fn new() -> (Self, mpsc::UnboundedReceiver<Posted>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let asked = None;
        (Self { sender, asked }, receiver)
    }

    pub(super) fn send(&self, job: Job) -> Result<(), Ended> {
        let asked = self.asked.clone();
        self.sender.send(Posted { job, asked }).map_err(|_| Ended)
    }

    /// The same way on nobody's behalf.
    pub(super) fn own(&self) -> Self {
        Self {
            sender: self.sender.clone(),
            asked: None,
        }
    }

    /// For whom the task works at the moment.
    pub(super) fn asked(&self) -> Option<Arc<Asked>> {
        self.asked.clone()
    }

    /// The agent, or another task, has been told of it: what it says comes later than the end of the op.
    pub(super) fn passed_on(&self) {
        if let Some(asked) = &self.asked {
            asked.with_agent.store(true, Ordering::Relaxed);
        }
    }

    fn number(&self, request: u64) -> Arc<Asked> {
        Arc::new(Asked {
            request,
            with_agent: AtomicBool::new(false),
            sender: self.sender.clone(),
        })
    }

    /// A notice says on whose behalf it is told.
    fn stamp(&self, event: &mut Event) {
        if let (Event::HostNotice { request, .. }, Some(asked)) = (event, &self.asked) {
            *request = Some(asked.request);
        }
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        let event = Event::OpEnded {
            request: self.request,
            with_agent: *self.with_agent.get_mut(),
        };
        // A task that has ended tells nobody.
        let _ = self.sender.send(Posted {
            job: Job::Publish(Box::new(event)),
            asked: None,
        });
    }
}

impl Task {
    pub(super) fn publish(&self, mut event: Event) {
        self.jobs.stamp(&mut event);
        self.publisher.publish(event);
    }

    /// Does what was asked for under a number, or said without one.
    pub(super) async fn receive(&mut self, request: Option<u64>, op: Op) {
        let asked = request.map(|request| self.jobs.number(request));
        self.apply_for(asked, op).await;
    }

    /// Does what had to wait.
    pub(super) async fn apply_waiting(&mut self) {
        for (asked, op) in std::mem::take(&mut self.waiting) {
            Box::pin(self.apply_for(asked, op)).await;
        }
    }

    async fn apply_for(&mut self, asked: Option<Arc<Asked>>, op: Op) {
        let before = std::mem::replace(&mut self.jobs.asked, asked);
        self.apply(op).await;
        self.jobs.asked = before;
    }

    /// Takes what came back.
    pub(super) async fn take(&mut self, posted: Posted) {
        let Posted { job, asked } = posted;
        let before = std::mem::replace(&mut self.jobs.asked, asked);
        self.finish(job).await;
        self.jobs.asked = before;
    }
}
