//! The parent of a command. In bubblewrap it is the first process of the namespace ([`be_init`]).
//!
//! [`supervise`] is for a command that Landlock sandboxes. There is no namespace that ends with the command, so the supervisor
//! does: it inherits the processes that leave the command's group or session, and kills what is left when the command
//! has ended. Landlock keeps the command from signalling the supervisor, which is outside.

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;
use std::time::Duration;

use osier_base::process::{self, Exit, Inheriting};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper, wait};
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};
use tokio::time::{Instant, sleep_until};

use super::spec::{Spec, Stage};
use super::{HELPER, capabilities};

/// Time to end after SIGTERM; shorter than that of the sender, who then kills the supervisor.
const GRACE: Duration = Duration::from_millis(300);
/// Attempts to kill what is left, with this time between two.
const SWEEPS: usize = 500;
const BETWEEN_SWEEPS: Duration = Duration::from_millis(2);

/// Runs the program in the stage `Landlock`, and ends as it ended.
pub(super) fn supervise(
    spec: Spec,
    program: OsString,
    arguments: impl Iterator<Item = OsString>,
) -> Result<ExitCode, String> {
    let failed = |error: &dyn std::fmt::Display| format!("cannot set up the sandbox: {error}");
    set_child_subreaper(Some(getpid())).map_err(|error| failed(&error))?;
    capabilities::drop_all().map_err(|error| failed(&error))?;
    let spec = Spec {
        stage: Stage::Landlock,
        ..spec
    };
    let spec = serde_json::to_string(&spec).map_err(|error| failed(&error))?;
    let mut args = vec![HELPER.into(), spec.into(), "--".into(), program];
    args.extend(arguments);
    let helper = std::env::current_exe().map_err(|error| failed(&error))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| failed(&error))?;
    let exit = runtime.block_on(async {
        let mut signals = Forwarded::new()?;
        let child = process::spawn_inheriting(&helper, &args)?;
        wait_for(child, &mut signals).await
    });
    drop(runtime);
    sweep();
    let exit = exit.map_err(|error| failed(&error))?;
    match exit.signal {
        None => Ok(ExitCode::from(exit.shell_code() as u8)),
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
    _ignored: [Signals; 2],
}

impl Forwarded {
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
            _ignored: [
                signal(SignalKind::interrupt())?,
                signal(SignalKind::quit())?,
            ],
        })
    }
}

async fn wait_for(mut child: Inheriting, signals: &mut Forwarded) -> std::io::Result<Exit> {
    let mut kill_at = None;
    loop {
        let deadline = kill_at.unwrap_or_else(Instant::now);
        tokio::select! {
            exit = child.wait() => return exit,
            _ = signals.terminate.recv() => {
                child.signal(Signal::TERM);
                kill_at = kill_at.or_else(|| Some(Instant::now() + GRACE));
            }
            _ = signals.hang_up.recv() => child.signal(Signal::HUP),
            () = sleep_until(deadline), if kill_at.is_some() => {
                child.signal(Signal::KILL);
                return child.wait().await;
            }
        }
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
