//! The polling interval of the thread that reads answers.

use std::thread;
use std::time::Duration;

use tokio::time::Instant;

/// Minimum interval between two reads of a connection, which is also the delay of other calls.
const PACE: Duration = Duration::from_millis(5);

/// The time of the next read of a connection.
#[derive(Debug)]
pub(super) struct Pace {
    due: Option<Instant>,
}

impl Pace {
    pub(super) fn new() -> Self {
        Self { due: None }
    }

    /// Records that no more data is available.
    pub(super) fn drained(&mut self) {
        self.due = Some(Instant::now() + PACE);
    }

    /// Sleeps until the next read. The complete thread sleeps; data of other calls is read afterwards, at
    /// once.
    pub(super) async fn rest(&mut self) {
        if let Some(due) = self.due.take() {
            let now = Instant::now();
            if due > now {
                thread::sleep(due - now);
            }
            // Polls the I/O driver without waiting.
            tokio::task::yield_now().await;
        }
    }
}
