//! The allocations of a delta and of a frame. A separate program without a test harness, because the counting
//! allocator counts the complete process with all threads. The text has no code block, because highlighting runs on
//! another thread.

#![allow(
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test says what it has found, and fails by panicking"
)]

#[path = "../benches/support/screen.rs"]
mod screen;

use std::alloc::System;
use std::time::Duration;

use screen::Screen;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const PROSE: &str = "The parser keeps a **stack of frames** and walks each `Token` once, so the cost stays linear \
    in the input; see the _notes_ below.\n\n- first point about caching\n- second point\n\n";

fn main() {
    let mut screen = Screen::start();
    screen.begin_answer();
    screen.frame();
    // The start of an answer fills caches and grows buffers.
    stream(&mut screen, 100);
    let early = stream(&mut screen, 100);
    stream(&mut screen, 1000);
    let late = stream(&mut screen, 100);
    holds("allocations of a delta", late.0, 3.0);
    // A line that begins a block is parsed with each frame until it is complete.
    holds("allocations of a frame that streams", late.1, 88.0);
    assert!(
        late.1 <= early.1 * 1.1,
        "a frame late in an answer allocates {} times, early {}",
        late.1,
        early.1
    );
    let still = counted(|| {
        screen.frame();
    });
    holds("allocations of a frame without a change", still, 22.0);
}

/// Allocations of a delta and of a frame: the mean over `sections` of prose.
fn stream(screen: &mut Screen, sections: usize) -> (f64, f64) {
    let characters: Vec<char> = PROSE.chars().collect();
    let pieces: Vec<String> = characters.chunks(5).map(String::from_iter).collect();
    let (mut in_deltas, mut in_frames) = (0.0, 0.0);
    let (mut deltas, mut frames) = (0.0, 0.0);
    for _ in 0..sections {
        for piece in pieces.chunks(11) {
            in_deltas += counted(|| piece.iter().for_each(|delta| screen.delta(delta)));
            deltas += piece.len() as f64;
            screen.advance(Duration::from_millis(33));
            in_frames += counted(|| {
                screen.frame();
            });
            frames += 1.0;
        }
    }
    (in_deltas / deltas, in_frames / frames)
}

fn counted(work: impl FnOnce()) -> f64 {
    let region = Region::new(ALLOCATOR);
    work();
    let change = region.change();
    (change.allocations + change.reallocations) as f64
}

fn holds(what: &str, measured: f64, budget: f64) {
    eprintln!("{what}: {measured:.2}, at most {budget}");
    assert!(measured <= budget, "{what}: {measured:.2}, budget {budget}");
}
