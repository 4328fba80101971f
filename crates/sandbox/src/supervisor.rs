//! The parent of a command. In bubblewrap it is the first process of the namespace ([`be_init`]).
//!
//! [`supervise`] is for a command that Landlock sandboxes. There is no namespace that ends with the command, so the supervisor
//! does: it inherits the processes that leave the command's group or session, and kills what is left when the command
//! has ended. Landlock keeps the command from signalling the supervisor, which is outside. The command is a copy of the
//! supervisor ([`fork`]): a second start of osier would take longer than everything else.

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;
use std::time::Duration;

use osier_base::process;
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, getpid, getppid, kill_process, set_child_subreaper,
    set_parent_process_death_signal, wait, waitpid,
};
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};
use tokio::time::{Instant, sleep_until};

use super::capabilities;

/// Time to end after SIGTERM; shorter than that of the sender, who then kills the supervisor.
const GRACE: Duration = Duration::from_millis(300);
/// Attempts to kill what is left, with this time between two.
const SWEEPS: usize = 500;
const BETWEEN_SWEEPS: Duration = Duration::from_millis(2);

/// Copies this process. Returns the copy in the supervisor, and `None` in the copy, which ends with the supervisor.
pub(super) fn fork() -> Result<Option<Pid>, String> {
    let supervisor = getpid();
    set_child_subreaper(Some(supervisor)).map_err(|error| error.to_string())?;
    #[expect(
        unsafe_code,
        reason = "the process has one thread, so that its copy can do everything"
    )]
    // SAFETY: other threads, whose locks the copy would have without their owners, do not exist.
    let forked = unsafe { nix::unistd::fork() };
    match forked.map_err(|error| error.to_string())? {
        nix::unistd::ForkResult::Parent { child } => Ok(Pid::from_raw(child.as_raw())),
        nix::unistd::ForkResult::Child => {
            let kill = set_parent_process_death_signal(Some(Signal::KILL));
            kill.map_err(|error| error.to_string())?;
            if getppid() == Some(supervisor) {
                Ok(None)
            } else {
                Err("the supervisor has ended".to_owned())
            }
        }
    }
}

/// Waits for the command, which is the child of this process, and ends as it ended.
pub(super) fn supervise(child: Pid) -> Result<ExitCode, String> {
    let failed = |error: &dyn std::fmt::Display| format!("cannot supervise the command: {error}");
    capabilities::drop_all().map_err(|error| failed(&error))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| failed(&error))?;
    let status = runtime.block_on(async { wait_for(child, Forwarded::new()?).await });
    drop(runtime);
    sweep();
    let status = status.map_err(|error| failed(&error))?;
    match status.terminating_signal() {
        None => Ok(ExitCode::from(
            status.exit_status().unwrap_or_default() as u8
        )),
        Some(signal) => Err(die_of(signal).to_string()),
    }
}

/// Runs the program as the first process of a namespace, which ends with it. It has the same filter as the program, which
/// can trace it. Returns the code that a shell would report.
pub(super) fn be_init(program: &OsStr, arguments: &[OsString]) -> std::io::Result<ExitCode> {
    let child = process::start_inheriting(program, arguments)?;
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == child => {
                let code = status.exit_status();
                let signal = status.terminating_signal().unwrap_or_default();
                return Ok(ExitCode::from(code.unwrap_or(128 + signal) as u8));
            }
            // Another process of the namespace, or a signal.
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// The signals that end programs. SIGINT and SIGQUIT come from a terminal, which sends them to the command as well.
struct Forwarded {
    terminate: Signals,
    hang_up: Signals,
    child: Signals,
    _ignored: [Signals; 2],
}

impl Forwarded {
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
            child: signal(SignalKind::child())?,
            _ignored: [
                signal(SignalKind::interrupt())?,
                signal(SignalKind::quit())?,
            ],
        })
    }
}

async fn wait_for(child: Pid, mut signals: Forwarded) -> std::io::Result<WaitStatus> {
    let mut kill_at = None;
    loop {
        // Also before the first signal: the child could have ended before the handlers were there.
        if let Some((_, status)) = waitpid(Some(child), WaitOptions::NOHANG)? {
            return Ok(status);
        }
        let deadline = kill_at.unwrap_or_else(Instant::now);
        let _ = tokio::select! {
            _ = signals.child.recv() => Ok(()),
            _ = signals.terminate.recv() => {
                kill_at = kill_at.or_else(|| Some(Instant::now() + GRACE));
                kill_process(child, Signal::TERM)
            }
            _ = signals.hang_up.recv() => kill_process(child, Signal::HUP),
            () = sleep_until(deadline), if kill_at.is_some() => {
                kill_at = None;
                kill_process(child, Signal::KILL)
            }
        };
    }
}

/// Kills all children until none is left: those of a killed process become ours.
fn sweep() {
    for _ in 0..SWEEPS {
        match wait(WaitOptions::NOHANG) {
            Err(Errno::CHILD) => return,
            Ok(Some(_)) => {}
            _ => {
                for child in children() {
                    let _ = kill_process(child, Signal::KILL);
                }
                std::thread::sleep(BETWEEN_SWEEPS);
            }
        }
    }
}

/// The children of this process. They are not reaped, so their ids are not used again.
fn children() -> Vec<Pid> {
    let own = getpid();
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let processes = numbers.filter_map(Pid::from_raw);
    processes
        .filter(|pid| process::parent_of(*pid) == Some(own))
        .collect()
}

/// Ends this process with `signal`: a shell has the default handlers, and dumps no core. Returns only on failure.
fn die_of(signal: i32) -> std::io::Error {
    let script = format!("ulimit -c 0; kill -{signal} $$");
    process::replace("/bin/sh".as_ref(), ["-c".into(), script.into()])
}
