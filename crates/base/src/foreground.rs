//! Runs a program that takes over the terminal: the user's editor. It stays in our process group, so that it can read
//! keys, while we wait. Like every child it lacks the keys of osier.

use std::ffi::OsStr;
use std::io;
use std::process::Stdio;

use crate::process::{keyless_command, program_path};

/// Runs `program` with the terminal's input and output.
///
/// # Errors
///
/// It could not be started, or its exit code was not 0.
pub fn run<A: AsRef<OsStr>>(program: &str, args: impl IntoIterator<Item = A>) -> io::Result<()> {
    let mut command = keyless_command(&program_path(program.as_ref()));
    command
        .args(args)
        .stdin(Stdio::inherit())
        .stdout(Stdio::inherit())
        .stderr(Stdio::inherit());
    let status = command.status()?;
    if status.success() {
        Ok(())
    } else {
        Err(io::Error::other(format!("it ended with {status}")))
    }
}
