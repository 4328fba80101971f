//! Runs one shell command to its end: for the `bash` tool, for the user's `!command`, and for background
//! jobs. Output is captured in bounded memory, shown live, and stored in a file when it is long. When a run
//! is stopped, all its processes are killed and the output so far is kept.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::editor_access::follow;
use super::foreground::ForegroundCommand;
use super::jobs::Job;
use super::live_output::Live;
use super::output::{Capture, Shown};
use super::output_file::Spill;
use crate::call::details::BashDetails;
use crate::workspace::Workspace;
use osier_agent::{ShellRun, UpdateSink};
use osier_base::process::{Exit, Invocation, Running, signal_name, spawn};
use osier_protocol::SandboxMode;
use osier_sandbox::Report;
use osier_sandbox::denial::is_denied;

/// Bytes per read: the capacity of a pipe.
const CHUNK: usize = 64 * 1024;

/// What to run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShellRequest {
    pub command: String,
    pub timeout: Option<Duration>,
    /// When the command becomes a background job, if it has no timeout.
    pub background_after: Option<Duration>,
    /// Whether the user can move it to the background.
    pub movable: bool,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShellEnd {
    Exited,
    Aborted,
    TimedOut(Duration),
    /// It continues as a background job, after this time or because the user moved it.
    MovedToBackground(Option<Duration>),
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellOutcome {
    /// The output for a model: sanitized, with the middle of long output omitted.
    pub output: String,
    pub end: ShellEnd,
    pub exit: Exit,
    pub details: BashDetails,
}

impl ShellOutcome {
    /// Converts it to the message that stores a command of the user.
    pub fn into_shell_run(self, exclude_from_context: bool, timestamp: i64) -> ShellRun {
        ShellRun {
            command: self.details.command,
            output: self.output,
            exit_code: self.details.exit_code,
            cancelled: self.end == ShellEnd::Aborted,
            truncated: self.details.truncated,
            full_output_path: self.details.full_output_path,
            exclude_from_context,
            duration_ms: self.details.duration,
            timestamp,
        }
    }
}

/// Runs `request` in `workspace`. Fails only when the shell cannot be started.
pub async fn run_shell(
    workspace: &Workspace,
    request: &ShellRequest,
    cancel: &CancellationToken,
    updates: UpdateSink,
) -> io::Result<ShellOutcome> {
    let confinement = workspace.confinement();
    let mut sandbox = None;
    if confinement.mode() != SandboxMode::Off {
        let backend = confinement.ready().await.map_err(io::Error::other)?;
        sandbox = Some(format!("{}, {}", confinement.mode().name(), backend.name()));
    }
    let (invocation, report) = workspace.shell().invocation(&request.command)?;
    let mut outcome = run(workspace, request, &invocation, &report, cancel, updates).await?;
    outcome.details.sandbox.clone_from(&sandbox);
    if matches!(outcome.end, ShellEnd::MovedToBackground(_)) {
        return Ok(outcome);
    }
    let failed_by_host = !outcome.exit.is_success() && report.has_denied_host();
    outcome.details.sandbox_denied = sandbox.is_some()
        && (failed_by_host || is_denied(outcome.exit, &outcome.output, confinement.has_network()));
    outcome.details.sandbox_notes = report.notes();
    Ok(outcome)
}

/// Runs `request` outside of the sandbox, after the user allowed it.
pub(crate) async fn run_outside(
    workspace: &Workspace,
    request: &ShellRequest,
    cancel: &CancellationToken,
    updates: UpdateSink,
) -> io::Result<ShellOutcome> {
    let invocation = workspace.shell().unconfined(&request.command);
    let report = Report::default();
    run(workspace, request, &invocation, &report, cancel, updates).await
}

async fn run(
    workspace: &Workspace,
    request: &ShellRequest,
    invocation: &Invocation,
    report: &Report,
    cancel: &CancellationToken,
    updates: UpdateSink,
) -> io::Result<ShellOutcome> {
    if let Some(terminal) = workspace.terminal(invocation).await {
        return follow(&*terminal, workspace, request, cancel, &updates).await;
    }
    let started = Instant::now();
    let mut running = spawn(invocation)?;
    let mut recorder = Recorder::new(workspace, updates);
    let in_foreground = request.movable.then(|| workspace.foreground.enter());
    let stop = stopped(request, cancel, in_foreground.as_ref());
    let mut end = drive(&mut running, &mut recorder, stop).await;
    if let ShellEnd::MovedToBackground(limit) = end {
        let command = Started {
            command: request.command.clone(),
            running,
            recorder,
            report: report.clone(),
            at: started,
        };
        match workspace.jobs.adopt(workspace, command) {
            Ok(job) => return Ok(moved(&job, end)),
            Err(command) => (running, recorder) = (command.running, command.recorder),
        }
        end = if let Some(limit) = limit {
            // With too many jobs, it must not hang either.
            let stop = std::future::ready(ShellEnd::TimedOut(limit));
            drive(&mut running, &mut recorder, stop).await
        } else {
            drop(in_foreground);
            let stop = stopped(request, cancel, None);
            drive(&mut running, &mut recorder, stop).await
        };
        if let ShellEnd::MovedToBackground(Some(limit)) = end {
            let stop = std::future::ready(ShellEnd::TimedOut(limit));
            end = drive(&mut running, &mut recorder, stop).await;
        }
    }
    let left = running.finish();
    workspace.survivors().keep(left.left_running);
    let duration = started.elapsed();
    Ok(ended(recorder, &request.command, end, left.exit, duration).await)
}

/// A command that runs.
pub(crate) struct Started {
    pub command: String,
    pub running: Running,
    pub recorder: Recorder,
    pub report: Report,
    pub at: Instant,
}

/// The result of a command that continues as `job`.
fn moved(job: &Job, end: ShellEnd) -> ShellOutcome {
    let shown = job.new_output();
    ShellOutcome {
        output: shown.text,
        end,
        exit: Exit::default(),
        details: BashDetails {
            truncated: shown.truncated,
            ..job.details()
        },
    }
}

/// Waits until the command must be stopped, or moved to the background.
pub(crate) async fn stopped(
    request: &ShellRequest,
    cancel: &CancellationToken,
    in_foreground: Option<&ForegroundCommand>,
) -> ShellEnd {
    let limit = match (request.timeout, request.background_after) {
        (Some(timeout), _) => Some((timeout, ShellEnd::TimedOut(timeout))),
        (None, Some(limit)) => Some((limit, ShellEnd::MovedToBackground(Some(limit)))),
        (None, None) => None,
    };
    let late = async {
        match limit {
            Some((time, end)) => {
                sleep(time).await;
                end
            }
            None => std::future::pending().await,
        }
    };
    let moved = async {
        match in_foreground {
            Some(command) => command.moved().await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        () = cancel.cancelled() => ShellEnd::Aborted,
        () = moved => ShellEnd::MovedToBackground(None),
        end = late => end,
    }
}

/// The result of a command whose output is complete in `recorder`.
pub(crate) async fn ended(
    mut recorder: Recorder,
    command: &str,
    end: ShellEnd,
    exit: Exit,
    duration: Duration,
) -> ShellOutcome {
    let shown = recorder.shown();
    if !shown.truncated {
        recorder.spill.discard().await;
    }
    let path = recorder.spill.kept().path();
    let details = BashDetails {
        truncated: shown.truncated,
        full_output_path: path.map(|path| path.display().to_string()),
        ..details(command, Some(exit), duration)
    };
    ShellOutcome {
        output: shown.text,
        end,
        exit,
        details,
    }
}

/// The details of a command that ended with `exit`, or is still running.
pub(crate) fn details(command: &str, exit: Option<Exit>, duration: Duration) -> BashDetails {
    BashDetails {
        command: command.to_owned(),
        exit_code: exit.and_then(|exit| exit.code),
        signal: exit.and_then(|exit| exit.signal).map(signal_name),
        duration: duration.as_millis() as u64,
        ..BashDetails::default()
    }
}

/// How a command ended, for a model: `exit code 137 (SIGKILL)`.
pub(crate) fn describe(exit: Exit) -> String {
    let code = exit.shell_code();
    match exit.signal {
        Some(signal) => format!("ended by {}, exit code {code}", signal_name(signal)),
        // A shell adds 128 to the signal that ended a child.
        None if (129..160).contains(&code) => {
            format!("exit code {code} ({})", signal_name(code - 128))
        }
        None => format!("exit code {code}"),
    }
}

/// Captures, stores and shows the output of a command.
#[derive(Debug)]
pub(crate) struct Recorder {
    pub capture: Arc<Mutex<Capture>>,
    pub spill: Spill,
    /// Bytes captured so far.
    grown: watch::Sender<u64>,
    live: Live,
}

impl Recorder {
    pub(crate) fn new(workspace: &Workspace, updates: UpdateSink) -> Self {
        Self {
            capture: Arc::default(),
            spill: Spill::new(Arc::clone(&workspace.outputs)),
            grown: watch::Sender::new(0),
            live: Live::new(updates),
        }
    }

    /// Publishes the number of captured bytes; closed when the output is complete.
    pub(crate) fn growth(&self) -> watch::Receiver<u64> {
        self.grown.subscribe()
    }

    pub(crate) async fn push(&mut self, bytes: &[u8]) {
        self.live.push(bytes);
        let (total, all) = {
            let mut capture = self.lock();
            capture.push(bytes);
            let first = !self.spill.is_started() && capture.exceeds_model();
            // The captured start is complete here: it is larger than the limit for a model plus one chunk.
            (capture.total(), first.then(|| capture.head().to_vec()))
        };
        self.grown.send_replace(total);
        match all {
            Some(all) => self.spill.write(&all).await,
            None if self.spill.is_started() => self.spill.write(bytes).await,
            None => {}
        }
    }

    /// Shows no more output.
    pub(crate) fn detach(&mut self) {
        self.live = Live::new(UpdateSink::discard());
    }

    pub(crate) async fn end(&mut self) {
        self.live.end();
        self.spill.end().await;
    }

    fn shown(&self) -> Shown {
        let excerpt = self.lock().since(0);
        excerpt.for_model(&self.spill.kept().full_output())
    }

    fn lock(&self) -> MutexGuard<'_, Capture> {
        self.capture.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads `running` to its end. When `stop` is ready, the command is killed and the value of `stop` returned; a command that
/// moves to the background continues.
pub(crate) async fn drive(
    running: &mut Running,
    recorder: &mut Recorder,
    stop: impl Future<Output = ShellEnd>,
) -> ShellEnd {
    tokio::pin!(stop);
    let mut end = ShellEnd::Exited;
    let mut buffer = vec![0; CHUNK];
    loop {
        let due = recorder.live.due();
        tokio::select! {
            biased;
            reason = &mut stop, if end == ShellEnd::Exited => {
                if matches!(reason, ShellEnd::MovedToBackground(_)) {
                    recorder.live.end();
                    return reason;
                }
                end = reason;
                running.stop();
            }
            () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                recorder.live.flush();
            }
            length = running.read(&mut buffer) => match length {
                Ok(length @ 1..) => recorder.push(&buffer[..length]).await,
                _ => break,
            },
        }
    }
    recorder.end().await;
    end
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Bench;

    #[tokio::test]
    async fn a_command_of_the_user_becomes_a_message() {
        let bench = Bench::new();
        let request = ShellRequest {
            command: "echo out; exit 2".to_owned(),
            ..ShellRequest::default()
        };
        let cancel = CancellationToken::new();
        let outcome = run_shell(&bench.workspace, &request, &cancel, UpdateSink::discard()).await;
        let run = outcome.unwrap().into_shell_run(true, 7);
        let expected = ShellRun {
            command: request.command,
            output: "out\n".to_owned(),
            exit_code: Some(2),
            exclude_from_context: true,
            duration_ms: run.duration_ms,
            timestamp: 7,
            ..ShellRun::default()
        };
        assert_eq!(run, expected);
    }
}
