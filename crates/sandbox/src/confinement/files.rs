//! The files that commands in the sandbox see and can write to.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::{Confinement, Requested};
use crate::backend::{Backend, SandboxError};
use crate::bubblewrap::{Layout, Temporary};
use crate::denied::{Denial, Denied, Limit, directory_of, is_one_of_many};
use crate::mounts::{Mounts, Source};
use crate::protected::Found;
use crate::spec::Network;
use osier_base::leftovers::{FolderKind, TemporaryFolder};
use osier_protocol::SandboxMode;

impl Confinement {
    /// Why commands can use what `denial` denies. `None` if they cannot, or if the backend was not detected yet.
    pub fn limit(&self, denial: &Denial) -> Option<Limit> {
        let requested = self.requested.lock().clone();
        if requested.effective() == SandboxMode::Off {
            return Some(Limit::NoSandbox);
        }
        if let Denial::Program(name) = denial
            && is_one_of_many(name)
        {
            return Some(Limit::ManyPrograms);
        }
        let backend = self.backend.get()?.as_ref().ok()?;
        let places = match (backend, denial) {
            (Backend::Bubblewrap(_), _) | (_, Denial::Connecting(_)) => return None,
            (_, Denial::Writing(path)) | (Backend::Landlock(_), Denial::Reading(path)) => {
                vec![directory_of(path)]
            }
            (Backend::Landlock(_), Denial::Program(_)) => {
                let files = Denied::of(vec![denial.clone()]).files(&self.cwd);
                files.unwrap_or_default().programs
            }
            (Backend::SandboxExec, _) => return Some(Limit::NeedsBubblewrap),
        };
        let writable = real(&self.writable(&requested, &self.temporary().ok()?));
        let is_open = |place: &PathBuf| {
            let real = place.canonicalize().unwrap_or_else(|_| place.clone());
            // The place itself can be a link, which a command could replace.
            let is_below = |folder: &PathBuf| place.starts_with(folder) || real.starts_with(folder);
            let mut folders = writable.iter();
            folders.any(|folder| is_below(folder) || folder.starts_with(&real))
        };
        places.iter().any(is_open).then_some(Limit::NeedsBubblewrap)
    }

    /// The path outside of the file that a command finds at `path`: in bubblewrap, `/tmp` and `/var/tmp` are
    /// directories of the sandbox. Requires a detected backend, like `wrap`.
    pub fn host_path(&self, path: &Path) -> PathBuf {
        let layout = self.own_layout();
        layout.map_or_else(|| path.to_owned(), |layout| layout.mounts.host_path(path))
    }

    /// Whether a command could write to `path`, an absolute path without symbolic links, as a command names it.
    /// Landlock cannot protect files such as `.git` in a writable directory; here they are protected as well. Requires a
    /// detected backend, like `wrap`.
    pub fn may_write(&self, path: &Path) -> bool {
        let requested = self.requested.lock().clone();
        if requested.effective() == SandboxMode::Off {
            return true;
        }
        let mounts = match self.own_layout() {
            Some(layout) => Ok(layout.mounts),
            None => self.mounts_of_host(&requested),
        };
        mounts.is_ok_and(|mounts| mounts.may_write(path))
    }

    /// The paths that commands can write to when they use the file system of the host.
    fn mounts_of_host(&self, requested: &Requested) -> Result<Mounts, SandboxError> {
        let mut mounts = Mounts::default();
        for path in self.writable(requested, &self.temporary()?) {
            if let Ok(path) = path.canonicalize() {
                mounts.add(path, Source::Writable);
            }
        }
        for path in self.protected.find(&self.cwd)?.paths {
            mounts.add(path, Source::ReadOnly);
        }
        Ok(mounts)
    }

    /// The mounts, when the sandbox is on and has any.
    fn own_layout(&self) -> Option<Layout> {
        let requested = self.requested.lock().clone();
        let is_on = requested.effective() != SandboxMode::Off;
        let has_mounts = matches!(self.backend.get(), Some(Ok(Backend::Bubblewrap(_))));
        (is_on && has_mounts)
            .then(|| {
                let protected = self.protected_in(&requested).ok()?;
                self.layout(&requested, &Network::Off, &protected.paths)
                    .ok()
            })
            .flatten()
    }

    /// Private temporary directories that live as long as the workspace.
    pub(super) fn temporary(&self) -> Result<Temporary, SandboxError> {
        let made = self.temporary.get_or_init(|| {
            let made = TemporaryFolder::new(FolderKind::Sandbox).ok()?;
            Temporary::create(made.path()).ok()?;
            Some(made)
        });
        let made = made.as_ref().map(|folder| Temporary::at(folder.path()));
        made.ok_or_else(|| SandboxError::new("cannot create a temporary directory"))
    }

    /// The paths that commands cannot write to although the directories around them are writable.
    /// All directories of the project are compared.
    pub(super) fn protected_in(&self, requested: &Requested) -> Result<Found, SandboxError> {
        match requested.effective() {
            SandboxMode::Workspace => self.protected.find(&self.cwd),
            _ => Ok(Found::default()),
        }
    }

    /// The mounts for bubblewrap.
    pub(super) fn layout(
        &self,
        requested: &Requested,
        network: &Network,
        protected: &[PathBuf],
    ) -> Result<Layout, SandboxError> {
        let temporary = self.temporary()?;
        let mut layout = Layout::new(&temporary, network);
        if let Some(folders) = &self.folders {
            layout.hide(folders);
        }
        let shown = self.shown.lock();
        for path in shown.iter().chain(&self.helper) {
            layout.show(path);
        }
        drop(shown);
        layout.show_project(&self.cwd);
        for path in &self.repositories {
            layout.show(path);
        }
        if requested.effective() == SandboxMode::Workspace {
            for path in requested.writable.iter().chain([&self.cwd]) {
                layout.open(path);
            }
            layout.protect(protected);
            layout.lock(temporary.root());
            if let Some(folders) = &self.folders {
                layout.keep_hidden(folders);
            }
        }
        self.deny_in(&mut layout, requested)?;
        Ok(layout)
    }

    fn deny_in(&self, layout: &mut Layout, requested: &Requested) -> Result<(), SandboxError> {
        let files = requested.denied.files(&self.cwd).map_err(too_many)?;
        for path in &files.unwritable {
            layout.lock(path);
        }
        for link in &files.links {
            layout.keep_link(link);
        }
        // No command could start if osier's own program were hidden.
        let own = self.helper.as_ref().and_then(|own| own.canonicalize().ok());
        let programs = files.programs.iter();
        let programs = programs.filter(|program| Some(*program) != own.as_ref());
        for path in programs.chain(&files.unreadable) {
            self.keep_cwd(path)?;
            layout.block(path);
        }
        if let Some(own) = &own {
            layout.show(own);
        }
        Ok(())
    }

    /// Returns an error if `hidden` contains the working directory, because then no command could
    /// start.
    fn keep_cwd(&self, hidden: &Path) -> Result<(), SandboxError> {
        if !self.cwd.starts_with(hidden) {
            return Ok(());
        }
        let reason = format!("a deny rule hides `{}`", hidden.display());
        Err(SandboxError::new(reason).with_advice("Deny parts of it"))
    }

    /// The files that Landlock hides. It cannot hide files in writable directories, because then
    /// new files there could not be used either.
    pub(super) fn hidden(
        &self,
        requested: &Requested,
        writable: &[PathBuf],
    ) -> Result<BTreeSet<PathBuf>, SandboxError> {
        let files = requested.denied.files(&self.cwd).map_err(too_many)?;
        let mut hidden: BTreeSet<PathBuf> = files.programs.into_iter().collect();
        hidden.extend(files.unreadable);
        let own = self.helper.as_ref().and_then(|own| own.canonicalize().ok());
        let writable: Vec<PathBuf> = real(writable);
        let is_open = |file: &PathBuf| writable.iter().any(|folder| file.starts_with(folder));
        hidden.retain(|file| !is_open(file) && Some(file) != own.as_ref());
        hidden.iter().try_for_each(|file| self.keep_cwd(file))?;
        Ok(hidden)
    }

    /// The paths that commands can write to under Landlock and `sandbox-exec`. Other programs have their files in `/tmp`, so that
    /// a command has a directory of its own, which `TMPDIR` names.
    pub(super) fn writable(&self, requested: &Requested, temporary: &Temporary) -> Vec<PathBuf> {
        let mut writable = vec![temporary.root().to_owned()];
        if requested.effective() == SandboxMode::Workspace {
            if cfg!(target_os = "macos") {
                writable.extend(["/tmp".into(), "/var/tmp".into()]);
            }
            writable.extend(requested.writable.iter().cloned());
            writable.push(self.cwd.clone());
        }
        writable.retain(|path| path.exists());
        writable
    }
}

fn too_many(reason: String) -> SandboxError {
    SandboxError::new(reason).with_advice("Change the rule")
}

/// The paths that exist, without symbolic links.
fn real(paths: &[PathBuf]) -> Vec<PathBuf> {
    let real = paths.iter().filter_map(|path| path.canonicalize().ok());
    real.collect()
}
