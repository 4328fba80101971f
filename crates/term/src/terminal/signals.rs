//! Signals as events of the loop. The application awaits them and leaves in order, so that the terminal is
//! restored by the same path as on any other exit.

use std::io;

use tokio::signal::unix::{Signal as Stream, SignalKind, signal};

/// A signal that concerns the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// The window has a new size: ask `size()`.
    Resize,
    /// The process was stopped from outside and goes on: `Terminal::resume`, then repaint.
    Continue,
    /// Leave now. The number gives the exit code 128 + n.
    Leave(i32),
}

/// The signals of this process.
#[derive(Debug)]
pub struct Signals {
    resize: Stream,
    proceed: Stream,
    interrupt: Stream,
    terminate: Stream,
    hangup: Stream,
    quit: Stream,
}

impl Signals {
    /// Starts listening. Needs a tokio runtime.
    pub fn listen() -> io::Result<Self> {
        // SIGCONT is the one signal here whose number differs between systems.
        let proceed = rustix::process::Signal::CONT.as_raw();
        Ok(Self {
            resize: signal(SignalKind::window_change())?,
            proceed: signal(SignalKind::from_raw(proceed))?,
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
            quit: signal(SignalKind::quit())?,
        })
    }

    /// The next signal. Safe to drop while waiting.
    pub async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.hangup.recv() => Signal::Leave(1),
            _ = self.interrupt.recv() => Signal::Leave(2),
            _ = self.quit.recv() => Signal::Leave(3),
            _ = self.terminate.recv() => Signal::Leave(15),
            _ = self.proceed.recv() => Signal::Continue,
            _ = self.resize.recv() => Signal::Resize,
        }
    }
}
