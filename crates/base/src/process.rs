//! Child processes that cannot outlive their owner, block on a terminal or hang their reader.
//!
//! A child leads its own process group and, if the `setsid` program is available, a session without a terminal, so
//! that a password prompt fails instead of writing to the screen (`unattended` has what else it needs for that). Its
//! standard input is empty; stdout and stderr share one pipe, in order. Dropping a [`Running`] kills everything it started. After the child has exited, its
//! output ends once the pipe is idle for a moment: a detached grandchild that holds the pipe open does not block the
//! reader.
//!
//! A child does not inherit the keys of osier ([`withhold_variables`]), unless its [`Invocation`] says so. No child
//! inherits the repository of a git that started osier.

mod child_reaper;
mod detached;
mod environment;
mod group;
mod limits;
mod piped;
mod quiet;
mod search;
mod terminal;
mod unattended;
mod user_terminal;

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::LazyLock;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep_until};

use self::child_reaper::MARKER;

pub use detached::spawn_detached;
pub use environment::{
    is_kept_from_projects, is_withheld, lend_variables, pass_variables, withhold_variables,
};
pub use group::{ChildGroup, parent_of};
pub use limits::limit_own;
pub use piped::{Piped, Pipes, spawn_piped};
pub use search::program_path;
pub use terminal::{LineReader, Pty, PtySize, TerminalChild, spawn_terminal};
pub use unattended::{on_user_terminal, run_for_user};
pub use user_terminal::{TerminalLender, TerminalRequest, lend_terminal, lent_terminal};

pub use quiet::{
    QuietError, QuietOutput, run_bounded, run_captured, run_contained, run_printing, run_quietly,
};

/// Idle time of the pipe after which an exited child's output is complete.
const IDLE: Duration = Duration::from_millis(100);
/// Time limit for reading continuous output after the child has exited.
const LATE_OUTPUT: Duration = Duration::from_secs(5);
/// Time between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_millis(500);
/// Time after SIGKILL until even a child stuck in the kernel is abandoned.
const GIVE_UP: Duration = Duration::from_secs(2);
/// Interval for counting the members of a group that is being stopped.
const RECOUNT: Duration = Duration::from_millis(20);

/// Disables pagers and prompts of unattended commands.
pub const UNATTENDED: [(&str, &str); 3] = [
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
];

/// Variables for every git: it must not use a directory among the files of a project as a
/// repository, whose configuration would run programs.
const REPOSITORIES: [(&str, &str); 3] = [
    ("GIT_CONFIG_COUNT", "1"),
    ("GIT_CONFIG_KEY_0", "safe.bareRepository"),
    ("GIT_CONFIG_VALUE_0", "explicit"),
];

/// Variables of commands without a terminal: no colours, pagers or prompts.
const QUIET_TERMINAL: [(&str, &str); 4] = [
    ("TERM", "dumb"),
    UNATTENDED[0],
    UNATTENDED[1],
    UNATTENDED[2],
];

static SETSID: LazyLock<Option<&'static Path>> = LazyLock::new(|| {
    ["/usr/bin/setsid", "/bin/setsid"]
        .map(Path::new)
        .into_iter()
        .find(|path| path.is_file())
});

/// A program to run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Invocation {
    /// A path, or a name to look up in `PATH`.
    pub program: OsString,
    pub args: Vec<OsString>,
    /// The working directory; by default the current one.
    pub cwd: Option<PathBuf>,
    /// Added to the current environment, which lacks the keys of osier.
    pub env: Vec<(OsString, OsString)>,
    /// Whether the program gets the complete environment, keys included: another osier, or a command that prints a key.
    pub has_keys: bool,
    /// Whether the program can ask the user, in a window of its own: the ssh that connects osier.
    pub may_ask: bool,
    /// The bytes that the program may allocate, if it is run for its output.
    pub memory: Option<u64>,
}

impl Invocation {
    pub fn new<A: Into<OsString>>(
        program: impl Into<OsString>,
        args: impl IntoIterator<Item = A>,
    ) -> Self {
        Self {
            program: program.into(),
            args: args.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }

    /// The command without a terminal, run through `wrapper`; `env` overrides the variables in `defaults`.
    fn command(&self, wrapper: &[&Path], defaults: &[(&str, &str)]) -> Command {
        let is_unattended = !self.has_keys && !self.may_ask;
        let unattended = is_unattended.then(unattended::variables);
        let mut variables: Vec<(&str, &OsStr)> = unattended.into_iter().flatten().collect();
        variables.extend(
            defaults
                .iter()
                .map(|(name, value)| (*name, OsStr::new(*value))),
        );
        self.command_with(wrapper, &variables)
    }

    /// The command with these variables, which `env` overrides.
    fn command_with(&self, wrapper: &[&Path], defaults: &[(&str, &OsStr)]) -> Command {
        let own = self.env.iter().rev().find(|(name, _)| name == "PATH");
        let program = search::program(&self.program, own.map(|(_, path)| path.as_os_str()));
        let first = wrapper.first().map_or(&*program, |first| first.as_os_str());
        let start = if self.has_keys {
            new_command
        } else {
            keyless_command
        };
        let mut command = Command::from(start(first));
        if wrapper.is_empty() {
            command.process_group(0);
        } else {
            command.args(&wrapper[1..]).arg(&program);
        }
        if let Some(cwd) = &self.cwd {
            command.current_dir(cwd);
        }
        let ways = unattended::TERMINAL.into_iter();
        for name in ways.filter(|name| !environment::is_passed(name)) {
            command.env_remove(name);
        }
        command
            .args(&self.args)
            .envs(defaults.iter().copied())
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .kill_on_drop(true);
        command
    }

    /// Whether the program exists. If it is missing, its wrapper starts and only exits with an
    /// error.
    fn is_there(&self) -> bool {
        let program = Path::new(&self.program);
        if program.components().count() > 1 {
            let cwd = self.cwd.as_deref().unwrap_or(Path::new("."));
            return cwd.join(program).is_file();
        }
        let own = self.env.iter().rev().find(|(name, _)| name == "PATH");
        let path = own.map(|(_, value)| value.clone());
        let path = path
            .or_else(|| std::env::var_os("PATH"))
            .unwrap_or_default();
        let mut folders = std::env::split_paths(&path).filter(|folder| folder.is_absolute());
        folders.any(|folder| folder.join(program).is_file())
    }
}

fn is_git_setting(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.starts_with(b"GIT_CONFIG_KEY_") || name.starts_with(b"GIT_CONFIG_VALUE_")
}

/// The start of every child. It lacks the variables with which a git that started osier names its own repository, and finds
/// no repository in the files of another one.
///
/// It has the complete environment otherwise: for another osier, and for a program that stands in for this process, whose
/// environment was decided by its parent. Everything else is a `keyless_command`.
fn new_command(program: &OsStr) -> std::process::Command {
    #[expect(clippy::disallowed_methods, reason = "this is the one place that may")]
    let mut command = std::process::Command::new(program);
    for name in environment::GIT_LOCAL {
        command.env_remove(name);
    }
    // Settings of another git, of which a value can be a key.
    for (name, _) in std::env::vars_os() {
        if is_git_setting(&name) {
            command.env_remove(name);
        }
    }
    command.envs(REPOSITORIES);
    command.envs(environment::lent());
    command
}

/// The start of a child that is not osier: it also lacks keys.
pub(crate) fn keyless_command(program: &OsStr) -> std::process::Command {
    let mut command = new_command(program);
    for name in environment::withheld() {
        command.env_remove(name);
    }
    command
}

/// Replaces this process with `program`, looked up in `PATH`; returns only on failure.
pub fn replace(program: &OsStr, args: impl IntoIterator<Item = OsString>) -> io::Error {
    new_command(&program_path(program)).args(args).exec()
}

/// Starts `program` as a part of this process's own command: it has the same streams and group. The caller waits for it.
pub fn start_inheriting(program: &OsStr, args: &[OsString]) -> io::Result<Pid> {
    let child = new_command(program).args(args).spawn()?;
    let pid = Pid::from_raw(child.id().cast_signed());
    pid.ok_or_else(|| io::Error::other("the child has no process id"))
}

/// How a child ended: exactly one of the two is set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Exit {
    pub code: Option<i32>,
    pub signal: Option<i32>,
}

impl Exit {
    pub fn is_success(self) -> bool {
        self.code == Some(0)
    }

    /// The code that a shell would report: 128 plus the signal number for a child that a signal ended.
    pub fn shell_code(self) -> i32 {
        self.code.unwrap_or(128 + self.signal.unwrap_or(0))
    }
}

impl From<ExitStatus> for Exit {
    fn from(status: ExitStatus) -> Self {
        Self {
            code: status.code(),
            signal: status.signal(),
        }
    }
}

/// `SIGKILL` for 9, and so on for signals that end programs; `signal 42` for others.
pub fn signal_name(signal: i32) -> String {
    const NAMES: [(Signal, &str); 17] = [
        (Signal::HUP, "SIGHUP"),
        (Signal::INT, "SIGINT"),
        (Signal::QUIT, "SIGQUIT"),
        (Signal::ILL, "SIGILL"),
        (Signal::TRAP, "SIGTRAP"),
        (Signal::ABORT, "SIGABRT"),
        (Signal::BUS, "SIGBUS"),
        (Signal::FPE, "SIGFPE"),
        (Signal::KILL, "SIGKILL"),
        (Signal::USR1, "SIGUSR1"),
        (Signal::SEGV, "SIGSEGV"),
        (Signal::USR2, "SIGUSR2"),
        (Signal::PIPE, "SIGPIPE"),
        (Signal::ALARM, "SIGALRM"),
        (Signal::TERM, "SIGTERM"),
        (Signal::XCPU, "SIGXCPU"),
        (Signal::XFSZ, "SIGXFSZ"),
    ];
    let known = NAMES.iter().find(|(known, _)| known.as_raw() == signal);
    known.map_or_else(
        || format!("signal {signal}"),
        |(_, name)| (*name).to_owned(),
    )
}

/// The signal number of a name from `signal_name`, or of a number.
pub fn signal_number(name: &str) -> Option<i32> {
    let known = (1..=64).find(|signal| signal_name(*signal) == name);
    known.or_else(|| name.parse().ok())
}

/// A running child whose output is read incrementally. Dropping it kills everything it started.
#[derive(Debug)]
pub struct Running {
    child: Child,
    group: ChildGroup,
    /// Unset when the output has ended.
    output: Option<pipe::Receiver>,
    exit: Option<Exit>,
    /// When to stop reading continuous output; set once the child has exited.
    read_until: Option<Instant>,
    stop: Option<Stop>,
    finished: bool,
}

#[derive(Debug)]
struct Stop {
    kill_at: Instant,
    killed: bool,
}

/// The result of a child.
#[derive(Debug)]
pub struct Ended {
    pub exit: Exit,
    /// Processes that the child left running.
    pub left_running: Option<LeftRunning>,
}

/// Processes that outlived their parent. Dropping it kills those in the child's group.
#[derive(Debug)]
pub struct LeftRunning {
    group: ChildGroup,
    output: Option<pipe::Receiver>,
}

impl LeftRunning {
    /// Continues to read, so that no process fails on a closed pipe, until all processes have exited.
    pub async fn stay(mut self) {
        let mut buffer = vec![0; 16 * 1024];
        while read_some(&mut self.output, &mut buffer)
            .await
            .is_ok_and(|length| length > 0)
        {}
        if self.group.has_members() {
            std::future::pending::<()>().await;
        }
    }
}

async fn read_some(output: &mut Option<pipe::Receiver>, buffer: &mut [u8]) -> io::Result<usize> {
    match output {
        Some(output) => output.read(buffer).await,
        None => Ok(0),
    }
}

/// Starts `invocation`. Requires a tokio runtime.
pub fn spawn(invocation: &Invocation) -> io::Result<Running> {
    let (reader, writer) = io::pipe()?;
    let marker = child_reaper::command_id();
    let mut command = invocation.command(SETSID.as_slice(), &QUIET_TERMINAL);
    command
        .env(MARKER, &marker)
        .stdout(writer.try_clone()?)
        .stderr(writer);
    let child = command.spawn()?;
    // Closes this side's copies of the pipe, which the command still has.
    drop(command);
    let output = pipe::Receiver::from_owned_fd(OwnedFd::from(reader))?;
    let pid = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    let pid = pid.ok_or_else(|| io::Error::other("the child has no process id"))?;
    Ok(Running {
        child,
        group: ChildGroup::new(pid, Some(format!("{MARKER}={marker}"))).with_reaper(),
        output: Some(output),
        exit: None,
        read_until: None,
        stop: None,
        finished: false,
    })
}

impl Running {
    /// Process id of the child, which is also its group id.
    pub fn id(&self) -> i32 {
        self.group.id()
    }

    /// Sends SIGTERM to everything that the child started, and SIGKILL half a second later. Proceeds while `read` is
    /// called.
    pub fn stop(&mut self) {
        if self.stop.is_none() {
            self.group.signal_everything(Signal::TERM);
            self.stop = Some(Stop {
                kill_at: Instant::now() + GRACE,
                killed: false,
            });
        }
    }

    /// Reads the next output, up to the length of `buffer`; 0 after the output has ended and the child has exited.
    /// Cancel safe.
    pub async fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut idle_at = Instant::now() + IDLE;
        loop {
            let wake = self.wake(idle_at);
            tokio::select! {
                biased;
                // Before the output: continuous output must not delay a deadline.
                () = sleep_until(wake.unwrap_or(idle_at)), if wake.is_some() => {
                    if self.is_over(idle_at) {
                        if !self.has_more() {
                            return Ok(0);
                        }
                        // On a busy machine the silence may be ours, not the child's.
                        idle_at = Instant::now() + IDLE;
                    }
                }
                status = self.child.wait(), if self.exit.is_none() => self.note_exit(status?.into()),
                length = read_some(&mut self.output, buffer), if self.output.is_some() => match length? {
                    0 => self.output = None,
                    length => return Ok(length),
                },
            }
        }
    }

    /// Whether the pipe has output or its end, and there is still time to read it.
    fn has_more(&self) -> bool {
        let in_time = self.read_until.is_some_and(|until| Instant::now() < until);
        let is_ready = |pipe| {
            let mut pipe = [PollFd::new(pipe, PollFlags::IN)];
            poll(&mut pipe, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
        };
        in_time && self.output.as_ref().is_some_and(is_ready)
    }

    fn note_exit(&mut self, exit: Exit) {
        self.exit = Some(exit);
        self.read_until = Some(Instant::now() + LATE_OUTPUT);
        self.group.note_reaped();
    }

    /// When to check the state even without output.
    fn wake(&self, idle_at: Instant) -> Option<Instant> {
        let now = Instant::now();
        let end = self.read_until.map(|until| {
            if self.output.is_none() {
                now
            } else {
                until.min(idle_at)
            }
        });
        match &self.stop {
            None => end,
            Some(stop) if stop.killed => Some(end.unwrap_or(stop.kill_at + GIVE_UP)),
            Some(stop) if end.is_some() => Some(stop.kill_at.min(now + RECOUNT)),
            Some(stop) => Some(stop.kill_at),
        }
    }

    /// Whether reading is complete. Kills the group when its deadline has passed.
    fn is_over(&mut self, idle_at: Instant) -> bool {
        let now = Instant::now();
        let quiet = self.output.is_none()
            || now >= idle_at
            || self.read_until.is_some_and(|until| now >= until);
        let Some(stop) = &mut self.stop else {
            return quiet && self.exit.is_some();
        };
        if stop.killed {
            return match self.exit {
                Some(_) => quiet,
                None => now >= stop.kill_at + GIVE_UP,
            };
        }
        if self.exit.is_some() && !self.group.has_members() {
            return quiet;
        }
        if now >= stop.kill_at {
            stop.killed = true;
            self.group.signal_everything(Signal::KILL);
        }
        false
    }

    /// Returns the result; call it after `read` returned 0. Before that it kills the child.
    pub fn finish(mut self) -> Ended {
        self.finished = self.exit.is_some() && self.stop.is_none();
        let killed = Exit {
            code: None,
            signal: Some(Signal::KILL.as_raw()),
        };
        let outlived = self.output.is_some() || self.group.has_members();
        let left_running = (self.finished && outlived).then(|| LeftRunning {
            group: self.group.take(),
            output: self.output.take(),
        });
        Ended {
            exit: self.exit.unwrap_or(killed),
            left_running,
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.finished {
            self.group.release();
        } else {
            self.group.signal_everything(Signal::KILL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Running {
        spawn(&Invocation::new("bash", ["-c", script])).unwrap()
    }

    async fn read_all(running: &mut Running) -> String {
        let mut buffer = [0; 4096];
        let mut all = Vec::new();
        loop {
            match running.read(&mut buffer).await.unwrap() {
                0 => return String::from_utf8(all).unwrap(),
                length => all.extend_from_slice(&buffer[..length]),
            }
        }
    }

    /// Reads until a line with a process id was printed.
    async fn first_line(running: &mut Running) -> Pid {
        let mut buffer = [0; 64];
        let mut line = String::new();
        while !line.contains('\n') {
            let length = running.read(&mut buffer).await.unwrap();
            assert_ne!(length, 0, "{line}");
            line.push_str(std::str::from_utf8(&buffer[..length]).unwrap());
        }
        Pid::from_raw(line.trim().parse().unwrap()).unwrap()
    }

    async fn wait_until_gone(pid: Pid) {
        let is_zombie = || {
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
            stat.is_ok_and(|stat| stat.contains(") Z "))
        };
        while rustix::process::test_kill_process(pid).is_ok() && !is_zombie() {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn stdout_and_stderr_arrive_in_order() {
        let mut running = shell("echo a; echo b >&2; echo c; echo $TERM; cat; exit 3");
        assert_eq!(read_all(&mut running).await, "a\nb\nc\ndumb\n");
        let ended = running.finish();
        assert_eq!((ended.exit.code, ended.exit.signal), (Some(3), None));
        assert!(ended.left_running.is_none());
    }

    #[tokio::test]
    async fn signal_is_reported() {
        let mut running = shell("kill -SEGV $$");
        read_all(&mut running).await;
        let exit = running.finish().exit;
        assert_eq!((exit.signal, exit.shell_code()), (Some(11), 139));
        assert_eq!(signal_name(11), "SIGSEGV");
    }

    #[tokio::test]
    async fn stopping_kills_children_that_ignore_sigterm() {
        let mut running =
            shell("trap '' TERM; (trap '' TERM; echo $BASHPID; while :; do sleep 60; done) & wait");
        let grandchild = first_line(&mut running).await;
        running.stop();
        read_all(&mut running).await;
        assert_eq!(running.finish().exit.signal, Some(9));
        wait_until_gone(grandchild).await;
    }

    #[tokio::test]
    async fn stopping_leaves_time_to_clean_up() {
        let mut running =
            shell("trap 'echo cleaned; exit 7' TERM; echo $$; while :; do sleep 0.01; done");
        first_line(&mut running).await;
        running.stop();
        // The shell may first report the `sleep` that was ended with it.
        let output = read_all(&mut running).await;
        assert!(output.ends_with("cleaned\n"), "{output}");
        assert_eq!(running.finish().exit.code, Some(7));
    }

    #[tokio::test]
    async fn continuous_output_does_not_prevent_killing() {
        let mut running = shell("trap '' TERM; yes");
        let mut buffer = [0; 8192];
        running.read(&mut buffer).await.unwrap();
        running.stop();
        while running.read(&mut buffer).await.unwrap() > 0 {}
        assert!(running.finish().exit.signal.is_some());
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn stopping_finds_processes_that_left_the_group() {
        if !osier_testing::skip::has(&["setsid"], "apt install util-linux") {
            return;
        }
        let mut running =
            shell("setsid bash -c 'trap \"\" TERM; echo $$; while :; do sleep 60; done' & wait");
        let daemon = first_line(&mut running).await;
        running.stop();
        read_all(&mut running).await;
        drop(running.finish());
        wait_until_gone(daemon).await;
    }

    #[tokio::test]
    async fn process_left_running_does_not_block_the_reader_and_ends_when_dropped() {
        let mut running = shell("sleep 600 & echo $!");
        let left: i32 = read_all(&mut running).await.trim().parse().unwrap();
        let ended = running.finish();
        assert_eq!(ended.exit.code, Some(0));
        let left = Pid::from_raw(left).unwrap();
        assert_eq!(rustix::process::test_kill_process(left), Ok(()));
        drop(ended.left_running.unwrap());
        wait_until_gone(left).await;
    }

    #[tokio::test]
    async fn dropping_kills() {
        let mut running = shell("sleep 600 & echo $!; wait");
        let child = first_line(&mut running).await;
        drop(running);
        wait_until_gone(child).await;
    }

    #[tokio::test]
    async fn missing_directory_is_an_error() {
        let invocation = Invocation {
            cwd: Some("/does/not/exist".into()),
            ..Invocation::new("true", [""; 0])
        };
        assert_eq!(
            spawn(&invocation).unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
    }
}
