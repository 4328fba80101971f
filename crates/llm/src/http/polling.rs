//! The rate at which an answer is delivered. Only this module decides it: everything after it, up
//! to the screen, works once per batch.

use std::thread;
use std::time::Duration;

use tokio::time::Instant;

/// Minimum interval between two batches of an answer, so that the receivers work once per batch instead of
/// once per delta. The end of an answer is not delayed.
const BATCH_INTERVAL: Duration = Duration::from_millis(40);
/// How often a connection is read until a batch is due: how late the end of an answer, or the data of another
/// call, can be.
const READ_INTERVAL: Duration = BATCH_INTERVAL.checked_div(8).unwrap();

/// The times of the next batch and the next read of one answer.
#[derive(Debug)]
pub(super) struct Pace {
    /// Whether every read is delivered at once.
    unbatched: bool,
    batch: Instant,
    read: Option<Instant>,
}

impl Pace {
    /// The first batch is due at once.
    pub(super) fn new(unbatched: bool) -> Self {
        Self {
            unbatched,
            batch: Instant::now(),
            read: None,
        }
    }

    /// When the next batch is due.
    pub(super) fn batch(&self) -> Instant {
        self.batch
    }

    /// Whether the next batch is due.
    pub(super) fn is_due(&self) -> bool {
        Instant::now() >= self.batch
    }

    /// Records that a batch was delivered.
    pub(super) fn delivered(&mut self) {
        if !self.unbatched {
            self.batch = Instant::now() + BATCH_INTERVAL;
        }
    }

    /// Records that no more data is available.
    pub(super) fn drained(&mut self) {
        if !self.unbatched {
            self.read = Some(Instant::now() + READ_INTERVAL);
        }
    }

    /// Sleeps until the next read. The complete thread sleeps; data of other calls is read afterwards, at
    /// once.
    pub(super) async fn rest(&mut self) {
        if let Some(read) = self.read.take() {
            let now = Instant::now();
            if read > now {
                thread::sleep(read - now);
            }
            // Polls the I/O driver without waiting.
            tokio::task::yield_now().await;
        }
    }
}
