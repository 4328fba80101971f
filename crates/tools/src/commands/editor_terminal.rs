//! Commands in a terminal of an editor. Their output is read when they have ended.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use osier_agent::{ToolUpdate, UpdateSink};
use osier_base::process::{Exit, Invocation, UNATTENDED};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::outcome::{ShellEnd, ShellOutcome, ShellRequest};
use super::output_directory::OutputDirectory;
use super::recorder::{Recorder, ended, stopped};
use crate::files::editor::{Editor, Terminal};

/// Bytes of output that the terminal stores.
const STORED: usize = 1024 * 1024;
/// Time that a killed command has to end.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// Starts the command in a terminal of `editor`; `None` where commands are child processes. What the editor refuses,
/// osier does not start either.
pub(super) async fn open(
    editor: &dyn Editor,
    invocation: &Invocation,
) -> Option<io::Result<Box<dyn Terminal>>> {
    if !editor.has_terminals() {
        return None;
    }
    let mut invocation = invocation.clone();
    let quiet = UNATTENDED.map(|(name, value)| (name.into(), value.into()));
    invocation.env.splice(0..0, quiet);
    let opened = editor.open(&invocation, STORED).await;
    let refused =
        |error| io::Error::other(format!("the editor did not start the command: {error}"));
    Some(opened.map_err(refused))
}

/// Waits for the command in `terminal`.
pub(super) async fn follow(
    terminal: &dyn Terminal,
    outputs: &Arc<OutputDirectory>,
    request: &ShellRequest,
    cancel: &CancellationToken,
    updates: &UpdateSink,
) -> io::Result<ShellOutcome> {
    let started = Instant::now();
    updates.send(ToolUpdate::Terminal {
        id: terminal.id().to_owned(),
    });
    let (end, exit) = tokio::select! {
        biased;
        exit = terminal.exited() => (ShellEnd::Exited, exit),
        end = stopped(request, cancel, None) => {
            terminal.kill().await;
            let exit = timeout(KILL_TIMEOUT, terminal.exited()).await;
            // A terminal of the editor cannot become a job.
            let end = match end {
                ShellEnd::MovedToBackground(limit) => {
                    limit.map_or(ShellEnd::Aborted, ShellEnd::TimedOut)
                }
                end => end,
            };
            (end, exit.unwrap_or_else(|_| Ok(Exit::default())))
        }
    };
    let output = terminal.output().await;
    terminal.release().await;
    let exit = exit.map_err(io::Error::other)?;
    let (output, cut) = output.map_err(io::Error::other)?;
    // The terminal already showed the output.
    let mut recorder = Recorder::new(outputs, UpdateSink::discard());
    if cut {
        recorder
            .push(b"[the terminal no longer has the earlier output]\n")
            .await;
    }
    recorder.push(output.as_bytes()).await;
    recorder.end().await;
    Ok(ended(recorder, &request.command, end, exit, started.elapsed()).await)
}
