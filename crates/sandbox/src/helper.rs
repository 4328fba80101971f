//! `osier __sandbox SPEC -- PROGRAM ARGUMENTS…`: sandboxes itself, then executes the program. Runs before
//! anything else of osier, while the process has one thread.

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

use super::plan::Spec;
use super::{HELPER, landlock};
use osier_base::process;

/// A shell's exit code for a command that was found but could not be executed.
const NOT_RUN: u8 = 126;

/// Runs the helper if `arguments` select it. Returns only when it failed, with the exit code.
pub fn run(mut arguments: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    if arguments.next()? != HELPER {
        return None;
    }
    let spec = arguments.next().unwrap_or_default();
    let message = match (arguments.next(), arguments.next()) {
        (Some(dashes), Some(program)) if dashes == "--" => {
            become_program(&spec, &program, arguments)
        }
        _ => "the program is missing".to_owned(),
    };
    // Nothing reads it when standard error is closed.
    let _ = writeln!(
        osier_base::terminal_output::stderr(),
        "osier: the sandboxed command did not run: {message}"
    );
    Some(ExitCode::from(NOT_RUN))
}

fn become_program(
    spec: &OsString,
    program: &OsString,
    arguments: impl Iterator<Item = OsString>,
) -> String {
    let spec: Spec = match serde_json::from_slice(spec.as_encoded_bytes()) {
        Ok(spec) => spec,
        Err(error) => return format!("invalid sandbox specification: {error}"),
    };
    if let Err(error) = landlock::confine(&spec) {
        return format!("cannot set up the sandbox: {error}");
    }
    let error = process::replace(program, arguments);
    format!("`{}`: {error}", program.to_string_lossy())
}
