//! The state that the tools of one session share: working directory, known files and running processes.
//! Dropping the workspace ends the background jobs and removes the temporary outputs.

mod code_servers;
mod file_targets;
mod in_editor;
mod maps;
mod open;
mod plan_mode;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, PoisonError};
use std::time::Duration;

use osier_agent::{FileUse, UpdateSink};
use osier_base::path;
use osier_base::working_folder::FolderState;
use osier_protocol::JobInfo;
use osier_protocol::questions::{Answer, Question, Questions};
use osier_sandbox::Confinement;
use osier_web::Web;
use tokio_util::sync::CancellationToken;

pub use self::code_servers::{CodeServers, Opened};
pub use self::file_targets::{ReadFilter, ReadFilters};
pub(crate) use self::maps::Maps;
pub use self::plan_mode::{PlanAnswer, PlanDecision, PlanMode};
use crate::commands::jobs::JobObserver;
use crate::commands::outcome::{ShellOutcome, ShellRequest};
use crate::commands::output_directory::{OutputDirectory, OutputOptions};
use crate::commands::run::{Commands, run_shell};
use crate::commands::shell::Shell;
use crate::commands::truncation::{self, Capped};
use crate::files::editor::Editor;
use crate::files::ledger::{ChangedFiles, Ledger};
use crate::files::target::NamedFile;
use crate::terminal::Terminals;

/// The working environment of one session.
pub struct Workspace {
    pub(crate) commands: Commands,
    pub(crate) ledger: Ledger,
    read_filters: OnceLock<ReadFilters>,
    pub(crate) terminals: Terminals,
    /// When a command without a timeout becomes a background job.
    pub(crate) background_after: Option<Duration>,
    questions: Option<Questions>,
    web: Web,
    plan_mode: Option<Arc<dyn PlanMode>>,
    code: Option<Arc<dyn CodeServers>>,
    pub(crate) maps: Maps,
    /// Additional directories of the project.
    directories: Vec<PathBuf>,
}

impl Workspace {
    /// Creates a workspace whose commands and relative paths start in `cwd`, which should be absolute.
    pub fn new(cwd: impl Into<PathBuf>) -> Self {
        Self {
            commands: Commands::new(Shell::new(&cwd.into())),
            ledger: Ledger::default(),
            read_filters: OnceLock::new(),
            terminals: Terminals::default(),
            background_after: None,
            questions: None,
            web: Web::default(),
            plan_mode: None,
            code: None,
            maps: Maps::default(),
            directories: Vec::new(),
        }
    }

    /// Stores long outputs of commands as the options say.
    #[must_use]
    pub fn with_outputs(mut self, options: OutputOptions) -> Self {
        self.commands.shell.outputs = Arc::new(OutputDirectory::new(options));
        self
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
        self.commands.jobs.observe(observer);
        self
    }

    /// Makes background jobs of commands of the model that run longer than this without a timeout; `None` for never.
    #[must_use]
    pub fn with_background_after(mut self, limit: Option<Duration>) -> Self {
        self.background_after = limit;
        self
    }

    /// Uses `editor` for files and commands, as far as the editor offers them.
    #[must_use]
    pub fn within(mut self, editor: Option<Arc<dyn Editor>>) -> Self {
        self.commands.editor = editor;
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

    pub(crate) fn web(&self) -> &Web {
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

    pub(crate) fn code_servers(&self) -> Option<&Arc<dyn CodeServers>> {
        self.code.as_ref()
    }

    /// Stores the indexes of maps in the folder `maps`.
    #[must_use]
    pub fn with_maps(mut self, maps: PathBuf) -> Self {
        self.maps = Maps::stored_in(maps);
        self
    }

    pub(crate) fn plan_mode(&self) -> Option<&Arc<dyn PlanMode>> {
        self.plan_mode.as_ref()
    }

    /// Sets environment variables for commands.
    #[must_use]
    pub fn with_environment(mut self, variables: &BTreeMap<String, String>) -> Self {
        let pairs = variables
            .iter()
            .map(|(name, value)| (name.into(), value.into()));
        self.commands.shell.env.extend(pairs);
        self
    }

    /// Sets environment variables for the commands from now on, in addition to those of `with_environment`.
    pub fn set_variables(&self, variables: Vec<(OsString, OsString)>) {
        let late = self.commands.shell.late_env.lock();
        *late.unwrap_or_else(PoisonError::into_inner) = variables;
    }

    /// Runs commands in the sandbox `confinement`.
    #[must_use]
    pub fn confined(mut self, confinement: Arc<Confinement>) -> Self {
        self.commands.shell.confinement = confinement;
        self
    }

    pub fn confinement(&self) -> &Arc<Confinement> {
        &self.commands.shell.confinement
    }

    pub fn cwd(&self) -> &Path {
        &self.commands.shell.cwd
    }

    /// The working directory and the additional directories.
    pub fn roots(&self) -> Vec<&Path> {
        let directories = self.directories.iter().map(PathBuf::as_path);
        [self.cwd()].into_iter().chain(directories).collect()
    }

    /// `path` for messages.
    pub fn display(&self, path: &Path) -> String {
        path::display(path, self.cwd())
    }

    /// `; did you mean …?` with names like that of `path`, which does not exist; or an empty text.
    pub(crate) fn suggestion(&self, path: &Path) -> String {
        let near: Vec<String> = path::nearest(path, 3)
            .iter()
            .map(|path| format!("`{}`", self.display(path)))
            .collect();
        if near.is_empty() {
            return String::new();
        }
        format!("; did you mean {}?", near.join(" or "))
    }

    /// The background jobs of the session, oldest first.
    pub fn background_jobs(&self) -> Vec<JobInfo> {
        self.commands
            .jobs
            .all()
            .iter()
            .map(|job| job.info())
            .collect()
    }

    /// Continues the commands of the model that run in the foreground as background jobs; how many there are. Commands in
    /// a terminal of an editor are not among them.
    pub fn move_to_background(&self) -> usize {
        self.commands.foreground.move_all()
    }

    /// Sends the output of a job to `updates` until it has ended; `None` for an unknown id.
    pub fn follow_job(
        &self,
        id: &str,
        updates: UpdateSink,
    ) -> Option<impl Future<Output = ()> + Send + use<>> {
        let job = self.commands.jobs.find(id)?;
        Some(async move { job.follow(updates).await })
    }

    /// Kills a background job and waits until it is gone; false for an unknown id.
    pub async fn kill_job(&self, id: &str) -> bool {
        let Some(job) = self.commands.jobs.find(id) else {
            return false;
        };
        job.kill().await;
        true
    }

    /// The folder to which another program moved the working directory.
    pub fn moved_to(&self) -> Option<PathBuf> {
        match self.commands.shell.folder_state() {
            FolderState::MovedTo(to) => Some(to),
            FolderState::Present | FolderState::Removed => None,
        }
    }

    /// The program that runs commands.
    pub fn shell_program(&self) -> &Path {
        &self.commands.shell.program
    }

    /// Runs `request`. Fails only when the shell cannot be started.
    pub async fn run_shell(
        &self,
        request: &ShellRequest,
        cancel: &CancellationToken,
        updates: UpdateSink,
    ) -> io::Result<ShellOutcome> {
        let mut outcome = run_shell(&self.commands, request, cancel, updates).await?;
        if let Some(note) = self.commands.shell.folder_note() {
            let newline = if outcome.output.ends_with('\n') {
                ""
            } else {
                "\n"
            };
            outcome.output = format!("{}{newline}[{note}]", outcome.output);
        }
        Ok(outcome)
    }

    /// Limits a text for a model, as the output of a command.
    pub async fn cap(&self, text: &str) -> Capped {
        truncation::cap(&self.commands.shell.outputs, text).await
    }

    /// Stores `bytes` in a file of the session. Returns its path, or an error message.
    pub async fn store_output(&self, bytes: &[u8]) -> Result<PathBuf, String> {
        truncation::store(&self.commands.shell.outputs, bytes).await
    }

    /// The known files that changed without the model, each change once. Blocks.
    pub fn changed_files(&self) -> ChangedFiles {
        self.ledger.changed()
    }

    /// Records that osier restored `paths` in the working directory, so that the changes do not
    /// count as those of another program. Without `is_expected`, the model does not know them yet:
    /// only the files went back, not the conversation. Blocks.
    pub fn files_restored(&self, paths: &[String], is_expected: bool) {
        for path in paths {
            let path = self.cwd().join(path);
            let named = NamedFile::new(path.display().to_string(), FileUse::Write);
            let target = self.resolve(&named);
            self.ledger.restored(&target, is_expected);
        }
    }

    pub(crate) fn editor(&self) -> Option<&Arc<dyn Editor>> {
        self.commands.editor.as_ref()
    }

    /// Asks the user and waits. `None` when nobody can answer.
    pub async fn ask(&self, question: Question, cancel: &CancellationToken) -> Option<Answer> {
        let questions = self.questions.as_ref()?;
        Some(questions.ask(question, cancel).await)
    }
}

osier_base::opaque_debug!(Workspace);
