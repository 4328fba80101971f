//! When the next frame is due. Pure: it is told the time.
//!
//! The first change after a quiet moment is drawn at once, later ones at most every 16 ms, and a line
//! that is slow gets fewer frames instead of a queue. How slow it is shows in two ways: how long a write
//! blocks, and how long the answer to a fence takes, a question at the end of a frame that the terminal
//! answers when it has come that far. Between us and the glass there may be megabytes of buffers, which
//! only the second way sees.

use std::time::{Duration, Instant};

/// Shortest time between two frames.
const FRAME: Duration = Duration::from_millis(16);
/// Longest time that a slow line can put between two frames.
const SLOWEST: Duration = Duration::from_millis(500);
/// Write times below this say nothing about the line.
const PROMPT: Duration = Duration::from_millis(4);
/// Bytes after which a frame ends with a fence.
const FENCE_BYTES: usize = 512;
/// A fence behind at most this many bytes tells how long the way is.
const SMALL: usize = 800;
/// What an answer may take longer than the quickest one before it is late, beside half that time.
const JITTER: Duration = Duration::from_millis(25);
/// After this time the answer is taken for lost.
const PATIENCE: Duration = Duration::from_secs(5);
/// Time between two frames of decoration alone on a slow line.
const QUIET: Duration = Duration::from_secs(1);

/// Decides when to draw.
#[derive(Debug, Default)]
pub struct FrameClock {
    due: Option<Instant>,
    /// The frame that is due echoes a key.
    urgent: bool,
    drawn: Option<Instant>,
    interval: Option<Duration>,
    /// The fence that has not been answered.
    fence: Option<Fence>,
    /// Bytes sent after the last fence.
    loose: usize,
    /// When the questions of the start were asked. Nothing waits for their answer.
    asked: Option<Instant>,
    /// The quickest answer to a fence: the way to the terminal and back.
    trip: Option<Duration>,
    /// An answer did not come: every frame asks again, and frames are few until one does.
    lost: bool,
}

#[derive(Debug, Clone, Copy)]
struct Fence {
    sent: Instant,
    /// Little was under way before it.
    is_small: bool,
}

impl FrameClock {
    /// The terminal was asked its first questions: how long it takes to answer is the way there and back.
    pub fn asked(&mut self, now: Instant) {
        self.asked = Some(now);
    }

    /// Something changed: draws as soon as the interval allows.
    pub fn request(&mut self, now: Instant) {
        let next = self
            .drawn
            .map_or(now, |drawn| (drawn + self.interval()).max(now));
        self.request_at(next);
    }

    /// Draws at once: for the echo of a key, which must not wait for the interval.
    pub fn request_now(&mut self, now: Instant) {
        self.urgent = true;
        self.request_at(now);
    }

    /// Draws at `then` at the latest.
    pub fn request_at(&mut self, then: Instant) {
        self.due = Some(self.due.map_or(then, |due| due.min(then)));
    }

    /// Draws what only decorates (spinners, clocks) at `then`, on a slow line seldom.
    pub fn request_decoration(&mut self, then: Instant) {
        let quiet = self.drawn.filter(|_| self.is_slow());
        self.request_at(quiet.map_or(then, |drawn| then.max(drawn + QUIET)));
    }

    /// Whether a frame is due, but only after `then`.
    pub fn is_due_after(&self, then: Instant) -> bool {
        self.due.is_some_and(|due| due > then)
    }

    /// When the next frame is to be drawn; `None` while nothing changed. While the answer to a fence is
    /// late, frames wait for it: what they would send would only queue. An echo goes out behind the one frame
    /// that is on its way.
    pub fn deadline(&self, now: Instant) -> Option<Instant> {
        let due = self.due?;
        let Some(Fence { sent, .. }) = self.fence else {
            return Some(due);
        };
        let is_late = due.max(now) > sent + self.tolerance();
        let may_pass = self.urgent && self.loose < FENCE_BYTES;
        Some(if is_late && !may_pass {
            due.max(sent + PATIENCE)
        } else {
            due
        })
    }

    /// Whether a frame of `bytes` is to end with a fence.
    pub fn wants_fence(&self, bytes: usize) -> bool {
        let is_due = self.lost || self.loose + bytes >= FENCE_BYTES;
        self.fence.is_none() && bytes > 0 && is_due
    }

    /// A frame of `bytes` was sent. `drain` is how long the terminal took to accept the one before it.
    pub fn drawn(&mut self, now: Instant, drain: Duration, bytes: usize, fenced: bool) {
        self.due = None;
        self.urgent = false;
        self.drawn = Some(now);
        if self.fence.is_some_and(|fence| now >= fence.sent + PATIENCE) {
            self.fence = None;
            self.lost = true;
        }
        self.loose += bytes;
        if fenced {
            let fence = Fence {
                sent: now,
                is_small: self.loose <= SMALL,
            };
            self.fence = (!self.lost).then_some(fence);
            self.loose = 0;
        }
        let wanted = if self.lost {
            SLOWEST
        } else if drain < PROMPT {
            FRAME
        } else {
            stretched(drain)
        };
        // Slower at once, faster step by step.
        let eased = self.interval().mul_f32(0.75);
        self.interval = Some(wanted.max(eased).max(FRAME));
    }

    /// The terminal has answered the fence: it shows what was sent before.
    pub fn acknowledged(&mut self, now: Instant) {
        if std::mem::take(&mut self.lost) {
            return;
        }
        let asked = self.asked.take().map(|sent| Fence {
            sent,
            is_small: true,
        });
        let Some(Fence { sent, is_small }) = asked.or_else(|| self.fence.take()) else {
            return;
        };
        let took = now.saturating_duration_since(sent);
        let Some(trip) = self.trip else {
            self.trip = Some(took);
            return;
        };
        let is_late = now > sent + self.tolerance();
        if is_late {
            let wanted = stretched(took.saturating_sub(trip));
            self.interval = Some(self.interval().max(wanted));
        }
        // The way may have become longer. What waited behind much else does not tell.
        let forgotten = if is_late && !is_small {
            trip
        } else {
            trip.mul_f32(1.05)
        };
        self.trip = Some(forgotten.min(took));
    }

    /// The terminal was given away and taken back: an open answer was read by someone else.
    pub fn forget_fence(&mut self) {
        self.fence = None;
        self.lost = false;
    }

    /// Time between frames that the line allows at present.
    pub fn interval(&self) -> Duration {
        self.interval.unwrap_or(FRAME)
    }

    /// Whether the line is so slow that decoration (spinners, clocks) should be rare.
    pub fn is_slow(&self) -> bool {
        self.interval() >= FRAME * 4
    }

    /// How long an answer may take without being late.
    fn tolerance(&self) -> Duration {
        self.trip.unwrap_or_default().mul_f32(1.5) + JITTER
    }
}

/// The time between frames for a line that takes `drain` for one: half its time is left free, so that keys
/// are echoed without waiting.
fn stretched(drain: Duration) -> Duration {
    (drain * 2).clamp(FRAME, SLOWEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn the_first_change_is_drawn_at_once_and_later_ones_in_step() {
        let start = Instant::now();
        let mut clock = FrameClock::default();
        assert_eq!(clock.deadline(start), None);
        clock.request(start);
        assert_eq!(clock.deadline(start), Some(start));
        clock.drawn(start, Duration::ZERO, 100, false);
        assert_eq!(clock.deadline(start), None);

        clock.request(start + MS * 3);
        clock.request(start + MS * 9);
        assert_eq!(clock.deadline(start), Some(start + FRAME));
        clock.request_now(start + MS * 10);
        assert_eq!(clock.deadline(start), Some(start + MS * 10));
    }

    #[test]
    fn a_slow_line_gets_fewer_frames_and_recovers() {
        let mut now = Instant::now();
        let mut clock = FrameClock::default();
        clock.drawn(now, MS * 100, 100, false);
        clock.request(now);
        assert_eq!(clock.deadline(now), Some(now + MS * 200));
        assert!(clock.is_slow());
        for _ in 0..12 {
            now += MS * 200;
            clock.drawn(now, Duration::ZERO, 100, false);
        }
        assert_eq!(clock.interval(), FRAME);
    }

    #[test]
    fn an_animation_asks_for_its_next_frame() {
        let start = Instant::now();
        let mut clock = FrameClock::default();
        clock.drawn(start, Duration::ZERO, 100, false);
        clock.request_decoration(start + MS * 80);
        assert_eq!(clock.deadline(start), Some(start + MS * 80));
        clock.request(start + MS * 50);
        assert_eq!(clock.deadline(start), Some(start + MS * 50));

        clock.drawn(start, MS * 100, 100, false);
        clock.request_decoration(start + MS * 80);
        assert_eq!(clock.deadline(start), Some(start + QUIET));
    }

    #[test]
    fn frames_wait_for_a_late_answer_and_an_echo_passes_once() {
        let start = Instant::now();
        let mut clock = FrameClock::default();
        clock.asked(start);
        clock.acknowledged(start);
        assert!(!clock.wants_fence(FENCE_BYTES - 1) && clock.wants_fence(FENCE_BYTES));
        clock.drawn(start, Duration::ZERO, 2000, true);
        assert!(!clock.wants_fence(2000));
        // Not late yet.
        clock.request(start);
        assert_eq!(clock.deadline(start), Some(start + FRAME));
        let late = start + MS * 40;
        assert_eq!(clock.deadline(late), Some(start + PATIENCE));
        clock.request_now(late);
        assert_eq!(clock.deadline(late), Some(start + FRAME));
        clock.drawn(late, Duration::ZERO, 2000, false);
        clock.request_now(late);
        assert_eq!(clock.deadline(late), Some(start + PATIENCE));

        let answer = start + MS * 200;
        clock.acknowledged(answer);
        assert_eq!(clock.deadline(answer), Some(late));
        assert_eq!(clock.interval(), MS * 400);
        assert!(clock.wants_fence(1));
    }

    #[test]
    fn a_long_way_is_not_a_slow_line() {
        let mut now = Instant::now();
        let mut clock = FrameClock::default();
        for _ in 0..20 {
            clock.drawn(now, Duration::ZERO, 2000, true);
            now += MS * 150;
            clock.acknowledged(now);
        }
        assert!(!clock.is_slow());
        clock.drawn(now, Duration::ZERO, 2000, true);
        clock.request(now + MS * 100);
        assert_eq!(clock.deadline(now), Some(now + MS * 100));
    }

    #[test]
    fn a_lost_answer_does_not_stop_the_frames() {
        let start = Instant::now();
        let mut clock = FrameClock::default();
        clock.drawn(start, Duration::ZERO, 2000, true);
        clock.request(start);
        let end = start + PATIENCE;
        assert_eq!(clock.deadline(end), Some(end));
        clock.drawn(end, Duration::ZERO, 2000, false);
        clock.request(end);
        assert_eq!(clock.deadline(end), Some(end + SLOWEST));
        clock.request_now(end);
        assert_eq!(clock.deadline(end), Some(end));
        // Asked again, and nothing waits for the answer.
        assert!(clock.wants_fence(1));
        clock.drawn(end, Duration::ZERO, 2000, true);
        assert!(clock.wants_fence(1));
        clock.acknowledged(end);
        assert!(!clock.wants_fence(1) && clock.wants_fence(FENCE_BYTES));
    }
}
