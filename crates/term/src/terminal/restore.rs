//! The way back: what the terminal was like before, and the bytes that bring it back there. Shared with the
//! panic hook, so it works from any thread and only once.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::panic;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::input::{Decoder, InputEvent, TerminalReply};

/// Holds both ends of the terminal and knows how to give it back.
#[derive(Debug)]
pub(super) struct Restore {
    input: OwnedFd,
    output: File,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// What to do on the way out; `None` while the screen is not ours.
    held: Option<Held>,
    panics: Vec<String>,
}

#[derive(Debug)]
struct Held {
    termios: Termios,
    bytes: String,
    /// A question is still open: its answer would be typed into the shell.
    awaiting_reply: Option<Duration>,
}

impl Restore {
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

    /// Makes the terminal raw. `bytes` bring it back.
    pub(super) fn take(&self, bytes: String) -> io::Result<()> {
        let mut state = self.lock();
        // Taken already, or again after a stop in which the shell has changed it: the first state counts.
        let termios = match state.held.take() {
            Some(held) => held.termios,
            None => tcgetattr(&self.input)?,
        };
        let mut raw = termios.clone();
        raw.make_raw();
        let result = tcsetattr(&self.input, OptionalActions::Now, &raw);
        state.held = Some(Held {
            termios,
            bytes,
            awaiting_reply: None,
        });
        Ok(result?)
    }

    /// Changes what brings the terminal back.
    pub(super) fn update(&self, bytes: String, awaiting_reply: Option<Duration>) {
        if let Some(held) = &mut self.lock().held {
            held.bytes = bytes;
            held.awaiting_reply = awaiting_reply;
        }
    }

    /// Changes how long an open answer is waited for.
    pub(super) fn wait_for(&self, awaiting_reply: Option<Duration>) {
        if let Some(held) = &mut self.lock().held {
            held.awaiting_reply = awaiting_reply;
        }
    }

    /// Brings the terminal back. The second time nothing happens.
    pub(super) fn restore(&self) {
        let Some(held) = self.lock().held.take() else {
            return;
        };
        let mut output = &self.output;
        let _ = output.write_all(held.bytes.as_bytes());
        let _ = output.flush();
        if let Some(patience) = held.awaiting_reply {
            let _ = self.drain(patience);
        }
        let _ = tcsetattr(&self.input, OptionalActions::Now, &held.termios);
    }

    pub(super) fn is_held(&self) -> bool {
        self.lock().held.is_some()
    }

    /// Panics of other threads, which were not printed over the screen.
    pub(super) fn take_panics(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().panics)
    }

    /// Reads until the fence comes, and gives what was read.
    pub(super) fn drain(&self, patience: Duration) -> io::Result<Vec<InputEvent>> {
        let deadline = Instant::now() + patience;
        let mut decoder = Decoder::default();
        let mut events = Vec::new();
        let mut bytes = [0; 1024];
        let fence = |event: &InputEvent| {
            matches!(event, InputEvent::Reply(TerminalReply::DeviceAttributes(_)))
        };
        while !events.iter().any(fence) {
            let left = deadline.saturating_duration_since(Instant::now());
            let timeout = Timespec::try_from(left).ok();
            let mut fds = [PollFd::from_borrowed_fd(self.input.as_fd(), PollFlags::IN)];
            if left.is_zero() || poll(&mut fds, timeout.as_ref())? == 0 {
                break;
            }
            let count = rustix::io::read(&self.input, &mut bytes)?;
            if count == 0 {
                break;
            }
            decoder.feed(&bytes[..count], &mut events);
        }
        Ok(events)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Restore {
    fn drop(&mut self) {
        self.restore();
    }
}

/// A panic of the calling thread restores the terminal before it is printed. One of another thread, which
/// ends a task and not the program, is kept until the screen is given back.
pub(super) fn hook_panics(restore: &Arc<Restore>) {
    let restore = Arc::downgrade(restore);
    let owner = thread::current().id();
    let previous = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        match restore.upgrade().filter(|restore| restore.is_held()) {
            Some(restore) if thread::current().id() == owner => restore.restore(),
            Some(restore) => {
                restore.lock().panics.push(info.to_string());
                return;
            }
            None => {}
        }
        previous(info);
    }));
}
