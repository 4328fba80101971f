//! What every torture needs: directories, a model server, a terminal, processes and random numbers.

pub(crate) mod home;
pub(crate) mod model;
pub(crate) mod process;
pub(crate) mod random;
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
