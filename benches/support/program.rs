//! A program in a pseudo-terminal of 120x40 with a terminal emulator. A thread reads and records when bytes
//! arrived, so that the time of the emulator is not measured.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

use super::process;
use super::replies::Replies;

pub(crate) const COLUMNS: u16 = 120;
pub(crate) const ROWS: u16 = 40;

/// How often a slow connection accepts bytes.
const SLICE: Duration = Duration::from_millis(10);
/// The time without output after which a program counts as idle.
const QUIET: Duration = Duration::from_millis(800);

/// The command, its directory and its complete environment.
#[derive(Debug, Clone)]
pub(crate) struct Command {
    pub(crate) argv: Vec<OsString>,
    pub(crate) environment: Vec<(String, OsString)>,
    pub(crate) cwd: PathBuf,
}

/// Bytes with the time of their arrival.
struct Chunk {
    at: Instant,
    bytes: Vec<u8>,
}

/// A started program, killed with all its descendants when it is dropped.
pub(crate) struct Program {
    master: Box<dyn MasterPty + Send>,
    keys: Box<dyn Write + Send>,
    child: Box<dyn Child + Send + Sync>,
    output: Receiver<Chunk>,
    parser: vt100::Parser,
    replies: Replies,
    /// Bytes per second of the connection; 0 means unlimited.
    rate: Arc<AtomicU64>,
    pub(crate) started: Instant,
    /// When the first and the last bytes arrived.
    pub(crate) first: Option<Instant>,
    pub(crate) last: Option<Instant>,
    /// The number of bytes that the program has written.
    pub(crate) bytes: u64,
}

impl Program {
    pub(crate) fn start(command: &Command) -> io::Result<Self> {
        let pair = native_pty_system()
            .openpty(size(COLUMNS, ROWS))
            .map_err(io::Error::other)?;
        let mut builder = CommandBuilder::from_argv(command.argv.clone());
        builder.env_clear();
        for (name, value) in &command.environment {
            builder.env(name, value);
        }
        builder.cwd(&command.cwd);
        let keys = pair.master.take_writer().map_err(io::Error::other)?;
        let reader = pair.master.try_clone_reader().map_err(io::Error::other)?;
        let rate = Arc::new(AtomicU64::new(0));
        let (sender, output) = channel();
        let started = Instant::now();
        let child = pair
            .slave
            .spawn_command(builder)
            .map_err(io::Error::other)?;
        let line = Arc::clone(&rate);
        thread::spawn(move || drain(reader, &line, &sender));
        Ok(Self {
            master: pair.master,
            keys,
            child,
            output,
            parser: vt100::Parser::new(ROWS.try_into().unwrap(), COLUMNS.try_into().unwrap(), 0),
            replies: Replies::default(),
            rate,
            started,
            first: None,
            last: None,
            bytes: 0,
        })
    }

    /// Limits the connection to this many bytes per second; 0 removes the limit.
    pub(crate) fn set_rate(&self, bytes_per_second: u64) {
        self.rate.store(bytes_per_second, Ordering::Relaxed);
    }

    pub(crate) fn send(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    /// Types a text at the speed of a fast typist.
    pub(crate) fn type_text(&mut self, text: &str) {
        for character in text.chars() {
            self.send(character.encode_utf8(&mut [0; 4]));
            self.pump(Duration::from_millis(10));
        }
    }

    pub(crate) fn resize(&mut self, columns: u16, rows: u16) {
        let screen = self.parser.screen_mut();
        screen.set_size(rows.try_into().unwrap(), columns.try_into().unwrap());
        self.master.resize(size(columns, rows)).unwrap();
    }

    /// Reads for `time`.
    pub(crate) fn pump(&mut self, time: Duration) {
        let end = Instant::now() + time;
        while self.next(end).is_some() {}
    }

    /// Reads until the program is idle.
    pub(crate) fn settle(&mut self, limit: Duration) {
        let end = Instant::now() + limit;
        while Instant::now() < end && self.last.is_none_or(|last| last.elapsed() < QUIET) {
            self.pump(Duration::from_millis(50));
        }
    }

    /// Waits until `done` accepts the screen. Returns when the deciding bytes arrived.
    pub(crate) fn wait(&mut self, limit: Duration, done: impl Fn(&str) -> bool) -> Option<Instant> {
        let end = Instant::now() + limit;
        let mut at = Instant::now();
        while !done(&self.screen()) {
            at = self.next(end)?;
        }
        Some(at)
    }

    /// Waits for a text on the screen.
    pub(crate) fn shows(&mut self, text: &str, limit: Duration) -> Option<Instant> {
        self.wait(limit, |screen| screen.contains(text))
    }

    /// The screen as text, without the spaces at line ends.
    pub(crate) fn screen(&self) -> String {
        let rows = self.parser.screen().rows(0, COLUMNS);
        let rows: Vec<String> = rows.map(|row| row.trim_end().to_owned()).collect();
        rows.join("\n")
    }

    pub(crate) fn cpu(&self) -> Duration {
        self.child.process_id().map_or(Duration::ZERO, process::cpu)
    }

    /// Proportional set size in bytes.
    pub(crate) fn memory(&self) -> u64 {
        self.child.process_id().map_or(0, process::memory)
    }

    /// Reads the next bytes. Returns when they arrived; `None` at `end`.
    pub(crate) fn next(&mut self, end: Instant) -> Option<Instant> {
        let left = end.saturating_duration_since(Instant::now());
        let chunk = match self.output.recv_timeout(left) {
            Ok(chunk) => chunk,
            Err(RecvTimeoutError::Timeout) => return None,
            Err(RecvTimeoutError::Disconnected) => {
                thread::sleep(left);
                return None;
            }
        };
        self.first.get_or_insert(chunk.at);
        self.last = Some(chunk.at);
        self.bytes += chunk.bytes.len() as u64;
        let replies = self.replies.to(&chunk.bytes);
        if !replies.is_empty() {
            // The program may have ended.
            self.keys.write_all(&replies).ok();
        }
        self.parser.process(&chunk.bytes);
        Some(chunk.at)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let Some(root) = self.child.process_id() else {
            return;
        };
        for pid in process::tree(root).into_iter().rev() {
            process::kill(pid);
        }
        self.child.wait().ok();
    }
}

fn drain(mut reader: Box<dyn Read + Send>, rate: &AtomicU64, output: &Sender<Chunk>) {
    let mut buffer = vec![0; 65536];
    loop {
        let rate = rate.load(Ordering::Relaxed);
        let most = match rate {
            0 => buffer.len(),
            rate => (rate * SLICE.as_millis() as u64 / 1000).max(1) as usize,
        };
        // The read fails when the last writer is gone.
        let Ok(length @ 1..) = reader.read(&mut buffer[..most]) else {
            return;
        };
        let at = Instant::now();
        let bytes = buffer[..length].to_vec();
        if output.send(Chunk { at, bytes }).is_err() {
            return;
        }
        if rate > 0 {
            thread::sleep(SLICE.mul_f64(length as f64 / most as f64));
        }
    }
}

fn size(columns: u16, rows: u16) -> PtySize {
    PtySize {
        rows,
        cols: columns,
        ..PtySize::default()
    }
}
