//! Runs one hook as a process with JSON on its standard input. It runs in its own process session without a
//! terminal. Cancelling kills all its processes; processes that it leaves running at its normal end stay.

use std::ffi::OsStr;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt as _};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{ChildStderr, ChildStdout};
use tokio::time::{sleep, timeout};

use super::action::Action;
use super::answer::{BACKGROUND, announces_async};
use super::config::Handler;
use super::service::HookServices;
use osier_base::process::{Exit, Invocation, Piped, spawn_piped};
use osier_permissions::trust::UNCOMPILED;

/// Bytes stored of each stream; the rest is discarded. Hooks that log their input print it completely.
const KEPT: usize = 8 * 1024 * 1024;
/// After this silence, the output of an ended hook is complete.
const IDLE: Duration = Duration::from_millis(100);
const CHUNK: usize = 64 * 1024;
/// Maximum bytes of the line with which a hook announces that it continues in the background.
const FIRST_LINE: usize = 4 * 1024;

/// The result of a process.
pub(super) enum HookEnd {
    Ended {
        exit: Exit,
        stdout: String,
        stderr: String,
        /// The hook printed more than is stored.
        is_cut: bool,
    },
    /// The hook announced that it continues in the background, for at most this time.
    GoesOn(Box<Child>, Duration),
    /// A function of a program returned this.
    Returned(Value),
    TimedOut,
    Failed(io::Error),
}

impl HookEnd {
    /// The answer of a hook that is no program, as a program would have printed it.
    fn printed(answer: String) -> Self {
        Self::Ended {
            exit: Exit {
                code: Some(0),
                ..Exit::default()
            },
            is_cut: answer.len() > KEPT,
            stdout: answer,
            stderr: String::new(),
        }
    }
}

/// A running hook. Dropping it kills all its processes.
pub(super) struct Child {
    piped: Piped,
    feed: Option<BoxFuture<'static, ()>>,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    printed: Vec<u8>,
    complained: Vec<u8>,
    is_cut: bool,
}

/// The environment of a hook.
#[derive(Debug, Clone)]
pub(super) struct Surroundings {
    pub cwd: PathBuf,
    /// The root of the project.
    pub root: PathBuf,
    /// The id of the session.
    pub session: String,
    /// The file in which the hook can leave variables.
    pub variables: Option<PathBuf>,
    /// The thinking level of the request that the event is about.
    pub effort: Option<String>,
    pub services: Option<Arc<dyn HookServices>>,
}

#[cfg(test)]
impl Surroundings {
    pub(super) fn example(cwd: impl Into<PathBuf>, root: impl Into<PathBuf>) -> Self {
        Self {
            cwd: cwd.into(),
            root: root.into(),
            session: "0199".to_owned(),
            variables: None,
            effort: None,
            services: None,
        }
    }
}

/// Runs `handler` with `input`, for at most `limit`.
pub(super) async fn run(
    handler: &Handler,
    place: &Surroundings,
    input: Arc<[u8]>,
    limit: Duration,
) -> HookEnd {
    match &handler.action {
        Action::Program => {}
        Action::Function(callback) => {
            return match callback.call(&handler.command, &input, limit).await {
                None => HookEnd::TimedOut,
                Some(Ok(answer)) => HookEnd::Returned(answer),
                Some(Err(error)) => HookEnd::Failed(io::Error::other(error)),
            };
        }
        Action::Service(service) => {
            let Some(services) = &place.services else {
                return HookEnd::Failed(io::Error::other("the session has no services for it"));
            };
            let run = service.run(services, handler.event, &input);
            return match timeout(limit, run).await {
                Err(_) => HookEnd::TimedOut,
                Ok(Ok(answer)) => HookEnd::printed(answer),
                Ok(Err(error)) => HookEnd::Failed(io::Error::other(error)),
            };
        }
    }
    let mut child = match Child::start(handler, place, input) {
        Ok(child) => child,
        Err(error) => return HookEnd::Failed(error),
    };
    match timeout(limit, child.read(true)).await {
        Err(_) => HookEnd::TimedOut,
        Ok(Err(error)) => HookEnd::Failed(error),
        Ok(Ok(None)) => {
            let limit = child.announced().unwrap_or(BACKGROUND);
            HookEnd::GoesOn(Box::new(child), limit)
        }
        Ok(Ok(Some(exit))) => child.ended(exit),
    }
}

impl Child {
    fn start(handler: &Handler, place: &Surroundings, input: Arc<[u8]>) -> io::Result<Self> {
        let mut invocation = match &handler.args {
            Some(args) => Invocation::new(&handler.command, args),
            None => Invocation::new("sh", ["-c", &handler.command]),
        };
        invocation.cwd = Some(place.cwd.clone());
        let root = place.root.as_os_str();
        let mut variables = vec![
            ("CLAUDE_PROJECT_DIR", root),
            ("OSIER_PROJECT_DIR", root),
            ("CLAUDECODE", OsStr::new("1")),
            ("CLAUDE_CODE_SESSION_ID", OsStr::new(&place.session)),
        ];
        variables.extend(
            place
                .variables
                .as_ref()
                .map(|it| ("CLAUDE_ENV_FILE", it.as_os_str())),
        );
        variables.extend(
            place
                .effort
                .as_ref()
                .map(|level| ("CLAUDE_EFFORT", OsStr::new(level))),
        );
        let variables = variables.into_iter();
        invocation.env = variables
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        // Compiled modules are not compared with what the user trusted, so Python does not read those of the project.
        let (name, folder) = UNCOMPILED;
        invocation.env.push((name.into(), folder.into()));
        let (piped, pipes) = spawn_piped(&invocation)?;
        let mut stdin = pipes.stdin;
        let feed = async move {
            // A hook that does not read its input is not an error.
            let _ = stdin.write_all(&input).await;
        };
        Ok(Self {
            piped,
            feed: Some(feed.boxed()),
            stdout: Some(pipes.stdout),
            stderr: Some(pipes.stderr),
            printed: Vec::new(),
            complained: Vec::new(),
            is_cut: false,
        })
    }

    /// Reads the output until the hook has ended. Returns `None` if the hook announces that it
    /// continues in the background, and `may_go_on` is set.
    async fn read(&mut self, may_go_on: bool) -> io::Result<Option<Exit>> {
        let (mut out, mut errors) = (vec![0; CHUNK], vec![0; CHUNK]);
        let mut exit = None;
        loop {
            if exit.is_some() && self.stdout.is_none() && self.stderr.is_none() {
                return Ok(exit);
            }
            tokio::select! {
                biased;
                length = read_some(&mut self.stdout, &mut out), if self.stdout.is_some() => {
                    if length == 0 {
                        self.stdout = None;
                    }
                    self.is_cut |= !keep(&mut self.printed, &out[..length]);
                    if may_go_on && self.announced().is_some() {
                        return Ok(None);
                    }
                }
                length = read_some(&mut self.stderr, &mut errors), if self.stderr.is_some() => {
                    if length == 0 {
                        self.stderr = None;
                    }
                    let _ = keep(&mut self.complained, &errors[..length]);
                }
                () = feed(&mut self.feed), if self.feed.is_some() => self.feed = None,
                ended = self.piped.wait(), if exit.is_none() => exit = Some(ended?),
                // A process that the hook left running may hold the pipes open.
                () = sleep(IDLE), if exit.is_some() => return Ok(exit),
            }
        }
    }

    /// The time for the background that the first line of the output announces, if it does.
    fn announced(&self) -> Option<Duration> {
        let start = &self.printed[..self.printed.len().min(FIRST_LINE)];
        let end = start.iter().position(|byte| *byte == b'\n')?;
        announces_async(std::str::from_utf8(&start[..end]).ok()?)
    }

    /// Waits for the end of a hook that continues in the background.
    pub(super) async fn finish(mut self, limit: Duration) -> HookEnd {
        match timeout(limit, self.read(false)).await {
            Ok(Ok(Some(exit))) => self.ended(exit),
            Ok(Err(error)) => HookEnd::Failed(error),
            _ => HookEnd::TimedOut,
        }
    }

    fn ended(self, exit: Exit) -> HookEnd {
        self.piped.leave();
        HookEnd::Ended {
            exit,
            stdout: String::from_utf8_lossy(&self.printed).into_owned(),
            stderr: String::from_utf8_lossy(&self.complained).into_owned(),
            is_cut: self.is_cut,
        }
    }
}

async fn read_some(stream: &mut Option<impl AsyncRead + Unpin>, buffer: &mut [u8]) -> usize {
    match stream {
        Some(stream) => stream.read(buffer).await.unwrap_or(0),
        None => 0,
    }
}

async fn feed(feed: &mut Option<BoxFuture<'static, ()>>) {
    if let Some(feed) = feed {
        feed.await;
    }
}

/// Stores the bytes up to the limit. Returns whether all were stored.
fn keep(kept: &mut Vec<u8>, bytes: &[u8]) -> bool {
    let room = (KEPT - kept.len()).min(bytes.len());
    kept.extend_from_slice(&bytes[..room]);
    room == bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use osier_protocol::HookEvent;

    const LONG: Duration = Duration::from_mins(1);

    fn handler(command: &str, args: Option<&[&str]>) -> Handler {
        Handler {
            args: args.map(|args| args.iter().map(|arg| (*arg).to_owned()).collect()),
            ..Handler::example(HookEvent::Stop, command)
        }
    }

    fn place() -> Surroundings {
        Surroundings::example("/tmp", "/")
    }

    async fn ran(command: &str, input: &str, limit: Duration) -> HookEnd {
        let input = input.as_bytes().into();
        run(&handler(command, None), &place(), input, limit).await
    }

    #[tokio::test]
    async fn input_directory_and_variables_are_passed() {
        let command = "cat; echo; pwd; echo $CLAUDE_PROJECT_DIR $OSIER_PROJECT_DIR $CLAUDECODE $CLAUDE_CODE_SESSION_ID; echo odd >&2; exit 3";
        let HookEnd::Ended {
            exit,
            stdout,
            stderr,
            ..
        } = ran(command, "given", LONG).await
        else {
            panic!("it did not end");
        };
        assert_eq!(
            (stdout.as_str(), stderr.as_str()),
            ("given\n/tmp\n/ / 1 0199\n", "odd\n")
        );
        assert_eq!(exit.code, Some(3));
        let direct = handler("printf", Some(&["%s", "a  b"]));
        let ran = run(&direct, &place(), Arc::default(), LONG).await;
        assert!(matches!(ran, HookEnd::Ended { stdout, .. } if stdout == "a  b"));
    }

    #[tokio::test]
    async fn large_input_and_output_are_bounded() {
        let input = "x".repeat(3 * 1024 * 1024);
        let HookEnd::Ended { stdout, is_cut, .. } =
            ran("cat; cat /dev/zero | head -c 6000000", &input, LONG).await
        else {
            panic!("it did not end");
        };
        assert_eq!((stdout.len(), is_cut), (KEPT, true));
        // A hook that reads nothing still ends.
        assert!(matches!(
            ran("exit 0", &input, LONG).await,
            HookEnd::Ended { .. }
        ));
    }

    #[tokio::test]
    async fn a_slow_hook_times_out() {
        let ran = ran("sleep 600", "", Duration::from_millis(1)).await;
        assert!(matches!(ran, HookEnd::TimedOut));
    }

    #[tokio::test]
    async fn a_cancelled_hook_is_killed_with_its_children() {
        let hangs = handler("sleep 600 & echo $!; wait", None);
        let mut child = Child::start(&hangs, &place(), Arc::default()).unwrap();
        while !child.printed.ends_with(b"\n") {
            let _ = timeout(IDLE, child.read(false)).await;
        }
        let printed = String::from_utf8(child.printed.clone()).unwrap();
        let started = rustix::process::Pid::from_raw(printed.trim().parse().unwrap()).unwrap();
        drop(child);
        let is_zombie = || {
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", started.as_raw_nonzero()));
            stat.is_ok_and(|stat| stat.contains(") Z "))
        };
        while rustix::process::test_kill_process(started).is_ok() && !is_zombie() {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_process_left_running_stays_and_is_not_waited_for() {
        let HookEnd::Ended { stdout, .. } = ran("sleep 600 & echo $!", "", LONG).await else {
            panic!("it did not end");
        };
        let left = rustix::process::Pid::from_raw(stdout.trim().parse().unwrap()).unwrap();
        rustix::process::kill_process(left, rustix::process::Signal::KILL).unwrap();
    }

    #[tokio::test]
    async fn a_hook_can_continue_in_the_background() {
        let command =
            "echo '{\"async\": true, \"asyncTimeout\": 60000}'; read line; echo \"$line\"; exit 1";
        let HookEnd::GoesOn(child, limit) = ran(command, "later\n", LONG).await else {
            panic!("it was waited for");
        };
        assert_eq!(limit, Duration::from_mins(1));
        let HookEnd::Ended { exit, stdout, .. } = child.finish(LONG).await else {
            panic!("it did not end");
        };
        assert_eq!(exit.code, Some(1));
        assert!(stdout.ends_with("later\n"));
    }

    #[tokio::test]
    async fn a_missing_program_fails() {
        let missing = handler("/no/such/program", Some(&[]));
        let ran = run(&missing, &place(), Arc::default(), LONG).await;
        match ran {
            // If `setsid` starts the program, `setsid` fails instead.
            HookEnd::Failed(_) => {}
            HookEnd::Ended { exit, .. } => assert_eq!(exit.code, Some(127)),
            _ => panic!("it ran"),
        }
    }
}
