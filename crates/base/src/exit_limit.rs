//! A limit for how long the process takes to end.
//!
//! When a mode ends, its parts have [`GRACE`] to stop and to store. A lock, a disk or a server that
//! never answers may hold any of them up, the main thread included, so a separate thread ends the
//! process when the time is over.

use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{OnceLock, mpsc};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::clock;

/// How long work may take to stop once the process was asked to end.
pub const GRACE: Duration = Duration::from_millis(900);

/// Runs before the process is ended by force: restores the terminal.
static LAST_ACTION: OnceLock<fn()> = OnceLock::new();

/// Which signals end the process within [`GRACE`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interrupt {
    /// The first SIGINT too.
    Ends,
    /// The first SIGINT only stops the current run, and the second ends the process. If nobody
    /// reads the output, the first one ends it.
    StopsFirst,
}

/// From now on SIGTERM, SIGHUP and SIGINT end the process within [`GRACE`], with the exit code 128 + n. Call it once, before
/// the first await; the mode itself waits for them with [`Signals`](crate::signals::Signals), and normally ends
/// earlier.
pub fn limit_after_signals(interrupt: Interrupt) {
    // The thread comes first: without it the signals keep their default, and end the process.
    let (sender, receiver) = mpsc::channel::<Signals>();
    let started = thread::Builder::new()
        .name("exit-limit".to_owned())
        .spawn(move || {
            let Ok(mut signals) = receiver.recv() else {
                return;
            };
            let mut is_first = interrupt == Interrupt::StopsFirst;
            for signal in signals.forever() {
                if signal == SIGINT && InterruptsElsewhere::is_now() {
                    continue;
                }
                crate::signals::record(signal);
                if signal == SIGINT && std::mem::take(&mut is_first) {
                    let _ = thread::Builder::new()
                        .name("exit-limit".to_owned())
                        .spawn(move || end_if_nobody_reads(128 + signal));
                    continue;
                }
                end_after_grace(128 + signal);
            }
        });
    if started.is_ok()
        && let Ok(signals) = Signals::new([SIGTERM, SIGHUP, SIGINT])
    {
        let _ = sender.send(signals);
    }
}

/// While it lives, SIGINT is for another program of the process group, which has the terminal.
#[derive(Debug)]
pub struct InterruptsElsewhere(());

/// The time until which SIGINT is for another program, in milliseconds since the Unix epoch.
static ELSEWHERE: AtomicI64 = AtomicI64::new(0);

/// Time after the other program in which its last SIGINT can still arrive here.
const LATE_MS: i64 = 200;

impl InterruptsElsewhere {
    pub fn begin() -> Self {
        ELSEWHERE.store(i64::MAX, Ordering::SeqCst);
        Self(())
    }

    /// Whether another program has the terminal, or just had it.
    pub fn is_now() -> bool {
        ELSEWHERE.load(Ordering::SeqCst) > clock::now_ms()
    }
}

impl Drop for InterruptsElsewhere {
    fn drop(&mut self) {
        ELSEWHERE.store(clock::now_ms() + LATE_MS, Ordering::SeqCst);
    }
}

/// The number of writes that began plus those that ended: odd during a write.
static WRITES: AtomicUsize = AtomicUsize::new(0);

/// Runs `write`, which writes to the program that reads the output. If that program does not read,
/// an interrupt ends the process.
pub fn write_out<T>(write: impl FnOnce() -> T) -> T {
    WRITES.fetch_add(1, Ordering::Relaxed);
    let written = write();
    WRITES.fetch_add(1, Ordering::Relaxed);
    written
}

/// Ends the process if one write lasts longer than [`GRACE`]: then the interrupted run cannot end.
/// Returns when no write is in progress.
fn end_if_nobody_reads(code: i32) {
    let mut before = WRITES.load(Ordering::Relaxed);
    loop {
        thread::sleep(GRACE);
        let writes = WRITES.load(Ordering::Relaxed);
        if writes.is_multiple_of(2) {
            return;
        }
        if writes == before {
            end_now(code, || {});
        }
        before = writes;
    }
}

/// Ends the process at once, after `say` has written the last message.
pub fn end_now(code: i32, say: impl FnOnce()) -> ! {
    if let Some(action) = LAST_ACTION.get() {
        action();
    }
    say();
    signal_hook::low_level::exit(code);
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
    // No destructors and no buffers: what holds the process up may block these as well.
    end_now(code, || {});
}
