//! Hands a session over from the process that has it open to another process of the same user on this machine.
//!
//! `<data>/handover`, a folder that only its user can open, has one socket per open session. A process asks over it who has
//! the session, or for the session itself; the other one stores its work, closes the session and thereby releases the lock
//! of its file. The lock alone decides who has the session, so either process may be killed at any step.
//!
//! A process without a socket (another version), one that is stopped and one that hangs cannot answer. The system can still
//! end it: the process that has the lock and the file open gets SIGTERM, and SIGKILL if that does not end it. Entries, the
//! partial answer, the draft and queued prompts are stored while they are made.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use osier_base::{private, regular_file};
use osier_protocol::{HolderState, SessionHolder};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixListener;

use super::error::SessionError;
use super::load::header_from_name;
use super::lock::{self, Locks};

/// The version of the messages.
const PROTOCOL: u32 = 1;
/// Maximum bytes of a message.
const MESSAGE: u64 = 64 * 1024;
/// How long a process may take to answer, from the connection to the end of the line.
const ANSWER: Duration = Duration::from_secs(1);
/// How long it may take to store its work and close the session.
const CLOSING: Duration = Duration::from_secs(10);
/// How long a process may take to end after SIGTERM, and after SIGKILL.
const ENDING: Duration = Duration::from_millis(if cfg!(test) { 200 } else { 3_000 });
const POLL: Duration = Duration::from_millis(20);

/// How a session is taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TakeOver {
    /// Ask the process that has it open.
    Ask,
    /// End that process.
    End,
}

#[derive(Debug, Serialize, Deserialize)]
struct Question {
    protocol: u32,
    process: u32,
    /// The session file: two may have the same id.
    session: PathBuf,
    /// Requests the session, not only its state.
    hand_over: bool,
}

/// The answer of a process. It does not contain the number of the process, which the system
/// reports.
#[derive(Debug, Serialize, Deserialize)]
struct Answer {
    #[serde(default)]
    working: bool,
    /// The session is not handed over.
    #[serde(default)]
    refused: bool,
}

/// The socket of an open session.
#[derive(Debug)]
pub struct HandoverSocket {
    listener: UnixListener,
    path: PathBuf,
    /// The file of the socket: a later process may have replaced it.
    file: (u64, u64),
    session: PathBuf,
}

impl HandoverSocket {
    /// Creates the socket of the session `id` in `folder`. Requires a tokio runtime. Blocks for a moment.
    ///
    /// # Errors
    /// The file system has no sockets, or the path of the folder is too long for one.
    pub fn bind(folder: &Path, id: &str, session: &Path) -> io::Result<Self> {
        private::create_folder(folder)?;
        private::restrict(folder)?;
        if !is_private(folder) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        remove_leftovers(folder);
        let path = folder.join(id);
        // This process has the lock of the session: another socket is a leftover.
        let _ = fs::remove_file(&path);
        let listener = UnixListener::bind(&path)?;
        let file = identity(&path)?;
        Ok(Self {
            listener,
            path,
            file,
            session: session.to_owned(),
        })
    }

    /// Answers questions until a process requests the session; returns the id of that process.
    pub async fn requested(self, is_working: impl Fn() -> bool) -> u32 {
        loop {
            let Ok((stream, _)) = self.listener.accept().await else {
                // Too many open files, for example.
                tokio::time::sleep(ANSWER).await;
                continue;
            };
            let answering = self.answer(stream, is_working());
            if let Ok(Ok(Some(process))) = tokio::time::timeout(ANSWER, answering).await {
                return process;
            }
        }
    }

    /// Returns the process that gets the session.
    async fn answer(
        &self,
        mut stream: tokio::net::UnixStream,
        working: bool,
    ) -> io::Result<Option<u32>> {
        let user = rustix::process::geteuid().as_raw();
        let peer = stream.peer_cred()?;
        if peer.uid() != user {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let (reader, mut writer) = stream.split();
        let mut line = Vec::new();
        let mut reader = tokio::io::BufReader::new(reader.take(MESSAGE));
        reader.read_until(b'\n', &mut line).await?;
        let question: Question = serde_json::from_slice(&line)?;
        let is_same = identity(&question.session)
            .is_ok_and(|asked| identity(&self.session).is_ok_and(|own| own == asked));
        let refused = question.protocol != PROTOCOL || !is_same;
        let answer = Answer { working, refused };
        let mut text = serde_json::to_vec(&answer)?;
        text.push(b'\n');
        writer.write_all(&text).await?;
        // A process in another container has no number here.
        let process = peer.pid().and_then(|process| u32::try_from(process).ok());
        let process = process.filter(|process| *process != 0);
        let process = process.unwrap_or(question.process);
        Ok((question.hand_over && !refused).then_some(process))
    }
}

impl Drop for HandoverSocket {
    fn drop(&mut self) {
        if identity(&self.path).is_ok_and(|file| file == self.file) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Removes the sockets of killed processes. Young ones may be about to listen.
fn remove_leftovers(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let made = entry.metadata().and_then(|metadata| metadata.modified());
        let is_old =
            made.is_ok_and(|made| made.elapsed().is_ok_and(|age| age > Duration::from_mins(1)));
        let refuses = |error: io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
        if is_old && connect(&entry.path(), POLL).err().is_some_and(refuses) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Whether only this user can open `folder`.
fn is_private(folder: &Path) -> bool {
    let user = rustix::process::geteuid().as_raw();
    fs::symlink_metadata(folder).is_ok_and(|folder| {
        folder.is_dir() && folder.uid() == user && folder.mode() & 0o777 == 0o700
    })
}

/// Device and inode.
fn identity(path: &Path) -> io::Result<(u64, u64)> {
    fs::metadata(path).map(|file| (file.dev(), file.ino()))
}

/// The process that has the session `path` open, and whether it can hand it over. Blocks for at most a second.
pub fn holder(folder: &Path, path: &Path) -> SessionHolder {
    match ask(folder, path, false) {
        Ok(answer) => SessionHolder {
            process: Locks::read().holder(path),
            state: HolderState::Ready,
            working: answer.working,
        },
        Err(error) => silent_holder(path, &error),
    }
}

/// The state of a process that did not answer.
fn silent_holder(path: &Path, error: &io::Error) -> SessionHolder {
    let process = Locks::read().holder(path);
    let state = match process {
        None => HolderState::Hidden,
        Some(process) if process == std::process::id() => HolderState::Own,
        Some(process) if is_stopped(process) => HolderState::Stopped,
        Some(_) if error.kind() == io::ErrorKind::NotFound => HolderState::Older,
        Some(_) => HolderState::Silent,
    };
    SessionHolder {
        process,
        state,
        working: false,
    }
}

/// Makes the process that has the session `path` open close it. Afterwards it can be opened. Blocks for some seconds.
/// Returns whether that process stopped a run for it.
///
/// # Errors
/// The process keeps the session, with what to do.
pub fn take_over(folder: &Path, path: &Path, how: TakeOver) -> Result<bool, SessionError> {
    let failed = |error| SessionError::io("open", path, error);
    let file = regular_file::open_plain(path).map_err(failed)?;
    if !lock::is_locked(&file) {
        return Ok(false);
    }
    match how {
        TakeOver::Ask => match ask(folder, path, true) {
            Ok(answer) => {
                if becomes_free(&file, CLOSING) {
                    return Ok(answer.working);
                }
                let holder = SessionHolder {
                    process: Locks::read().holder(path),
                    state: HolderState::Silent,
                    working: answer.working,
                };
                Err(not_handed_over(path, &holder))
            }
            // It may have ended in the meantime.
            Err(_) if becomes_free(&file, POLL) => Ok(false),
            Err(error) => Err(not_handed_over(path, &silent_holder(path, &error))),
        },
        TakeOver::End => {
            let ended = end_process(path);
            if becomes_free(&file, CLOSING / 10) {
                return Ok(false);
            }
            let reason = match ended {
                Ok(()) => "it cannot be ended".to_owned(),
                Err(error) => format!("it cannot be ended: {error}"),
            };
            Err(SessionError::NotHandedOver {
                path: path.to_owned(),
                pid: Locks::read().holder(path),
                reason,
            })
        }
    }
}

fn not_handed_over(path: &Path, holder: &SessionHolder) -> SessionError {
    SessionError::NotHandedOver {
        path: path.to_owned(),
        pid: holder.process,
        reason: holder.reason(),
    }
}

/// Asks the process that has the session open. `NotFound` means that it does not listen.
fn ask(folder: &Path, path: &Path, hand_over: bool) -> io::Result<Answer> {
    if !is_private(folder) {
        return Err(io::ErrorKind::NotFound.into());
    }
    let id = id_of(path)?;
    let end = Instant::now() + ANSWER;
    let mut stream = connect(&folder.join(id), ANSWER).map_err(|error| match error.kind() {
        io::ErrorKind::ConnectionRefused => io::ErrorKind::NotFound.into(),
        _ => error,
    })?;
    let question = Question {
        protocol: PROTOCOL,
        process: std::process::id(),
        session: fs::canonicalize(path)?,
        hand_over,
    };
    let mut text = serde_json::to_vec(&question)?;
    text.push(b'\n');
    stream.write_all(&text)?;
    let answer: Answer = read_line(Until { stream, end })?;
    if answer.refused {
        return Err(io::ErrorKind::NotFound.into());
    }
    Ok(answer)
}

/// Connects to a socket, whose process may be stopped: then nothing is accepted, and a full queue would block endlessly. The
/// limit also holds for each write.
fn connect(path: &Path, limit: Duration) -> io::Result<UnixStream> {
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, sockopt};

    let (family, kind) = (AddressFamily::UNIX, SocketType::STREAM);
    let socket = rustix::net::socket_with(family, kind, SocketFlags::CLOEXEC, None)?;
    sockopt::set_socket_timeout(&socket, sockopt::Timeout::Send, Some(limit))?;
    rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(socket.into())
}

/// Reads until `end`, also from a process that sends one byte after the other.
struct Until {
    stream: UnixStream,
    end: Instant,
}

impl Read for Until {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let left = self.end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        self.stream.read(bytes)
    }
}

/// The id of a session, which names its socket.
fn id_of(path: &Path) -> io::Result<String> {
    #[derive(Deserialize)]
    struct First {
        id: String,
    }
    if let Some(header) = header_from_name(path) {
        return Ok(header.id);
    }
    let first: First = read_line(regular_file::open_plain(path)?)?;
    // It becomes the name of a file.
    let is_name = first
        .id
        .chars()
        .all(|char| char.is_ascii_alphanumeric() || char == '-');
    is_name
        .then_some(first.id)
        .ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// The value in the first line.
fn read_line<T: DeserializeOwned>(source: impl Read) -> io::Result<T> {
    let mut line = String::new();
    BufReader::new(source.take(MESSAGE)).read_line(&mut line)?;
    Ok(serde_json::from_str(&line)?)
}

/// Whether the lock of the session is released in time.
fn becomes_free(file: &File, limit: Duration) -> bool {
    let end = Instant::now() + limit;
    while lock::is_locked(file) {
        if Instant::now() > end {
            return false;
        }
        std::thread::sleep(POLL);
    }
    true
}

/// Whether the process was stopped, by ctrl+z for example.
fn is_stopped(process: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The name, in parentheses, may contain anything.
    let state = stat
        .rsplit_once(") ")
        .and_then(|(_, rest)| rest.chars().next());
    matches!(state, Some('T' | 't'))
}

/// Ends the process that has the session `path` open, a stopped one too.
#[cfg(target_os = "linux")]
fn end_process(path: &Path) -> io::Result<()> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

    let process = || {
        let process = Locks::read().holder(path)?;
        (process != std::process::id() && has_open(process, path)).then_some(process)
    };
    let missing = || io::Error::other("no other process of this user is known to have it open");
    let pid = process().ok_or_else(missing)?;
    let named = Pid::from_raw(pid.cast_signed()).ok_or_else(missing)?;
    let handle = pidfd_open(named, PidfdFlags::empty())?;
    // From here on the handle is of the process, which had the session open after it was made.
    if process() != Some(pid) {
        return Err(missing());
    }
    let limit = Timespec::try_from(ENDING).map_err(io::Error::other)?;
    for signals in [&[Signal::TERM, Signal::CONT][..], &[Signal::KILL]] {
        for signal in signals {
            pidfd_send_signal(&handle, *signal)?;
        }
        let mut ended = [PollFd::new(&handle, PollFlags::IN)];
        if poll(&mut ended, Some(&limit))? > 0 {
            return Ok(());
        }
    }
    Err(io::ErrorKind::TimedOut.into())
}

#[cfg(not(target_os = "linux"))]
fn end_process(_path: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Whether the process is one of this user and has the file `path` open. A child of a process that has ended may still have
/// its lock.
#[cfg(target_os = "linux")]
fn has_open(process: u32, path: &Path) -> bool {
    let user = rustix::process::geteuid().as_raw();
    let folder = PathBuf::from(format!("/proc/{process}"));
    let Ok(session) = identity(path) else {
        return false;
    };
    let files = fs::read_dir(folder.join("fd"))
        .into_iter()
        .flatten()
        .flatten();
    let mut files = files.filter_map(|entry| identity(&entry.path()).ok());
    fs::metadata(&folder).is_ok_and(|folder| folder.uid() == user)
        && files.any(|file| file == session)
}
