//! How fast the output of a server is read. A server that floods is read slowly, so that it costs no more than a small part
//! of a core: its pipe fills, and it waits.

use std::time::Duration;

use tokio::time::Instant;

/// Messages that a server can send at once, as many do when they start.
const BURST: f64 = 5_000.0;
/// Messages per second after that.
const RATE: f64 = 250.0;
/// Bytes that count as one message.
const BYTES: f64 = 16.0 * 1024.0;
/// Messages that are read in a row after a pause.
const ROUND: f64 = 25.0;

/// The messages that may be read now.
#[derive(Debug)]
pub(crate) struct Pace {
    left: f64,
    since: Instant,
}

impl Pace {
    pub(crate) fn new() -> Self {
        Self {
            left: BURST,
            since: Instant::now(),
        }
    }

    /// Counts a message of `bytes`, and waits if there were too many. Returns whether it waited.
    pub(crate) async fn message(&mut self, bytes: usize) -> bool {
        let now = Instant::now();
        let earned = (now - self.since).as_secs_f64() * RATE;
        self.since = now;
        self.left = (self.left + earned).min(BURST) - 1.0 - bytes as f64 / BYTES;
        if self.left > 0.0 {
            return false;
        }
        let pause = (ROUND - self.left) / RATE;
        tokio::time::sleep(Duration::from_secs_f64(pause)).await;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn start_is_read_at_once_and_a_flood_at_a_limited_rate() {
        let began = Instant::now();
        let mut pace = Pace::new();
        for _ in 0..4_999 {
            assert!(!pace.message(0).await);
        }
        assert_eq!(began.elapsed(), Duration::ZERO);
        let mut pauses = 0;
        for _ in 0..2_500 {
            pauses += usize::from(pace.message(0).await);
        }
        assert!((95..=105).contains(&pauses), "{pauses}");
        let seconds = began.elapsed().as_secs_f64();
        assert!((9.5..10.5).contains(&seconds), "{seconds}");
    }

    #[tokio::test(start_paused = true)]
    async fn long_messages_count_for_their_bytes() {
        let (began, mut pace) = (Instant::now(), Pace::new());
        for _ in 0..10 {
            pace.message(32 << 20).await;
        }
        let seconds = began.elapsed().as_secs_f64();
        assert!((60.0..75.0).contains(&seconds), "{seconds}");
    }
}
