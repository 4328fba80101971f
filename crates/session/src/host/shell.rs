//! A command the user runs with `!`: the same runner, capture and limits as the bash tool.

use std::sync::Arc;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::asked::{Jobs, Posted};
use super::event::Event;
use super::host::{Job, Task};
use osier_agent::{AgentMessage, Publisher, Severity, ShellRun, ToolUpdate, UpdateSink};
use osier_base::{clock, ids};
use osier_tools::{ShellRequest, Workspace};

/// The command that runs. Dropping it stops the command.
#[derive(Debug)]
pub(super) struct RunningShell {
    id: String,
    cancel: CancellationToken,
}

impl RunningShell {
    /// Starts `(command, exclude from context)`.
    pub(super) fn start(
        workspace: Arc<Workspace>,
        (command, exclude_from_context): (String, bool),
        publisher: Arc<Publisher<Event>>,
        jobs: Jobs,
    ) -> Self {
        let id = ids::prefixed("shell");
        let cancel = CancellationToken::new();
        publisher.publish(Event::ShellStart {
            id: id.clone(),
            command: command.clone(),
            exclude_from_context,
        });
        let updates = {
            let id = id.clone();
            UpdateSink::new(move |update| {
                let ToolUpdate::Output(output) = update else {
                    return;
                };
                let id = id.clone();
                publisher.publish(Event::ShellUpdate { id, output });
            })
        };
        let token = cancel.clone();
        tokio::spawn(async move {
            let timestamp = clock::now_ms();
            let request = ShellRequest {
                command,
                timeout: None,
            };
            let run = match osier_tools::run_shell(&workspace, &request, &token, updates).await {
                Ok(outcome) => outcome.into_shell_run(exclude_from_context, timestamp),
                Err(error) => ShellRun {
                    command: request.command,
                    output: format!("the shell cannot be started: {error}"),
                    exclude_from_context,
                    timestamp,
                    ..ShellRun::default()
                },
            };
            let _ = jobs.send(Job::ShellEnded(Box::new(run)));
        });
        Self { id, cancel }
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn cancel(&self) {
        self.cancel.cancel();
    }
}

impl Task {
    /// Stops the user's command and keeps what it has said.
    pub(super) async fn end_shell(&mut self, finished: &mut mpsc::UnboundedReceiver<Posted>) {
        if let Some(shell) = &self.shell {
            shell.cancel();
        }
        while self.shell.is_some()
            && let Some(job) = finished.recv().await
        {
            self.take(job).await;
        }
    }

    /// Stops the user's command and nothing else.
    pub(super) fn abort_shell(&self) {
        if let Some(shell) = &self.shell {
            shell.cancel();
        }
    }

    pub(super) fn shell_ended(&mut self, run: ShellRun) {
        let Some(shell) = self.shell.take() else {
            return;
        };
        let run = Box::new(run);
        self.publish(Event::ShellEnd {
            id: shell.id().to_owned(),
            run: run.clone(),
        });
        if let Some(session) = &self.session {
            let message = Box::new(AgentMessage::ShellRun(*run));
            session
                .agent
                .send(osier_agent::Op::AppendMessage { message });
        }
    }

    pub(super) fn run_shell(&mut self, command: String, exclude_from_context: bool) {
        if self.shell.is_some() {
            self.notice(
                Severity::Warning,
                "a command is running: stop it with esc first",
            );
            return;
        }
        let Some(session) = &self.session else { return };
        let shell = RunningShell::start(
            Arc::clone(&session.workspace),
            (command, exclude_from_context),
            Arc::clone(&self.publisher),
            self.jobs.clone(),
        );
        self.shell = Some(shell);
    }
}

impl Drop for RunningShell {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}
