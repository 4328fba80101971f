//! Reads the output of a command that runs: it is captured in bounded memory, shown live, and stored in a file when it is
//! long. A command that is stopped is killed with all its processes, and the output so far is kept.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use osier_agent::UpdateSink;
use osier_base::process::{Exit, Running};
use osier_sandbox::Report;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::foreground::ForegroundCommand;
use super::live_output::Live;
use super::outcome::{BashDetails, ShellEnd, ShellOutcome, ShellRequest, details};
use super::output::{Capture, Shown};
use super::output_directory::OutputDirectory;
use super::output_file::Spill;

/// Bytes per read: the capacity of a pipe.
const CHUNK: usize = 64 * 1024;

/// A command that runs.
pub(crate) struct Started {
    pub command: String,
    pub running: Running,
    pub recorder: Recorder,
    pub report: Report,
    pub at: Instant,
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
    pub(crate) fn new(outputs: &Arc<OutputDirectory>, updates: UpdateSink) -> Self {
        Self {
            capture: Arc::new(Mutex::new(Capture::new(outputs.limits()))),
            spill: Spill::new(Arc::clone(outputs)),
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
