//! A limit for how long the process takes to end.
//!
//! When a mode ends, its parts have [`GRACE`] to stop and to store. A lock, a disk or a server that never answers
//! may hold any of them up, the main thread included, so a thread of its own ends the process when the time is over. So may a
//! reader of the output that does not read: the signal that only stops what runs then ends the process.

use std::io::{self, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// How long work may take to stop once the process was asked to end.
pub const GRACE: Duration = Duration::from_millis(900);

/// Runs before the process is ended by force: restores the terminal.
static LAST_ACTION: OnceLock<fn()> = OnceLock::new();

/// Writes to [`WatchedOutput`], started and finished: odd while one lasts.
static WRITES: AtomicU64 = AtomicU64::new(0);

/// Output whose reader may stop reading.
#[derive(Debug)]
pub struct WatchedOutput<W>(pub W);

impl<W: Write> Write for WatchedOutput<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        WRITES.fetch_add(1, Ordering::Relaxed);
        let written = self.0.write(bytes);
        WRITES.fetch_add(1, Ordering::Relaxed);
        written
    }

    fn flush(&mut self) -> io::Result<()> {
        WRITES.fetch_add(1, Ordering::Relaxed);
        let flushed = self.0.flush();
        WRITES.fetch_add(1, Ordering::Relaxed);
        flushed
    }
}

/// Which signals end the process within [`GRACE`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interrupt {
    /// The first SIGINT too.
    Ends,
    /// The first SIGINT only stops what runs; the second ends the process. The first one too if the output is not read.
    StopsFirst,
}

/// From now on SIGTERM, SIGHUP and SIGINT end the process within [`GRACE`], with the exit code 128 + n. Call it once, before
/// the first await; the mode itself listens to the signals as well, and normally ends earlier.
pub fn limit_after_signals(interrupt: Interrupt) {
    // Without the thread the process still ends by itself unless something hangs.
    let Ok(mut signals) = Signals::new([SIGTERM, SIGHUP, SIGINT]) else {
        return;
    };
    let _ = thread::Builder::new()
        .name("exit-limit".to_owned())
        .spawn(move || {
            let mut is_first = interrupt == Interrupt::StopsFirst;
            for signal in signals.forever() {
                if signal == SIGINT && std::mem::take(&mut is_first) {
                    let _ = thread::Builder::new()
                        .name("exit-limit".to_owned())
                        .spawn(move || end_if_output_blocks(128 + signal));
                    continue;
                }
                end_after_grace(128 + signal);
            }
        });
}

/// From now on the process has [`GRACE`] to end, after which it ends with `code`.
pub fn limit_from_now(code: i32) {
    let _ = thread::Builder::new()
        .name("exit-limit".to_owned())
        .spawn(move || end_after_grace(code));
}

/// Sets the last action before the process is ended by force. The action must not wait for anything.
pub fn set_last_action(action: fn()) {
    let _ = LAST_ACTION.set(action);
}

/// Ends the process with `code` if one write lasts longer than [`GRACE`]. Returns when none is on its way.
fn end_if_output_blocks(code: i32) {
    let mut before = WRITES.load(Ordering::Relaxed);
    loop {
        thread::sleep(GRACE);
        let writes = WRITES.load(Ordering::Relaxed);
        if writes.is_multiple_of(2) {
            return;
        }
        if writes == before {
            end(code);
        }
        before = writes;
    }
}

fn end_after_grace(code: i32) {
    thread::sleep(GRACE);
    end(code);
}

fn end(code: i32) {
    if let Some(action) = LAST_ACTION.get() {
        action();
    }
    // No destructors and no buffers: whatever holds the process up may hold them as well.
    signal_hook::low_level::exit(code);
}
