//! When the next frame is due. Pure: it is told the time.
//!
//! The first change after a quiet moment is drawn at once, later ones at most every 16 ms, and a line
//! that is slow to take bytes gets fewer frames instead of a queue.

use std::time::{Duration, Instant};

/// Shortest time between two frames.
const FRAME: Duration = Duration::from_millis(16);
/// Longest time that a slow line can put between two frames.
const SLOWEST: Duration = Duration::from_millis(500);
/// Drain times below this say nothing about the line.
const PROMPT: Duration = Duration::from_millis(4);

/// Decides when to draw.
#[derive(Debug, Default)]
pub struct FrameClock {
    due: Option<Instant>,
    drawn: Option<Instant>,
    interval: Option<Duration>,
}

impl FrameClock {
    /// Something changed: draws as soon as the interval allows.
    pub fn request(&mut self, now: Instant) {
        let next = self
            .drawn
            .map_or(now, |drawn| (drawn + self.interval()).max(now));
        self.request_at(next);
    }

    /// Draws at once: for the echo of a key, which must not wait for the interval.
    pub fn request_now(&mut self, now: Instant) {
        self.request_at(now);
    }

    /// Draws at `then` at the latest: for animations and clocks.
    pub fn request_at(&mut self, then: Instant) {
        self.due = Some(self.due.map_or(then, |due| due.min(then)));
    }

    /// When the next frame is to be drawn; `None` while nothing changed.
    pub fn deadline(&self) -> Option<Instant> {
        self.due
    }

    /// A frame was drawn. `drain` is how long the terminal took to accept the one before it.
    pub fn drawn(&mut self, now: Instant, drain: Duration) {
        self.due = None;
        self.drawn = Some(now);
        let wanted = if drain < PROMPT {
            FRAME
        } else {
            // Half the line's time is left free, so that keys are echoed without waiting.
            (drain * 2).clamp(FRAME, SLOWEST)
        };
        // Slower at once, faster step by step.
        let eased = self.interval().mul_f32(0.75);
        self.interval = Some(wanted.max(eased).max(FRAME));
    }

    /// Time between frames that the line allows at present.
    pub fn interval(&self) -> Duration {
        self.interval.unwrap_or(FRAME)
    }

    /// Whether the line is so slow that decoration (spinners, clocks) should pause.
    pub fn is_slow(&self) -> bool {
        self.interval() >= FRAME * 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn the_first_change_is_drawn_at_once_and_later_ones_in_step() {
        let start = Instant::now();
        let mut clock = FrameClock::default();
        assert_eq!(clock.deadline(), None);
        clock.request(start);
        assert_eq!(clock.deadline(), Some(start));
        clock.drawn(start, Duration::ZERO);
        assert_eq!(clock.deadline(), None);

        clock.request(start + MS * 3);
        clock.request(start + MS * 9);
        assert_eq!(clock.deadline(), Some(start + FRAME));
        clock.request_now(start + MS * 10);
        assert_eq!(clock.deadline(), Some(start + MS * 10));
    }

    #[test]
    fn a_slow_line_gets_fewer_frames_and_recovers() {
        let mut now = Instant::now();
        let mut clock = FrameClock::default();
        clock.drawn(now, MS * 100);
        clock.request(now);
        assert_eq!(clock.deadline(), Some(now + MS * 200));
        assert!(clock.is_slow());
        for _ in 0..12 {
            now += MS * 200;
            clock.drawn(now, Duration::ZERO);
        }
        assert_eq!(clock.interval(), FRAME);
    }

    #[test]
    fn an_animation_asks_for_its_next_frame() {
        let start = Instant::now();
        let mut clock = FrameClock::default();
        clock.drawn(start, Duration::ZERO);
        clock.request_at(start + MS * 80);
        assert_eq!(clock.deadline(), Some(start + MS * 80));
        clock.request(start + MS * 50);
        assert_eq!(clock.deadline(), Some(start + MS * 50));
    }
}
