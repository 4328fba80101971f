//! The number of bytes that the screen may write. The numbers are the same on every machine: a change that makes
//! them larger fails here, and one that makes them smaller lowers the budget. `tests/allocations.rs` checks
//! allocations, the benchmarks measure times.

#[path = "../../benches/support/answer.rs"]
mod answer;
#[path = "../../benches/support/screen.rs"]
mod screen;

use std::time::Duration;

use osier_term::frame::Features;
use osier_term::terminal::TerminalKind;
use osier_term::theme::ColourDepth;

use screen::Screen;

/// Deltas per frame: 3 ms apart at 30 frames per second.
const DELTAS_A_FRAME: usize = 11;
const BETWEEN_DELTAS: Duration = Duration::from_millis(3);

/// Fails if the number is above its budget; `--nocapture` always prints it.
#[track_caller]
fn holds(what: &str, measured: f64, budget: f64) {
    eprintln!("{what}: {measured:.2}, at most {budget}");
    assert!(measured <= budget, "{what}: {measured:.2}, budget {budget}");
}

/// Bytes of the frames of an answer, and the final screen.
fn streamed(count: usize) -> (usize, Screen) {
    streamed_on(Screen::start(), count)
}

fn streamed_on(mut screen: Screen, count: usize) -> (usize, Screen) {
    screen.begin_answer();
    screen.frame();
    let mut bytes = 0;
    for (place, delta) in answer::deltas(count).enumerate() {
        screen.delta(&delta);
        screen.advance(BETWEEN_DELTAS);
        if place % DELTAS_A_FRAME == 0 {
            bytes += screen.frame();
        }
    }
    bytes += screen.frame();
    (bytes, screen)
}

#[test]
fn bytes_of_a_streamed_answer() {
    let (bytes, _) = streamed(3000);
    let per_byte = bytes as f64 / answer::text(3000).len() as f64;
    holds("bytes per byte of the answer", per_byte, 1.95);
}

/// The rows of the answer are printed once, and the terminal scrolls them.
#[test]
fn inline_mode_needs_about_the_bytes_of_the_full_screen() {
    let whole = |screen| {
        let (bytes, mut screen) = streamed_on(screen, 3000);
        screen.end_answer(&answer::text(3000));
        let mut bytes = bytes + screen.frame();
        for _ in 0..10 {
            screen.advance(Duration::from_millis(300));
            bytes += screen.frame();
        }
        screen.press("a");
        bytes + screen.frame()
    };
    let full = whole(Screen::start());
    let inline = whole(Screen::start_inline());
    holds("bytes of inline mode", inline as f64, full as f64 * 1.005);
}

#[test]
fn bytes_of_an_answer_in_one_event() {
    let text = answer::text(3000);
    let mut screen = Screen::start();
    screen.begin_answer();
    screen.frame();
    screen.delta(&text);
    let bytes = screen.frame();
    holds("bytes of one screen of it", bytes as f64, 2190.0);
}

/// The maximum bytes of a tick.
fn costliest_tick(screen: &mut Screen, ticks: usize) -> usize {
    // The first frame resets the colours.
    screen.advance_to_next_change();
    screen.frame();
    let bytes = (0..ticks).map(|_| {
        screen.advance_to_next_change();
        screen.frame()
    });
    bytes.max().unwrap()
}

#[test]
fn bytes_of_a_tick_in_every_state_of_the_status_line() {
    let start = || {
        let mut screen = Screen::start();
        screen.begin_answer();
        screen.frame();
        screen
    };
    let mut screen = start();
    let mut at = 0;
    for seconds in [0, 55, 595, 3590, 7190, 35_990, 86_390] {
        screen.advance(Duration::from_secs(seconds - at));
        at = seconds;
        let most = costliest_tick(&mut screen, 100);
        // After three seconds, the line names the step.
        let budget = if seconds == 0 { 32.0 } else { 19.0 };
        holds(&format!("a tick from {seconds} s on"), most as f64, budget);
        at += 12;
    }
    let mut screen = start();
    screen.advance(Duration::from_secs(7));
    screen.toast("copied");
    let most = costliest_tick(&mut screen, 25);
    holds("a tick beside a toast", most as f64, 19.0);
    for delay in [9, 12, 101] {
        let mut screen = start();
        screen.advance(Duration::from_millis(350));
        screen.retry(Duration::from_secs(delay));
        screen.frame();
        let most = costliest_tick(&mut screen, 60);
        holds(&format!("a tick of {delay} s to wait"), most as f64, 19.0);
    }
}

/// Bytes of scrolling a list in a box by a row, down and up.
fn scrolled_list(features: Features, open: &str) -> (usize, usize) {
    let (_, mut screen) = streamed(3000);
    screen.end_answer(&answer::text(3000));
    screen.writer.set_features(features);
    screen.frame();
    screen.press(open);
    screen.frame();
    let mut most = [0, 0];
    for (most, key) in most.iter_mut().zip(["down", "up"]) {
        for _ in 0..30 {
            screen.press(key);
            *most = (*most).max(screen.frame());
        }
    }
    (most[0], most[1])
}

#[test]
fn bytes_of_a_scrolling_list() {
    let plain = Features {
        margins: false,
        synchronized: true,
        ..Features::default()
    };
    let across = Features {
        margins: true,
        ..plain
    };
    let inside = Features {
        side_margins: true,
        ..across
    };
    let mut before = usize::MAX;
    for (kind, features, budget) in [
        ("without margins", plain, 1690.0),
        ("with margins", across, 820.0),
        ("with margins at the sides", inside, 300.0),
    ] {
        let (down, up) = scrolled_list(features, "f2");
        let most = down.max(up);
        holds(&format!("a row of commands {kind}"), most as f64, budget);
        assert!(most <= before, "{most} bytes, without {before}");
        before = most;
    }
}

#[test]
fn bytes_of_ticks_keys_and_rows() {
    let (_, mut screen) = streamed(3000);
    let ticks = (0..100).map(|_| {
        screen.advance_to_next_change();
        screen.frame()
    });
    let mut ticks: Vec<usize> = ticks.collect();
    ticks.sort_unstable();
    let at = |part: usize| ticks[(ticks.len() - 1) * part / 100] as f64;
    holds("bytes of a spinner tick", at(50), 15.0);
    holds("bytes of a tick at which a second is over", at(95), 19.0);
    holds("bytes of a tick that makes the time longer", at(100), 19.0);
    screen.end_answer(&answer::text(3000));
    screen.frame();
    screen.press("a");
    screen.frame();
    screen.press("b");
    holds("bytes of a typed key", screen.frame() as f64, 4.0);
    assert_eq!(screen.frame(), 0, "nothing changed");
    screen.press("backspace backspace shift+up");
    screen.frame();
    let rows = 40;
    let mut bytes = 0;
    for _ in 0..rows {
        screen.press("shift+up");
        bytes += screen.frame();
    }
    holds(
        "bytes of a scrolled row",
        bytes as f64 / f64::from(rows),
        88.0,
    );
    screen.press("pageup");
    holds("bytes of a page", screen.frame() as f64, 650.0);
    screen.writer.repaint();
    holds("bytes of a full repaint", screen.frame() as f64, 2600.0);
}

#[test]
fn bytes_of_typing_on_the_panel() {
    let mut kind = TerminalKind::detect(|_| None);
    kind.depth = ColourDepth::True;
    let mut screen = Screen::start_in("dark", &kind);
    screen.press("a");
    screen.frame();
    screen.press("b");
    holds("bytes of a typed key", screen.frame() as f64, 1.0);
    screen.begin_answer();
    screen.frame();
    screen.press("c");
    screen.frame();
    screen.advance_to_next_change();
    holds("bytes of a tick after a key", screen.frame() as f64, 48.0);
    screen.press("d");
    holds("bytes of a key after a tick", screen.frame() as f64, 35.0);
}
