//! Support for all parts: directories, a model server, a terminal, processes and random numbers.

pub(crate) mod commands;
pub(crate) mod home;
pub(crate) mod journal;
pub(crate) mod model;
pub(crate) mod process;
pub(crate) mod random;
pub(crate) mod rpc;
pub(crate) mod strict;
pub(crate) mod terminal;
pub(crate) mod wires;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The content of a lock, also if a thread with it has panicked.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sends a signal to a process, which may have ended.
pub(crate) fn signal(process: u32, signal: rustix::process::Signal) {
    let id = i32::try_from(process).ok();
    if let Some(id) = id.and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process(id, signal);
    }
}

/// The exit status of a process, or `None` if it still runs after `patience`.
pub(crate) fn exit(
    child: &mut std::process::Child,
    patience: std::time::Duration,
) -> Option<std::process::ExitStatus> {
    let deadline = std::time::Instant::now() + patience;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            _ if std::time::Instant::now() >= deadline => return None,
            _ => std::thread::sleep(std::time::Duration::from_millis(2)),
        }
    }
}

/// Waits until `done`; false after `patience`.
pub(crate) fn until(patience: std::time::Duration, mut done: impl FnMut() -> bool) -> bool {
    let deadline = std::time::Instant::now() + patience;
    while !done() {
        if std::time::Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    true
}
