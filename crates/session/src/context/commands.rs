//! Slash commands of skills and prompt templates that need more than text: embedded commands, attached files, a model
//! and rules for their run. The prompt is sent when all of it is there, or not at all.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio_util::sync::{CancellationToken, DropGuard};

use osier_agent::{Attachment, Op, Severity, UpdateSink};
use osier_base::{ids, path, regular_file, text};
use osier_peers::commands::Expansion;
use osier_permissions::Gate;
use osier_permissions::trust::project_root;
use osier_tools::{BASH, READ, ShellRequest, Workspace, attachment};

use crate::emitter::{Callback, Emitter};

/// How long an embedded command may run.
const TIMEOUT: Duration = Duration::from_mins(2);
/// Maximum bytes of the output of an embedded command.
const OUTPUT: usize = 50_000;

/// A prompt that is ready, or was given up.
#[derive(Debug)]
pub(crate) struct PreparedCommand {
    /// The session that it is for.
    pub session: String,
    /// The prompt; not set if it is not sent.
    pub op: Option<Op>,
    pub model: Option<String>,
}

/// The slash commands that are being prepared, and the state that lasts until their run ends.
#[derive(Debug, Default)]
pub(crate) struct CommandState {
    /// The preparations that run; dropping a guard cancels one.
    running: Vec<DropGuard>,
    /// The model to return to.
    pub model_before: Option<String>,
    /// A run has ended since the model was changed.
    pub has_ended: bool,
}

/// The session that a slash command is prepared for.
pub(crate) struct CommandSession<'a> {
    pub id: &'a str,
    pub workspace: &'a Arc<Workspace>,
    /// Decides on embedded commands and attached files.
    pub gate: Gate,
    /// Whether the project may run commands.
    pub trusted: bool,
}

impl CommandState {
    /// Cancels the preparation.
    pub(crate) fn cancel(&mut self) {
        self.running.clear();
    }

    /// Prepares `op`, the prompt of a slash command.
    pub(crate) fn prepare(
        &mut self,
        expansion: Expansion,
        op: Op,
        session: CommandSession<'_>,
        emitter: &Emitter,
        done: Callback<PreparedCommand>,
    ) {
        let cancel = CancellationToken::new();
        self.running.push(cancel.clone().drop_guard());
        let preparation = Preparation {
            expansion,
            workspace: Arc::clone(session.workspace),
            gate: session.gate,
            cancel,
            emitter: emitter.clone(),
            trusted: session.trusted,
        };
        let session = session.id.to_owned();
        osier_base::task::spawn(async move {
            let ready = preparation.run().await;
            let model = preparation.expansion.model.clone();
            done.call(PreparedCommand {
                session,
                op: ready.map(|(text, files)| with_content(op, text, files)),
                model,
            });
        });
    }
}

/// `op` with this text and these further files.
fn with_content(mut op: Op, expanded: String, files: Vec<Attachment>) -> Op {
    if let Op::Prompt {
        text, attachments, ..
    }
    | Op::Steer {
        text, attachments, ..
    }
    | Op::FollowUp {
        text, attachments, ..
    } = &mut op
    {
        *text = expanded;
        attachments.extend(files);
    }
    op
}

struct Preparation {
    expansion: Expansion,
    workspace: Arc<Workspace>,
    gate: Gate,
    cancel: CancellationToken,
    emitter: Emitter,
    trusted: bool,
}

impl Preparation {
    /// The prompt and its files; `None` if a command was denied or has failed.
    async fn run(&self) -> Option<(String, Vec<Attachment>)> {
        let file = path::below_home(&self.expansion.path);
        if !self.expansion.commands.is_empty() && self.expansion.of_project && !self.trusted {
            let text = format!(
                "`{file}` runs commands: osier does not send it before you trust this folder; use `--trust`"
            );
            self.emitter.post_notice(Severity::Error, text);
            return None;
        }
        let mut outputs = Vec::new();
        for embedded in &self.expansion.commands {
            match self.output(&embedded.command).await {
                Ok(output) => outputs.push(output),
                Err(reason) => {
                    let command = text::truncate(&embedded.command, 60);
                    let text = format!(
                        "the prompt was not sent: the command `{command}` of `{file}` {reason}"
                    );
                    self.emitter.post_notice(Severity::Error, text);
                    return None;
                }
            }
        }
        let mut files = Vec::new();
        for name in &self.expansion.mentions {
            match self.file(name).await {
                Ok(Some(attached)) => files.push(attached),
                Ok(None) => {}
                Err(reason) => {
                    let text = format!("`{name}` is not attached: {reason}");
                    self.emitter.post_notice(Severity::Warning, text);
                }
            }
        }
        let is_cancelled = self.cancel.is_cancelled();
        (!is_cancelled).then(|| (self.expansion.with_outputs(&outputs), files))
    }

    async fn allowed(&self, tool: &str, arguments: serde_json::Value) -> Result<(), String> {
        let id = ids::prefixed("command");
        self.gate.allow(id, tool, arguments, &self.cancel).await
    }

    /// The output of a command that permissions allow.
    async fn output(&self, command: &str) -> Result<String, String> {
        let denied = |reason| format!("may not run: {reason}");
        self.allowed(BASH, json!({"command": command}))
            .await
            .map_err(denied)?;
        let request = ShellRequest {
            command: command.to_owned(),
            timeout: Some(TIMEOUT),
            ..ShellRequest::default()
        };
        let updates = UpdateSink::new(|_| {});
        let outcome = self.workspace.run_shell(&request, &self.cancel, updates);
        let outcome = outcome
            .await
            .map_err(|error| format!("cannot be started: {error}"))?;
        let run = outcome.into_shell_run(false, 0);
        let output = text::head_bytes(&run.output, OUTPUT).to_owned();
        match run.exit_code {
            Some(0) => Ok(output),
            _ if run.cancelled => Err("was interrupted".to_owned()),
            Some(code) => {
                let last = output.trim_end().lines().last().unwrap_or_default();
                let last = text::truncate(last, 200);
                Err(format!("failed with exit code {code}: {last}"))
            }
            None => Err("did not end in time".to_owned()),
        }
    }

    /// The file that the prompt names with `@name`; `None` if there is none.
    async fn file(&self, name: &str) -> Result<Option<Attachment>, String> {
        let cwd = self.workspace.cwd();
        let found = [
            name,
            name.trim_end_matches(['.', ',', ';', ':', '!', '?', ')']),
        ]
        .into_iter()
        .map(|name| path::resolve(cwd, name))
        .find(|path| path.is_file());
        let Some(found) = found else { return Ok(None) };
        if self.expansion.of_project && !is_inside(&found, cwd) {
            return Err("it is outside of the project whose file names it".to_owned());
        }
        self.allowed(READ, json!({"file_path": found})).await?;
        let read = osier_base::task::spawn_blocking(move || attachment::load(&found)).await;
        let read = read.map_err(|error| error.to_string())?;
        read.map(Some).map_err(|error| error.to_string())
    }
}

fn is_inside(file: &Path, cwd: &Path) -> bool {
    regular_file::inside(file, &project_root(cwd)).is_ok()
}
