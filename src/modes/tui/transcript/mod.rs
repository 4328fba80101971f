//! The conversation as a virtual list: only what is visible is laid out and drawn, so a frame costs the
//! same in a session of any length.
//!
//! The position is either the end, which is followed, or a row of a cell, which stays where it is
//! while the model streams. No total height is ever computed.

mod cell;
mod fold;
mod shell;
mod tool;
mod view;

use std::collections::HashMap;

pub use cell::{Body, Cell, Look};

/// Where the viewport stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Position {
    /// The last row is at the bottom.
    Follow,
    /// Row `row` of cell `cell` is at the top.
    At { cell: usize, row: usize },
}

/// The cells and the position in them.
#[derive(Debug)]
pub struct Transcript {
    cells: Vec<Cell>,
    position: Position,
    look: Look,
    /// Width and height of the last frame; scrolling is counted in its rows.
    viewport: (u16, u16),
    /// The assistant's message that streams: its id, and the cell of each block.
    open: Option<OpenMessage>,
    /// Cells of tool calls that have not ended, by call id.
    calls: HashMap<String, usize>,
    /// Cells of the user's commands that have not ended, by id.
    shells: HashMap<String, usize>,
    /// Cells that appeared below while the reader was elsewhere.
    unseen: usize,
    /// Whether a session was ever shown; what was reported before belongs to all of them.
    opened: bool,
}

#[derive(Debug)]
struct OpenMessage {
    id: String,
    blocks: Vec<usize>,
}

impl Transcript {
    pub fn new(show_thinking: bool) -> Self {
        Self {
            cells: Vec::new(),
            position: Position::Follow,
            look: Look {
                show_thinking,
                expand_tools: false,
            },
            viewport: (80, 24),
            open: None,
            calls: HashMap::new(),
            shells: HashMap::new(),
            unseen: 0,
            opened: false,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Whether the end is followed.
    pub fn follows(&self) -> bool {
        self.position == Position::Follow
    }

    /// Cells that appeared below the viewport since it left the end.
    pub fn unseen(&self) -> usize {
        self.unseen
    }

    /// Whether a command of the user has not ended.
    pub fn runs_shell(&self) -> bool {
        !self.shells.is_empty()
    }

    /// Text of the last answer, as the model wrote it.
    pub fn last_answer(&self) -> Option<String> {
        self.cells.iter().rev().find_map(|cell| match &cell.body {
            Body::Text(markdown) => Some(markdown.source().trim().to_owned()),
            _ => None,
        })
    }

    pub fn toggle_thinking(&mut self) -> bool {
        self.look.show_thinking = !self.look.show_thinking;
        self.clear_overrides();
        self.look.show_thinking
    }

    pub fn toggle_tools(&mut self) -> bool {
        self.look.expand_tools = !self.look.expand_tools;
        self.clear_overrides();
        self.look.expand_tools
    }

    fn clear_overrides(&mut self) {
        for cell in &mut self.cells {
            cell.expanded = None;
        }
    }

    fn push(&mut self, body: Body) -> usize {
        if !self.follows() {
            self.unseen += 1;
        }
        self.cells.push(Cell::new(body));
        self.cells.len() - 1
    }
}

/// Blank rows above a cell.
fn gap(cell: usize) -> usize {
    usize::from(cell > 0)
}
