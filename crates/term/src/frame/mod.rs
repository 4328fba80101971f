//! Turns a screen of cells into as few bytes as the terminal allows, with one write per frame.
//!
//! [`FrameWriter`] holds the shown screen and the next one and writes the difference. [`Output`]
//! passes the bytes to a thread that may block on a slow connection. [`FrameClock`] says when the
//! next frame is due.
//!
//! Invariants: nothing is written if nothing changed; a frame is never queued behind another; the
//! encoder's model of the screen always equals the effect of the bytes it sent.

pub(crate) mod bidi;
mod clock;
mod console;
mod encoder;
mod glyph;
mod inline;
pub mod linear;
mod link;
mod motion;
mod output;
mod rendition;
mod scroll;
mod writer;

#[cfg(test)]
mod tests;

pub use clock::{FrameClock, SentFrame};
use encoder::Encoder;
pub use link::Links;
pub(crate) use motion::CLEAR_BELOW;
pub use output::Output;
pub use writer::FrameWriter;

use ratatui::layout::Position;

/// The features that the terminal supports. The default is safe everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Features {
    /// Scroll regions with insert and delete line.
    pub margins: bool,
    /// Left and right margins (DECLRMM with DECSLRM), reported by the terminal.
    pub side_margins: bool,
    /// `CSI n b` repeats the last character; used for ASCII.
    pub repeat: bool,
    /// `CSI n X` erases characters.
    pub erase_characters: bool,
    /// Erased cells get the current background colour.
    pub erase_background: bool,
    /// Frames are enclosed in the control sequences of synchronized output, which terminals without
    /// support ignore.
    pub bracketed: bool,
    /// Synchronized output works. Without it, the cursor is hidden while a large frame is drawn.
    pub synchronized: bool,
    /// OSC 8 hyperlinks.
    pub links: bool,
    /// The terminal shows right-to-left text as it gets it, so that osier puts it in visual order.
    pub reorder: bool,
    /// The font has only the signs of the Linux console.
    pub console_font: bool,
}

impl Default for Features {
    fn default() -> Self {
        Self {
            margins: true,
            side_margins: false,
            repeat: false,
            erase_characters: true,
            erase_background: false,
            bracketed: true,
            synchronized: false,
            links: true,
            reorder: false,
            console_font: false,
        }
    }
}

/// The shape of the text cursor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CursorShape {
    /// The user's default.
    #[default]
    Terminal,
    Block,
    Underline,
    Bar,
}

impl CursorShape {
    /// The parameter of DECSCUSR (`CSI n SP q`).
    pub(crate) const fn parameter(self) -> u16 {
        match self {
            Self::Terminal => 0,
            Self::Block => 2,
            Self::Underline => 4,
            Self::Bar => 6,
        }
    }
}

/// The text cursor after a frame.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cursor {
    pub position: Position,
    pub shape: CursorShape,
}

impl From<Position> for Cursor {
    fn from(position: Position) -> Self {
        Self {
            position,
            shape: CursorShape::default(),
        }
    }
}
