//! The send queue of one client, limited by size. Events that do not fit are dropped, and the client gets a snapshot
//! later. Responses are always queued; a client that leaves too many unread is disconnected.

use parking_lot::{Mutex, MutexGuard};
use std::collections::VecDeque;
use std::sync::Arc;

use tokio::sync::Notify;

use super::frames::{FrameKind, ServerFrame};

/// Queued bytes above which events are dropped.
const DROP_EVENTS_ABOVE: usize = 4 * 1024 * 1024;
/// Queued bytes below which events are queued again.
const QUEUE_EVENTS_BELOW: usize = 256 * 1024;
/// Queued bytes above which the client is disconnected.
const CLOSE_ABOVE: usize = 128 * 1024 * 1024;

/// The send queue of one client. Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct SendQueue(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    queue: Mutex<Queue>,
    arrived: Notify,
    drained: Notify,
}

#[derive(Debug, Default)]
struct Queue {
    frames: VecDeque<ServerFrame>,
    bytes: usize,
    closed: bool,
    /// No frame follows.
    finished: bool,
    /// The client reads compressed messages.
    compresses: bool,
    /// The client gets the events of a stream merged.
    merges_streams: bool,
}

impl SendQueue {
    pub(super) fn new() -> Self {
        Self(Arc::new(Shared {
            queue: Mutex::default(),
            arrived: Notify::new(),
            drained: Notify::new(),
        }))
    }

    /// Queues a frame. Returns false for an event that does not fit.
    pub(super) fn push(&self, frame: ServerFrame) -> bool {
        let mut queue = self.lock();
        let can_be_dropped = matches!(
            frame.kind,
            FrameKind::Event | FrameKind::UiRequest | FrameKind::UiClosed
        );
        if can_be_dropped && queue.bytes > DROP_EVENTS_ABOVE {
            return false;
        }
        queue.bytes += frame.size();
        queue.closed |= queue.bytes > CLOSE_ABOVE;
        queue.frames.push_back(frame);
        drop(queue);
        self.0.arrived.notify_one();
        true
    }

    /// The next frame; `None` when the queue is closed or finished. For one reader. Cancel safe.
    pub(super) async fn next(&self) -> Option<ServerFrame> {
        loop {
            {
                let mut queue = self.lock();
                if queue.closed {
                    return None;
                }
                if let Some(frame) = queue.frames.pop_front() {
                    queue.bytes -= frame.size();
                    if queue.bytes < QUEUE_EVENTS_BELOW {
                        self.0.drained.notify_waiters();
                    }
                    return Some(frame);
                }
                if queue.finished {
                    return None;
                }
            }
            self.0.arrived.notified().await;
        }
    }

    /// Waits until events fit again. Cancel safe.
    pub(super) async fn drained(&self) {
        loop {
            let drained = self.0.drained.notified();
            tokio::pin!(drained);
            drained.as_mut().enable();
            if self.lock().bytes < QUEUE_EVENTS_BELOW {
                return;
            }
            drained.await;
        }
    }

    /// Ends the queue after the frames that it contains.
    pub(super) fn finish(&self) {
        self.lock().finished = true;
        self.0.arrived.notify_one();
    }

    /// Compresses large messages from now on.
    pub(super) fn compress(&self) {
        self.lock().compresses = true;
    }

    /// Whether large messages are compressed.
    pub(super) fn compresses(&self) -> bool {
        self.lock().compresses
    }

    /// Merges the events of streams from now on.
    pub(super) fn merge_streams(&self) {
        self.lock().merges_streams = true;
    }

    pub(super) fn merges_streams(&self) -> bool {
        self.lock().merges_streams
    }

    /// Whether no frame follows those in the queue.
    pub(super) fn is_finished(&self) -> bool {
        self.lock().finished
    }

    /// Closes the queue and discards its frames.
    pub(super) fn close(&self) {
        let mut queue = self.lock();
        queue.closed = true;
        queue.frames.clear();
        drop(queue);
        self.0.arrived.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        // The critical sections do not panic half-way, so the queue is valid.
        self.0.queue.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: FrameKind, bytes: usize) -> ServerFrame {
        ServerFrame {
            kind,
            session: None,
            number: None,
            payload: "x".repeat(bytes),
        }
    }

    #[tokio::test]
    async fn events_that_do_not_fit_are_dropped_until_the_queue_drains() {
        let queue = SendQueue::new();
        assert!(queue.push(frame(FrameKind::Event, DROP_EVENTS_ABOVE)));
        assert!(!queue.push(frame(FrameKind::Event, 1)));
        assert!(queue.push(frame(FrameKind::Response, 1)));
        assert_eq!(
            queue.next().await.map(|frame| frame.kind),
            Some(FrameKind::Event)
        );
        queue.drained().await;
        assert!(queue.push(frame(FrameKind::Event, 1)));
        queue.close();
        assert_eq!(queue.next().await, None);
    }
}
