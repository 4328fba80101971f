//! `osier __sandbox SPEC -- PROGRAM ARGUMENTS…`: confines itself and becomes the program. Runs before
//! anything else of osier, in a process of one thread.

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

use super::plan::Spec;
use super::{HELPER, landlock};
use osier_base::process;

/// As a shell has it: found, and not run.
const NOT_RUN: u8 = 126;

/// Whether these arguments are for the helper, and how it ended: it returns only when it failed.
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
    // Nobody reads it when standard error is closed.
    let _ = writeln!(
        std::io::stderr(),
        "osier: the command was not run: {message}"
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
        Err(error) => return format!("the sandbox was not understood: {error}"),
    };
    if let Err(error) = landlock::confine(&spec) {
        return format!("the sandbox cannot be set up: {error}");
    }
    let error = process::replace(program, arguments);
    format!("`{}`: {error}", program.to_string_lossy())
}
