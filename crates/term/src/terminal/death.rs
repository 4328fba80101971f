//! Restores the terminal when a signal kills or stops the process: a crash in a library, or a signal from outside that no
//! mode expects.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::{io, mem, ptr};

use libc::{c_int, c_void, siginfo_t};
use rustix::process::{Pid, getpid, getppid, kill_process};

use osier_base::process::parent_of;

use super::restore::RestoreGuard;

/// Signals that end a process and that nothing else of the program handles.
const FATAL: [c_int; 13] = [
    libc::SIGABRT,
    libc::SIGALRM,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGPROF,
    libc::SIGSEGV,
    libc::SIGSYS,
    libc::SIGTRAP,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGVTALRM,
    libc::SIGXCPU,
];

/// Signals whose handler the standard library has set, to report a stack overflow.
const OF_THE_STANDARD_LIBRARY: [c_int; 2] = [libc::SIGBUS, libc::SIGSEGV];

static TERMINAL: OnceLock<Weak<RestoreGuard>> = OnceLock::new();
static PREVIOUS: [OnceLock<libc::sigaction>; 2] = [OnceLock::new(), OnceLock::new()];
/// Whether a shell can continue this process after a stop.
static HAS_JOB_CONTROL: AtomicBool = AtomicBool::new(false);
static WAS_STOPPED: AtomicBool = AtomicBool::new(false);
static RESTORED: AtomicBool = AtomicBool::new(false);

/// From now on the terminal is restored before a signal ends the process.
pub(super) fn restore_on_death(restore: &Arc<RestoreGuard>) -> io::Result<()> {
    // The first terminal of a process is the only one that signals know.
    if TERMINAL.set(Arc::downgrade(restore)).is_err() {
        return Ok(());
    }
    HAS_JOB_CONTROL.store(find_job_control(), Ordering::SeqCst);
    set_handler(libc::SIGTSTP, on_stop)?;
    for signal in FATAL {
        let previous = set_handler(signal, on_fatal)?;
        if let Some(at) = OF_THE_STANDARD_LIBRARY.iter().position(|of| *of == signal) {
            let _ = PREVIOUS[at].set(previous);
        }
    }
    Ok(())
}

/// Restores the terminal without waiting for a lock or for a terminal that does not read. Safe in a signal handler.
pub fn restore_without_waiting() {
    let Some(restore) = TERMINAL.get().and_then(Weak::upgrade) else {
        return;
    };
    restore.restore_without_waiting();
    // Freeing memory is not allowed in a signal handler, and there is only one.
    mem::forget(restore);
}

/// Whether a shell can continue this process after a stop. A stop is ignored otherwise, as the system does for the signal's
/// default action.
pub(super) fn has_job_control() -> bool {
    HAS_JOB_CONTROL.load(Ordering::SeqCst)
}

/// Whether the process was stopped since the last call.
pub(super) fn was_stopped() -> bool {
    WAS_STOPPED.swap(false, Ordering::SeqCst)
}

/// Whether there is job control: an ancestor is in the same session, but in another job.
fn find_job_control() -> bool {
    let own = Job::of(None);
    let mut ancestor = getppid();
    while let Some(process) = ancestor {
        let job = Job::of(Some(process));
        if job.group != own.group {
            return job.session == own.session;
        }
        ancestor = parent_of(process);
    }
    false
}

/// The process group and the session of a process. Numbers, because they are 0 in a container whose group and session began
/// outside, and `rustix` has no such process id; -1 if the process is gone.
struct Job {
    group: libc::pid_t,
    session: libc::pid_t,
}

impl Job {
    /// The job of a process; by default, of this one.
    fn of(process: Option<Pid>) -> Self {
        let process = Pid::as_raw(process);
        #[expect(unsafe_code, reason = "the safe functions cannot return 0")]
        // SAFETY: both functions take any number and have no memory to access.
        unsafe {
            Self {
                group: libc::getpgid(process),
                session: libc::getsid(process),
            }
        }
    }
}

type Handler = extern "C" fn(c_int, *mut siginfo_t, *mut c_void);

fn set_handler(signal: c_int, handler: Handler) -> io::Result<libc::sigaction> {
    #[expect(
        unsafe_code,
        reason = "a handler that acts before the process dies has no safe form"
    )]
    // SAFETY: both structures are valid, zero is a valid value of each, and the handler calls only functions that are safe
    // in a signal handler: `poll`, `write`, `tcsetattr`, `sigaction`, `raise`, and atomics.
    unsafe {
        let mut previous: libc::sigaction = mem::zeroed();
        let mut action: libc::sigaction = mem::zeroed();
        action.sa_sigaction = handler as usize;
        // On a stack of its own: a fault may be an overflow of the stack.
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
        if libc::sigaction(signal, &raw const action, &raw mut previous) != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(previous)
    }
}

extern "C" fn on_stop(_: c_int, _: *mut siginfo_t, _: *mut c_void) {
    if has_job_control() {
        restore_without_waiting();
        WAS_STOPPED.store(true, Ordering::SeqCst);
        let _ = kill_process(getpid(), rustix::process::Signal::STOP);
    }
}

extern "C" fn on_fatal(signal: c_int, info: *mut siginfo_t, _: *mut c_void) {
    // The standard library ends the process by a second signal after its report.
    if !RESTORED.swap(true, Ordering::SeqCst) {
        restore_without_waiting();
    }
    #[expect(
        unsafe_code,
        reason = "the process must end by the signal, as without the handler"
    )]
    // SAFETY: the kernel passes a valid `info`; zero is the default action; the previous action is the one that `sigaction`
    // returned.
    unsafe {
        // A signal that was sent, and not caused by an instruction, does not happen again.
        let was_sent = (*info).si_code <= 0;
        let at = OF_THE_STANDARD_LIBRARY.iter().position(|of| *of == signal);
        let previous = at.and_then(|at| PREVIOUS[at].get());
        match previous {
            // The instruction fails again, and the standard library reports it.
            Some(previous) if !was_sent => {
                libc::sigaction(signal, previous, ptr::null_mut());
            }
            _ => {
                let default: libc::sigaction = mem::zeroed();
                libc::sigaction(signal, &raw const default, ptr::null_mut());
                libc::raise(signal);
            }
        }
    }
}
