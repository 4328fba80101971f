//! How commands are started, and what they share: the sandbox, the stored outputs and the processes that they left running.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use osier_base::leftovers::{FolderKind, TemporaryFolder};
use osier_base::process::{Invocation, LeftRunning, on_user_terminal};
use osier_base::working_folder::{FolderState, WorkingFolder};
use osier_protocol::SandboxMode;
use osier_sandbox::{Confined, Confinement, Report};
use tokio_util::task::AbortOnDropHandle;

use super::full_screen;
use super::output_directory::OutputDirectory;

/// The shell of a session.
#[derive(Debug)]
pub(crate) struct Shell {
    pub(crate) confinement: Arc<Confinement>,
    pub(crate) program: PathBuf,
    pub(crate) cwd: PathBuf,
    folder: WorkingFolder,
    /// The sandbox for the folder to which another program moved the working directory.
    moved: Mutex<Option<(PathBuf, Arc<Confinement>)>>,
    /// The empty folder in which sandboxed commands start after the working directory was removed.
    stand_in: OnceLock<TemporaryFolder>,
    pub(crate) env: Vec<(OsString, OsString)>,
    /// Variables that are known only after the session has started.
    pub(crate) late_env: Mutex<Vec<(OsString, OsString)>>,
    pub(crate) outputs: Arc<OutputDirectory>,
    pub(crate) survivors: Arc<Survivors>,
}

impl Shell {
    /// A shell without a sandbox, whose commands start in `cwd`.
    pub(crate) fn new(cwd: &Path) -> Self {
        Self {
            confinement: Arc::new(Confinement::new(cwd, None)),
            program: find_shell(),
            cwd: cwd.to_owned(),
            folder: WorkingFolder::new(cwd),
            moved: Mutex::default(),
            stand_in: OnceLock::new(),
            env: Vec::new(),
            late_env: Mutex::default(),
            outputs: Arc::default(),
            survivors: Arc::default(),
        }
    }

    /// The invocation of `command`, in the sandbox if one is set, and what the sandbox reports later. The sandbox does
    /// not hide stored outputs, which the model can read.
    pub(crate) fn invocation(&self, command: &str) -> io::Result<(Invocation, Report)> {
        let mut bare = self.unconfined(command);
        let confinement = match self.other_folder()? {
            None => Arc::clone(&self.confinement),
            Some(folder) => {
                bare.cwd = Some(folder.clone());
                self.confinement_at(folder)
            }
        };
        if let Some(outputs) = self.outputs.path() {
            confinement.show(&outputs);
        }
        let confined = confinement.confine(bare).map_err(io::Error::other)?;
        let Confined { invocation, report } = confined;
        Ok((invocation, report))
    }

    /// Where commands start if the working directory is no longer at its path: in the sandbox, a removed one cannot be
    /// entered.
    fn other_folder(&self) -> io::Result<Option<PathBuf>> {
        match self.folder.state() {
            FolderState::MovedTo(to) => Ok(Some(to)),
            FolderState::Removed if self.confinement.mode() != SandboxMode::Off => {
                if self.stand_in.get().is_none() {
                    let _ = self
                        .stand_in
                        .set(TemporaryFolder::new(FolderKind::Sandbox)?);
                }
                Ok(self.stand_in.get().map(|folder| folder.path().to_owned()))
            }
            _ => Ok(None),
        }
    }

    fn confinement_at(&self, folder: PathBuf) -> Arc<Confinement> {
        let mut moved = self.moved.lock().unwrap_or_else(PoisonError::into_inner);
        match &*moved {
            Some((path, confinement)) if *path == folder => Arc::clone(confinement),
            _ => {
                let confinement = self.confinement.at(&folder);
                *moved = Some((folder, Arc::clone(&confinement)));
                confinement
            }
        }
    }

    pub(crate) fn folder_state(&self) -> FolderState {
        self.folder.state()
    }

    /// A note for the user and the model when the working directory is not where it was.
    pub(crate) fn folder_note(&self) -> Option<String> {
        let cwd = self.cwd.display();
        match self.folder.state() {
            FolderState::Present => None,
            FolderState::MovedTo(to) => Some(format!(
                "the working directory `{cwd}` was moved: commands and relative paths now start in `{}`. Continue there, or start osier in another directory",
                to.display()
            )),
            FolderState::Removed => Some(format!(
                "the working directory `{cwd}` was removed, and osier does not make it again: use `cd DIRECTORY && …` and absolute paths, or start osier in another directory"
            )),
        }
    }

    /// `command` on the terminal of the screen, if it is of no use without one.
    pub(crate) fn with_user_terminal(&self, command: &str) -> Option<String> {
        full_screen::need(command).filter(|need| need.is_alone)?;
        on_user_terminal(self.program.to_str()?, command)
    }

    /// The invocation of `command` outside of the sandbox, after the user allowed it.
    pub(crate) fn unconfined(&self, command: &str) -> Invocation {
        let late = self.late_env.lock().unwrap_or_else(PoisonError::into_inner);
        Invocation {
            cwd: Some(self.folder.start()),
            env: self.env.iter().chain(&*late).cloned().collect(),
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
pub(crate) struct Survivors(Mutex<Vec<AbortOnDropHandle<()>>>);

impl Survivors {
    pub(crate) fn keep(&self, left_running: Option<LeftRunning>) {
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
