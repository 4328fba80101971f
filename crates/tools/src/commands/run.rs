//! Runs one shell command to its end: for the `bash` tool and for the user's `!command`. When a run is stopped, all its
//! processes are killed and the output so far is kept.

use std::io;
use std::sync::Arc;

use osier_agent::UpdateSink;
use osier_base::process::{Exit, Invocation, lent_terminal, spawn};
use osier_protocol::SandboxMode;
use osier_sandbox::Report;
use osier_sandbox::denial::is_denied;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::editor_terminal::{follow, open};
use super::foreground::Foreground;
use super::full_screen;
use super::jobs::{Job, Jobs};
use super::outcome::{BashDetails, ShellEnd, ShellOutcome, ShellRequest};
use super::recorder::{Recorder, Started, drive, ended, stopped};
use super::shell::Shell;
use crate::files::editor::{Editor, Terminal};

/// The commands of a session.
#[derive(Debug)]
pub(crate) struct Commands {
    pub(crate) shell: Shell,
    pub(crate) jobs: Jobs,
    pub(crate) foreground: Foreground,
    pub(crate) editor: Option<Arc<dyn Editor>>,
}

impl Commands {
    pub(crate) fn new(shell: Shell) -> Self {
        Self {
            shell,
            jobs: Jobs::default(),
            foreground: Foreground::default(),
            editor: None,
        }
    }

    /// Starts `command` in the background. The error kind `QuotaExceeded` means too many jobs.
    pub(crate) fn start_job(&self, command: &str) -> io::Result<Arc<Job>> {
        self.jobs.start(&self.shell, command)
    }

    /// A terminal of the editor that runs the command; `None` where commands are child processes.
    async fn terminal(&self, invocation: &Invocation) -> Option<io::Result<Box<dyn Terminal>>> {
        open(self.editor.as_deref()?, invocation).await
    }
}

/// Runs `request`. Fails only when the shell cannot be started.
pub(crate) async fn run_shell(
    commands: &Commands,
    request: &ShellRequest,
    cancel: &CancellationToken,
    updates: UpdateSink,
) -> io::Result<ShellOutcome> {
    let confinement = &commands.shell.confinement;
    let mut sandbox = None;
    if confinement.mode() != SandboxMode::Off {
        let backend = confinement.ready().await.map_err(io::Error::other)?;
        sandbox = Some(format!("{}, {}", confinement.mode().name(), backend.name()));
    }
    let on_screen = request.by_user && sandbox.is_none();
    let lent = on_screen.then(lent_terminal).flatten();
    let with_terminal = lent
        .as_ref()
        .and_then(|_| commands.shell.with_user_terminal(&request.command));
    if with_terminal.is_none() {
        full_screen::check(&request.command, request.by_user)?;
    }
    let command = with_terminal.as_ref().unwrap_or(&request.command);
    let (mut invocation, report) = commands.shell.invocation(command)?;
    invocation.env.extend(lent);
    let mut outcome = run(commands, request, &invocation, &report, cancel, updates).await?;
    outcome.details.sandbox.clone_from(&sandbox);
    if matches!(outcome.end, ShellEnd::MovedToBackground(_)) {
        return Ok(outcome);
    }
    let failed_by_host = !outcome.exit.is_success() && report.has_denied_host();
    outcome.details.sandbox_denied = sandbox.is_some()
        && (failed_by_host || is_denied(outcome.exit, &outcome.output, confinement.has_network()));
    outcome.details.sandbox_notes = report.notes();
    outcome
        .details
        .sandbox_notes
        .extend(commands.shell.folder_note());
    Ok(outcome)
}

/// Runs `request` outside of the sandbox, after the user allowed it.
pub(crate) async fn run_outside(
    commands: &Commands,
    request: &ShellRequest,
    cancel: &CancellationToken,
    updates: UpdateSink,
) -> io::Result<ShellOutcome> {
    let invocation = commands.shell.unconfined(&request.command);
    let report = Report::default();
    run(commands, request, &invocation, &report, cancel, updates).await
}

async fn run(
    commands: &Commands,
    request: &ShellRequest,
    invocation: &Invocation,
    report: &Report,
    cancel: &CancellationToken,
    updates: UpdateSink,
) -> io::Result<ShellOutcome> {
    if let Some(terminal) = commands.terminal(invocation).await {
        return follow(
            &*terminal?,
            &commands.shell.outputs,
            request,
            cancel,
            &updates,
        )
        .await;
    }
    let started = Instant::now();
    let mut running = spawn(invocation)?;
    let mut recorder = Recorder::new(&commands.shell.outputs, updates);
    let in_foreground = request.movable.then(|| commands.foreground.enter());
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
        match commands.jobs.adopt(&commands.shell, command) {
            Ok(job) => return Ok(moved(&job, end)),
            Err(command) => (running, recorder) = (command.running, command.recorder),
        }
        end = if let Some(limit) = limit {
            // If there are too many jobs, the command must not hang either.
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
    commands.shell.survivors.keep(left.left_running);
    let duration = started.elapsed();
    Ok(ended(recorder, &request.command, end, left.exit, duration).await)
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

#[cfg(test)]
mod tests {
    use osier_agent::ShellRun;

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
        let outcome = run_shell(
            &bench.workspace.commands,
            &request,
            &cancel,
            UpdateSink::discard(),
        )
        .await;
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
