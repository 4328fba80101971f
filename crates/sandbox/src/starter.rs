//! The starter (`starter/main.rs`), a small program that starts commands faster than osier itself can, and its arguments. Where the kernel
//! allows it, the starter makes the namespaces without bubblewrap; otherwise bubblewrap runs it. Where the starter cannot run, the
//! [`helper`](super::helper) does its work.

use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use osier_base::process::{self, Invocation};
use osier_base::regular_file;
use rustix::process::{WaitOptions, waitpid};

use super::backend::PROBE;
use super::bubblewrap::Layout;
use super::mounts::Source;
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
    let path = folder.join("osier-starter");
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

/// The arguments of the starter, up to the command. `None` if only the helper can start the command: its network is a proxy, the kernel has
/// no Landlock, or the path of the program is not absolute. With `alone`, the starter also makes the namespaces and mounts.
pub(super) fn arguments(
    spec: &Spec,
    invocation: &Invocation,
    alone: Option<(&Layout, &Path)>,
) -> Option<Vec<OsString>> {
    let is_possible = spec.stage == Stage::Bubblewrap
        && !matches!(spec.network, Network::Proxy(_))
        && Path::new(&invocation.program).is_absolute();
    if !is_possible {
        return None;
    }
    let (handled, of_file) = landlock::write_rights()?;
    let filter = seccomp::encoded(&seccomp::denied(helper::coverage(spec))).ok()?;
    let namespaces = alone.map_or(0, |(layout, _)| layout.namespaces());
    let numbers = [
        format!("{namespaces:x}"),
        format!("{:x}", std::process::id()),
        format!("{handled:x}"),
        format!("{of_file:x}"),
        filter,
    ];
    let mut arguments: Vec<OsString> = numbers.map(OsString::from).into();
    arguments.extend(alone.map(|(layout, _)| layout.words()).unwrap_or_default());
    for link in &spec.links {
        arguments.push(word('l', link));
    }
    arguments.extend(alone.map(|(_, cwd)| word('w', cwd)));
    for path in &spec.writable {
        // A mount is what it hides: a file or a directory.
        arguments.push(word(if path.is_dir() { 'd' } else { 'f' }, path));
    }
    arguments.push("--".into());
    Some(arguments)
}

/// Whether the starter at `path` can make namespaces and mounts on this machine. It starts itself, with a mount of each kind.
pub(super) async fn works_alone(path: &Path, mut layout: Layout) -> bool {
    let mounts = &mut layout.mounts;
    mounts.add(PATH, Source::Other(path.to_owned()));
    for (name, source) in [
        ("/run/empty", Source::Empty),
        ("/run/empty/blocked", Source::Blocked),
        ("/run/fresh", Source::Fresh),
    ] {
        mounts.add(name, source);
    }
    let spec = Spec {
        stage: Stage::Bubblewrap,
        writable: layout.writable(),
        ..Spec::default()
    };
    let invocation = Invocation::new(PATH, [""; 0]);
    let alone = Some((&layout, Path::new("/tmp")));
    let Some(mut arguments) = arguments(&spec, &invocation, alone) else {
        return false;
    };
    arguments.push(PATH.into());
    let ended = process::run_quietly(&path.to_string_lossy(), arguments, None, PROBE).await;
    ended.is_ok_and(|ended| ended.exit.is_success())
}

fn word(kind: char, path: &Path) -> OsString {
    let mut word = OsString::from(kind.to_string());
    word.push(path);
    word
}
