//! Commands that the user runs with `!`: the runner, capture and limits of the bash tool.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use osier_agent::{AgentMessage, Severity, ShellRun, ToolUpdate, UpdateSink};
use osier_base::{clock, ids};
use osier_protocol::Event;
use osier_tools::{ShellRequest, Workspace, start_error};

use crate::emitter::{Callback, Emitter};

/// The user's shell: one command at a time.
#[derive(Debug, Default)]
pub(crate) struct UserShell {
    running: Option<RunningCommand>,
}

/// A command that runs. Dropping it stops the command.
#[derive(Debug)]
struct RunningCommand {
    id: String,
    cancel: CancellationToken,
}

impl Drop for RunningCommand {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

impl UserShell {
    pub(crate) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Starts `(command, exclude from context)` unless one runs.
    pub(crate) fn run(
        &mut self,
        command: String,
        exclude_from_context: bool,
        workspace: &Arc<Workspace>,
        emitter: &Emitter,
        done: Callback<Box<ShellRun>>,
    ) {
        if self.is_running() {
            let text = "a command is running: press esc to stop it first";
            emitter.notice(Severity::Warning, text);
            return;
        }
        let id = ids::prefixed("shell");
        emitter.publish(Event::ShellStart {
            id: id.clone(),
            command: command.clone(),
            exclude_from_context,
        });
        let cancel = CancellationToken::new();
        let updates = output_sink(id.clone(), emitter.detached());
        let (workspace, token) = (Arc::clone(workspace), cancel.clone());
        osier_base::task::spawn(async move {
            let timestamp = clock::now_ms();
            let request = ShellRequest {
                command,
                by_user: true,
                ..ShellRequest::default()
            };
            let run = match workspace.run_shell(&request, &token, updates).await {
                Ok(outcome) => outcome.into_shell_run(exclude_from_context, timestamp),
                Err(error) => ShellRun {
                    command: request.command,
                    output: start_error(&error),
                    exclude_from_context,
                    timestamp,
                    // As shells report a command that cannot run.
                    exit_code: Some(126),
                    ..ShellRun::default()
                },
            };
            done.call(Box::new(run));
        });
        self.running = Some(RunningCommand { id, cancel });
    }

    /// Stops the command.
    pub(crate) fn cancel(&self) {
        if let Some(running) = &self.running {
            running.cancel.cancel();
        }
    }

    /// The command has ended. Returns the message for the conversation.
    pub(crate) fn ended(&mut self, run: Box<ShellRun>, emitter: &Emitter) -> Option<AgentMessage> {
        let running = self.running.take()?;
        emitter.publish(Event::ShellEnd {
            id: running.id.clone(),
            run: run.clone(),
        });
        Some(AgentMessage::ShellRun(*run))
    }
}

fn output_sink(id: String, emitter: Emitter) -> UpdateSink {
    UpdateSink::new(move |update| {
        if let ToolUpdate::Output(output) = update {
            let id = id.clone();
            emitter.publish(Event::ShellUpdate { id, output });
        }
    })
}
