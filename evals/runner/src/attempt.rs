//! One run of a task: osier works in a copy of its files, then the checks score them.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Serialize;

use osier_agent::AccountingEntry;
use osier_base::process::{Invocation, QuietError, QuietOutput, run_captured};
use osier_base::text::{head_bytes, sanitize, tail_bytes};
use osier_protocol::SandboxMode;
use osier_sandbox::Confinement;

use super::task::{Check, Task, Test};

/// Maximum bytes of an error or of a check's output in a report.
const EXCERPT: usize = 2000;
/// How long the setup of a task and its solution may take.
const PREPARATION: Duration = Duration::from_mins(2);

/// How osier runs.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    pub program: PathBuf,
    pub sandbox: SandboxMode,
    /// Replaces the time limit of every task.
    pub time: Option<Duration>,
    /// Further arguments of osier.
    pub arguments: Vec<String>,
    /// Whether the session is stored with the workspace.
    pub stores_sessions: bool,
}

/// The worker on a task.
#[derive(Debug, Clone)]
pub(super) enum Worker {
    Model(String),
    /// The script of the task itself, which must pass all checks.
    Solution,
    /// Nothing: at least one check must fail.
    Nobody,
}

impl Worker {
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Model(model) => model,
            Self::Solution => "solution",
            Self::Nobody => "nobody",
        }
    }
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Outcome {
    Completed,
    /// osier exited with an error, such as a failed model call.
    Failed,
    Timeout,
    /// The workspace could not be prepared, or the sandbox does not work: nothing ran.
    NotStarted,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Tokens {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
}

#[derive(Debug, Clone, Serialize)]
pub(super) struct CheckResult {
    pub name: String,
    pub passed: bool,
    /// The end of the output of a check that failed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub output: String,
}

/// The score of one run.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunResult {
    pub task: String,
    pub model: String,
    pub run: u32,
    pub outcome: Outcome,
    /// Whether all checks passed.
    pub passed: bool,
    /// The share of the points, from 0 to 1.
    pub score: f64,
    pub checks: Vec<CheckResult>,
    pub calls: u64,
    pub failed_calls: u64,
    pub tool_calls: u64,
    pub failed_tool_calls: u64,
    pub tokens: Tokens,
    /// US dollars.
    pub cost: f64,
    pub milliseconds: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Where the workspace is stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<PathBuf>,
}

impl RunResult {
    fn new(task: &Task, model: &str, run: u32) -> Self {
        Self {
            task: task.name.clone(),
            model: model.to_owned(),
            run,
            outcome: Outcome::Completed,
            passed: false,
            score: 0.0,
            checks: Vec::new(),
            calls: 0,
            failed_calls: 0,
            tool_calls: 0,
            failed_tool_calls: 0,
            tokens: Tokens::default(),
            cost: 0.0,
            milliseconds: 0,
            error: None,
            directory: None,
        }
    }
}

/// One run, in a new folder.
pub(super) struct Attempt<'a> {
    pub task: &'a Task,
    pub worker: Worker,
    pub run: u32,
    /// A folder that does not exist yet.
    pub folder: PathBuf,
    pub settings: &'a Settings,
}

impl Attempt<'_> {
    pub(super) async fn carry_out(&self) -> RunResult {
        let mut result = RunResult::new(self.task, self.worker.name(), self.run);
        if let Err(error) = self.prepare().await {
            result.outcome = Outcome::NotStarted;
            result.error = Some(error);
            return result;
        }
        let start = Instant::now();
        let answer = self.work(&mut result).await;
        result.milliseconds = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.read_accounting(&mut result);
        self.check(&answer, &mut result).await;
        result
    }

    fn workspace(&self) -> PathBuf {
        self.folder.join("work")
    }

    fn calls(&self) -> PathBuf {
        self.folder.join("calls.jsonl")
    }

    async fn prepare(&self) -> Result<(), String> {
        let copied =
            fs::create_dir_all(&self.folder).and_then(|()| self.task.copy_files(&self.workspace()));
        copied.map_err(|error| format!("cannot copy the files of the task: {error}"))?;
        let Some(setup) = &self.task.setup else {
            return Ok(());
        };
        let output = self.shell(setup, PREPARATION).await?;
        if output.exit.is_success() {
            return Ok(());
        }
        Err(format!("the setup failed: {}", excerpt(&output)))
    }

    /// Lets the worker work and returns the answer.
    async fn work(&self, result: &mut RunResult) -> String {
        let ended = match &self.worker {
            Worker::Nobody => return String::new(),
            Worker::Solution => {
                let script = self.task.solution().unwrap_or_default();
                let command = format!(". '{}'", script.display());
                self.shell(&command, PREPARATION).await
            }
            Worker::Model(model) => {
                let time = self.settings.time.unwrap_or(self.task.time);
                let prompt = Some(self.task.prompt.as_bytes());
                match run_captured(&self.osier(model), prompt, time).await {
                    Err(QuietError::Timeout { .. }) => {
                        result.outcome = Outcome::Timeout;
                        result.error = Some(format!("not done after {} s", time.as_secs()));
                        return String::new();
                    }
                    ended => ended.map_err(|error| error.to_string()),
                }
            }
        };
        match ended {
            Ok(output) => {
                if !output.exit.is_success() {
                    result.outcome = Outcome::Failed;
                    result.error = Some(excerpt(&output));
                }
                String::from_utf8_lossy(&output.stdout).into_owned()
            }
            Err(error) => {
                result.outcome = Outcome::NotStarted;
                result.error = Some(error);
                String::new()
            }
        }
    }

    fn osier(&self, model: &str) -> Invocation {
        let mut arguments: Vec<OsString> = vec!["--print".into(), "--model".into(), model.into()];
        arguments.extend(["--permissions", "yolo", "--sandbox"].map(OsString::from));
        arguments.push(self.settings.sandbox.name().into());
        arguments.extend([
            "--max-turns".into(),
            self.task.max_turns.to_string().into(),
            "--accounting".into(),
            self.calls().into(),
        ]);
        if self.settings.stores_sessions {
            arguments.extend(["--session".into(), self.folder.join("session.jsonl").into()]);
        } else {
            arguments.push("--no-session".into());
        }
        arguments.extend(self.settings.arguments.iter().map(OsString::from));
        Invocation {
            cwd: Some(self.workspace()),
            has_keys: true,
            ..Invocation::new(self.settings.program.clone(), arguments)
        }
    }

    /// Runs a command of the task in the workspace, in the same sandbox as the commands of the model: it may execute what
    /// the model wrote.
    async fn shell(&self, command: &str, time: Duration) -> Result<QuietOutput, String> {
        let workspace = self.workspace();
        let confinement = Confinement::new(&workspace, Some(self.settings.program.clone()));
        confinement.set(self.settings.sandbox, false, Vec::new());
        confinement.show(&self.task.folder);
        let backend = confinement.prepare().await;
        backend.map_err(|error| format!("cannot use the sandbox: {}", error.reason))?;
        let variables = [
            ("CHECKS", self.task.checks_folder()),
            ("TASK", self.task.folder.clone()),
            // Files that Python would leave in the workspace.
            ("PYTHONDONTWRITEBYTECODE", "1".into()),
        ];
        let invocation = Invocation {
            cwd: Some(workspace),
            env: variables
                .into_iter()
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
            ..Invocation::new("sh", ["-c", command])
        };
        let confined = confinement
            .confine(invocation)
            .map_err(|error| format!("cannot use the sandbox: {}", error.reason))?;
        let output = run_captured(&confined.invocation, None, time).await;
        output.map_err(|error| error.to_string())
    }

    async fn check(&self, answer: &str, result: &mut RunResult) {
        let mut points = 0.0;
        for check in &self.task.checks {
            let outcome = self.result_of(check, answer).await;
            if outcome.passed {
                points += check.points;
            }
            result.checks.push(outcome);
        }
        result.passed = result.checks.iter().all(|check| check.passed);
        result.score = points / self.task.points();
    }

    async fn result_of(&self, check: &Check, answer: &str) -> CheckResult {
        let (passed, output) = match &check.test {
            Test::Run { command, time } => match self.shell(command, *time).await {
                Ok(output) if output.exit.is_success() => (true, String::new()),
                Ok(output) => (false, excerpt(&output)),
                Err(error) => (false, error),
            },
            Test::Answer(patterns) if patterns.iter().all(|pattern| pattern.is_match(answer)) => {
                (true, String::new())
            }
            Test::Answer(_) => (
                false,
                format!("the answer was: {}", head_bytes(answer.trim(), EXCERPT)),
            ),
        };
        CheckResult {
            name: check.name.clone(),
            passed,
            output,
        }
    }

    /// Adds the calls that osier recorded.
    fn read_accounting(&self, result: &mut RunResult) {
        let text = fs::read_to_string(self.calls()).unwrap_or_default();
        let entries = text.lines().map(serde_json::from_str);
        for entry in entries.filter_map(Result::ok) {
            match entry {
                AccountingEntry::Llm { usage, status, .. } => {
                    result.calls += 1;
                    result.failed_calls += u64::from(status != "success");
                    result.tokens.input += usage.input;
                    result.tokens.output += usage.output;
                    result.tokens.cache_read += usage.cache_read;
                    result.tokens.cache_write += usage.cache_write;
                    result.cost += usage.cost.total;
                }
                AccountingEntry::Tool { status, .. } => {
                    result.tool_calls += 1;
                    result.failed_tool_calls += u64::from(status != "success");
                }
            }
        }
    }
}

/// The end of the output, the standard error last.
fn excerpt(output: &QuietOutput) -> String {
    let text = [&output.stdout, &output.stderr]
        .map(|stream| String::from_utf8_lossy(stream).trim().to_owned())
        .into_iter()
        .filter(|text| !text.is_empty())
        .collect::<Vec<_>>()
        .join("\n");
    let text = sanitize(tail_bytes(&text, EXCERPT)).into_owned();
    if text.is_empty() {
        return format!("exit code {}", output.exit.shell_code());
    }
    text
}

/// The folder of a run below `root`: the task, the model and the number.
pub(super) fn folder_of(root: &Path, task: &str, model: &str, run: u32) -> PathBuf {
    let model: String = model
        .chars()
        .map(|char| match char {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '_' | '.' => char,
            _ => '_',
        })
        .collect();
    root.join(task).join(model).join(run.to_string())
}
