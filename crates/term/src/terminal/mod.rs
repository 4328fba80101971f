//! The terminal while it is ours: raw, on the alternate screen, with the modes we need; and the way back,
//! which is taken on every exit: return, panic, signal, suspend, or an external editor.
//!
//! `Terminal` is the one owner of both ends. Questions are asked in one batch and nothing waits for the
//! answers: they come as events, and `on_reply` turns them into modes and features.

mod ask;
mod kind;
mod modes;
mod report;
mod restore;
mod signals;

use std::fs::File;
use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use ratatui::layout::Size;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

pub use ask::ask;
pub use kind::{Host, Notice, TerminalKind};
pub use modes::ASK_CELL;
pub use report::Progress;
pub use signals::{Signal, Signals};

use self::modes::Keyboard;
use self::restore::Restore;
use super::frame::{Features, Output};
use super::input::{InputEvent, Reader, TerminalReply, Timeouts};

/// What the user may turn off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalOptions {
    /// Report the mouse; the terminal's own selection then needs Shift.
    pub mouse: bool,
    /// Use the Kitty protocol or modifyOtherKeys where there is one.
    pub keyboard: bool,
    /// Use scroll regions.
    pub margins: bool,
}

impl Default for TerminalOptions {
    fn default() -> Self {
        Self {
            mouse: true,
            keyboard: true,
            margins: true,
        }
    }
}

/// Why the terminal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TerminalError {
    #[error("neither standard input nor `/dev/tty` is a terminal")]
    NoInput(#[source] io::Error),
    #[error("the terminal does not accept raw mode")]
    Raw(#[source] io::Error),
    #[error("the terminal cannot be read or written")]
    Io(#[from] io::Error),
}

/// Names in replies to XTVERSION of terminals that repeat characters and erase to the background colour.
const MODERN: [&str; 10] = [
    "kitty", "ghostty", "wezterm", "foot", "xterm", "tmux", "iterm2", "vte", "contour", "rio",
];

/// DA1, which every terminal answers.
const FENCE: &[u8] = b"\x1b[c";

/// How long the output may take to accept what is left when the screen is given back.
const LAST_WRITE: Duration = Duration::from_secs(1);

/// The terminal, given back when dropped.
#[derive(Debug)]
pub struct Terminal {
    kind: TerminalKind,
    options: TerminalOptions,
    keyboard: Keyboard,
    features: Features,
    /// The fence of the questions has come.
    answered: bool,
    /// A frame ended with a fence that has not come back.
    fenced: bool,
    restore: Arc<Restore>,
    output: Output,
    reader: Option<Reader>,
    events: UnboundedSender<InputEvent>,
}

impl Terminal {
    /// Takes the terminal of this process and asks its questions. The events of its input come through the
    /// channel, which closes when the terminal is gone.
    pub fn enter(
        kind: TerminalKind,
        options: TerminalOptions,
    ) -> Result<(Self, UnboundedReceiver<InputEvent>), TerminalError> {
        let input = match io::stdin() {
            stdin if stdin.is_terminal() => stdin.as_fd().try_clone_to_owned(),
            // A prompt was piped in; keys still come from the terminal.
            _ => File::open("/dev/tty").map(OwnedFd::from),
        };
        let input = input.map_err(TerminalError::NoInput)?;
        let output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        let entered = Self::enter_on(input, output, kind, options)?;
        restore::hook_panics(&entered.0.restore);
        Ok(entered)
    }

    /// The same on any terminal, without a panic hook.
    pub fn enter_on(
        input: OwnedFd,
        output: File,
        kind: TerminalKind,
        options: TerminalOptions,
    ) -> Result<(Self, UnboundedReceiver<InputEvent>), TerminalError> {
        let (events, receiver) = unbounded_channel();
        let restore = Arc::new(Restore::new(input, output));
        let mut terminal = Self {
            features: first_features(&kind, options),
            kind,
            options,
            keyboard: Keyboard::Plain,
            answered: false,
            fenced: false,
            output: Output::start(restore.output()?)?,
            restore,
            reader: None,
            events,
        };
        terminal.acquire()?;
        Ok((terminal, receiver))
    }

    pub fn kind(&self) -> &TerminalKind {
        &self.kind
    }

    /// Where frames go.
    pub fn output(&self) -> &Output {
        &self.output
    }

    /// What is known of the terminal by now.
    pub fn features(&self) -> Features {
        self.features
    }

    /// Whether all questions asked at the start are answered.
    pub fn is_answered(&self) -> bool {
        self.answered
    }

    /// Columns and rows.
    pub fn size(&self) -> Size {
        self.restore
            .output()
            .map_or(FALLBACK_SIZE, |output| size_of(&output))
    }

    /// Pixels of a cell, width and height, where the size of the window is told in pixels.
    pub fn cell(&self) -> Option<(u16, u16)> {
        let size = rustix::termios::tcgetwinsize(self.restore.output().ok()?).ok()?;
        let width = size.ws_xpixel.checked_div(size.ws_col)?;
        let height = size.ws_ypixel.checked_div(size.ws_row)?;
        (width > 1 && height > 1).then_some((width, height))
    }

    /// Takes note of an answer. `true` when `features` has changed.
    pub fn on_reply(&mut self, reply: &TerminalReply) -> bool {
        let before = self.features;
        match reply {
            TerminalReply::KeyboardFlags(_) => self.set_keyboard(Keyboard::Kitty),
            TerminalReply::Mode { mode: 2026, state } => {
                self.features.synchronized = matches!(state, 1..=3);
            }
            TerminalReply::Mode { mode: 69, state } => {
                self.features.side_margins = matches!(state, 1..=3) && self.options.margins;
            }
            TerminalReply::Version(name) => {
                self.kind.call(name);
                let name = name.to_ascii_lowercase();
                let modern = MODERN.iter().any(|known| name.contains(known));
                self.features.repeat |= modern;
                self.features.erase_background |= modern;
            }
            TerminalReply::DeviceAttributes(_) if !self.answered => {
                self.answered = true;
                if self.keyboard == Keyboard::Plain && self.kind.has_strings() {
                    self.set_keyboard(Keyboard::Xterm);
                }
                self.restore.update(self.leave_bytes(), None);
            }
            TerminalReply::DarkScheme(_) => self.output.send(modes::COLOURS.into()),
            TerminalReply::DeviceAttributes(_) => {
                self.fenced = false;
                self.restore.wait_for(None);
            }
            _ => {}
        }
        self.features != before
    }

    /// Ends a frame with a question whose answer says that the terminal has come so far. `false` when it is
    /// not known to answer.
    pub fn fence(&mut self, frame: &mut Vec<u8>) -> bool {
        if !self.answered {
            return false;
        }
        frame.extend_from_slice(FENCE);
        self.fenced = true;
        self.restore.wait_for(self.patience());
        true
    }

    /// Turns the mouse reports on or off.
    pub fn set_mouse(&mut self, mouse: bool) {
        if self.options.mouse == mouse {
            return;
        }
        let switch = if mouse {
            "\x1b[?1000;1002;1006h"
        } else {
            "\x1b[?1006;1002;1000l"
        };
        self.options.mouse = mouse;
        self.output.send(switch.into());
        self.restore.update(self.leave_bytes(), self.patience());
    }

    /// Gives the terminal back to the shell until the user continues us. Repaint afterwards, the size may
    /// have changed.
    pub fn suspend(&mut self) -> Result<(), TerminalError> {
        self.release();
        rustix::process::kill_current_process_group(rustix::process::Signal::TSTP)
            .map_err(io::Error::from)?;
        // The stop reaches this thread a little later; nothing may be written before.
        std::thread::sleep(Duration::from_millis(50));
        self.resume()
    }

    /// Gives the terminal to something else that uses it, such as an editor. Repaint afterwards.
    pub fn with_released<T>(&mut self, work: impl FnOnce() -> T) -> Result<T, TerminalError> {
        self.release();
        let result = work();
        self.resume()?;
        Ok(result)
    }

    /// Gives the terminal back: nothing is read or written until `resume`. Does nothing twice.
    pub fn release(&mut self) {
        if let Some(reader) = self.reader.take() {
            reader.stop();
        }
        self.output.flush_blocking(LAST_WRITE);
        self.restore.restore();
        self.fenced = false;
    }

    /// Takes the terminal again after `release`, or after a stop from outside. Repaint afterwards.
    pub fn resume(&mut self) -> Result<(), TerminalError> {
        self.acquire()
    }

    /// Gives the terminal back for good. The texts are panics of background threads that could not be
    /// shown before.
    pub fn leave(mut self) -> Vec<String> {
        self.release();
        self.restore.take_panics()
    }

    fn acquire(&mut self) -> Result<(), TerminalError> {
        self.restore
            .take(self.leave_bytes())
            .map_err(TerminalError::Raw)?;
        let mut bytes = modes::enter(&self.kind, self.options, self.keyboard);
        if !self.answered {
            bytes.push_str(modes::probes(&self.kind));
            self.restore.update(self.leave_bytes(), self.patience());
        }
        self.output.send(bytes.into_bytes());
        if self.reader.is_none() {
            let timeouts = if self.kind.remote {
                Timeouts::REMOTE
            } else {
                Timeouts::LOCAL
            };
            let reader = Reader::start(self.restore.input()?, timeouts, self.events.clone())?;
            self.reader = Some(reader);
        }
        Ok(())
    }

    fn set_keyboard(&mut self, keyboard: Keyboard) {
        if !self.options.keyboard || self.keyboard == keyboard {
            return;
        }
        self.keyboard = keyboard;
        self.restore.update(self.leave_bytes(), self.patience());
        self.output.send(keyboard.enter().into());
    }

    fn leave_bytes(&self) -> String {
        modes::leave(&self.kind, self.options, self.keyboard)
    }

    /// How long open answers are waited for on the way out.
    fn patience(&self) -> Option<Duration> {
        let patience = if self.kind.remote { 1000 } else { 100 };
        (!self.answered || self.fenced).then_some(Duration::from_millis(patience))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.release();
    }
}

/// What can be assumed before the terminal has answered.
fn first_features(kind: &TerminalKind, options: TerminalOptions) -> Features {
    let features = kind.features();
    Features {
        margins: options.margins && features.margins,
        ..features
    }
}

const FALLBACK_SIZE: Size = Size {
    width: 80,
    height: 24,
};

/// Columns and rows of standard output.
pub fn size() -> Size {
    size_of(&io::stdout())
}

fn size_of(tty: &impl AsFd) -> Size {
    match rustix::termios::tcgetwinsize(tty) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => Size::new(size.ws_col, size.ws_row),
        _ => FALLBACK_SIZE,
    }
}

/// Whether a full-screen interface has somewhere to be shown and keys to be read from.
pub fn is_interactive() -> bool {
    io::stdout().is_terminal() && (io::stdin().is_terminal() || File::open("/dev/tty").is_ok())
}

#[cfg(test)]
mod tests;
