//! How commands are started, and what they share: the sandbox, the stored outputs and the processes that they left running.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use osier_base::process::{Invocation, LeftRunning};
use osier_base::working_folder::{FolderState, WorkingFolder};
use osier_protocol::SandboxMode;
use osier_sandbox::{Confined, Confinement, Report};
use tokio_util::task::AbortOnDropHandle;

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
    pub(crate) env: Vec<(OsString, OsString)>,
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
            env: Vec::new(),
            outputs: Arc::default(),
            survivors: Arc::default(),
        }
    }

    /// The invocation of `command`, in the sandbox if one is set, and what the sandbox reports later. The sandbox does
    /// not hide stored outputs, which the model can read.
    pub(crate) fn invocation(&self, command: &str) -> io::Result<(Invocation, Report)> {
        let confinement = self.confinement()?;
        if let Some(outputs) = self.outputs.path() {
            confinement.show(&outputs);
        }
        let bare = self.unconfined(command);
        let confined = confinement.confine(bare).map_err(io::Error::other)?;
        let Confined { invocation, report } = confined;
        Ok((invocation, report))
    }

    /// The sandbox of the working directory, wherever that is now.
    fn confinement(&self) -> io::Result<Arc<Confinement>> {
        match self.folder.state() {
            FolderState::Removed if self.confinement.mode() != SandboxMode::Off => {
                let gone = self.folder_note().unwrap_or_default();
                Err(io::Error::other(format!(
                    "{gone}. The sandbox cannot run commands without it"
                )))
            }
            FolderState::MovedTo(to) => {
                let mut moved = self.moved.lock().unwrap_or_else(PoisonError::into_inner);
                match &*moved {
                    Some((path, confinement)) if *path == to => Ok(Arc::clone(confinement)),
                    _ => {
                        let confinement = self.confinement.at(&to);
                        *moved = Some((to, Arc::clone(&confinement)));
                        Ok(confinement)
                    }
                }
            }
            _ => Ok(Arc::clone(&self.confinement)),
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

    /// The invocation of `command` outside of the sandbox, after the user allowed it.
    pub(crate) fn unconfined(&self, command: &str) -> Invocation {
        Invocation {
            cwd: Some(self.folder.start()),
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
