//! What the terminal sends: keys, pastes, the mouse, and its replies to our questions.
//!
//! `Decoder` is pure: bytes in, events out, the same events however the bytes are cut into chunks. A reply
//! is recognised wherever it comes and is never typed as text. `Reader` is the thread that feeds it.

mod decoder;
mod key;
mod reader;
mod reply;
mod sequence;

pub use crossterm::event::{KeyCode, KeyModifiers, MouseButton, MouseEventKind};
pub use decoder::{Decoder, Waiting};
pub use key::KeyPress;
pub use reader::{Reader, Timeouts};
pub use reply::TerminalReply;

/// One thing that came from the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputEvent {
    Key(KeyPress),
    /// Pasted text: line ends are newlines, control sequences are removed.
    Paste(String),
    Mouse(MouseInput),
    FocusGained,
    FocusLost,
    /// Columns and rows.
    Resize(u16, u16),
    Reply(TerminalReply),
}

/// A mouse event at a cell, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MouseInput {
    pub kind: MouseEventKind,
    pub column: u16,
    pub row: u16,
    pub modifiers: KeyModifiers,
}
