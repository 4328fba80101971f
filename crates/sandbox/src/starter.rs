//! The program that starts commands in bubblewrap (`starter/main.rs`) and its arguments. It is there to save time: where it cannot
//! run, the [`helper`](super::helper) does the same.

use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use osier_base::process::{self, Invocation};
use osier_base::regular_file;
use rustix::process::{WaitOptions, waitpid};

use super::seccomp;
use super::spec::{Network, Spec, Stage};
use super::{helper, landlock};

/// The program; empty if it could not be compiled.
const PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/starter"));

/// Its path in the sandbox, in a directory that is not of the host.
pub(super) const PATH: &str = "/run/osier-starter";

/// Attempts to run a new program, with this time between two: another thread that starts a process can have it open for writing.
const ATTEMPTS: usize = 100;
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(2);

/// Stores the program in `folder`. Returns its path if it can be executed there.
pub(super) fn create(folder: &Path) -> Option<PathBuf> {
    let path = folder.join("starter");
    if PROGRAM.is_empty() {
        return None;
    }
    osier_base::atomic_file::write(&path, PROGRAM).ok()?;
    fs::set_permissions(&path, Permissions::from_mode(0o500)).ok()?;
    let is_busy = |error: &io::Error| error.kind() == io::ErrorKind::ExecutableFileBusy;
    for _ in 0..ATTEMPTS {
        match process::start_inheriting(path.as_ref(), &[]) {
            Ok(child) => {
                let _ = waitpid(Some(child), WaitOptions::empty());
                return Some(path);
            }
            Err(error) if is_busy(&error) => std::thread::sleep(BETWEEN_ATTEMPTS),
            Err(_) => return None,
        }
    }
    None
}

/// Whether the file is what was stored there.
pub(super) fn is_intact(path: &Path) -> bool {
    let stored = regular_file::read(path, PROGRAM.len() as u64);
    stored.is_ok_and(|bytes| bytes == PROGRAM)
}

/// The arguments before those of the command; `None` if the helper must start it: to hand over the network, on kernels
/// without Landlock, and for programs that must be searched.
pub(super) fn arguments(spec: &Spec, invocation: &Invocation) -> Option<Vec<OsString>> {
    let is_possible = spec.stage == Stage::Bubblewrap
        && !matches!(spec.network, Network::Proxy(_))
        && Path::new(&invocation.program).is_absolute();
    if !is_possible {
        return None;
    }
    let (handled, of_file) = landlock::write_rights()?;
    let filter = seccomp::encoded(&seccomp::denied(helper::coverage(spec))).ok()?;
    let numbers = [format!("{handled:x}"), format!("{of_file:x}"), filter];
    let mut arguments: Vec<OsString> = numbers.map(OsString::from).into();
    for link in &spec.links {
        arguments.push(word('l', link));
    }
    for path in &spec.writable {
        // A mount is what it hides: a file or a directory.
        arguments.push(word(if path.is_file() { 'f' } else { 'd' }, path));
    }
    arguments.push("--".into());
    Some(arguments)
}

fn word(kind: char, path: &Path) -> OsString {
    let mut word = OsString::from(kind.to_string());
    word.push(path);
    word
}
