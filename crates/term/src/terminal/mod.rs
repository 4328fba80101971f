//! Controls the terminal: raw mode, the alternate screen and other modes. Restores it on every
//! exit: return, panic, signal, suspend or an external editor.
//!
//! [`Terminal`] owns both ends. It sends its queries in one batch and does not wait for the
//! replies. They arrive as events, and [`Terminal::on_reply`] turns them into modes and features.

pub mod clipboard;
mod death;
mod desktop;
mod kind;
mod modes;
mod query;
mod restore;
mod signals;

use std::fs::File;
use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ratatui::layout::Size;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

pub use death::restore_without_waiting;
pub use desktop::Progress;
pub use kind::{NotificationProtocol, TerminalHost, TerminalKind};
pub use modes::{Alternate, QUERY_CELL_SIZE, TerminalOptions};
pub use query::query;
pub use signals::{Signal, Signals};

use self::modes::KeyboardProtocol;
use self::restore::{Replies, RestoreGuard};
use crate::frame::{Features, Output};
use crate::input::{InputEvent, Reader, TerminalReply, Timeouts};

/// Why the terminal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TerminalError {
    #[error("neither standard input nor `/dev/tty` is a terminal")]
    NoInput(#[source] io::Error),
    #[error("the terminal does not accept raw mode")]
    Raw(#[source] io::Error),
    #[error("cannot suspend: no shell started osier, so nothing could continue it")]
    NoShell,
    #[error("the terminal cannot be read or written")]
    Io(#[from] io::Error),
}

/// Parts of XTVERSION names of terminals that repeat characters and erase with the background
/// colour.
const CAPABLE: [&str; 10] = [
    "kitty", "ghostty", "wezterm", "foot", "xterm", "tmux", "iterm2", "vte", "contour", "rio",
];

/// How long to wait for the last output before the screen is released.
const FLUSH_TIMEOUT: Duration = Duration::from_millis(300);
/// A terminal that has not replied for this long never does.
const NO_REPLY: Duration = Duration::from_secs(2);
/// How long to wait for the last reply when the screen is released: a multiple of the round trip, in these limits.
const LAST_REPLY: (Duration, Duration) = (Duration::from_millis(300), Duration::from_millis(800));
/// How long to wait for the last reply of a terminal on this machine that has not replied yet.
const LOCAL_REPLY: Duration = Duration::from_millis(400);

/// Control of the terminal, released when dropped.
#[derive(Debug)]
pub struct Terminal {
    kind: TerminalKind,
    options: TerminalOptions,
    keyboard: KeyboardProtocol,
    features: Features,
    /// Whether the initial queries are answered.
    answered: bool,
    /// Whether the reply to a frame's fence is pending.
    fenced: bool,
    /// When the pending query was sent.
    asked: Instant,
    /// How long the last reply took.
    round_trip: Duration,
    /// Rows of osier above the cursor, on a screen that it shares with the text of the terminal.
    above: u16,
    restore: Arc<RestoreGuard>,
    output: Output,
    reader: Option<Reader>,
    events: UnboundedSender<InputEvent>,
}

impl Terminal {
    /// Enters full-screen mode on the terminal of this process and sends the queries. The channel returns the input
    /// events, the last one when the terminal is gone.
    pub fn enter(
        kind: TerminalKind,
        options: TerminalOptions,
    ) -> Result<(Self, UnboundedReceiver<InputEvent>), TerminalError> {
        let input = match io::stdin() {
            stdin if stdin.is_terminal() => stdin.as_fd().try_clone_to_owned(),
            // Standard input is a pipe with a prompt; keys still come from the terminal.
            _ => File::open("/dev/tty").map(OwnedFd::from),
        };
        let input = input.map_err(TerminalError::NoInput)?;
        let output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        let entered = Self::enter_on(input, output, kind, options)?;
        restore::hook_panics(&entered.0.restore);
        death::restore_on_death(&entered.0.restore)?;
        Ok(entered)
    }

    /// Like [`Self::enter`], for any terminal and without a panic hook.
    fn enter_on(
        input: OwnedFd,
        output: File,
        kind: TerminalKind,
        options: TerminalOptions,
    ) -> Result<(Self, UnboundedReceiver<InputEvent>), TerminalError> {
        let (events, receiver) = unbounded_channel();
        let restore = Arc::new(RestoreGuard::new(input, output));
        let mut terminal = Self {
            features: initial_features(&kind, options),
            kind,
            options,
            keyboard: KeyboardProtocol::Plain,
            answered: false,
            fenced: false,
            asked: Instant::now(),
            round_trip: Duration::ZERO,
            above: 0,
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

    /// The output for frames.
    pub fn output(&self) -> &Output {
        &self.output
    }

    /// The features known so far.
    pub fn features(&self) -> Features {
        self.features
    }

    /// Whether the initial queries are answered.
    pub fn is_answered(&self) -> bool {
        self.answered
    }

    /// Columns and rows.
    pub fn size(&self) -> Size {
        self.restore
            .output()
            .map_or(FALLBACK_SIZE, |output| size_of(&output))
    }

    /// Width and height of a cell in pixels, if the window size is known in pixels.
    pub fn cell(&self) -> Option<(u16, u16)> {
        let size = rustix::termios::tcgetwinsize(self.restore.output().ok()?).ok()?;
        let width = size.ws_xpixel.checked_div(size.ws_col)?;
        let height = size.ws_ypixel.checked_div(size.ws_row)?;
        (width > 1 && height > 1).then_some((width, height))
    }

    /// Handles a reply. Returns `true` if `features` changed.
    pub fn on_reply(&mut self, reply: &TerminalReply) -> bool {
        let before = self.features;
        match reply {
            TerminalReply::KeyboardFlags(_) => self.set_keyboard(KeyboardProtocol::Kitty),
            TerminalReply::Mode { mode: 2026, state } => {
                self.features.synchronized = matches!(state, 1..=3);
            }
            TerminalReply::Mode { mode: 69, state } => {
                self.features.side_margins = matches!(state, 1..=3) && self.options.margins;
            }
            TerminalReply::Version(name) => {
                self.kind.apply_reported_name(name);
                self.set_bidi(self.options.bidi);
                let name = name.to_ascii_lowercase();
                let modern = CAPABLE.iter().any(|known| name.contains(known));
                self.features.repeat |= modern;
                self.features.erase_background |= modern;
            }
            TerminalReply::DeviceAttributes(_) if !self.answered => {
                self.answered = true;
                self.round_trip = self.asked.elapsed();
                if self.keyboard == KeyboardProtocol::Plain && self.kind.has_strings() {
                    self.set_keyboard(KeyboardProtocol::Xterm);
                }
                self.restore.update(self.leave_bytes(), self.replies());
            }
            TerminalReply::DarkScheme(_) => self.output.send(modes::COLOURS.into()),
            TerminalReply::DeviceAttributes(_) => {
                self.fenced = false;
                self.round_trip = self.asked.elapsed();
                self.restore.set_replies(self.replies());
            }
            _ => {}
        }
        self.features != before
    }

    /// Ends a frame with a query, whose reply confirms that the terminal processed the frame.
    /// Returns `false` if the terminal is not known to reply.
    pub fn fence(&mut self, frame: &mut Vec<u8>) -> bool {
        if !self.answered {
            return false;
        }
        frame.extend_from_slice(modes::FENCE);
        self.fenced = true;
        self.asked = Instant::now();
        self.restore.set_replies(self.replies());
        true
    }

    /// Sets whether right-to-left text is put in visual order. Returns `true` if `features` changed.
    pub fn set_bidi(&mut self, bidi: Option<bool>) -> bool {
        self.options.bidi = bidi;
        let reorder = bidi.unwrap_or(!self.kind.reorders);
        std::mem::replace(&mut self.features.reorder, reorder) != reorder
    }

    /// Switches to the alternate screen or back; returns whether the other screen keeps its content.
    pub fn switch_screen(&mut self, alternate: Alternate) -> bool {
        let before = std::mem::replace(&mut self.options.alternate, alternate);
        if before.is_on() != alternate.is_on() {
            let above = self.above;
            let switch = modes::switch_screen(&self.kind, self.options, self.keyboard, above);
            self.output.send(switch.into());
        }
        if before != alternate {
            self.restore.update(self.leave_bytes(), self.replies());
        }
        !modes::has_one_screen(&self.kind)
    }

    /// Remembers how many rows of osier are above the cursor, to remove them in the end.
    pub fn set_rows_above(&mut self, rows: u16) {
        if std::mem::replace(&mut self.above, rows) != rows
            && self.options.alternate != Alternate::Always
        {
            self.restore.update(self.leave_bytes(), self.replies());
        }
    }

    /// Turns mouse reports on or off.
    pub fn set_mouse(&mut self, mouse: bool) {
        if self.options.mouse == mouse {
            return;
        }
        self.options.mouse = mouse;
        let switch = modes::mouse(&self.kind, self.options);
        self.output.send(switch.into());
        self.restore.update(self.leave_bytes(), self.replies());
    }

    /// Releases the terminal to the shell and stops all processes of the job. [`Signal::Continue`] follows when the job
    /// continues.
    pub fn suspend(&mut self) -> Result<(), TerminalError> {
        if !death::has_job_control() {
            return Err(TerminalError::NoShell);
        }
        self.release();
        death::was_stopped();
        rustix::process::kill_current_process_group(rustix::process::Signal::TSTP)
            .map_err(io::Error::from)?;
        // The stop reaches this thread a little later; nothing may be written before.
        std::thread::sleep(Duration::from_millis(50));
        if death::was_stopped() {
            Ok(())
        } else {
            self.resume()
        }
    }

    /// Whether the screen may be drawn: it is not released to the shell or to another program.
    pub fn is_active(&self) -> bool {
        self.restore.is_active()
    }

    /// Releases the terminal while `work` runs, for example an editor. Repaint afterwards.
    pub fn with_released<T>(&mut self, work: impl FnOnce() -> T) -> Result<T, TerminalError> {
        self.release();
        let result = work();
        self.resume()?;
        Ok(result)
    }

    /// Releases the terminal: nothing is read or written until `resume`. Idempotent.
    pub(crate) fn release(&mut self) {
        if let Some(reader) = self.reader.take() {
            reader.stop();
        }
        self.output.flush_blocking(FLUSH_TIMEOUT);
        self.restore.restore();
        self.fenced = false;
        if self.options.alternate != Alternate::Always {
            // The next rows begin at the cursor, wherever that will be.
            (self.options.alternate, self.above) = (Alternate::Off, 0);
        }
    }

    /// Enters full-screen mode again after `release` or an external stop. Repaint afterwards.
    pub fn resume(&mut self) -> Result<(), TerminalError> {
        // After a stop without a notice (SIGSTOP) the modes are still set, and some would be set twice.
        if self.restore.is_active() && !death::was_stopped() {
            self.output.send(self.leave_bytes().into_bytes());
        }
        self.acquire()
    }

    /// Releases the terminal for good. Returns the messages of panics on background threads, which
    /// could not be printed before.
    pub fn leave(mut self) -> Vec<String> {
        self.release();
        self.restore.take_panics()
    }

    fn acquire(&mut self) -> Result<(), TerminalError> {
        self.restore
            .enter_raw(self.leave_bytes())
            .map_err(TerminalError::Raw)?;
        let mut bytes = modes::enter(&self.kind, self.options, self.keyboard);
        if !self.answered {
            bytes.push_str(modes::probes(&self.kind));
            self.asked = Instant::now();
        }
        self.restore.update(self.leave_bytes(), self.replies());
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

    fn set_keyboard(&mut self, keyboard: KeyboardProtocol) {
        if !self.options.keyboard || self.keyboard == keyboard {
            return;
        }
        self.keyboard = keyboard;
        self.restore.update(self.leave_bytes(), self.replies());
        self.output.send(keyboard.enter().into());
    }

    fn leave_bytes(&self) -> String {
        modes::leave(&self.kind, self.options, self.keyboard, self.above)
    }

    /// The replies to wait for when the screen is released. Mouse reports end with them, too.
    fn replies(&self) -> Replies {
        let (least, most) = LAST_REPLY;
        Replies {
            pending: usize::from(!self.answered || self.fenced),
            asks: self.answered,
            timeout: match (self.answered, self.kind.remote) {
                (true, _) => (self.round_trip * 4).clamp(least, most),
                (false, true) => most,
                (false, false) => LOCAL_REPLY,
            },
            give_up: (!self.answered).then_some(self.asked + NO_REPLY),
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.release();
    }
}

/// The features assumed before the terminal replies.
fn initial_features(kind: &TerminalKind, options: TerminalOptions) -> Features {
    let features = kind.features();
    Features {
        margins: options.margins && features.margins,
        reorder: options.bidi.unwrap_or(features.reorder),
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

/// Limits of the size that is drawn, far above those of a wall of displays: a terminal can report 65535 x 65535.
const MAX_COLUMNS: u16 = 2_000;
const MAX_CELLS: u32 = 400_000;

fn size_of(tty: &impl AsFd) -> Size {
    match rustix::termios::tcgetwinsize(tty) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => drawable(size.ws_col, size.ws_row),
        _ => FALLBACK_SIZE,
    }
}

/// The part of a terminal of this size that is drawn.
fn drawable(columns: u16, rows: u16) -> Size {
    let columns = columns.min(MAX_COLUMNS);
    let max_rows = u16::try_from(MAX_CELLS / u32::from(columns)).unwrap_or(u16::MAX);
    Size::new(columns, rows.min(max_rows))
}

#[cfg(test)]
mod tests;
