//! The state that the tools of one session share: working directory, known files and running processes.
//! Dropping the workspace ends the background jobs and removes the stored outputs.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::{fmt, io};

use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::ask::plan::PlanMode;
use crate::code::CodeServers;
use crate::commands::foreground::Foreground;
use crate::commands::jobs::Jobs;
use crate::commands::output_directory::OutputDirectory;
use crate::files::editor::Editor;
use crate::files::ledger::{ChangedFiles, Ledger};
use crate::files::target::Approvals;
use crate::search::map::Maps;
use crate::terminal::Terminals;
use osier_agent::{Concurrency, UpdateSink};
use osier_base::path;
use osier_base::process::{Invocation, LeftRunning};
use osier_protocol::JobInfo;
use osier_protocol::questions::{Answer, Question, Questions};
use osier_sandbox::{Confined, Confinement, Report};
use osier_web::Web;
use serde_json::{Value, json};

/// Called when a job starts or ends.
pub type JobObserver = Arc<dyn Fn() + Send + Sync>;

/// The working environment of one session.
pub struct Workspace {
    shell: Shell,
    pub(super) ledger: Ledger,
    pub(super) approvals: Approvals,
    pub(super) jobs: Jobs,
    pub(super) terminals: Terminals,
    job_observer: Option<JobObserver>,
    pub(super) foreground: Foreground,
    /// When a command without a timeout becomes a background job.
    pub(super) background_after: Option<Duration>,
    pub(super) outputs: Arc<OutputDirectory>,
    survivors: Arc<Survivors>,
    editor: Option<Arc<dyn Editor>>,
    questions: Option<Questions>,
    web: Web,
    plan_mode: Option<Arc<dyn PlanMode>>,
    code: Option<Arc<dyn CodeServers>>,
    pub(super) maps: Maps,
    /// Additional directories of the project.
    directories: Vec<PathBuf>,
}

impl Workspace {
    /// Creates a workspace whose commands and relative paths start in `cwd`, which should be absolute.
    pub fn new(cwd: impl Into<PathBuf>) -> Self {
        let cwd = cwd.into();
        let outputs = Arc::default();
        Self {
            shell: Shell {
                confinement: Arc::new(Confinement::new(&cwd, None)),
                program: find_shell(),
                cwd,
                env: Vec::new(),
                outputs: Arc::clone(&outputs),
            },
            ledger: Ledger::default(),
            approvals: Approvals::default(),
            jobs: Jobs::default(),
            terminals: Terminals::default(),
            job_observer: None,
            foreground: Foreground::default(),
            background_after: None,
            outputs,
            survivors: Arc::default(),
            editor: None,
            questions: None,
            web: Web::default(),
            plan_mode: None,
            code: None,
            maps: Maps::default(),
            directories: Vec::new(),
        }
    }

    /// Adds directories of the project.
    #[must_use]
    pub fn with_directories(mut self, directories: Vec<PathBuf>) -> Self {
        self.directories = directories;
        self
    }

    /// Calls `observer` when a job starts or ends.
    #[must_use]
    pub fn with_job_observer(mut self, observer: JobObserver) -> Self {
        self.job_observer = Some(observer);
        self
    }

    /// Makes background jobs of commands of the model that run longer than this without a timeout; `None` for never.
    #[must_use]
    pub fn with_background_after(mut self, limit: Option<Duration>) -> Self {
        self.background_after = limit;
        self
    }

    /// Uses `editor` for files and commands, as far as it offers them.
    #[must_use]
    pub fn within(mut self, editor: Option<Arc<dyn Editor>>) -> Self {
        self.editor = editor;
        self
    }

    /// Lets tools ask the user; `None` when nobody can answer.
    #[must_use]
    pub fn with_questions(mut self, questions: Option<Questions>) -> Self {
        self.questions = questions;
        self
    }

    /// Fetches pages with `web`.
    #[must_use]
    pub fn with_web(mut self, web: Web) -> Self {
        self.web = web;
        self
    }

    pub(super) fn web(&self) -> &Web {
        &self.web
    }

    /// Lets the model present plans to the user of `mode`.
    #[must_use]
    pub fn with_plan_mode(mut self, mode: Option<Arc<dyn PlanMode>>) -> Self {
        self.plan_mode = mode;
        self
    }

    /// Uses the language servers of `code`.
    #[must_use]
    pub fn with_code(mut self, code: Option<Arc<dyn CodeServers>>) -> Self {
        self.code = code;
        self
    }

    pub(super) fn code_servers(&self) -> Option<&Arc<dyn CodeServers>> {
        self.code.as_ref()
    }

    /// Stores the indexes of maps in the folder `maps`.
    #[must_use]
    pub fn with_maps(mut self, maps: PathBuf) -> Self {
        self.maps = Maps::stored_in(maps);
        self
    }

    pub(super) fn plan_mode(&self) -> Option<&Arc<dyn PlanMode>> {
        self.plan_mode.as_ref()
    }

    /// Sets environment variables for commands.
    #[must_use]
    pub fn with_environment(mut self, variables: &BTreeMap<String, String>) -> Self {
        let pairs = variables
            .iter()
            .map(|(name, value)| (name.into(), value.into()));
        self.shell.env.extend(pairs);
        self
    }

    /// Runs commands in the sandbox `confinement`.
    #[must_use]
    pub fn confined(mut self, confinement: Arc<Confinement>) -> Self {
        self.shell.confinement = confinement;
        self
    }

    pub fn confinement(&self) -> &Arc<Confinement> {
        &self.shell.confinement
    }

    pub fn cwd(&self) -> &Path {
        &self.shell.cwd
    }

    /// The working directory and the additional directories.
    pub(super) fn roots(&self) -> Vec<&Path> {
        let directories = self.directories.iter().map(PathBuf::as_path);
        [self.cwd()].into_iter().chain(directories).collect()
    }

    /// `path` for messages.
    pub fn display(&self, path: &Path) -> String {
        path::display(path, self.cwd())
    }

    /// The background jobs of the session, oldest first.
    pub fn background_jobs(&self) -> Vec<JobInfo> {
        self.jobs.all().iter().map(|job| job.info()).collect()
    }

    /// Continues the commands of the model that run in the foreground as background jobs; how many there are. Commands in
    /// a terminal of an editor are not among them.
    pub fn move_to_background(&self) -> usize {
        self.foreground.move_all()
    }

    /// Sends the output of a job to `updates` until it has ended; `None` for an unknown id.
    pub fn follow_job(
        &self,
        id: &str,
        updates: UpdateSink,
    ) -> Option<impl Future<Output = ()> + Send + use<>> {
        let job = self.jobs.find(id)?;
        Some(async move { job.follow(updates).await })
    }

    /// Kills a background job and waits until it is gone; false for an unknown id.
    pub async fn kill_job(&self, id: &str) -> bool {
        let Some(job) = self.jobs.find(id) else {
            return false;
        };
        job.kill().await;
        true
    }

    /// The program that runs commands.
    pub fn shell_program(&self) -> &Path {
        &self.shell.program
    }

    /// The known files that changed without the model, each change once. Blocks.
    pub fn changed_files(&self) -> ChangedFiles {
        self.ledger.changed()
    }

    /// Records that osier restored `paths` in the working directory, so that no other program is blamed. If not `is_expected`, the model does not
    /// know it yet: only the files went back, not the conversation. Blocks.
    pub fn files_restored(&self, paths: &[String], is_expected: bool) {
        for path in paths {
            let path = self.cwd().join(path);
            let target = self.file_target("write", &json!({"file_path": path.to_string_lossy()}));
            if let Some(target) = target {
                self.ledger.restored(&target, is_expected);
            }
        }
    }

    pub(super) fn jobs_changed(&self) {
        if let Some(observer) = &self.job_observer {
            observer();
        }
    }

    pub(super) fn job_observer(&self) -> Option<JobObserver> {
        self.job_observer.clone()
    }

    pub(super) fn editor(&self) -> Option<&Arc<dyn Editor>> {
        self.editor.as_ref()
    }

    /// Asks the user and waits. `None` when nobody can answer.
    pub async fn ask(&self, question: Question, cancel: &CancellationToken) -> Option<Answer> {
        let questions = self.questions.as_ref()?;
        Some(questions.ask(question, cancel).await)
    }

    pub(super) fn shell(&self) -> &Shell {
        &self.shell
    }

    pub(super) fn survivors(&self) -> &Arc<Survivors> {
        &self.survivors
    }

    /// Serializes calls that use the same file; `None` without one.
    pub(super) fn file_concurrency(&self, tool: &str, arguments: &Value) -> Option<Concurrency> {
        let target = self.file_target(tool, arguments)?;
        let key = target.host.display().to_string();
        Some(Concurrency::Serial(key))
    }
}

impl fmt::Debug for Workspace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Workspace")
            .field("shell", &self.shell)
            .field("jobs", &self.jobs)
            .finish_non_exhaustive()
    }
}

/// How commands are started.
#[derive(Debug, Clone)]
pub(super) struct Shell {
    confinement: Arc<Confinement>,
    program: PathBuf,
    cwd: PathBuf,
    env: Vec<(OsString, OsString)>,
    outputs: Arc<OutputDirectory>,
}

impl Shell {
    /// The invocation of `command`, in the sandbox if one is set, and what the sandbox reports later. The sandbox does
    /// not hide stored outputs, which the model can read.
    pub(super) fn invocation(&self, command: &str) -> io::Result<(Invocation, Report)> {
        if let Some(outputs) = self.outputs.path() {
            self.confinement.show(&outputs);
        }
        let bare = self.unconfined(command);
        let confined = self.confinement.confine(bare).map_err(io::Error::other)?;
        let Confined { invocation, report } = confined;
        Ok((invocation, report))
    }

    /// The invocation of `command` outside of the sandbox, after the user allowed it.
    pub(super) fn unconfined(&self, command: &str) -> Invocation {
        Invocation {
            cwd: Some(self.cwd.clone()),
            env: self.env.clone(),
            ..Invocation::new(&self.program, ["-c", command])
        }
    }
}

/// bash if it is installed, else the system's shell.
fn find_shell() -> PathBuf {
    let in_path = std::env::var_os("PATH").unwrap_or_default();
    ["/bin", "/usr/bin"]
        .into_iter()
        .map(PathBuf::from)
        .chain(std::env::split_paths(&in_path))
        .map(|directory| directory.join("bash"))
        .find(|candidate| candidate.is_file())
        .unwrap_or_else(|| PathBuf::from("/bin/sh"))
}

/// Processes that outlived their commands: each has a task that waits for it, or kills it when dropped.
#[derive(Debug, Default)]
pub(super) struct Survivors(Mutex<Vec<AbortOnDropHandle<()>>>);

impl Survivors {
    pub(super) fn keep(&self, left_running: Option<LeftRunning>) {
        let Some(left_running) = left_running else {
            return;
        };
        let mut tasks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.retain(|task| !task.is_finished());
        tasks.push(AbortOnDropHandle::new(osier_base::task::spawn(
            left_running.stay(),
        )));
    }
}
