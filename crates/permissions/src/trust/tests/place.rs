//! A project with programs, for tests that change its files.

use std::fs::{self, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use osier_base::folders::Folders;

use crate::trust::programs::ProjectPrograms;
use crate::trust::{ProgramUse, ProjectFiles, Trust};

/// A path, and the content and mode of its file if there was one.
type Before = (PathBuf, Option<(Vec<u8>, Permissions)>);

/// A project in a temporary folder, next to the home of its user.
pub(in crate::trust) struct Place {
    pub(in crate::trust) folder: tempfile::TempDir,
    pub(in crate::trust) trust: Trust,
    pub(in crate::trust) project: PathBuf,
}

impl Place {
    pub(in crate::trust) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let trust = Trust::new(&Folders::under(&folder.path().join("home")));
        let project = folder.path().join("project");
        fs::create_dir_all(&project).unwrap();
        let project = project.canonicalize().unwrap();
        Self {
            folder,
            trust,
            project,
        }
    }

    /// Writes a file as it was before the user decided.
    pub(in crate::trust) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.project.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut file = fs::File::create(&path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
        if text.starts_with("#!") {
            fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        }
        path
    }

    pub(in crate::trust) fn put(&self, name: &str, text: &str) -> PathBuf {
        self.tick();
        self.write(name, text)
    }

    /// Waits until the coarse clock of the file system is later than the last change. It only touches times, so that nothing is written to
    /// the disk.
    pub(in crate::trust) fn tick(&self) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let clock = fs::File::create(self.folder.path().join("clock")).unwrap();
        loop {
            clock.set_modified(UNIX_EPOCH).unwrap();
            let data = clock.metadata().unwrap();
            let nanoseconds = u128::try_from(data.ctime()).unwrap() * 1_000_000_000
                + u128::try_from(data.ctime_nsec()).unwrap();
            if nanoseconds > now.as_nanos() {
                return;
            }
        }
    }

    /// The files with these names, or the folders that they need, before a change.
    pub(in crate::trust) fn remember<'n>(
        &self,
        names: impl IntoIterator<Item = &'n str>,
    ) -> Vec<Before> {
        let mut found: Vec<Before> = Vec::new();
        for path in names.into_iter().map(|name| self.project.join(name)) {
            let path = path.canonicalize().unwrap_or(path);
            let missing = path
                .ancestors()
                .take_while(|path| path.symlink_metadata().is_err());
            if let Some(missing) = missing.last() {
                found.push((missing.to_owned(), None));
            } else {
                let mode = path.metadata().unwrap().permissions();
                found.push((path.clone(), Some((fs::read(&path).unwrap(), mode))));
            }
        }
        found
    }

    /// Restores the files and folders.
    pub(in crate::trust) fn restore(before: Vec<Before>) {
        for (path, old) in before {
            if path.is_dir() && !path.is_symlink() {
                fs::remove_dir_all(&path).unwrap();
            } else {
                drop(fs::remove_file(&path));
            }
            if let Some((text, mode)) = old {
                let mut file = fs::File::create(&path).unwrap();
                file.write_all(&text).unwrap();
                fs::set_permissions(&path, mode).unwrap();
            }
        }
    }

    pub(in crate::trust) fn link(&self, target: &str, name: &str) -> PathBuf {
        let path = self.project.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, &path).unwrap();
        path
    }

    /// Replaces a file by a link.
    pub(in crate::trust) fn link_again(&self, target: &str, name: &str) -> PathBuf {
        drop(fs::remove_file(self.project.join(name)));
        self.link(target, name)
    }

    pub(in crate::trust) fn decide(&self, trusted: bool) {
        let files = ProjectFiles::read(&self.project);
        self.trust.decide(&files, trusted).unwrap();
    }

    pub(in crate::trust) fn program(&self, program: &Path) -> ProgramUse {
        ProgramUse {
            name: program.display().to_string(),
            cwd: self.project.clone(),
            files: vec![program.to_owned()],
            ..ProgramUse::default()
        }
    }

    pub(in crate::trust) fn hook(&self, command: &str) -> ProgramUse {
        ProgramUse {
            name: command.to_owned(),
            cwd: self.project.clone(),
            command: command.to_owned(),
            ..ProgramUse::default()
        }
    }

    pub(in crate::trust) fn programs(&self) -> ProjectPrograms {
        ProjectPrograms::new(self.trust.clone(), &self.project)
    }

    /// The reason why osier refuses the use; `None` if it runs.
    pub(in crate::trust) fn refused(&self, run: &ProgramUse) -> Option<String> {
        self.programs()
            .check(run)
            .err()
            .map(|changed| changed.reason)
    }

    pub(in crate::trust) fn check(&self, program: &Path) -> Result<(), String> {
        let programs = ProjectPrograms::new(self.trust.clone(), &self.project);
        let checked = programs.check(&self.program(program));
        checked.map_err(|changed| changed.reason)
    }

    /// A hook of the user, in a directory next to the project.
    pub(in crate::trust) fn own_hook(&self, command: &str) -> ProgramUse {
        let home = self.folder.path().canonicalize().unwrap().join("home");
        self.hook(&command.replace("HOME", home.to_str().unwrap()))
    }

    /// A language server that is installed outside of the project.
    pub(in crate::trust) fn server(&self, name: &str) -> ProgramUse {
        ProgramUse {
            command: format!("'{name}'"),
            ..self.program(Path::new("/usr/bin/none").with_file_name(name).as_path())
        }
    }

    pub(in crate::trust) fn started(
        &self,
        (program, tools, command): (&str, &'static [&'static str], &str),
    ) -> ProgramUse {
        let cwd = match command {
            "" => self.project.join("src"),
            _ => self.project.clone(),
        };
        ProgramUse {
            cwd,
            tools,
            command: command.to_owned(),
            ..self.program(&self.project.join(program))
        }
    }
}
