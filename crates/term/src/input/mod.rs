//! Terminal input: keys, pastes, the mouse, and replies to queries.
//!
//! `Decoder` is pure: it turns bytes into the same events however the bytes are split. It
//! recognizes replies anywhere and never types them as text. `Reader` is the thread that feeds
//! it.

mod decoder;
mod key;
mod reader;
mod reply;
mod sequence;

pub(crate) use decoder::{Decoder, PendingInput};
pub use key::{KeyCode, KeyModifiers, KeyPress};
pub(crate) use reader::{Reader, Timeouts};
pub use reply::TerminalReply;

/// An event from the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputEvent {
    Key(KeyPress),
    /// Pasted text: line breaks are newlines, control sequences are removed.
    Paste(String),
    Mouse(MouseInput),
    FocusGained,
    FocusLost,
    /// Columns and rows.
    Resize(u16, u16),
    Reply(TerminalReply),
    /// The terminal is gone: nothing follows. A terminal that controls the process also sends SIGHUP.
    Closed,
}

/// A button of the mouse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MouseButton {
    Left,
    Right,
    Middle,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MouseEventKind {
    Down(MouseButton),
    Up(MouseButton),
    Drag(MouseButton),
    Moved,
    ScrollDown,
    ScrollUp,
    ScrollLeft,
    ScrollRight,
}

/// A mouse event at a cell, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MouseInput {
    pub kind: MouseEventKind,
    pub column: u16,
    pub row: u16,
    pub modifiers: KeyModifiers,
}
