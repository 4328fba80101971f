//! Simulates a connection with a fixed number of bytes per step and unlimited buffers, as with SSH.
//! The test controls the time.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use ratatui::style::Style;

use super::super::{FrameClock, SentFrame};
use super::{Features, Stage};

const STEP: Duration = Duration::from_millis(10);
/// Steps between two batches of an answer.
const BATCH: usize = 4;
const FENCE: &[u8] = b"\x1b[c";

struct Line {
    stage: Stage,
    clock: FrameClock,
    now: Instant,
    /// Bytes on their way to the terminal.
    queue: VecDeque<u8>,
    /// When replies arrive.
    answers: VecDeque<Instant>,
    /// Bytes per step, and the delay of a reply.
    speed: usize,
    trip: Duration,
    /// All bytes sent, the number of frames, and the size of the largest.
    sent: usize,
    frames: usize,
    largest: usize,
    /// The visible content.
    tick: usize,
    prompt: String,
}

impl Line {
    fn new(speed: usize, trip: Duration) -> Self {
        let now = Instant::now();
        let mut clock = FrameClock::default();
        clock.queries_sent(now);
        clock.acknowledged(now + trip);
        let features = Features {
            synchronized: true,
            ..Features::default()
        };
        Self {
            stage: Stage::new(80, 24, features),
            clock,
            now: now + trip,
            queue: VecDeque::new(),
            answers: VecDeque::new(),
            speed,
            trip,
            sent: 0,
            frames: 0,
            largest: 0,
            tick: 0,
            prompt: String::new(),
        }
    }

    /// Runs one step of the connection and of the event loop. Returns true if a frame was drawn.
    fn step(&mut self, draw: impl Fn(usize, u16) -> String) -> bool {
        self.now += STEP;
        let count = self.speed.min(self.queue.len());
        let taken: Vec<u8> = self.queue.drain(..count).collect();
        // A fence that is cut is answered one step later.
        let open = self.queue.make_contiguous().starts_with(&FENCE[1..])
            || self.queue.make_contiguous().starts_with(&FENCE[2..]);
        let mut fences = taken.windows(3).filter(|bytes| *bytes == FENCE).count();
        fences += usize::from(open && taken.ends_with(&FENCE[..1]) || taken.ends_with(&FENCE[..2]));
        self.stage.terminal.process(&taken);
        self.answers
            .extend((0..fences).map(|_| self.now + self.trip));
        while self.answers.front().is_some_and(|then| *then <= self.now) {
            self.answers.pop_front();
            self.clock.acknowledged(self.now);
        }
        let due = self.clock.deadline(self.now);
        if due.is_none_or(|due| due > self.now) {
            return false;
        }
        self.draw(draw);
        true
    }

    fn draw(&mut self, draw: impl Fn(usize, u16) -> String) {
        let buffer = self.stage.writer.canvas().0;
        for row in 0..22 {
            buffer.set_string(0, row, draw(self.tick, row), Style::new());
        }
        buffer.set_string(0, 23, &self.prompt, Style::new());
        let mut bytes = Vec::new();
        self.stage.writer.finish(None, &mut bytes);
        let fenced = self.clock.wants_fence(bytes.len());
        if fenced {
            bytes.extend(FENCE);
        }
        (self.sent, self.frames) = (self.sent + bytes.len(), self.frames + 1);
        self.largest = self.largest.max(bytes.len());
        let frame = SentFrame {
            bytes: bytes.len(),
            fenced,
            ..SentFrame::default()
        };
        self.clock.frame_sent(self.now, frame);
        self.queue.extend(bytes);
    }

    /// Streams for one step.
    fn stream(&mut self) {
        self.tick += 1;
        if self.tick.is_multiple_of(BATCH) {
            self.clock.request_background(self.now);
        }
    }
}

/// Every row changes at every tick, so nothing can be scrolled.
fn flood(tick: usize, row: u16) -> String {
    let mut seed = (tick as u64 + 1) << 16 | u64::from(row);
    let words = (0..4).map(|_| {
        seed = (seed ^ seed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        format!("{seed:016x}")
    });
    words.collect()
}

#[test]
fn flood_drops_frames_and_echoes_wait_for_two_at_most() {
    // 20 kB/s.
    let mut line = Line::new(200, Duration::from_millis(1));
    let start = line.now;
    for step in 0..2000 {
        line.stream();
        let typed = step % 50 == 7;
        if typed {
            line.prompt.push('x');
            line.prompt = line.prompt.split_off(line.prompt.len().saturating_sub(70));
            line.clock.request_now(line.now);
            while !line.step(flood) {}
        } else {
            line.step(flood);
        }
        assert!(
            line.queue.len() <= line.largest * 2,
            "step {step}: {} bytes in {} frames, {} wait",
            line.sent,
            line.frames,
            line.queue.len()
        );
    }
    let limit = (line.now - start).as_millis() as usize / 10 * 200 + line.largest * 2;
    assert!(
        line.frames > 40 && line.sent <= limit,
        "{} of {limit}",
        line.sent
    );
    assert!(line.clock.is_slow());
    line.clock.request(line.now);
    while line.clock.deadline(line.now).is_some() || !line.queue.is_empty() {
        line.step(flood);
    }
    line.stage.check().unwrap();
}

#[test]
fn long_round_trip_with_bandwidth_keeps_every_frame() {
    let mut line = Line::new(100_000, Duration::from_millis(200));
    for _ in 0..1000 {
        line.stream();
        line.step(|tick, row| match row {
            5 => format!("{:64}", tick / 3),
            _ => String::new(),
        });
    }
    // Ten seconds with a frame every fourth step.
    assert!((240..=260).contains(&line.frames), "{}", line.frames);
    assert!(!line.clock.is_slow());
}
