//! A child with separate pipes for stdin, stdout and stderr. Like every child it leads a group that dies with its
//! owner.

use std::io;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use tokio::time::timeout;

use super::{ChildGroup, Exit, Invocation, MARKER, SETSID};

/// Time to exit after its input was closed, and again after SIGTERM.
const PATIENCE: Duration = Duration::from_millis(1500);

/// A running child. Dropping it kills everything it started.
#[derive(Debug)]
pub struct Piped {
    child: Child,
    group: ChildGroup,
}

/// Our ends of the pipes.
#[derive(Debug)]
pub struct Pipes {
    pub stdin: ChildStdin,
    pub stdout: ChildStdout,
    pub stderr: ChildStderr,
}

/// Starts `invocation` without a terminal. Requires a tokio runtime.
pub fn spawn_piped(invocation: &Invocation) -> io::Result<(Piped, Pipes)> {
    if !invocation.is_there() {
        return Err(io::Error::new(io::ErrorKind::NotFound, "no such program"));
    }
    let marker = uuid::Uuid::new_v4().simple().to_string();
    let mut command = invocation.command(SETSID.as_slice(), &[]);
    command
        .env(MARKER, &marker)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let pid = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    let pid = pid.ok_or_else(|| io::Error::other("the child has no process id"))?;
    let group = ChildGroup::new(pid, Some(format!("{MARKER}={marker}"))).with_reaper();
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

impl Piped {
    /// Process id of the child, which is also its group id.
    pub fn id(&self) -> i32 {
        self.group.id()
    }

    /// Waits until the child has exited.
    pub async fn wait(&mut self) -> io::Result<Exit> {
        let exit = self.child.wait().await?;
        self.group.note_reaped();
        Ok(exit.into())
    }

    /// Lets the processes run that the exited child left.
    pub fn leave(mut self) {
        self.group.release();
    }

    /// Waits for the child, whose input was closed; after a moment sends SIGTERM, then kills it with everything it
    /// started.
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
    async fn child_answers_and_exits_with_its_input() {
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

    /// The pipe closes when the last process with it has exited.
    #[tokio::test]
    async fn ended_child_leaves_no_process_that_left_its_group() {
        let (piped, mut pipes) = shell("setsid sleep 1000 & exec cat");
        drop(pipes.stdin);
        assert!(piped.end().await.unwrap().is_success());
        let mut output = Vec::new();
        pipes.stdout.read_to_end(&mut output).await.unwrap();
        assert_eq!(output, b"");
    }

    #[tokio::test]
    async fn dropped_child_is_killed_with_its_descendants() {
        let (piped, mut pipes) = shell("sleep 1000 & wait");
        drop(piped);
        let mut output = Vec::new();
        // The pipe closes when the last process with it has exited.
        pipes.stdout.read_to_end(&mut output).await.unwrap();
        assert_eq!(output, b"");
    }
}
