//! A limit for how long the process takes to end.
//!
//! When a mode ends, its parts have [`GRACE`] to stop and to store. A lock, a disk or a server that never answers
//! may hold any of them up, the main thread included, so a thread of its own ends the process when the time is over.

use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// How long work may take to stop once the process was asked to end.
pub const GRACE: Duration = Duration::from_millis(900);

/// Runs before the process is ended by force: restores the terminal.
static LAST_ACTION: OnceLock<fn()> = OnceLock::new();

/// Which signals end the process within [`GRACE`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interrupt {
    /// The first SIGINT too.
    Ends,
    /// The first SIGINT only stops what runs; the second ends the process.
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

fn end_after_grace(code: i32) {
    thread::sleep(GRACE);
    if let Some(action) = LAST_ACTION.get() {
        action();
    }
    // No destructors and no buffers: whatever holds the process up may hold them as well.
    signal_hook::low_level::exit(code);
}
