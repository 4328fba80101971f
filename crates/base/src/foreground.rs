//! Runs a program that takes over the terminal: the user's editor. It stays in our process group, so that it can read
//! keys, while we wait. Like every child it lacks the keys of osier.
//!
//! Keys such as ctrl+c reach the complete group: an interrupt meanwhile is for the program, not for osier.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};

use crate::exit_limit::InterruptsElsewhere;
use crate::process::{keyless_command, program_path};

/// Runs `program` with the terminal's input and output.
///
/// # Errors
///
/// The program could not be started, or its exit code was not 0.
pub fn run<A: AsRef<OsStr>>(program: &str, args: impl IntoIterator<Item = A>) -> io::Result<()> {
    let status = run_in(Path::new("."), program, args)?;
    if status.success() {
        Ok(())
    } else {
        Err(io::Error::other(format!("it ended with {status}")))
    }
}

/// Like [`run`], in a folder; returns the exit status, for a program whose exit code has a meaning.
pub fn run_in<A: AsRef<OsStr>>(
    folder: &Path,
    program: &str,
    args: impl IntoIterator<Item = A>,
) -> io::Result<ExitStatus> {
    let mut command = keyless_command(&program_path(program.as_ref()));
    command
        .args(args)
        .current_dir(folder)
        .stdin(Stdio::inherit())
        .stdout(Stdio::inherit())
        .stderr(Stdio::inherit());
    let _interrupts = InterruptsElsewhere::begin();
    command.status()
}
