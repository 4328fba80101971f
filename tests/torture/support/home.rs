//! The directories of one torture: a home, a project and temporary files, and their checks.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

/// The time until the sweeper has run: it starts after five seconds, later on a busy machine.
const SWEEP: Duration = Duration::from_mins(2);

/// The directories of one test, in a folder of its own.
#[derive(Debug, Clone)]
pub(crate) struct Home {
    folder: PathBuf,
}

impl Home {
    /// Creates the directories, with the models of a server and these further settings.
    pub(crate) fn new(folder: PathBuf, models: &str, settings: &str) -> std::io::Result<Self> {
        for name in ["home", "work", "tmp", "bin"] {
            fs::create_dir_all(folder.join(name))?;
        }
        let home = Self { folder };
        home.settings(settings)?;
        home.config("models.json", models)?;
        Ok(home)
    }

    /// Writes these settings, with those of every test.
    pub(crate) fn settings(&self, settings: &str) -> std::io::Result<()> {
        let text = format!("discover_local_models = false\npermissions = \"yolo\"\n{settings}");
        self.config("settings.toml", &text)
    }

    pub(crate) fn config(&self, name: &str, text: &str) -> std::io::Result<()> {
        let path = self.home().join(name);
        fs::write(&path, text)?;
        osier_base::private::restrict(&path).map(drop)
    }

    /// A program that is found before all others.
    pub(crate) fn program(&self, name: &str, script: &str) -> std::io::Result<()> {
        use std::os::unix::fs::PermissionsExt as _;
        let path = self.folder.join("bin").join(name);
        fs::write(&path, script)?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o755))
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.folder.join("home")
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.folder.join("work")
    }

    pub(crate) fn environment(&self) -> Vec<(&'static str, std::ffi::OsString)> {
        // Programs of a torture come first.
        let mut path = self.folder.join("bin").into_os_string();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        vec![
            ("PATH", path),
            ("VISUAL", "touch reached; sleep 1000 #".into()),
            ("HOME", self.home().into()),
            ("OSIER_HOME", self.home().into()),
            ("TMPDIR", self.folder.join("tmp").into()),
        ]
    }

    /// A command without a terminal in the project.
    pub(crate) fn command(&self, program: &Path) -> Command {
        #[expect(
            clippy::disallowed_methods,
            reason = "the program under test is started as a user's shell would"
        )]
        let mut command = Command::new(program);
        command
            .current_dir(self.work())
            .env_clear()
            .envs(self.environment())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// All files and folders below the directories.
    fn entries(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut folders = vec![self.folder.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    folders.push(entry.path());
                }
                found.push(entry.path());
            }
        }
        found.sort();
        found
    }

    /// The files whose name is or ends with `ending`.
    pub(crate) fn files_named(&self, ending: &str) -> Vec<PathBuf> {
        let mut found = self.entries();
        found.retain(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.ends_with(ending) && path.is_file()
        });
        found
    }

    /// Whether a file below the home whose path begins with `start` contains a text.
    pub(crate) fn contains(&self, start: &str, text: &str) -> bool {
        let home = self.home();
        let is_wanted = |path: &&PathBuf| {
            let inside = path.strip_prefix(&home);
            path.is_file() && inside.is_ok_and(|path| path.to_string_lossy().starts_with(start))
        };
        let finds = |path: &PathBuf| {
            let bytes = fs::read(path).unwrap_or_default();
            memchr::memmem::find(&bytes, text.as_bytes()).is_some()
        };
        self.entries().iter().filter(is_wanted).any(finds)
    }

    /// Makes another user the owner of everything.
    pub(crate) fn give_to(&self, user: u32) {
        for path in self.entries().iter().chain([&self.folder]) {
            let _ = std::os::unix::fs::lchown(path, Some(user), Some(user));
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        let length = |path: &PathBuf| {
            let data = fs::symlink_metadata(path)
                .ok()
                .filter(|data| !data.is_dir());
            data.map_or(0, |data| data.len())
        };
        self.entries().iter().map(length).sum()
    }

    /// Temporary files and folders that a program which has ended should have removed.
    pub(crate) fn temporary_files(&self) -> Vec<PathBuf> {
        let folders = [self.folder.join("tmp"), self.home().join("fans")];
        let registrations = self.work().join(".git/worktrees");
        let is_temporary = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            folders.iter().any(|folder| path.parent() == Some(folder))
                // The worktrees of forks stay, those of lanes do not.
                || path.parent() == Some(&registrations) && name.starts_with("fan-")
                || name.starts_with(".tmp")
                || name.ends_with(".tmp")
                || name.starts_with(".osier-")
        };
        let mut found = self.entries();
        found.retain(is_temporary);
        found
    }

    /// The temporary files that are left after a start that stays open until the sweeper has run. None are expected.
    pub(crate) fn swept(&self, program: &Path) -> std::io::Result<Vec<PathBuf>> {
        let left = self.temporary_files();
        if left.is_empty() {
            return Ok(left);
        }
        let mut rpc = super::rpc::Rpc::start(self, program, &["rpc"])?;
        super::until(SWEEP, || {
            left.iter().all(|path| fs::symlink_metadata(path).is_err())
        });
        rpc.close_input();
        rpc.exit(SWEEP);
        Ok(self.temporary_files())
    }

    /// The session files, wherever they are below the home.
    pub(crate) fn sessions(&self) -> Vec<PathBuf> {
        let mut found = self.entries();
        found.retain(|path| {
            path.starts_with(self.home())
                && path.extension().is_some_and(|ending| ending == "jsonl")
                && path
                    .components()
                    .any(|part| part.as_os_str() == "sessions" || part.as_os_str() == "trash")
        });
        found
    }

    /// The numbers of the prompts `GO KIND NUMBER` in all sessions, and the lines that are no JSON.
    pub(crate) fn stored_prompts(&self) -> (std::collections::BTreeSet<u64>, Vec<String>) {
        let mut numbers = std::collections::BTreeSet::new();
        let mut broken = Vec::new();
        for path in self.sessions() {
            let text = String::from_utf8_lossy(&fs::read(&path).unwrap_or_default()).into_owned();
            for (place, line) in text.lines().enumerate() {
                if serde_json::from_str::<Value>(line).is_err() {
                    broken.push(format!("{}:{}", path.display(), place + 1));
                }
                for part in line.split("\"GO ").skip(1) {
                    let mut words =
                        part.split(|character: char| !character.is_ascii_alphanumeric());
                    if let Some(Ok(number)) = words.nth(1).map(str::parse) {
                        numbers.insert(number);
                    }
                }
            }
        }
        (numbers, broken)
    }

    /// The processes that were started with this home and still run.
    pub(crate) fn processes(&self) -> Vec<super::process::Process> {
        super::process::with_environment(&format!("OSIER_HOME={}", self.home().display()))
    }
}
