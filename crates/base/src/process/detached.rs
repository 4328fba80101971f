//! Starts programs that outlive this process: background servers.

use std::io::{self, BufRead as _, BufReader};
use std::path::Path;
use std::process::Stdio;

use super::{Invocation, MARKER, new_command, program_path};
use crate::{private, regular_file};

/// Starts a program that creates its own process session (only a process that leads no group can),
/// and returns the first line that it prints; empty if it exits before that. Its stderr is appended
/// to the file `log`.
pub fn spawn_detached(invocation: &Invocation, log: &Path) -> io::Result<String> {
    if let Some(folder) = log.parent() {
        private::create_folder(folder)?;
    }
    let log = regular_file::open_append(log, private::FILE_MODE)?;
    let mut command = new_command(&program_path(&invocation.program));
    command
        .args(&invocation.args)
        .envs(invocation.env.iter().map(|(name, value)| (name, value)))
        // This process may belong to a command that is stopped with all its descendants.
        .env_remove(MARKER)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log);
    if let Some(cwd) = &invocation.cwd {
        command.current_dir(cwd);
    }
    let mut child = command.spawn()?;
    let mut line = String::new();
    if let Some(stdout) = child.stdout.take() {
        BufReader::new(stdout).read_line(&mut line)?;
    }
    Ok(line)
}
