//! `osier __sandbox SPEC -- PROGRAM ARGUMENTS…`: sandboxes itself, then executes the program. Runs before
//! anything else of osier, while the process has one thread.

use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::os::fd::AsRawFd as _;
use std::path::PathBuf;
use std::process::ExitCode;

use nix::mount::MsFlags;
use rustix::fs::{Mode, OFlags};
use rustix::process::{getgid, getuid};

use super::seccomp::{self, Coverage};
use super::spec::{Network, Spec, Stage};
use super::{HELPER, capabilities, landlock, network, supervisor};
use osier_base::process;

/// The number of standard error.
const LAST_STREAM: i32 = 2;

/// A shell's exit code for a command that was found but could not be executed.
const NOT_RUN: u8 = 126;

/// Runs the helper if `arguments` select it. Returns only when it failed or has supervised the program, with the exit
/// code.
pub fn run(mut arguments: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    if arguments.next()? != HELPER {
        return None;
    }
    close_inherited();
    let spec = arguments.next().unwrap_or_default();
    let ended = match (arguments.next(), arguments.next()) {
        (Some(dashes), Some(program)) if dashes == "--" => {
            become_program(&spec, &program, arguments)
        }
        _ => Err("the program is missing".to_owned()),
    };
    let message = match ended {
        Ok(code) => return Some(code),
        Err(message) => message,
    };
    // If standard error is closed, nobody reads the message.
    let _ = writeln!(
        osier_base::terminal_output::stderr(),
        "osier: the sandboxed command did not run: {message}"
    );
    Some(ExitCode::from(NOT_RUN))
}

/// Closes what the program that started osier left open: a command could write to those files wherever they are.
fn close_inherited() {
    let open = std::fs::read_dir("/proc/self/fd").into_iter().flatten();
    let numbers = open.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let numbers: Vec<i32> = numbers.filter(|number| *number > LAST_STREAM).collect();
    for number in numbers {
        // The list itself is closed already.
        let _ = nix::unistd::close(number);
    }
}

fn become_program(
    spec: &OsString,
    program: &OsStr,
    arguments: impl Iterator<Item = OsString>,
) -> Result<ExitCode, String> {
    let spec: Spec = serde_json::from_slice(spec.as_encoded_bytes())
        .map_err(|error| format!("invalid sandbox specification: {error}"))?;
    if spec.stage == Stage::Landlock
        && let Some(child) = supervisor::fork()?
    {
        return supervisor::supervise(child);
    }
    confine(&spec).map_err(|error| format!("cannot set up the sandbox: {error}"))?;
    if spec.stage == Stage::Bubblewrap {
        let arguments: Vec<OsString> = arguments.collect();
        let ended = supervisor::be_init(program, &arguments);
        return ended.map_err(|error| format!("`{}`: {error}", program.to_string_lossy()));
    }
    let error = process::replace(program, arguments);
    Err(format!("`{}`: {error}", program.to_string_lossy()))
}

fn confine(spec: &Spec) -> Result<(), String> {
    if let Network::Proxy(socket) = &spec.network {
        network::hand_over_listener(socket)?;
    }
    keep_links(&spec.links)?;
    capabilities::drop_all()?;
    match spec.stage {
        Stage::Landlock => landlock::confine(spec)?,
        Stage::Bubblewrap => landlock::confine_files(spec)?,
    }
    seccomp::apply(&seccomp::denied(coverage(spec)))
}

/// Mounts `links` where they are: what is mounted can be neither replaced nor removed.
fn keep_links(links: &[PathBuf]) -> Result<(), String> {
    if links.is_empty() {
        return Ok(());
    }
    let failed = |error: nix::Error| format!("cannot protect symbolic links: {error}");
    // `bwrap` can leave this process in a namespace to which its mounts do not belong.
    nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNS).map_err(failed)?;
    for link in links {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = match rustix::fs::open(link, flags, Mode::empty()) {
            Ok(opened) => opened,
            // Another command removed it.
            Err(rustix::io::Errno::NOENT) => continue,
            Err(error) => return Err(format!("cannot protect `{}`: {error}", link.display())),
        };
        // A path would lead to the target.
        let itself = format!("/proc/self/fd/{}", opened.as_raw_fd());
        let none = None::<&str>;
        nix::mount::mount(
            Some(itself.as_str()),
            itself.as_str(),
            none,
            MsFlags::MS_BIND,
            none,
        )
        .map_err(failed)?;
    }
    Ok(())
}

/// The coverage of the filter.
pub(super) fn coverage(spec: &Spec) -> Coverage {
    let is_landlock = spec.stage == Stage::Landlock;
    Coverage {
        no_sockets: is_landlock && spec.network == Network::Off,
        metadata: is_landlock,
        read_only: spec.read_only,
        owner: (getuid().as_raw(), getgid().as_raw()),
    }
}
