//! The actor's queue for the results of background work, and the requests it works for.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::dispatch::{Actor, Completion};
use crate::emitter::{ActiveRequest, Callback, Mailbox};
use osier_agent::Severity;
use osier_protocol::{Event, Op};

/// Sends results to the actor. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Queue(mpsc::UnboundedSender<Delivery>);

/// A result, and the request it belongs to.
#[derive(Debug)]
pub(super) struct Delivery {
    completion: Completion,
    request: Option<Arc<ActiveRequest>>,
}

impl Queue {
    pub(super) fn new() -> (Self, mpsc::UnboundedReceiver<Delivery>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (Self(sender), receiver)
    }

    fn send(&self, completion: Completion, request: Option<Arc<ActiveRequest>>) {
        // An actor that has ended needs no results.
        let _ = self.0.send(Delivery {
            completion,
            request,
        });
    }

    /// A callback that sends `completion` of its value, on behalf of `request`.
    pub(super) fn callback<T: 'static>(
        &self,
        request: Option<Arc<ActiveRequest>>,
        completion: impl Fn(T) -> Completion + Send + Sync + 'static,
    ) -> Callback<T> {
        let queue = self.clone();
        Callback::new(move |value| queue.send(completion(value), request.clone()))
    }
}

impl Mailbox for Queue {
    fn post(&self, event: Event, request: Option<Arc<ActiveRequest>>) {
        self.send(Completion::Publish(Box::new(event)), request);
    }
}

impl Actor {
    pub(super) fn publish(&self, event: Event) {
        self.emitter.publish(event);
    }

    pub(super) fn notice(&self, severity: Severity, text: impl Into<String>) {
        self.emitter.notice(severity, text);
    }

    /// A callback for work of the current request.
    pub(super) fn callback<T: 'static>(
        &self,
        completion: impl Fn(T) -> Completion + Send + Sync + 'static,
    ) -> Callback<T> {
        self.queue.callback(self.emitter.request(), completion)
    }

    /// A callback for work that outlives the current request.
    pub(super) fn detached_callback<T: 'static>(
        &self,
        completion: impl Fn(T) -> Completion + Send + Sync + 'static,
    ) -> Callback<T> {
        self.queue.callback(None, completion)
    }

    /// Handles an op, under its number when the client waits for the outcome.
    pub(super) async fn receive(&mut self, number: Option<u64>, op: Op) {
        let request = number.map(|number| self.emitter.begin(number));
        self.apply_for(request, op).await;
    }

    /// Handles the ops that waited.
    pub(super) async fn apply_waiting(&mut self) {
        for (request, op) in std::mem::take(&mut self.waiting) {
            Box::pin(self.apply_for(request, op)).await;
        }
    }

    async fn apply_for(&mut self, request: Option<Arc<ActiveRequest>>, op: Op) {
        let before = self.emitter.set_request(request);
        self.apply(op).await;
        self.emitter.set_request(before);
    }

    /// Takes a result of background work.
    pub(super) async fn take(&mut self, delivery: Delivery) {
        let before = self.emitter.set_request(delivery.request);
        self.finish(delivery.completion).await;
        self.emitter.set_request(before);
    }
}
