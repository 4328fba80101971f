//! `bash`: runs a command in the session's directory, in the foreground or as a background job.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio::time::sleep;

use super::terminal_tool;
use crate::built_in::{
    BuiltIn, Collapsed, GeminiForm, Part, PartKind, PeerTool, ToolEffect, ToolView, Verbs, peer,
};
use crate::call::spellings;
use crate::call::spellings::values;
use crate::call::to_value;
use crate::commands::full_screen;
use crate::commands::jobs::Job;
use crate::commands::outcome::{
    BashDetails, ShellEnd, ShellOutcome, ShellRequest, describe, start_error,
};
use crate::commands::prompt_detection::{asks_for_input, needs_password};
use crate::commands::run::{run_outside, run_shell};
use crate::edit::patch;
use crate::workspace::Workspace;
use osier_agent::{
    OtherName, PreparedCall, Preparing, Preview, Refusal, Spellings, ToolContext, ToolOutput,
    ToolStatus, prepare_typed,
};
use osier_base::clock::human_duration;
use osier_base::text::{head_bytes, single_line};
use osier_llm::{ContentBlock, ToolSpec};

/// Maximum timeout, in seconds; larger values are reduced to it.
const MAX_TIMEOUT: f64 = 7.0 * 24.0 * 3600.0;
/// Bytes of a command that the job list shows.
const LISTED_COMMAND: usize = 200;

/// The name of the tool.
pub const BASH: &str = "bash";

/// The result of a command that printed nothing.
pub const NO_OUTPUT: &str = "(no output)";

pub(crate) const ROW: BuiltIn = BuiltIn {
    // Without a command, it only lists, reads or kills running jobs.
    acts_with: &["command"],
    spellings: &SPELLINGS,
    adapt: Some(|workspace, arguments| values::bash(arguments, workspace.cwd())),
    redirect: as_patch,
    peers: &[
        PeerTool::claude(
            "Bash",
            &[
                peer::COMMAND,
                peer::TIMEOUT,
                ("run_in_background", "background"),
                ("bash_id", "job"),
                ("action", "action"),
            ],
        ),
        PeerTool::claude("BashOutput", &[("bash_id", "job"), ("task_id", "job")]).part(),
        PeerTool::claude("TaskOutput", &[("task_id", "job")]).part(),
        PeerTool::claude("KillShell", &[("shell_id", "job"), ("bash_id", "job")]).part(),
        PeerTool::claude("KillBash", &[("shell_id", "job")]).part(),
        PeerTool::claude("TaskStop", &[("task_id", "job")]).part(),
        PeerTool::pi("bash", &[peer::COMMAND, peer::TIMEOUT]),
        PeerTool::codex("exec_command", &[("cmd", "command")]),
        PeerTool::codex("shell_command", &[peer::COMMAND]),
        PeerTool::codex("shell", &[peer::COMMAND]),
        PeerTool::codex("local_shell", &[peer::COMMAND]),
        PeerTool::codex("container.exec", &[("cmd", "command"), peer::COMMAND]),
        PeerTool::codex("write_stdin", &[("session_id", "job")]).part(),
        PeerTool::opencode("bash", &[peer::COMMAND, peer::TIMEOUT]),
        PeerTool::other("Shell"),
        PeerTool::other("exec"),
        PeerTool::other("run_shell_command"),
        PeerTool::other("sh"),
    ],
    gemini: Some(GeminiForm {
        name: "run_shell_command",
        arguments: &[("background", "is_background")],
    }),
    view: ToolView {
        question: "Run this command?",
        collapsed: Collapsed::End,
        ..ToolView::new(
            Verbs::new("Running", "Ran", "run").several("ran", "command"),
            &[Part::of("command", PartKind::Command)],
        )
    },
    does: "runs a command, starts a background job, or starts a program on a [terminal](terminals.md)",
    ..BuiltIn::new(BASH, ToolEffect::Runs, || &SPEC, prepare)
};

static SPELLINGS: Spellings = Spellings {
    names: &[
        OtherName::of("shell"),
        OtherName::of("sh"),
        OtherName::of("terminal"),
        OtherName::of("local_shell"),
        OtherName::of("shell_command"),
        OtherName::of("exec_command"),
        OtherName::of("container.exec"),
        OtherName::of("run_shell_command"),
        OtherName::of("run_command"),
        OtherName::of("run_terminal_cmd"),
        OtherName::of("run_terminal_command"),
        OtherName::of("run_in_terminal"),
        OtherName::of("execute_command"),
        OtherName::of("execute_bash"),
        OtherName::of("execute_shell"),
        OtherName::of("bash_tool"),
        OtherName::of("run_bash"),
        OtherName::implying("bash_output", "action", "read"),
        OtherName::implying("task_output", "action", "read"),
        OtherName::implying("kill_shell", "action", "kill"),
        OtherName::implying("kill_bash", "action", "kill"),
        OtherName::implying("task_stop", "action", "kill"),
    ],
    arguments: &[
        (
            "command",
            &[
                "cmd",
                "script",
                "code",
                "commands",
                "command_line",
                "bash_command",
                "shell_command",
            ],
        ),
        (
            "timeout_ms",
            &["timeout_millis", "timeout_milliseconds", "timeout_in_ms"],
        ),
        (
            "timeout",
            &[
                "timeout_seconds",
                "timeout_secs",
                "timeout_sec",
                "timeout_s",
            ],
        ),
        (
            "background",
            &["run_in_background", "is_background", "in_background"],
        ),
        (
            "workdir",
            &[
                "cwd",
                "working_directory",
                "work_dir",
                "directory",
                "dir",
                "dir_path",
            ],
        ),
        (
            "job",
            &["job_id", "bash_id", "shell_id", "task_id", "session_id"],
        ),
    ],
    without_effect: spellings::DESCRIPTIONS,
    ..Spellings::NONE
};

/// Shared by all sessions.
static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    ToolSpec {
        freeform: None,
        name: BASH.to_owned(),
        description: "Run a bash command without input, or on a terminal. Long output is stored in a file. background starts a job; action lists jobs, reads new output of one (waiting timeout for its end) or kills it.".to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "command": {"type": "string"},
                "timeout": {"type": "number", "description": "Seconds"},
                "background": {"type": "boolean"},
                "terminal": {"type": "boolean"},
                "job": {"type": "string"},
                "action": {"type": "string", "enum": ["list", "read", "kill"]},
            },
        }),
    }
});

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct JobListDetails {
    jobs: Vec<BashDetails>,
}

#[derive(Debug, Deserialize)]
struct Arguments {
    command: Option<String>,
    /// Seconds.
    timeout: Option<f64>,
    background: Option<bool>,
    terminal: Option<bool>,
    job: Option<String>,
    action: Option<Action>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Action {
    List,
    Read,
    Kill,
}

/// The request of a call.
enum Request {
    /// Something about background jobs.
    Job {
        action: Action,
        job: Option<String>,
        timeout: Option<Duration>,
    },
    Command {
        command: String,
        timeout: Option<Duration>,
        place: Place,
    },
}

/// Where a command runs.
enum Place {
    Foreground,
    Background,
    Terminal,
}

impl Request {
    fn of(arguments: Arguments) -> Result<Self, Refusal> {
        let timeout = timeout(arguments.timeout)?;
        let job = arguments.job;
        let action = match (arguments.action, &job, &arguments.command) {
            // A job without an action can only be a request to read it.
            (None, Some(_), None) => Some(Action::Read),
            (action, _, _) => action,
        };
        if let Some(action) = action {
            return Ok(Self::Job {
                action,
                job,
                timeout,
            });
        }
        let command = arguments.command.unwrap_or_default();
        if command.trim().is_empty() {
            return Err(Refusal::invalid("set `command`, or `action` and `job`"));
        }
        Ok(Self::Command {
            command,
            timeout,
            place: match (arguments.terminal, arguments.background) {
                (Some(true), _) => Place::Terminal,
                (_, Some(true)) => Place::Background,
                _ => Place::Foreground,
            },
        })
    }
}

fn prepare(workspace: Arc<Workspace>, arguments: Value) -> Preparing {
    prepare_typed(arguments, async move |arguments: Arguments| {
        let request = Request::of(arguments)?;
        let shown = match &request {
            Request::Command { command, .. } => Some(Preview::Command(command.clone())),
            Request::Job { .. } => None,
        };
        let bash = Bash { workspace };
        let call = PreparedCall::new(async move |cx| {
            let output = bash.run(request, cx).await;
            output.unwrap_or_else(ToolOutput::from)
        });
        Ok(match shown {
            Some(shown) => call.shown_by(move || Ok(shown.clone())),
            None => call,
        })
    })
}

struct Bash {
    workspace: Arc<Workspace>,
}

impl Bash {
    async fn run(&self, request: Request, cx: ToolContext) -> Result<ToolOutput, Refusal> {
        let (command, timeout, place) = match request {
            Request::Job {
                action,
                job,
                timeout,
            } => return self.job_action(action, job.as_deref(), timeout, &cx).await,
            Request::Command {
                command,
                timeout,
                place,
            } => (command, timeout, place),
        };
        // The rules deny it, too: this is for where nothing judges calls.
        if let Some(problem) = control_characters(&command) {
            return Err(Refusal::Invalid(problem));
        }
        match place {
            Place::Terminal => {
                return terminal_tool::started(&self.workspace, &command, &cx.cancel).await;
            }
            Place::Background => {
                let ready = self.workspace.confinement().prepare().await;
                ready.map_err(|error| Refusal::Failed(error.to_string()))?;
                return self.start(&command);
            }
            Place::Foreground => {}
        }
        let request = ShellRequest {
            command,
            timeout,
            background_after: self.workspace.background_after,
            movable: true,
            by_user: false,
        };
        let before = self.workspace.unchanged_files().await;
        let outcome = run_shell(
            &self.workspace.commands,
            &request,
            &cx.cancel,
            cx.updates.clone(),
        )
        .await;
        let outcome = outcome.map_err(|error| self.not_started(&error))?;
        if outcome.details.sandbox_denied
            && self
                .workspace
                .confinement()
                .may_leave(&request.command, &cx.cancel)
                .await
        {
            let again =
                run_outside(&self.workspace.commands, &request, &cx.cancel, cx.updates).await;
            let outcome = again.map_err(|error| self.not_started(&error))?;
            self.workspace.command_ended(&outcome, before).await;
            return Ok(to_output(outcome));
        }
        self.workspace.command_ended(&outcome, before).await;
        Ok(to_output(outcome))
    }

    fn start(&self, command: &str) -> Result<ToolOutput, Refusal> {
        let job = self.workspace.commands.start_job(command);
        let job = job.map_err(|error| match error.kind() {
            std::io::ErrorKind::QuotaExceeded => {
                Refusal::Failed("too many jobs are running; kill one first".to_owned())
            }
            _ => self.not_started(&error),
        })?;
        let id = &job.id;
        let text = format!("Started {id}; read its output with job `{id}` and action `read`");
        Ok(ToolOutput::success(text, to_value(&job.details())))
    }

    async fn job_action(
        &self,
        action: Action,
        id: Option<&str>,
        timeout: Option<Duration>,
        cx: &ToolContext,
    ) -> Result<ToolOutput, Refusal> {
        let jobs = self.workspace.commands.jobs.all();
        if action == Action::List {
            return Ok(list(&jobs));
        }
        let job = id.and_then(|id| self.workspace.commands.jobs.find(id));
        let Some(job) = job else {
            let known: Vec<&str> = jobs.iter().map(|job| job.id.as_str()).collect();
            let known = if known.is_empty() {
                "none".to_owned()
            } else {
                known.join(", ")
            };
            let given = id.unwrap_or_default();
            return Err(Refusal::Failed(format!("no job `{given}`; jobs: {known}")));
        };
        match (action, timeout) {
            (Action::Kill, _) => job.kill().await,
            (_, Some(timeout)) => tokio::select! {
                () = job.ended() => {}
                () = sleep(timeout) => {}
                () = cx.cancel.cancelled() => {}
            },
            _ => {}
        }
        Ok(job_output(&job))
    }

    fn not_started(&self, error: &std::io::Error) -> Refusal {
        let cwd = self.workspace.cwd();
        Refusal::Failed(if cwd.is_dir() {
            start_error(error)
        } else {
            format!("the working directory `{}` does not exist", cwd.display())
        })
    }
}

/// A patch that is written as a command.
fn as_patch(arguments: &Map<String, Value>) -> Option<(&'static str, Map<String, Value>)> {
    let command = arguments.get("command")?.as_str()?;
    let patch = patch::patch_of_command(command)?;
    let arguments = Map::from_iter([("input".to_owned(), patch.into())]);
    Some((patch::NAME, arguments))
}

/// The error for a command that contains control characters other than newline and tab: a terminal could show another
/// command than the one that runs.
pub fn control_characters(command: &str) -> Option<String> {
    let is_refused = |char: &char| char.is_control() && !matches!(char, '\n' | '\t');
    let found = command.chars().find(is_refused)?;
    Some(format!(
        "the command contains the control character U+{:04X}; only newline and tab are allowed. Remove it, or write it as an escape such as `\\033` in an argument of `printf`",
        u32::from(found)
    ))
}

fn timeout(seconds: Option<f64>) -> Result<Option<Duration>, Refusal> {
    match seconds {
        None => Ok(None),
        Some(seconds) if seconds > 0.0 => {
            Ok(Some(Duration::from_secs_f64(seconds.min(MAX_TIMEOUT))))
        }
        Some(_) => Err(Refusal::invalid("timeout must be greater than 0 seconds")),
    }
}

fn list(jobs: &[Arc<Job>]) -> ToolOutput {
    let lines: Vec<String> = jobs
        .iter()
        .map(|job| {
            let command = single_line(head_bytes(job.command(), LISTED_COMMAND));
            format!("{}: {command}", job.status())
        })
        .collect();
    let text = if lines.is_empty() {
        "no jobs".to_owned()
    } else {
        lines.join("\n")
    };
    let details = JobListDetails {
        jobs: jobs.iter().map(|job| job.details()).collect(),
    };
    ToolOutput::success(text, to_value(&details))
}

fn job_output(job: &Job) -> ToolOutput {
    // Status before output: a job that this status reports as ended has written all of its output.
    let status = job.status();
    let details = job.details();
    let shown = job.new_output();
    let details = BashDetails {
        truncated: shown.truncated,
        ..details
    };
    let waits = job.is_running() && asks_for_input(&shown.text);
    let notes = job.new_notes().into_iter();
    let status = notes.fold(status, |status, note| format!("{status}. {note}"));
    let status = with_advice(&status, waits);
    let output = if shown.text.trim().is_empty() {
        "(no new output)\n"
    } else {
        &shown.text
    };
    ToolOutput::success(with_footer(output, &status), to_value(&details))
}

/// The result of a command in the foreground.
fn to_output(outcome: ShellOutcome) -> ToolOutput {
    let ShellOutcome {
        output,
        end,
        exit,
        details,
    } = outcome;
    let output = if output.trim().is_empty() {
        NO_OUTPUT
    } else {
        &output
    };
    let time = human_duration(details.duration);
    let (status, footer) = match end {
        ShellEnd::Aborted => (
            ToolStatus::Aborted,
            format!("interrupted by the user after {time}; the command was killed"),
        ),
        ShellEnd::TimedOut(timeout) => (
            ToolStatus::Timeout {
                timeout_ms: timeout.as_millis() as u64,
            },
            format!(
                "timed out after {time}; the command was killed. Give a longer timeout, or run it in the background"
            ),
        ),
        ShellEnd::MovedToBackground(limit) => {
            let id = details.job.as_ref().map_or("", |job| &job.id);
            let why = match limit {
                Some(_) => format!("still running after {time}, so it continues"),
                None => format!(
                    "the user moved the command to the background after {time}: it continues"
                ),
            };
            let footer = format!(
                "{why} in the background as {id}; read new output with job `{id}` and action `read` (timeout waits for its end), or stop it with `kill`"
            );
            let footer = with_advice(&footer, asks_for_input(output));
            return ToolOutput::success(with_footer(output, &footer), to_value(&details));
        }
        ShellEnd::Exited if exit.is_success() => {
            let output = match details.sandbox_notes.join(". ") {
                notes if notes.is_empty() => output.to_owned(),
                notes => with_footer(output, &notes),
            };
            return ToolOutput::success(output, to_value(&details));
        }
        ShellEnd::Exited => {
            let message = describe(exit);
            let mut footer = format!("{message}, after {time}");
            if details.sandbox_denied {
                footer.push_str("; the sandbox most likely denied it: commands can write only to the working directory and temporary directories, and have no network unless the user allows it");
            }
            (ToolStatus::ExecutionError { message }, footer)
        }
    };
    let notes = details.sandbox_notes.iter();
    let footer = notes.fold(footer, |footer, note| format!("{footer}. {note}"));
    let mut footer = with_advice(&footer, asks_for_input(output));
    if let Some(need) = full_screen::need(&details.command) {
        let program = need.program;
        footer = format!("{footer}; `{program}` needs a terminal: start it with terminal");
    }
    if needs_password(output) {
        footer.push_str("; it needs a password or another answer of the user, which nobody can give here: ask the user to unlock the key first (`ssh-add`, `gpg`), or start it with terminal, where the user types it");
    }
    ToolOutput {
        content: vec![ContentBlock::text(with_footer(output, &footer))],
        details: to_value(&details),
        status,
    }
}

/// `footer`, with advice for a command that waits for input.
fn with_advice(footer: &str, asks: bool) -> String {
    if !asks {
        return footer.to_owned();
    }
    format!(
        "{footer}; it seems to wait for input, but it has no terminal and its standard input is empty. Pass a flag such as --yes, pipe the answer in, or start it with terminal"
    )
}

/// `output` with `[footer]` on its own line.
fn with_footer(output: &str, footer: &str) -> String {
    let newline = if output.ends_with('\n') { "" } else { "\n" };
    format!("{output}{newline}[{footer}]")
}

#[cfg(test)]
mod tests;
