//! How features report to clients: events, notices, and the request that caused them.
//!
//! A request that a client numbers is active while the actor or background work handles it: each
//! [`Emitter`] and [`Callback`] made for it holds a share of its [`ActiveRequest`]. Notices carry
//! the number, and when the last share is dropped `Event::OpEnded` reports that nothing more
//! follows. Work that outlives its request uses [`Emitter::detached`].

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use osier_agent::{Publisher, Severity, Subscription};
use osier_base::problem::Problem;
use osier_base::secrets::hide_known;
use osier_protocol::Event;

use crate::run_log::RunLog;

/// Publishes events for the current request. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Emitter {
    publisher: Arc<Publisher<Event>>,
    mailbox: Arc<dyn Mailbox>,
    request: Option<Arc<ActiveRequest>>,
    log: RunLog,
}

/// The actor's queue as background work sees it.
pub(crate) trait Mailbox: fmt::Debug + Send + Sync {
    /// Queues an event that the actor publishes on behalf of `request`.
    fn post(&self, event: Event, request: Option<Arc<ActiveRequest>>);
}

/// A request whose outcome a client waits for.
#[derive(Debug)]
pub(crate) struct ActiveRequest {
    number: u64,
    /// The agent continues with it.
    with_agent: AtomicBool,
    mailbox: Arc<dyn Mailbox>,
}

impl Emitter {
    pub(crate) fn new(publisher: Arc<Publisher<Event>>, mailbox: Arc<dyn Mailbox>) -> Self {
        Self {
            publisher,
            mailbox,
            request: None,
            log: RunLog::default(),
        }
    }

    /// Publishes an event at once.
    pub(crate) fn publish(&self, mut event: Event) {
        let number = self.request.as_ref().map(|active| active.number);
        let mut with_number = None;
        match &mut event {
            Event::Notice { request, .. } => *request = number.or(*request),
            _ => with_number = number.map(|request| Event::OpEvent { request }),
        }
        self.log.write(&event);
        match with_number {
            Some(number) => self.publisher.publish_pair(number, event),
            None => self.publisher.publish(event),
        }
    }

    /// The log of the open session.
    pub(crate) fn log(&self) -> &RunLog {
        &self.log
    }

    /// Publishes a notice at once.
    pub(crate) fn notice(&self, severity: Severity, text: impl Into<String>) {
        self.publish(notice(severity, text));
    }

    /// Publishes problems of files as warnings.
    pub(crate) fn problems(&self, problems: &[Problem]) {
        for problem in problems {
            self.notice(Severity::Warning, problem.to_string());
        }
    }

    /// Publishes an event after everything that the actor has queued: for background work.
    pub(crate) fn post(&self, event: Event) {
        self.mailbox.post(event, self.request.clone());
    }

    /// Publishes a notice after everything that the actor has queued: for background work.
    pub(crate) fn post_notice(&self, severity: Severity, text: impl Into<String>) {
        self.post(notice(severity, text));
    }

    /// Every event from now on.
    pub(crate) fn subscribe(&self) -> Subscription<Event> {
        self.publisher.subscribe()
    }

    /// This emitter without a request.
    pub(crate) fn detached(&self) -> Self {
        Self {
            request: None,
            ..self.clone()
        }
    }

    /// Records that the agent continues with the request: further events come after `OpEnded`.
    pub(crate) fn passed_to_agent(&self) {
        if let Some(request) = &self.request {
            request.with_agent.store(true, Ordering::Relaxed);
        }
    }

    /// The request that the actor handles.
    pub(crate) fn request(&self) -> Option<Arc<ActiveRequest>> {
        self.request.clone()
    }

    /// Makes `request` the current one; returns the one before.
    pub(crate) fn set_request(
        &mut self,
        request: Option<Arc<ActiveRequest>>,
    ) -> Option<Arc<ActiveRequest>> {
        std::mem::replace(&mut self.request, request)
    }

    /// Begins the request `number`.
    pub(crate) fn begin(&self, number: u64) -> Arc<ActiveRequest> {
        Arc::new(ActiveRequest {
            number,
            with_agent: AtomicBool::new(false),
            mailbox: Arc::clone(&self.mailbox),
        })
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        let event = Event::OpEnded {
            request: self.number,
            with_agent: *self.with_agent.get_mut(),
        };
        self.mailbox.post(event, None);
    }
}

fn notice(severity: Severity, text: impl Into<String>) -> Event {
    Event::Notice {
        severity,
        text: hide_known(&text.into()).into_owned(),
        request: None,
    }
}

/// Hands the result of background work to the actor, for the request that was current when the
/// callback was made.
pub(crate) struct Callback<T>(Arc<dyn Fn(T) + Send + Sync>);

impl<T> Callback<T> {
    pub(crate) fn new(call: impl Fn(T) + Send + Sync + 'static) -> Self {
        Self(Arc::new(call))
    }

    pub(crate) fn call(&self, value: T) {
        (self.0)(value);
    }
}

impl<T> Clone for Callback<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

osier_base::opaque_debug!(Callback<T>);
