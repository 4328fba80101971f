//! Restores the terminal to its previous state. Shared with the panic hook, so it works from any
//! thread and runs only once.

use parking_lot::Mutex;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{panic, thread};

use osier_base::terminal_output::is_lack_of_threads;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};

use super::modes::FENCE;
use crate::input::{Decoder, InputEvent, TerminalReply};

/// How long to wait for a terminal that accepts no output.
const WRITABLE: Duration = Duration::from_millis(300);

/// Owns both ends of the terminal and its saved state.
#[derive(Debug)]
pub(super) struct RestoreGuard {
    input: OwnedFd,
    output: File,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The state to restore; `None` while the terminal is released.
    saved: Option<SavedState>,
    /// The line settings to restore; `None` once they are.
    termios: Option<Termios>,
    panics: Vec<String>,
}

#[derive(Debug)]
struct SavedState {
    bytes: String,
    replies: Replies,
}

/// The replies that may still arrive, which the shell would read as input. A last query, the fence, marks their end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Replies {
    /// Queries for the device attributes without a reply.
    pub(super) pending: usize,
    /// Whether to send one more query. On a slow connection, only the reply to the first one is
    /// waited for.
    pub(super) asks: bool,
    /// How long to wait for the last reply.
    pub(super) timeout: Duration,
    /// When it is clear that this terminal does not reply.
    pub(super) give_up: Option<Instant>,
}

impl Replies {
    const NONE: Self = Self {
        pending: 0,
        asks: false,
        timeout: Duration::ZERO,
        give_up: None,
    };

    fn time_left(self) -> Duration {
        let left = self
            .give_up
            .map(|at| at.saturating_duration_since(Instant::now()));
        left.map_or(self.timeout, |left| left.min(self.timeout))
    }
}

impl RestoreGuard {
    pub(super) fn new(input: OwnedFd, output: File) -> Self {
        Self {
            input,
            output,
            state: Mutex::default(),
        }
    }

    pub(super) fn input(&self) -> io::Result<OwnedFd> {
        self.input.try_clone()
    }

    pub(super) fn output(&self) -> io::Result<File> {
        self.output.try_clone()
    }

    /// Switches to raw mode. `bytes` reset the modes on restore.
    pub(super) fn enter_raw(&self, bytes: String) -> io::Result<()> {
        let mut state = self.state.lock();
        // After a second call, or a stop in which the shell changed it, the first state counts.
        let termios = match state.termios.take() {
            Some(termios) => termios,
            None => tcgetattr(&self.input)?,
        };
        let mut raw = termios.clone();
        raw.make_raw();
        let result = tcsetattr(&self.input, OptionalActions::Now, &raw);
        state.termios = Some(termios);
        state.saved = Some(SavedState {
            bytes,
            replies: Replies::NONE,
        });
        Ok(result?)
    }

    /// Changes the bytes that reset the modes.
    pub(super) fn update(&self, bytes: String, replies: Replies) {
        if let Some(saved) = &mut self.state.lock().saved {
            *saved = SavedState { bytes, replies };
        }
    }

    /// Changes which replies are pending.
    pub(super) fn set_replies(&self, replies: Replies) {
        if let Some(saved) = &mut self.state.lock().saved {
            saved.replies = replies;
        }
    }

    /// Restores the terminal. Idempotent.
    pub(super) fn restore(&self) {
        let Some(saved) = self.state.lock().saved.take() else {
            return;
        };
        // A terminal that accepts nothing, behind a lost connection, must not hold up the end of the program.
        if self.is_writable(WRITABLE) {
            let mut output = &self.output;
            let _ = output.write_all(saved.bytes.as_bytes());
            let mut pending = saved.replies.pending;
            if saved.replies.asks {
                let _ = output.write_all(FENCE);
                pending += 1;
            }
            let _ = output.flush();
            let _ = self.drain(saved.replies.time_left(), pending);
        }
        self.restore_lines();
    }

    /// Restores the terminal as far as it is possible at once. Safe in a signal handler: no lock is waited for, nothing is
    /// allocated or freed.
    pub(super) fn restore_without_waiting(&self) {
        let Some(state) = self.state.try_lock() else {
            return;
        };
        if let Some(saved) = &state.saved
            && self.is_writable(Duration::ZERO)
        {
            let _ = rustix::io::write(&self.output, saved.bytes.as_bytes());
        }
        if let Some(termios) = &state.termios {
            // Replies that have arrived are not left for the shell.
            let _ = tcsetattr(&self.input, OptionalActions::Flush, termios);
        }
    }

    fn restore_lines(&self) {
        if let Some(termios) = self.state.lock().termios.take() {
            let _ = tcsetattr(&self.input, OptionalActions::Now, &termios);
        }
    }

    /// Whether the terminal accepts output within this time.
    fn is_writable(&self, limit: Duration) -> bool {
        let mut fds = [PollFd::from_borrowed_fd(
            self.output.as_fd(),
            PollFlags::OUT,
        )];
        let limit = Timespec::try_from(limit).unwrap_or_default();
        poll(&mut fds, Some(&limit)).is_ok_and(|ready| ready > 0)
    }

    pub(super) fn is_active(&self) -> bool {
        self.state.lock().saved.is_some()
    }

    /// Messages of panics on other threads, which were not printed over the screen.
    pub(super) fn take_panics(&self) -> Vec<String> {
        std::mem::take(&mut self.state.lock().panics)
    }

    /// Reads until the device attributes have arrived `replies` times; returns the events.
    pub(super) fn drain(&self, timeout: Duration, replies: usize) -> io::Result<Vec<InputEvent>> {
        let deadline = Instant::now() + timeout;
        let mut decoder = Decoder::default();
        let mut events = Vec::new();
        let mut bytes = [0; 1024];
        let fence = |event: &InputEvent| {
            matches!(event, InputEvent::Reply(TerminalReply::DeviceAttributes(_)))
        };
        while events.iter().filter(|event| fence(event)).count() < replies {
            let left = deadline.saturating_duration_since(Instant::now());
            let timeout = Timespec::try_from(left).ok();
            let mut fds = [PollFd::from_borrowed_fd(self.input.as_fd(), PollFlags::IN)];
            if left.is_zero() {
                break;
            }
            match poll(&mut fds, timeout.as_ref()) {
                Ok(0) => break,
                Ok(_) => {}
                // A signal, such as a resize, is not the end.
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            }
            let count = rustix::io::read(&self.input, &mut bytes)?;
            if count == 0 {
                break;
            }
            decoder.feed(&bytes[..count], &mut events);
        }
        Ok(events)
    }
}

impl Drop for RestoreGuard {
    fn drop(&mut self) {
        self.restore();
    }
}

/// Restores the terminal before a panic that ends the program is printed: of the calling thread, or for lack of threads. A
/// panic of another thread ends a task, so its message is stored until the screen is released.
pub(super) fn hook_panics(restore: &Arc<RestoreGuard>) {
    let restore = Arc::downgrade(restore);
    let owner = thread::current().id();
    let previous = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        match restore.upgrade().filter(|restore| restore.is_active()) {
            Some(restore) if thread::current().id() == owner || is_lack_of_threads(info) => {
                restore.restore();
            }
            Some(restore) => {
                restore.state.lock().panics.push(info.to_string());
                return;
            }
            None => {}
        }
        previous(info);
    }));
}
