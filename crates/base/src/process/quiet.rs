//! Short commands run for their output: clipboard programs, commands that print a key, git.

use std::ffi::OsString;
use std::io;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::Pid;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStdin};
use tokio::time::timeout as within;

use super::{ChildGroup, Exit, IDLE, Invocation, MARKER, SETSID, child_reaper, limits};

/// Maximum stored bytes of each stream; the rest is discarded.
const KEPT: usize = 1024 * 1024;

/// The output of a short command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QuietOutput {
    pub exit: Exit,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    /// A stream had more than is stored.
    pub is_cut: bool,
}

/// Why a short command has no result. A non-zero exit is a result.
#[derive(Debug, Error)]
pub enum QuietError {
    #[error("`{program}` is not installed")]
    NotFound { program: String },
    #[error("`{program}` did not end within {} ms", timeout.as_millis())]
    Timeout { program: String, timeout: Duration },
    #[error("cannot run `{program}`: {source}")]
    Io { program: String, source: io::Error },
}

/// Runs `program` with `input` on its stdin (empty by default). Processes that it leaves running, as clipboard
/// programs do, stay; after `timeout` all are killed.
pub async fn run_quietly<A: Into<OsString>>(
    program: &str,
    args: impl IntoIterator<Item = A>,
    input: Option<&[u8]>,
    timeout: Duration,
) -> Result<QuietOutput, QuietError> {
    run_captured(&Invocation::new(program, args), input, timeout).await
}

/// Runs `program` and stores up to `limit` bytes of its output, such as an image.
pub async fn run_printing<A: Into<OsString>>(
    program: &str,
    args: impl IntoIterator<Item = A>,
    (limit, timeout): (usize, Duration),
) -> Result<QuietOutput, QuietError> {
    run_bounded(&Invocation::new(program, args), None, limit, timeout).await
}

/// Like [`run_quietly`], with a directory and environment variables.
pub async fn run_captured(
    invocation: &Invocation,
    input: Option<&[u8]>,
    timeout: Duration,
) -> Result<QuietOutput, QuietError> {
    run_bounded(invocation, input, KEPT, timeout).await
}

/// Like [`run_captured`], storing up to `limit` bytes of output.
pub async fn run_bounded(
    invocation: &Invocation,
    input: Option<&[u8]>,
    limit: usize,
    timeout: Duration,
) -> Result<QuietOutput, QuietError> {
    run(invocation, input, (limit, timeout), Rest::Stays).await
}

/// Like [`run_bounded`], for a program of a project: everything that it started ends with it.
pub async fn run_contained(
    invocation: &Invocation,
    input: Option<&[u8]>,
    limit: usize,
    timeout: Duration,
) -> Result<QuietOutput, QuietError> {
    run(invocation, input, (limit, timeout), Rest::Ends).await
}

/// The processes that a program left running when it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rest {
    Stays,
    Ends,
}

async fn run(
    invocation: &Invocation,
    input: Option<&[u8]>,
    (limit, timeout): (usize, Duration),
    rest: Rest,
) -> Result<QuietOutput, QuietError> {
    let program = invocation.program.to_string_lossy();
    let failed = |source: io::Error| match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => QuietError::NotFound {
            program: program.to_string(),
        },
        _ => QuietError::Io {
            program: program.to_string(),
            source,
        },
    };
    if !invocation.is_there() {
        return Err(failed(io::ErrorKind::NotFound.into()));
    }
    let mut command = invocation.command(SETSID.as_slice(), &[]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    if input.is_some() {
        command.stdin(Stdio::piped());
    }
    let marker = (rest == Rest::Ends).then(child_reaper::command_id);
    if let Some(marker) = &marker {
        command.env(MARKER, marker);
    }
    let mut child = command.spawn().map_err(failed)?;
    let pid = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    if let (Some(pid), Some(bytes)) = (pid, invocation.memory) {
        limits::limit_data(pid, bytes);
    }
    let marker = marker.map(|marker| format!("{MARKER}={marker}"));
    // Killed with all members when this future is dropped or times out.
    let mut group = pid.map(|pid| ChildGroup::new(pid, marker).with_reaper());
    match within(timeout, talk(&mut child, input, limit)).await {
        Err(_) => Err(QuietError::Timeout {
            program: program.to_string(),
            timeout,
        }),
        Ok(output) => {
            if let Some(group) = &mut group {
                group.note_reaped();
                if rest == Rest::Stays {
                    group.release();
                }
            }
            output.map_err(failed)
        }
    }
}

async fn talk(child: &mut Child, input: Option<&[u8]>, limit: usize) -> io::Result<QuietOutput> {
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (mut output, is_cut) = (QuietOutput::default(), AtomicBool::new(false));
    {
        let streams = async {
            tokio::join!(
                feed(stdin, input.unwrap_or_default()),
                collect(stdout, &mut output.stdout, limit, &is_cut),
                collect(stderr, &mut output.stderr, KEPT, &is_cut),
            )
        };
        tokio::pin!(streams);
        let mut ended = false;
        output.exit = loop {
            tokio::select! {
                biased;
                _ = &mut streams, if !ended => ended = true,
                status = child.wait() => break status?.into(),
            }
        };
        // A process left running may hold the pipes open.
        if !ended {
            let _ = within(IDLE, streams).await;
        }
    }
    output.is_cut = is_cut.into_inner();
    Ok(output)
}

/// Writes `input`. A program that does not read it causes no error.
async fn feed(stdin: Option<ChildStdin>, input: &[u8]) {
    if let Some(mut stdin) = stdin {
        let _ = stdin.write_all(input).await;
    }
}

async fn collect(
    stream: Option<impl AsyncRead + Unpin>,
    kept: &mut Vec<u8>,
    limit: usize,
    is_cut: &AtomicBool,
) {
    let Some(mut stream) = stream else { return };
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(length @ 1..) = stream.read(&mut buffer).await {
        let room = (limit - kept.len()).min(length);
        kept.extend_from_slice(&buffer[..room]);
        if room < length {
            is_cut.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_mins(1);

    #[tokio::test]
    async fn input_and_both_streams_are_connected() {
        let script = "cat; echo problem >&2; exit 4";
        let output = run_quietly("bash", ["-c", script], Some(b"given"), LONG).await;
        let expected = QuietOutput {
            exit: Exit {
                code: Some(4),
                signal: None,
            },
            stdout: b"given".to_vec(),
            stderr: b"problem\n".to_vec(),
            is_cut: false,
        };
        assert_eq!(output.unwrap(), expected);
    }

    #[tokio::test]
    async fn process_left_running_does_not_delay_the_result() {
        let script = "sleep 600 & echo $!";
        let output = run_quietly("bash", ["-c", script], None, LONG)
            .await
            .unwrap();
        let left = String::from_utf8(output.stdout).unwrap();
        let left = Pid::from_raw(left.trim().parse().unwrap()).unwrap();
        rustix::process::kill_process(left, rustix::process::Signal::KILL).unwrap();
    }

    #[tokio::test]
    async fn contained_program_leaves_nothing_running() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let made = rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RWXU,
            0,
        );
        made.unwrap();
        // Both processes hold the pipe open for writing, one of them in a session of its own.
        let script = "exec 3<>pipe 4>pipe; sleep 600 3<&- & setsid sleep 600 3<&- & echo done";
        let invocation = Invocation {
            cwd: Some(folder.path().to_owned()),
            ..Invocation::new("bash", ["-c", script])
        };
        let reading = tokio::net::unix::pipe::OpenOptions::new().open_receiver(&pipe);
        let output = run_contained(&invocation, None, 100, LONG).await.unwrap();
        assert_eq!(output.stdout, b"done\n");
        // The pipe ends when the last of them has ended.
        let mut rest = Vec::new();
        reading.unwrap().read_to_end(&mut rest).await.unwrap();
        assert_eq!(rest, b"");
    }

    #[tokio::test]
    async fn failures_are_named() {
        let missing = run_quietly("osier-no-such-program", [""; 0], None, LONG).await;
        assert_eq!(
            missing.unwrap_err().to_string(),
            "`osier-no-such-program` is not installed"
        );
        let slow = run_quietly("sleep", ["600"], None, Duration::from_millis(1)).await;
        assert_eq!(
            slow.unwrap_err().to_string(),
            "`sleep` did not end within 1 ms"
        );
    }
}
