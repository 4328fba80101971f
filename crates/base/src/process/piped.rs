//! A child that is talked to: its standard input, output and errors are pipes of their own. Like every
//! child it leads a group that dies with its owner.

use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use tokio::time::timeout;

use super::{ChildGroup, Exit, Invocation, MARKER, SETSID};

/// Time a child has to end by itself once its input is closed, and again after SIGTERM.
const PATIENCE: Duration = Duration::from_millis(1500);

/// A running child. Dropping it kills all it started.
#[derive(Debug)]
pub struct Piped {
    child: Child,
    group: ChildGroup,
}

/// Its ends of the pipes.
#[derive(Debug)]
pub struct Pipes {
    pub stdin: ChildStdin,
    pub stdout: ChildStdout,
    pub stderr: ChildStderr,
}

/// Starts `invocation` without a terminal. Needs a tokio runtime.
pub fn spawn_piped(invocation: &Invocation) -> io::Result<(Piped, Pipes)> {
    if !is_there(invocation) {
        return Err(io::Error::new(io::ErrorKind::NotFound, "no such program"));
    }
    let marker = uuid::Uuid::new_v4().simple().to_string();
    let mut command = invocation.command(*SETSID, &[]);
    command
        .env(MARKER, &marker)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let pid = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    let pid = pid.ok_or_else(|| io::Error::other("the child has no process id"))?;
    let group = ChildGroup::new(pid, format!("{MARKER}={marker}"));
    let (Some(stdin), Some(stdout), Some(stderr)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(io::Error::other("the child has no pipes"));
    };
    let pipes = Pipes {
        stdin,
        stdout,
        stderr,
    };
    Ok((Piped { child, group }, pipes))
}

/// Whether the program can be found: what starts it would say so only by ending at once.
fn is_there(invocation: &Invocation) -> bool {
    let program = Path::new(&invocation.program);
    if program.components().count() > 1 {
        let cwd = invocation.cwd.as_deref().unwrap_or(Path::new("."));
        return cwd.join(program).is_file();
    }
    let own = invocation.env.iter().rev().find(|(name, _)| name == "PATH");
    let path = own.map(|(_, value)| value.clone());
    let path = path
        .or_else(|| std::env::var_os("PATH"))
        .unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

impl Piped {
    /// Process id of the child, which is also that of its group.
    pub fn id(&self) -> i32 {
        self.group.id()
    }

    /// Waits until the child has ended.
    pub async fn wait(&mut self) -> io::Result<Exit> {
        let exit = self.child.wait().await?;
        self.group.note_reaped();
        Ok(exit.into())
    }

    /// Leaves alone what the child, which has ended, left running.
    pub fn leave(mut self) {
        self.group.release();
    }

    /// Lets the child, whose input was closed, end by itself; asks it to after a moment, and kills it and
    /// all it started when it does not.
    pub async fn end(mut self) -> Option<Exit> {
        if let Ok(exit) = timeout(PATIENCE, self.wait()).await {
            return exit.ok();
        }
        self.group.signal_everything(Signal::TERM);
        if let Ok(exit) = timeout(PATIENCE, self.wait()).await {
            return exit.ok();
        }
        self.group.signal_everything(Signal::KILL);
        timeout(PATIENCE, self.wait()).await.ok()?.ok()
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    fn shell(command: &str) -> (Piped, Pipes) {
        spawn_piped(&Invocation::new("/bin/sh", ["-c", command])).unwrap()
    }

    #[tokio::test]
    async fn a_child_is_talked_to_and_ends_with_its_input() {
        let (piped, mut pipes) = shell("read line; echo \"got $line\"; echo odd >&2; cat");
        pipes.stdin.write_all(b"a word\n").await.unwrap();
        drop(pipes.stdin);
        let (mut output, mut errors) = (String::new(), String::new());
        pipes.stdout.read_to_string(&mut output).await.unwrap();
        pipes.stderr.read_to_string(&mut errors).await.unwrap();
        assert_eq!(
            (output.as_str(), errors.as_str()),
            ("got a word\n", "odd\n")
        );
        let exit = piped.end().await.unwrap();
        assert!(exit.is_success());
    }

    #[tokio::test]
    async fn a_dropped_child_is_killed_with_what_it_started() {
        let (piped, mut pipes) = shell("sleep 1000 & wait");
        drop(piped);
        let mut output = Vec::new();
        // The pipe closes when the last process that holds it has gone.
        pipes.stdout.read_to_end(&mut output).await.unwrap();
        assert_eq!(output, b"");
    }
}
