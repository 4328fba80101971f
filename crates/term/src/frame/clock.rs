//! Decides when the next frame is due. Pure: the caller passes the time.
//!
//! The first change after a pause is drawn at once, later ones at most every 16 ms. A slow
//! connection gets fewer frames instead of a queue of them. Two measurements show how slow it is:
//! how long a write blocks, and how long the reply to a fence takes. A fence is a query at the end
//! of a frame, which the terminal answers once it has processed the frame. Megabytes of buffers may
//! lie between osier and the screen; only the fence measures those.

use std::time::{Duration, Instant};

/// Minimum time between two frames.
const MIN_INTERVAL: Duration = Duration::from_millis(16);
/// Maximum time between two frames on a slow connection.
const MAX_INTERVAL: Duration = Duration::from_millis(500);
/// Shorter write times say nothing about the connection.
const FAST_WRITE: Duration = Duration::from_millis(4);
/// Number of bytes after which a frame ends with a fence.
const FENCE_BYTES: usize = 512;
/// A fence measures the round trip if at most this many bytes precede it.
const MAX_PROBE_BYTES: usize = 800;
/// How much longer than 1.5 round trips a reply may take before it counts as late.
const JITTER: Duration = Duration::from_millis(25);
/// After this time the reply counts as lost.
const FENCE_TIMEOUT: Duration = Duration::from_secs(5);
/// The share of time for drawing changes that no user typed: one part in this many.
const DRAWING_SHARE: u32 = 8;
/// Maximum time between two frames that are slow to draw.
const MAX_DRAWING_INTERVAL: Duration = Duration::from_millis(250);
/// How long decoration waits for a frame that is drawn anyway: a little longer than the time between two pieces of an
/// answer.
const DECORATION_DELAY: Duration = Duration::from_millis(45);
/// Time between two frames with only decoration on a slow connection.
const DECORATION_INTERVAL: Duration = Duration::from_secs(1);

/// Schedules frames.
#[derive(Debug, Default)]
pub struct FrameClock {
    due: Option<Instant>,
    /// The due frame echoes a key.
    urgent: bool,
    last_frame: Option<Instant>,
    interval: Option<Duration>,
    /// The minimum time to the next frame that no key asks for, given how long the last one took to draw.
    drawing_interval: Duration,
    /// The fence without a reply.
    fence: Option<Fence>,
    /// Bytes sent after the last fence.
    unfenced: usize,
    /// When the initial queries were sent. No frame waits for their replies.
    queries_sent: Option<Instant>,
    /// The shortest round trip to the terminal.
    round_trip: Option<Duration>,
    /// A reply did not arrive. Until one does, every frame ends with a fence and the frame rate is
    /// low.
    lost: bool,
}

/// The measurements of a frame that was sent.
#[derive(Debug, Clone, Copy, Default)]
pub struct SentFrame {
    /// How long drawing it took.
    pub drawing: Duration,
    /// How long the terminal took to accept the previous frame.
    pub drain: Duration,
    pub bytes: usize,
    /// The frame ends with a fence.
    pub fenced: bool,
}

#[derive(Debug, Clone, Copy)]
struct Fence {
    sent: Instant,
    /// Whether few bytes preceded the fence.
    is_small: bool,
}

impl FrameClock {
    /// Records that the initial queries were sent. Their reply time is the first round trip.
    pub fn queries_sent(&mut self, now: Instant) {
        self.queries_sent = Some(now);
    }

    /// Requests a frame as soon as the interval allows.
    pub fn request(&mut self, now: Instant) {
        let next = self
            .last_frame
            .map_or(now, |drawn| (drawn + self.interval()).max(now));
        self.request_at(next);
    }

    /// Requests a frame for what a program did, not the user: as `request`, but frames that are slow to draw are
    /// drawn less often.
    pub fn request_background(&mut self, now: Instant) {
        self.request_at(self.next_background(now));
    }

    /// When `request_background` would draw.
    pub fn next_background(&self, now: Instant) -> Instant {
        let interval = self.interval().max(self.drawing_interval);
        self.last_frame
            .map_or(now, |drawn| (drawn + interval).max(now))
    }

    /// Requests a frame at once, to echo a key without waiting for the interval.
    pub fn request_now(&mut self, now: Instant) {
        self.urgent = true;
        self.request_at(now);
    }

    /// Requests a frame no later than `then`.
    pub fn request_at(&mut self, then: Instant) {
        self.due = Some(self.due.map_or(then, |due| due.min(then)));
    }

    /// Requests a frame at `then` for work that continues with each frame, such as a search; later on a slow connection.
    pub fn request_work(&mut self, then: Instant) {
        let last_frame = self.last_frame.filter(|_| self.is_slow());
        self.request_at(last_frame.map_or(then, |drawn| then.max(drawn + self.interval())));
    }

    /// Requests a frame with only decoration (spinners, clocks) soon after `then` and after the last frame, or later on a slow
    /// connection. A frame that is drawn for something else in between shows the decoration too.
    pub fn request_decoration(&mut self, then: Instant) {
        let then = self.last_frame.map_or(then, |drawn| then.max(drawn)) + DECORATION_DELAY;
        let last_frame = self.last_frame.filter(|_| self.is_slow());
        self.request_at(last_frame.map_or(then, |drawn| then.max(drawn + DECORATION_INTERVAL)));
    }

    /// Whether a frame is due, but only after `then`.
    pub fn is_due_after(&self, then: Instant) -> bool {
        self.due.is_some_and(|due| due > then)
    }

    /// When to draw the next frame; `None` if nothing changed.
    ///
    /// While a reply is late, frames wait for it, because their bytes would only queue. The echo of
    /// a key may still be sent if few bytes are unacknowledged.
    pub fn deadline(&self, now: Instant) -> Option<Instant> {
        let due = self.due?;
        let Some(Fence { sent, .. }) = self.fence else {
            return Some(due);
        };
        let is_late = due.max(now) > sent + self.tolerance();
        let may_pass = self.urgent && self.unfenced < FENCE_BYTES;
        Some(if is_late && !may_pass {
            due.max(sent + FENCE_TIMEOUT)
        } else {
            due
        })
    }

    /// Whether a frame of `bytes` should end with a fence.
    pub fn wants_fence(&self, bytes: usize) -> bool {
        let is_due = self.lost || self.unfenced + bytes >= FENCE_BYTES;
        self.fence.is_none() && bytes > 0 && is_due
    }

    /// Records a frame that was sent at `now`.
    pub fn frame_sent(&mut self, now: Instant, frame: SentFrame) {
        let SentFrame {
            drawing,
            drain,
            bytes,
            fenced,
        } = frame;
        self.drawing_interval = (drawing * DRAWING_SHARE).min(MAX_DRAWING_INTERVAL);
        self.due = None;
        self.urgent = false;
        self.last_frame = Some(now);
        if self
            .fence
            .is_some_and(|fence| now >= fence.sent + FENCE_TIMEOUT)
        {
            self.fence = None;
            self.lost = true;
        }
        self.unfenced += bytes;
        if fenced {
            let fence = Fence {
                sent: now,
                is_small: self.unfenced <= MAX_PROBE_BYTES,
            };
            self.fence = (!self.lost).then_some(fence);
            self.unfenced = 0;
        }
        let wanted = if self.lost {
            MAX_INTERVAL
        } else if drain < FAST_WRITE {
            MIN_INTERVAL
        } else {
            interval_for(drain)
        };
        // Slow down at once, speed up step by step.
        let eased = self.interval().mul_f32(0.75);
        self.interval = Some(wanted.max(eased).max(MIN_INTERVAL));
    }

    /// Records the reply to a fence: the terminal shows everything sent before it.
    pub fn acknowledged(&mut self, now: Instant) {
        if std::mem::take(&mut self.lost) {
            return;
        }
        let initial = self.queries_sent.take().map(|sent| Fence {
            sent,
            is_small: true,
        });
        let Some(Fence { sent, is_small }) = initial.or_else(|| self.fence.take()) else {
            return;
        };
        let took = now.saturating_duration_since(sent);
        let Some(round_trip) = self.round_trip else {
            self.round_trip = Some(took);
            return;
        };
        let is_late = now > sent + self.tolerance();
        if is_late {
            let wanted = interval_for(took.saturating_sub(round_trip));
            self.interval = Some(self.interval().max(wanted));
        }
        // The round trip may have become longer. A reply behind many bytes does not show that.
        let aged = if is_late && !is_small {
            round_trip
        } else {
            round_trip.mul_f32(1.05)
        };
        self.round_trip = Some(aged.min(took));
    }

    /// Discards the fence after the terminal was released: another program read the reply.
    pub fn forget_fence(&mut self) {
        self.fence = None;
        self.lost = false;
    }

    /// The current time between frames.
    pub fn interval(&self) -> Duration {
        self.interval.unwrap_or(MIN_INTERVAL)
    }

    /// Whether the connection is so slow that decoration (spinners, clocks) should be rare.
    pub(super) fn is_slow(&self) -> bool {
        self.interval() >= MIN_INTERVAL * 4
    }

    /// How long a reply may take before it counts as late.
    fn tolerance(&self) -> Duration {
        self.round_trip.unwrap_or_default().mul_f32(1.5) + JITTER
    }
}

/// The time between frames for a connection that takes `drain` per frame. Half of it stays free, so
/// that keys are echoed without waiting.
fn interval_for(drain: Duration) -> Duration {
    (drain * 2).clamp(MIN_INTERVAL, MAX_INTERVAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn sent(drain: Duration, bytes: usize, fenced: bool) -> SentFrame {
        SentFrame {
            drawing: Duration::ZERO,
            drain,
            bytes,
            fenced,
        }
    }

    #[test]
    fn frames_that_are_slow_to_draw_are_drawn_less_often_except_for_keys() {
        let start = Instant::now();
        let mut clock = FrameClock::default();
        let drawn_in = |drawing| SentFrame {
            drawing,
            ..SentFrame::default()
        };
        clock.frame_sent(start, drawn_in(MS));
        clock.request_background(start);
        assert_eq!(clock.deadline(start), Some(start + MIN_INTERVAL));
        clock.frame_sent(start, drawn_in(MS * 10));
        clock.request_background(start);
        assert_eq!(clock.deadline(start), Some(start + MS * 80));
        clock.request(start);
        assert_eq!(clock.deadline(start), Some(start + MIN_INTERVAL));
        clock.frame_sent(start, drawn_in(MS * 100));
        clock.request_background(start);
        assert_eq!(clock.deadline(start), Some(start + MAX_DRAWING_INTERVAL));
    }

    #[test]
    fn first_change_is_drawn_at_once_and_later_ones_at_intervals() {
        let start = Instant::now();
        let mut clock = FrameClock::default();
        assert_eq!(clock.deadline(start), None);
        clock.request(start);
        assert_eq!(clock.deadline(start), Some(start));
        clock.frame_sent(start, sent(Duration::ZERO, 100, false));
        assert_eq!(clock.deadline(start), None);

        clock.request(start + MS * 3);
        clock.request(start + MS * 9);
        assert_eq!(clock.deadline(start), Some(start + MIN_INTERVAL));
        clock.request_now(start + MS * 10);
        assert_eq!(clock.deadline(start), Some(start + MS * 10));
    }

    #[test]
    fn slow_connection_lowers_the_frame_rate_until_it_recovers() {
        let mut now = Instant::now();
        let mut clock = FrameClock::default();
        clock.frame_sent(now, sent(MS * 100, 100, false));
        clock.request(now);
        assert_eq!(clock.deadline(now), Some(now + MS * 200));
        assert!(clock.is_slow());
        for _ in 0..12 {
            now += MS * 200;
            clock.frame_sent(now, sent(Duration::ZERO, 100, false));
        }
        assert_eq!(clock.interval(), MIN_INTERVAL);
    }

    #[test]
    fn decoration_that_a_frame_did_not_show_leaves_time_for_other_work() {
        let start = Instant::now();
        let mut clock = FrameClock::default();
        clock.frame_sent(start + MS * 500, sent(Duration::ZERO, 100, false));
        clock.request_decoration(start);
        let next = start + MS * 500 + DECORATION_DELAY;
        assert_eq!(clock.deadline(start + MS * 500), Some(next));
    }

    #[test]
    fn decoration_waits_a_little_for_a_frame_with_content() {
        let start = Instant::now();
        let mut clock = FrameClock::default();
        clock.frame_sent(start, sent(Duration::ZERO, 100, false));
        clock.request_decoration(start + MS * 80);
        assert_eq!(clock.deadline(start), Some(start + MS * 125));
        clock.request(start + MS * 90);
        assert_eq!(clock.deadline(start), Some(start + MS * 90));

        clock.frame_sent(start, sent(MS * 100, 100, false));
        clock.request_decoration(start + MS * 80);
        assert_eq!(clock.deadline(start), Some(start + DECORATION_INTERVAL));
    }

    #[test]
    fn work_waits_for_no_other_frame() {
        let start = Instant::now();
        let mut clock = FrameClock::default();
        clock.frame_sent(start, sent(Duration::ZERO, 100, false));
        clock.request_work(start + MS);
        assert_eq!(clock.deadline(start), Some(start + MS));

        clock.frame_sent(start, sent(MS * 100, 100, false));
        clock.request_work(start + MS);
        assert_eq!(clock.deadline(start), Some(start + clock.interval()));
    }

    #[test]
    fn frames_wait_for_a_late_reply_except_one_echo() {
        let start = Instant::now();
        let mut clock = FrameClock::default();
        clock.queries_sent(start);
        clock.acknowledged(start);
        assert!(!clock.wants_fence(FENCE_BYTES - 1) && clock.wants_fence(FENCE_BYTES));
        clock.frame_sent(start, sent(Duration::ZERO, 2000, true));
        assert!(!clock.wants_fence(2000));
        // Not late yet.
        clock.request(start);
        assert_eq!(clock.deadline(start), Some(start + MIN_INTERVAL));
        let late = start + MS * 40;
        assert_eq!(clock.deadline(late), Some(start + FENCE_TIMEOUT));
        clock.request_now(late);
        assert_eq!(clock.deadline(late), Some(start + MIN_INTERVAL));
        clock.frame_sent(late, sent(Duration::ZERO, 2000, false));
        clock.request_now(late);
        assert_eq!(clock.deadline(late), Some(start + FENCE_TIMEOUT));

        let answer = start + MS * 200;
        clock.acknowledged(answer);
        assert_eq!(clock.deadline(answer), Some(late));
        assert_eq!(clock.interval(), MS * 400);
        assert!(clock.wants_fence(1));
    }

    #[test]
    fn long_round_trip_does_not_lower_the_frame_rate() {
        let mut now = Instant::now();
        let mut clock = FrameClock::default();
        for _ in 0..20 {
            clock.frame_sent(now, sent(Duration::ZERO, 2000, true));
            now += MS * 150;
            clock.acknowledged(now);
        }
        assert!(!clock.is_slow());
        clock.frame_sent(now, sent(Duration::ZERO, 2000, true));
        clock.request(now + MS * 100);
        assert_eq!(clock.deadline(now), Some(now + MS * 100));
    }

    #[test]
    fn lost_reply_does_not_stop_frames() {
        let start = Instant::now();
        let mut clock = FrameClock::default();
        clock.frame_sent(start, sent(Duration::ZERO, 2000, true));
        clock.request(start);
        let end = start + FENCE_TIMEOUT;
        assert_eq!(clock.deadline(end), Some(end));
        clock.frame_sent(end, sent(Duration::ZERO, 2000, false));
        clock.request(end);
        assert_eq!(clock.deadline(end), Some(end + MAX_INTERVAL));
        clock.request_now(end);
        assert_eq!(clock.deadline(end), Some(end));
        // The next frame ends with a fence again, and nothing waits for its reply.
        assert!(clock.wants_fence(1));
        clock.frame_sent(end, sent(Duration::ZERO, 2000, true));
        assert!(clock.wants_fence(1));
        clock.acknowledged(end);
        assert!(!clock.wants_fence(1) && clock.wants_fence(FENCE_BYTES));
    }
}
