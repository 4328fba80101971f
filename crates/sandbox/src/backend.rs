//! The mechanism that enforces the sandbox, and how it is detected.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use osier_base::process::run_quietly;

/// Timeout for the check of a backend.
pub(super) const PROBE: Duration = Duration::from_secs(10);

/// The mechanism that enforces the sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Backend {
    /// The path of `bwrap`.
    Bubblewrap(PathBuf),
    /// With this version of Landlock.
    Landlock(u32),
    SandboxExec,
}

/// The mechanism that osier tries first, so that tests cover every mechanism.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Preferred {
    /// The starter with namespaces of its own where that works, otherwise bubblewrap.
    #[default]
    Namespaces,
    /// Bubblewrap, even where the starter can make namespaces itself.
    Bubblewrap,
    Landlock,
}

impl Backend {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Bubblewrap(_) => "bubblewrap",
            Self::Landlock(_) => "landlock",
            Self::SandboxExec => "sandbox-exec",
        }
    }

    /// Whether commands can reach hosts only through a proxy.
    pub(super) fn has_proxy(&self) -> bool {
        matches!(self, Self::Bubblewrap(_))
    }

    /// Finds the best mechanism that works.
    pub(super) async fn find(preferred: Preferred) -> Result<Self, SandboxError> {
        if cfg!(target_os = "macos") {
            return Ok(Self::SandboxExec);
        }
        let mut reason = "bubblewrap is not installed".to_owned();
        let known = ["/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap"].map(PathBuf::from);
        let requested = preferred != Preferred::Landlock;
        if let Some(program) = known.into_iter().find(|path| requested && path.is_file()) {
            let mut args = base_arguments();
            args.extend(["--unshare-net", "--", "/bin/true"].map(OsString::from));
            let tried = run_quietly(&program.to_string_lossy(), args, None, PROBE).await;
            match tried {
                Ok(output) if output.exit.is_success() => return Ok(Self::Bubblewrap(program)),
                Ok(output) => {
                    let stderr = String::from_utf8_lossy(&output.stderr);
                    reason = format!("bubblewrap failed with `{}`", stderr.trim());
                }
                Err(error) => reason = error.to_string(),
            }
        }
        #[cfg(target_os = "linux")]
        match super::landlock::version() {
            Some(version) => return Ok(Self::Landlock(version)),
            None => {
                reason = format!(
                    "{reason}, and the kernel does not support Landlock version 3 or later"
                );
            }
        }
        Err(SandboxError::new(reason))
    }
}

/// The sandbox was requested, but cannot be set up.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot set up the sandbox: {reason}; the command did not run. {advice}")]
pub struct SandboxError {
    pub reason: String,
    advice: &'static str,
}

impl SandboxError {
    pub(super) fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            advice: "Install bubblewrap, or use `--sandbox off`",
        }
    }

    pub(super) fn with_advice(self, advice: &'static str) -> Self {
        Self { advice, ..self }
    }
}

/// The namespaces that the starter makes for every command; `bwrap` makes the same.
#[cfg(target_os = "linux")]
pub(super) const BASE_NAMESPACES: i32 = libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP;

/// The starter's words for `/dev` and `/proc`, which every command has; they match `--dev` and `--proc` of `bwrap`. The root is already
/// read-only when they apply.
#[cfg(target_os = "linux")]
pub(super) const BASE_WORDS: &[&str] = &[
    // The letters: `T` an empty directory, `V` a device, `L` a symbolic link, `M` a directory, `D` terminals, `C` the terminal on standard
    // output, `P` processes.
    "T/dev",
    "V/dev/null",
    "/dev/null",
    "V/dev/zero",
    "/dev/zero",
    "V/dev/full",
    "/dev/full",
    "V/dev/random",
    "/dev/random",
    "V/dev/urandom",
    "/dev/urandom",
    "V/dev/tty",
    "/dev/tty",
    "L/proc/self/fd/0",
    "/dev/stdin",
    "L/proc/self/fd/1",
    "/dev/stdout",
    "L/proc/self/fd/2",
    "/dev/stderr",
    "L/proc/self/fd",
    "/dev/fd",
    "L/proc/kcore",
    "/dev/core",
    "M/dev/shm",
    "D/dev/pts",
    "Lpts/ptmx",
    "/dev/ptmx",
    "C/dev/console",
    "P/proc",
];

/// The arguments of `bwrap` for every command.
pub(super) fn base_arguments() -> Vec<OsString> {
    const ARGUMENTS: &[&str] = &[
        "--die-with-parent",
        "--unshare-user-try",
        "--unshare-pid",
        // bwrap's own first process would have no filter, and could be traced.
        "--as-pid-1",
        "--unshare-ipc",
        "--unshare-uts",
        "--unshare-cgroup-try",
        "--cap-drop",
        "ALL",
        "--ro-bind",
        "/",
        "/",
        "--dev",
        "/dev",
        "--proc",
        "/proc",
        // Root could change the settings of the kernel.
        "--remount-ro",
        "/proc",
    ];
    ARGUMENTS.iter().map(OsString::from).collect()
}
