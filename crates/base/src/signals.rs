//! The signals that end a mode without a screen.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, LazyLock};

use tokio::sync::watch;

/// The signals that arrived since [`limit_after_signals`](crate::exit_limit::limit_after_signals), in their order: one that
/// arrives before a mode waits for it is not lost.
static ARRIVED: LazyLock<watch::Sender<Vec<i32>>> = LazyLock::new(watch::Sender::default);

pub(super) fn record(signal: i32) {
    ARRIVED.send_modify(|arrived| arrived.push(signal));
}

/// The signals SIGTERM, SIGINT and SIGHUP that arrived or will arrive, one after the other.
#[derive(Debug, Default)]
pub struct Signals {
    passed: usize,
}

impl Signals {
    /// Waits for the next signal. Returns its number.
    pub async fn next(&mut self) -> i32 {
        let mut arrived = ARRIVED.subscribe();
        let found = arrived
            .wait_for(|arrived| arrived.len() > self.passed)
            .await;
        // The sender is static, so the wait does not fail.
        let signal = found
            .ok()
            .and_then(|arrived| arrived.get(self.passed).copied());
        self.passed += 1;
        match signal {
            Some(signal) => signal,
            None => std::future::pending().await,
        }
    }
}

/// Waits for the first SIGTERM, SIGINT or SIGHUP. Returns its number.
pub async fn signalled() -> i32 {
    Signals::default().next().await
}

/// Makes a write beyond the limit for the size of files (`ulimit -f`) an error instead of the end of the process.
pub fn report_file_size_limit() {
    // The flag is not read: with any handler the write fails with EFBIG. Programs that osier starts get the default back.
    let handler = Arc::new(AtomicBool::new(false));
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, handler);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn signals_that_arrived_before_are_received_in_their_order() {
        record(15);
        record(2);
        let mut signals = Signals::default();
        assert_eq!((signals.next().await, signals.next().await), (15, 2));
        assert_eq!(signalled().await, 15);
    }
}
