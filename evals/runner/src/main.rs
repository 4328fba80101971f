//! Runs tasks with osier and models and scores what they did, to compare models, prompts and settings. `docs/eval.md`
//! describes its use and the format of a task; the tasks are in `evals/`.
//!
//! `task` reads a task, `attempt` works on it once, `report` adds up the scores. What a model wrote runs only in the sandbox.

mod attempt;
mod report;
mod task;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser as _;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use futures_util::StreamExt as _;
use serde::Serialize;

use self::attempt::{Attempt, RunResult, Settings, Worker, folder_of};
use self::report::Summary;
use self::task::Task;
use osier_base::leftovers::{FolderKind, TemporaryFolder};
use osier_base::terminal_output;
use osier_base::text::counted;
use osier_protocol::SandboxMode;

/// The tasks of the repository.
const TASKS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// Maximum number of runs at once.
const LANES: i64 = 64;

/// Run tasks with models and score the results.
#[derive(Debug, Clone, clap::Parser)]
#[command(name = "osier-eval", max_term_width = 100)]
struct EvalArgs {
    /// Run these tasks: folders of tasks, or names of tasks in `evals/`; by default all of them
    #[arg(value_name = "TASK")]
    pub tasks: Vec<String>,

    /// Run this program; by default the osier in the folder of this one
    #[arg(long, value_name = "PATH", value_hint = clap::ValueHint::ExecutablePath)]
    pub program: Option<PathBuf>,

    /// Run every task with each of these models, separated by commas
    #[arg(short, long, value_name = "LIST", value_delimiter = ',')]
    pub model: Vec<String>,

    /// Run every task this many times
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub runs: u32,

    /// Run this many at once
    #[arg(short, long, value_name = "N", default_value_t = 2,
          value_parser = clap::value_parser!(u8).range(1..=LANES))]
    pub lanes: u8,

    /// End a run after this time instead of the time limit of its task
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..))]
    pub timeout: Option<u32>,

    /// Set the sandbox mode for commands, setup and checks
    #[arg(long, value_name = "MODE", value_parser = sandbox_mode(), default_value = "workspace")]
    pub sandbox: SandboxMode,

    /// Store the workspaces, sessions and model calls in this directory
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub out: Option<PathBuf>,

    /// Print one JSON object per run, then one per summary
    #[arg(long)]
    pub json: bool,

    /// List the tasks without running them
    #[arg(long, conflicts_with = "verify")]
    pub list: bool,

    /// Check that each task fails without work and passes with its own solution; no model runs
    #[arg(long)]
    pub verify: bool,

    /// Pass these arguments to osier, such as `--thinking high`
    #[arg(last = true, value_name = "ARGUMENT")]
    pub arguments: Vec<String>,
}

/// The tasks to run, with the workers and the settings.
struct Plan {
    tasks: Vec<Task>,
    /// The workers for each task, each as often as `runs`.
    workers: Vec<Worker>,
    settings: Settings,
    /// The folder of all runs.
    root: PathBuf,
    /// Deletes `root` in the end.
    _temporary: Option<TemporaryFolder>,
}

/// How the program ended.
#[derive(Debug, Clone, Copy)]
enum Exit {
    Success = 0,
    /// A run did not pass all checks.
    Failure = 1,
    /// A task or an argument is invalid.
    Usage = 2,
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

fn main() -> ExitCode {
    let args = EvalArgs::parse();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let run = |runtime: tokio::runtime::Runtime| {
        let cwd = std::env::current_dir()?;
        runtime.block_on(run(&args, &cwd, &mut terminal_output::stdout()))
    };
    let ended = runtime.and_then(run);
    ended.map_or_else(|error| usage_error(&error.to_string()), ExitCode::from)
}

/// Prints `message` on standard error: nothing can run.
fn usage_error(message: &str) -> ExitCode {
    // A failed write to standard error cannot be reported.
    let _ = writeln!(terminal_output::stderr(), "osier-eval: {message}");
    Exit::Usage.into()
}

async fn run(args: &EvalArgs, cwd: &Path, out: &mut dyn Write) -> io::Result<Exit> {
    let tasks = tasks(args, cwd).map_err(io::Error::other)?;
    if args.list {
        return list(&tasks, out);
    }
    let plan = plan(args, cwd, tasks).map_err(io::Error::other)?;
    carry_out(&plan, args, out).await
}

/// # Errors
/// An argument is missing, or a task cannot be verified.
fn plan(args: &EvalArgs, cwd: &Path, tasks: Vec<Task>) -> Result<Plan, String> {
    let workers = match (args.verify, args.model.is_empty()) {
        (true, _) => vec![Worker::Nobody, Worker::Solution],
        (false, true) => {
            return Err("no model; name one or several with `--model`".to_owned());
        }
        (false, false) => models(&args.model, cwd),
    };
    if args.verify
        && let Some(task) = tasks.iter().find(|task| task.solution().is_none())
    {
        return Err(format!("task `{}` has no `solution.sh`", task.name));
    }
    let (root, temporary) = root(args, cwd)?;
    Ok(Plan {
        tasks,
        workers,
        settings: Settings {
            program: program(args, cwd)?,
            sandbox: args.sandbox,
            time: args.timeout.map(|time| Duration::from_secs(time.into())),
            arguments: args.arguments.clone(),
            stores_sessions: temporary.is_none(),
        },
        root,
        _temporary: temporary,
    })
}

/// Starts every run, `lanes` at a time, and reports each when it ends. An interrupt ends them all.
async fn carry_out(plan: &Plan, args: &EvalArgs, out: &mut dyn Write) -> io::Result<Exit> {
    let runs = if args.verify { 1 } else { args.runs };
    let mut attempts = Vec::new();
    for run in 1..=runs {
        for task in &plan.tasks {
            for worker in &plan.workers {
                attempts.push(plan.attempt(task, worker, run));
            }
        }
    }
    let all = attempts.len();
    let running = attempts.iter().map(Attempt::carry_out).collect::<Vec<_>>();
    let mut running = futures_util::stream::iter(running).buffer_unordered(args.lanes.into());
    let mut results = Vec::new();
    let mut is_interrupted = false;
    loop {
        let ended = tokio::select! {
            ended = running.next() => ended,
            _ = tokio::signal::ctrl_c() => {
                is_interrupted = true;
                None
            }
        };
        let Some(mut result) = ended else { break };
        if args.out.is_some() {
            let folder = folder_of(&plan.root, &result.task, &result.model, result.run);
            result.directory = Some(folder);
        }
        // A failed write to standard error cannot be reported.
        let line = report::progress(&result, results.len() + 1, all);
        let _ = writeln!(terminal_output::stderr(), "{line}");
        if args.json {
            write_json(out, &Line::Run(&result))?;
        }
        results.push(result);
    }
    // Ends the processes of an interrupted evaluation.
    drop(running);
    if args.verify {
        return verdicts(&results, is_interrupted, out);
    }
    plan.summarize(&results, args.json, out)?;
    Ok(match is_interrupted {
        true => Exit::Interrupted,
        false if results.iter().all(|run| run.passed) => Exit::Success,
        false => Exit::Failure,
    })
}

impl Plan {
    fn summarize(
        &self,
        results: &[RunResult],
        as_json: bool,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let models = self.workers.iter().map(Worker::name);
        let summaries = report::summaries(results, models);
        if as_json {
            for summary in &summaries {
                write_json(out, &Line::Summary(summary))?;
            }
            return Ok(());
        }
        for line in report::table(&summaries) {
            writeln!(out, "{line}")?;
        }
        Ok(())
    }

    fn attempt<'a>(&'a self, task: &'a Task, worker: &Worker, run: u32) -> Attempt<'a> {
        let model = worker.name();
        Attempt {
            task,
            worker: worker.clone(),
            run,
            folder: folder_of(&self.root, &task.name, model, run),
            settings: &self.settings,
        }
    }
}

/// Reports the tasks that pass without work or fail with their own solution.
fn verdicts(results: &[RunResult], is_interrupted: bool, out: &mut dyn Write) -> io::Result<Exit> {
    let solution = Worker::Solution.name();
    let mut problems = 0;
    for run in results {
        let is_solved = run.model == solution;
        if run.passed == is_solved && run.error.is_none() {
            continue;
        }
        problems += 1;
        let problem = match (is_solved, &run.error) {
            (_, Some(error)) => error.clone(),
            (true, None) => {
                let failed = run.checks.iter().filter(|check| !check.passed);
                let failed = failed.map(|check| format!("`{}`: {}", check.name, check.output));
                let failed = failed.collect::<Vec<_>>().join("; ");
                format!("its solution does not pass: {failed}")
            }
            (false, None) => "it passes without any work".to_owned(),
        };
        writeln!(out, "{}: {problem}", run.task)?;
    }
    if is_interrupted {
        return Ok(Exit::Interrupted);
    }
    if problems > 0 {
        return Ok(Exit::Failure);
    }
    let tasks = results.iter().filter(|run| run.model == solution).count();
    writeln!(
        out,
        "{} verified: each fails without work and passes with its solution",
        counted(tasks, "task", "tasks")
    )?;
    Ok(Exit::Success)
}

fn list(tasks: &[Task], out: &mut dyn Write) -> io::Result<Exit> {
    let width = tasks.iter().map(|task| task.name.len()).max().unwrap_or(0);
    for task in tasks {
        let line = task.prompt.lines().next().unwrap_or_default();
        writeln!(out, "{:width$}  {}", task.name, line.trim())?;
    }
    Ok(Exit::Success)
}

/// A line of the output.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Line<'a> {
    Run(&'a RunResult),
    Summary(&'a Summary),
}

fn write_json(out: &mut dyn Write, line: &Line<'_>) -> io::Result<()> {
    writeln!(out, "{}", serde_json::to_string(line)?)?;
    out.flush()
}

/// The osier that runs.
fn program(args: &EvalArgs, cwd: &Path) -> Result<PathBuf, String> {
    let found = match &args.program {
        Some(path) => Ok(cwd.join(path)),
        None => std::env::current_exe().map(|own| own.with_file_name("osier")),
    };
    let found = found.and_then(|path| path.canonicalize());
    found.map_err(|error| {
        format!(
            "cannot find osier: {error}; build it with `cargo build`, or name it with `--program`"
        )
    })
}

/// The tasks of the arguments.
fn tasks(args: &EvalArgs, cwd: &Path) -> Result<Vec<Task>, String> {
    let known = Path::new(TASKS);
    let mut tasks = Vec::new();
    if args.tasks.is_empty() {
        tasks = Task::find(known)?;
    }
    for name in &args.tasks {
        let (own, of_repository) = (cwd.join(name), known.join(name));
        let is_own = own.exists() || !of_repository.exists();
        tasks.extend(Task::find(if is_own { &own } else { &of_repository })?);
    }
    let mut names: Vec<&str> = tasks.iter().map(|task| &*task.name).collect();
    names.sort_unstable();
    let twin = names.windows(2).find(|pair| pair[0] == pair[1]);
    if let Some([name, _]) = twin {
        return Err(format!(
            "two tasks have the name `{name}`; rename the folder of one"
        ));
    }
    Ok(tasks)
}

/// The models; a script is found in the directory where the command runs.
fn models(names: &[String], cwd: &Path) -> Vec<Worker> {
    let absolute = |name: &String| match name.strip_prefix("script/") {
        Some(script) => format!("script/{}", cwd.join(script).display()),
        None => name.clone(),
    };
    names.iter().map(absolute).map(Worker::Model).collect()
}

fn root(args: &EvalArgs, cwd: &Path) -> Result<(PathBuf, Option<TemporaryFolder>), String> {
    let Some(out) = &args.out else {
        let temporary = temporary_folder()?;
        return Ok((temporary.path().to_owned(), Some(temporary)));
    };
    let root = cwd.join(out);
    let is_used = std::fs::read_dir(&root).is_ok_and(|mut entries| entries.next().is_some());
    if is_used {
        return Err(format!(
            "`--out {}` is not empty; name a new directory",
            out.display()
        ));
    }
    let created = std::fs::create_dir_all(&root);
    created.map_err(|error| format!("cannot create `--out {}`: {error}", out.display()))?;
    Ok((root, None))
}

fn temporary_folder() -> Result<TemporaryFolder, String> {
    TemporaryFolder::new(FolderKind::Evaluation)
        .map_err(|error| format!("cannot create a temporary directory: {error}"))
}

fn sandbox_mode() -> impl TypedValueParser<Value = SandboxMode> {
    let names = PossibleValuesParser::new(SandboxMode::ALL.iter().map(|mode| mode.name()));
    names.try_map(|name| SandboxMode::from_name(&name).ok_or("unknown mode"))
}
