//! The sandbox of a workspace, and how a command is wrapped for it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::HELPER;
use osier_base::process::{Invocation, run_quietly};
use osier_protocol::SandboxMode;
use osier_protocol::questions::{Answer, Question, QuestionKind, Questions, Subject};

/// Timeout for the check of a backend.
const PROBE: Duration = Duration::from_secs(10);

/// The mechanism that enforces the sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Backend {
    /// The path of `bwrap`.
    Bubblewrap(PathBuf),
    /// With this version of Landlock.
    Landlock(u32),
    SandboxExec,
}

impl Backend {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Bubblewrap(_) => "bubblewrap",
            Self::Landlock(_) => "landlock",
            Self::SandboxExec => "sandbox-exec",
        }
    }
}

/// The sandbox was requested, but cannot be set up.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "cannot set up the sandbox: {reason}; the command did not run. Install bubblewrap, or use `--sandbox off`"
)]
pub struct SandboxError {
    pub reason: String,
}

/// What the helper enforces.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Spec {
    pub writable: Vec<PathBuf>,
    pub network: bool,
}

/// The sandbox of a workspace: what was requested, and how it is enforced.
#[derive(Debug)]
pub struct Confinement {
    cwd: PathBuf,
    /// The program with the hidden subcommand.
    helper: Option<PathBuf>,
    /// Shared with the sandboxes of other directories.
    requested: Arc<Mutex<Requested>>,
    backend: Arc<OnceLock<Result<Backend, SandboxError>>>,
    temporary: OnceLock<Option<TempDir>>,
}

#[derive(Debug, Clone, Default)]
struct Requested {
    mode: SandboxMode,
    /// Plan mode forces read-only.
    plan: bool,
    network: bool,
    writable: Vec<PathBuf>,
    /// Asks the user whether a command can run outside of the sandbox.
    asker: Option<Questions>,
    without_bubblewrap: bool,
}

impl Confinement {
    /// Creates a sandbox that is off until `set` is called.
    pub fn new(cwd: &Path, helper: Option<PathBuf>) -> Self {
        Self {
            cwd: cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned()),
            helper: helper.or_else(|| std::env::current_exe().ok()),
            requested: Arc::default(),
            backend: Arc::default(),
            temporary: OnceLock::new(),
        }
    }

    /// The same sandbox for another directory: changes apply to both.
    pub fn at(self: &Arc<Self>, cwd: &Path) -> Arc<Self> {
        let cwd = cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
        if cwd == self.cwd {
            return Arc::clone(self);
        }
        Arc::new(Self {
            cwd,
            helper: self.helper.clone(),
            requested: Arc::clone(&self.requested),
            backend: Arc::clone(&self.backend),
            temporary: OnceLock::new(),
        })
    }

    /// Sets what child processes can do; `writable` are directories besides the working directory.
    pub fn set(&self, mode: SandboxMode, network: bool, writable: Vec<PathBuf>) {
        let mut requested = self.lock();
        requested.mode = mode;
        requested.network = network;
        requested.writable = writable;
    }

    pub fn set_plan(&self, plan: bool) {
        self.lock().plan = plan;
    }

    /// Enables the question whether a command can run outside of the sandbox.
    pub fn set_asker(&self, questions: Questions) {
        self.lock().asker = Some(questions);
    }

    /// The effective mode.
    pub fn mode(&self) -> SandboxMode {
        self.lock().effective()
    }

    /// Whether sandboxed processes have a network.
    pub fn has_network(&self) -> bool {
        self.lock().has_network()
    }

    /// Whether plan mode forces the sandbox: then nothing can run outside of it.
    pub fn is_plan(&self) -> bool {
        self.lock().plan
    }

    /// Whether bubblewrap is tried first: tests cover both backends.
    pub fn prefer(&self, bubblewrap: bool) {
        self.lock().without_bubblewrap = !bubblewrap;
    }

    /// Detects the backend, once.
    pub async fn ready(&self) -> Result<Backend, SandboxError> {
        if let Some(known) = self.backend.get() {
            return known.clone();
        }
        let found = self.find().await;
        self.backend.get_or_init(|| found).clone()
    }

    /// Like `ready`, but only when the sandbox is on.
    pub async fn prepare(&self) -> Result<(), SandboxError> {
        match self.mode() {
            SandboxMode::Off => Ok(()),
            _ => self.ready().await.map(drop),
        }
    }

    /// Whether the user lets `command`, which the sandbox denied, run outside of it. Always false in plan
    /// mode and in non-interactive runs.
    pub async fn may_leave(&self, command: &str, cancel: &CancellationToken) -> bool {
        let asker = self.lock().asker.clone();
        let Some(questions) = asker.filter(|_| !self.is_plan()) else {
            return false;
        };
        let question = Question {
            id: String::new(),
            origin: "the sandbox".to_owned(),
            title: "The sandbox denied this command. Run it again without the sandbox?".to_owned(),
            subject: Some(Subject::Command {
                command: command.to_owned(),
                cwd: self.cwd.display().to_string(),
            }),
            kind: QuestionKind::Confirm,
        };
        questions.ask(question, cancel).await == Answer::Yes
    }

    /// Wraps `invocation` in the sandbox. When the sandbox is on, `ready` must have been awaited before.
    pub fn wrap(&self, invocation: Invocation) -> Result<Invocation, SandboxError> {
        let requested = self.lock().clone();
        if requested.effective() == SandboxMode::Off {
            return Ok(invocation);
        }
        let unknown = || SandboxError {
            reason: "the backend was not detected yet".to_owned(),
        };
        let backend = self.backend.get().ok_or_else(unknown)?.clone()?;
        let temporary = self.temporary()?;
        let spec = self.spec(&requested, &temporary);
        let mut dressed = match backend {
            Backend::Bubblewrap(program) => self.in_bubblewrap(&program, &spec, invocation),
            Backend::Landlock(_) => self.in_helper(&spec, invocation)?,
            Backend::SandboxExec => sandbox_exec(&spec, invocation),
        };
        let mode = requested.effective().name();
        dressed.env.push(("OSIER_SANDBOX".into(), mode.into()));
        dressed.env.push(("TMPDIR".into(), temporary.into()));
        Ok(dressed)
    }

    /// The path outside of the file that a command finds at `path`.
    pub fn host_path(&self, path: &Path) -> PathBuf {
        path.to_owned()
    }

    /// The directories that commands can write to; `None` when the sandbox is off.
    pub fn writable_roots(&self) -> Option<Vec<PathBuf>> {
        let requested = self.lock().clone();
        if requested.effective() == SandboxMode::Off {
            return None;
        }
        let temporary = self.temporary().ok()?;
        let roots = self.spec(&requested, &temporary).writable;
        let real = roots
            .into_iter()
            .filter_map(|root| root.canonicalize().ok());
        Some(real.collect())
    }

    async fn find(&self) -> Result<Backend, SandboxError> {
        if cfg!(target_os = "macos") {
            return Ok(Backend::SandboxExec);
        }
        let mut reason = "bubblewrap is not installed".to_owned();
        let known = ["/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap"].map(PathBuf::from);
        let requested = !self.lock().without_bubblewrap;
        if let Some(program) = known.into_iter().find(|path| requested && path.is_file()) {
            let mut args = base_arguments();
            args.extend(["--unshare-net", "--", "/bin/true"].map(OsString::from));
            let tried = run_quietly(&program.to_string_lossy(), args, None, PROBE).await;
            match tried {
                Ok(output) if output.exit.is_success() => return Ok(Backend::Bubblewrap(program)),
                Ok(output) => {
                    let stderr = String::from_utf8_lossy(&output.stderr);
                    reason = format!("bubblewrap failed with `{}`", stderr.trim());
                }
                Err(error) => reason = error.to_string(),
            }
        }
        #[cfg(target_os = "linux")]
        match super::landlock::version() {
            Some(version) => return Ok(Backend::Landlock(version)),
            None => {
                reason = format!(
                    "{reason}, and the kernel does not support Landlock version 3 or later"
                );
            }
        }
        Err(SandboxError { reason })
    }

    /// A private temporary directory that lives as long as the workspace.
    fn temporary(&self) -> Result<PathBuf, SandboxError> {
        let made = self.temporary.get_or_init(|| {
            let mut builder = tempfile::Builder::new();
            builder.prefix("osier-tmp-").tempdir().ok()
        });
        let made = made.as_ref().map(|folder| folder.path().to_owned());
        made.ok_or_else(|| SandboxError {
            reason: "cannot create a temporary directory".to_owned(),
        })
    }

    fn spec(&self, requested: &Requested, temporary: &Path) -> Spec {
        let mut writable = vec![temporary.to_owned()];
        if requested.effective() == SandboxMode::Workspace {
            // The widest first: a mount hides earlier mounts below it.
            writable = vec!["/tmp".into(), "/var/tmp".into()];
            writable.push(temporary.to_owned());
            writable.extend(requested.writable.iter().cloned());
            writable.push(self.cwd.clone());
        }
        writable.retain(|path| path.exists());
        Spec {
            writable,
            network: requested.has_network(),
        }
    }

    fn in_bubblewrap(&self, program: &Path, spec: &Spec, invocation: Invocation) -> Invocation {
        let mut args = base_arguments();
        if !spec.network {
            // Hides the sockets of daemons that could do the work outside.
            args.extend(["--unshare-net", "--tmpfs", "/run"].map(OsString::from));
        }
        for path in &spec.writable {
            args.extend(["--bind".into(), path.into(), path.into()]);
        }
        if spec.writable.contains(&self.cwd) {
            for path in protected(&self.cwd) {
                args.extend(["--ro-bind".into(), path.clone().into(), path.into()]);
            }
        }
        args.extend(["--chdir".into(), self.cwd.clone().into(), "--".into()]);
        wrap(program.into(), args, invocation)
    }

    fn in_helper(&self, spec: &Spec, invocation: Invocation) -> Result<Invocation, SandboxError> {
        let helper = self.helper.clone().ok_or_else(|| SandboxError {
            reason: "the path of the osier executable is unknown".to_owned(),
        })?;
        let spec = serde_json::to_string(spec).unwrap_or_default();
        let args = vec![HELPER.into(), spec.into(), "--".into()];
        Ok(wrap(helper.into(), args, invocation))
    }

    fn lock(&self) -> MutexGuard<'_, Requested> {
        self.requested
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Requested {
    fn effective(&self) -> SandboxMode {
        if self.plan {
            SandboxMode::ReadOnly
        } else {
            self.mode
        }
    }

    fn has_network(&self) -> bool {
        self.network && !self.plan
    }
}

fn base_arguments() -> Vec<OsString> {
    const ARGUMENTS: &[&str] = &[
        "--die-with-parent",
        "--unshare-user-try",
        "--unshare-pid",
        "--unshare-ipc",
        "--cap-drop",
        "ALL",
        "--ro-bind",
        "/",
        "/",
        "--dev",
        "/dev",
        "--proc",
        "/proc",
    ];
    ARGUMENTS.iter().map(OsString::from).collect()
}

fn wrap(program: OsString, mut args: Vec<OsString>, invocation: Invocation) -> Invocation {
    args.push(invocation.program);
    args.extend(invocation.args);
    Invocation {
        program,
        args,
        ..invocation
    }
}

/// Paths inside the working directory that stay read-only: the repository's own files, which can run code
/// later, and the project's settings.
fn protected(cwd: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = [".git", ".osier", ".claude", ".mcp.json"]
        .map(|name| cwd.join(name))
        .into_iter()
        .filter(|path| path.exists())
        .collect();
    // The `.git` of a worktree is a file that names the real directory.
    let pointed = std::fs::read_to_string(cwd.join(".git")).ok();
    let folder = pointed
        .as_deref()
        .and_then(|text| text.trim().strip_prefix("gitdir: "));
    paths.extend(
        folder
            .map(|folder| cwd.join(folder))
            .filter(|path| path.exists()),
    );
    paths
}

#[cfg(target_os = "macos")]
fn sandbox_exec(spec: &Spec, invocation: Invocation) -> Invocation {
    super::seatbelt::wrap(spec, invocation)
}

#[cfg(not(target_os = "macos"))]
fn sandbox_exec(_spec: &Spec, invocation: Invocation) -> Invocation {
    invocation
}
