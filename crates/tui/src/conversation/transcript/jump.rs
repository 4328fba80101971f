//! Jumps in the conversation: to its ends, and from one prompt, call, error or edit to the next,
//! also to parts that are not in memory.

use super::cell::{Body, Cell};
use super::state::{Position, Purpose, Transcript};
use osier_protocol::{Landmark, PageAt};

impl Transcript {
    pub fn go_top(&mut self) {
        if self.strip().earlier && self.near.earlier {
            self.ask(Purpose::Start, PageAt::Start);
            return;
        }
        if self.strip().earlier {
            self.leave_away();
        }
        self.position = Position::At { cell: 0, row: 0 };
        self.scroll(0);
    }

    pub fn go_bottom(&mut self) {
        self.leave_away();
        self.position = Position::Follow;
        self.below = None;
    }

    /// Scrolls so that the next `landmark` above or below is at the top of the screen. The search
    /// starts at the picked block, else at the top row. An upward search for a block that can be
    /// picked starts at the last row, so that it finds a block on the screen.
    pub fn go_landmark(&mut self, landmark: Landmark, down: bool) {
        let (cell, row) = match self.picked_cell().filter(|_| landmark != Landmark::Prompt) {
            Some(cell) => (cell, 0),
            None => self.top(),
        };
        let is_from_end = !down && landmark != Landmark::Prompt && self.picked_cell().is_none();
        let end = is_from_end.then(|| self.last_seen()).flatten();
        let cells = &self.strip().cells;
        let is = |place: &usize| is_landmark(&cells[*place], landmark);
        let found = if down {
            (cell + 1..cells.len()).find(is)
        } else {
            let last = match end {
                Some(end) => end.cell + 1,
                None if row > self.strip().gap(cell, self.style) => cell + 1,
                None => cell,
            };
            (0..last.min(cells.len())).rev().find(is)
        };
        if let Some(cell) = found {
            self.show_landmark(cell, landmark);
            return;
        }
        let strip = self.strip();
        let beyond = if down {
            strip.last.clone().filter(|_| self.away.is_some())
        } else {
            strip.first.clone().filter(|_| strip.earlier)
        };
        match beyond {
            Some(entry) => {
                let entry_id = entry.to_string();
                let page = if down {
                    PageAt::LandmarkAfter { entry_id, landmark }
                } else {
                    PageAt::LandmarkBefore { entry_id, landmark }
                };
                self.ask(Purpose::Landmark { landmark, down }, page);
            }
            None => self.miss_landmark(landmark, down),
        }
    }

    /// Handles a search without a result: for prompts, goes to the end of the conversation in that
    /// direction; for others, stores a message.
    pub(super) fn miss_landmark(&mut self, landmark: Landmark, down: bool) {
        match landmark {
            Landmark::Prompt if down => self.go_bottom(),
            Landmark::Prompt => self.go_top(),
            landmark => {
                let name = match landmark {
                    Landmark::Prompt | Landmark::Call => "tool call",
                    Landmark::Error => "error",
                    Landmark::Edit => "edit",
                };
                let side = if down { "below" } else { "above" };
                self.missed = Some(format!("no {name} {side}"));
            }
        }
    }

    /// The message about a landmark that was not found since the last call.
    pub fn take_missed(&mut self) -> Option<String> {
        self.missed.take()
    }

    /// Puts a cell at the top, below the prompt that stays there, and picks it unless it is a prompt.
    pub(super) fn show_landmark(&mut self, cell: usize, landmark: Landmark) {
        let style = self.style;
        self.strip_mut().reveal(cell, style);
        self.position = Position::At { cell, row: 0 };
        if landmark == Landmark::Prompt {
            let row = self.strip().gap(cell, self.style);
            self.position = Position::At { cell, row };
        } else {
            self.pick_cell(cell);
        }
        self.scroll(0);
    }
}

pub(super) fn is_landmark(cell: &Cell, landmark: Landmark) -> bool {
    match (&cell.body, landmark) {
        (Body::User(_), Landmark::Prompt) | (Body::Tool(_) | Body::Shell(_), Landmark::Call) => {
            true
        }
        (Body::Tool(tool), Landmark::Error) => tool.has_failed(),
        (Body::Shell(shell), Landmark::Error) => shell.has_failed(),
        (Body::Notice(notice), Landmark::Error) => notice.severity == osier_agent::Severity::Error,
        (Body::Tool(tool), Landmark::Edit) => tool.changed_files(),
        _ => false,
    }
}
