//! Signals as events. The application awaits them and exits regularly, so that the terminal is
//! restored the same way on every exit.

use std::io;

use osier_base::exit_limit::InterruptsElsewhere;
use tokio::signal::unix::{Signal as Stream, SignalKind, signal};

/// A signal that affects the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// The window size changed: call [`size`](super::size).
    Resize,
    /// The process was continued after an external stop: call
    /// [`Terminal::resume`](super::Terminal::resume), then repaint.
    Continue,
    /// Exit now with the code 128 + n.
    Leave(i32),
}

/// The signal handlers of this process.
#[derive(Debug)]
pub struct Signals {
    resize: Stream,
    continued: Stream,
    interrupt: Stream,
    terminate: Stream,
    hangup: Stream,
    quit: Stream,
}

impl Signals {
    /// Starts listening. Requires a Tokio runtime.
    pub fn listen() -> io::Result<Self> {
        // The number of SIGCONT differs between systems, so tokio has no constant for it.
        let continued = rustix::process::Signal::CONT.as_raw();
        Ok(Self {
            resize: signal(SignalKind::window_change())?,
            continued: signal(SignalKind::from_raw(continued))?,
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
            quit: signal(SignalKind::quit())?,
        })
    }

    /// The next signal. Cancel safe.
    pub async fn next(&mut self) -> Signal {
        loop {
            let signal = tokio::select! {
                _ = self.hangup.recv() => Signal::Leave(1),
                _ = self.interrupt.recv() => Signal::Leave(2),
                _ = self.quit.recv() => Signal::Leave(3),
                _ = self.terminate.recv() => Signal::Leave(15),
                _ = self.continued.recv() => Signal::Continue,
                _ = self.resize.recv() => Signal::Resize,
            };
            let is_typed = matches!(signal, Signal::Leave(2 | 3));
            if !is_typed || !InterruptsElsewhere::is_now() {
                return signal;
            }
        }
    }
}
