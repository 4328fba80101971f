//! How a screen of cells becomes bytes: as few of them as the terminal allows, in one write a frame.
//!
//! `FrameWriter` keeps what the terminal shows and what it should show, and writes the difference;
//! `Output` hands the bytes to a thread that may block on a slow line; `FrameClock` says when the next
//! frame is due. What stays true: nothing is written when nothing changed, a frame is never queued
//! behind another, and what the encoder believes to be on the screen is what every byte it has sent
//! puts there.

mod clock;
mod encoder;
pub(super) mod glyph;
mod link;
mod motion;
mod output;
mod pen;
mod writer;

#[cfg(test)]
mod tests;

pub use clock::FrameClock;
pub use encoder::Encoder;
pub use link::{LinkId, Links};
pub use output::Output;
pub use writer::FrameWriter;

use ratatui::layout::Position;

/// What the terminal can be trusted to do. The default is safe everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Features {
    /// Scroll regions with insert and delete line.
    pub margins: bool,
    /// Margins at the left and right too: DECLRMM with DECSLRM, which the terminal has said it knows.
    pub side_margins: bool,
    /// `CSI n b` repeats the last character; used for ASCII.
    pub repeat: bool,
    /// `CSI n X` erases characters.
    pub erase_characters: bool,
    /// Erased cells take the background colour in force.
    pub erase_background: bool,
    /// Frames are put between the brackets of synchronized output: harmless where they are unknown.
    pub bracketed: bool,
    /// Synchronized output is known to work; without it the cursor is hidden while a large frame is drawn.
    pub synchronized: bool,
    /// OSC 8 hyperlinks.
    pub links: bool,
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
        }
    }
}

/// The shape of the text cursor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CursorShape {
    /// As the user has set it.
    #[default]
    Terminal,
    Block,
    Underline,
    Bar,
}

impl CursorShape {
    /// The parameter of DECSCUSR (`CSI n SP q`).
    pub const fn parameter(self) -> u16 {
        match self {
            Self::Terminal => 0,
            Self::Block => 2,
            Self::Underline => 4,
            Self::Bar => 6,
        }
    }
}

/// Where the text cursor stands after a frame.
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
