//! Modal editing and regions, for keymaps such as `vim` and `emacs`. One state machine: it receives
//! an action ([`Edit`]) or a character, changes the text area, and its mode selects the active
//! keymap contexts.
//!
//! It knows no keys. A change is recorded as its inputs, so that `.` can repeat it. After every
//! input the cursor is on a grapheme cluster, and one change is one undo step.

mod cluster;
mod emacs;
mod insert;
mod motion;
mod object;
mod operate;
mod register;
mod search;
mod step;
mod table;
mod visual;

use std::collections::BTreeMap;

use self::motion::Find;
use self::register::Registers;
use self::search::{Search, SearchPrompt};
use super::TextArea;
use super::buffer::{Fragment, Position};

pub use self::table::{
    Case, EDITS, Edit, EditInfo, InsertAt, LocalEdit, Move, Object, Operator, RegionEdit,
};

/// The editing mode.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mode {
    #[default]
    Insert,
    Normal,
    Visual,
    VisualLine,
}

impl Mode {
    fn is_visual(self) -> bool {
        matches!(self, Self::Visual | Self::VisualLine)
    }
}

/// The result of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Done,
    /// The action had no effect; the key may have another use.
    Unused,
}

/// A request to the application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditorRequest {
    /// Copy this text to the clipboard.
    Copy(String),
    /// Pass the clipboard text to [`Modal::clipboard`].
    Paste,
}

/// A part of a recorded change.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Input {
    Edit(Edit),
    Char(char),
    Digit(char),
    Text(Fragment),
    /// The size of the selection: lines, or lines and the clusters in the last one.
    Extent {
        lines: usize,
        clusters: Option<usize>,
    },
}

/// An operator that expects a motion or a text object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Pending {
    operator: Operator,
    count: Option<usize>,
}

/// The current insertion.
#[derive(Debug, Clone, Copy)]
struct Insertion {
    start: Position,
    times: usize,
    /// Each repetition starts a line.
    lines: bool,
}

/// The state machine.
#[derive(Debug, Clone, Default)]
pub struct Modal {
    /// Whether the keymap has modes. Without them, only regions are available.
    modes: bool,
    mode: Mode,
    count: Option<usize>,
    /// The count is a numeric argument without modes, where digits are otherwise text.
    universal: bool,
    /// How often a numeric argument was multiplied by four.
    fours: u32,
    pending: Option<Pending>,
    /// The action that waits for a character.
    awaiting: Option<Edit>,
    prompt: Option<SearchPrompt>,
    register: Option<char>,
    registers: Registers,
    /// The other end of the selection or region.
    anchor: Option<Position>,
    /// The column that vertical motions aim at.
    column: Option<usize>,
    find: Option<Find>,
    search: Search,
    marks: BTreeMap<char, Position>,
    insertion: Option<Insertion>,
    recording: Vec<Input>,
    last_change: Vec<Input>,
    changed: bool,
    replaying: bool,
    requests: Vec<EditorRequest>,
    /// A put that waits for the clipboard: whether after the cursor, and how often.
    clipboard_put: Option<(bool, usize)>,
    /// The last selection: mode, anchor, cursor and column.
    last_selection: Option<(Mode, Position, Position, Option<usize>)>,
}

impl Modal {
    /// Creates the state machine. With modes it starts in insert mode.
    pub fn new(modes: bool) -> Self {
        Self {
            modes,
            ..Self::default()
        }
    }

    pub fn mode(&self) -> Mode {
        self.mode
    }

    pub fn has_modes(&self) -> bool {
        self.modes
    }

    /// Whether typed characters are text.
    pub fn inserts(&self) -> bool {
        self.mode == Mode::Insert
    }

    /// The mode with the pending command, or the search being typed.
    pub fn label(&self) -> Option<String> {
        if let Some(prompt) = &self.prompt {
            let direction = if prompt.back { '?' } else { '/' };
            return Some(format!("{direction}{}", prompt.typed));
        }
        if !self.modes {
            return self.times().map(|count| format!("{count} times"));
        }
        let mode = match self.mode {
            Mode::Insert => "insert",
            Mode::Normal => "normal",
            Mode::Visual => "visual",
            Mode::VisualLine => "visual line",
        };
        let operator = self.pending.map(|pending| Edit::Operator(pending.operator));
        let operator = operator.map_or("", Edit::name);
        let count = self.total().map(|count| count.to_string());
        let mut parts = vec![mode, operator, count.as_deref().unwrap_or_default()];
        parts.retain(|part| !part.is_empty());
        Some(parts.join(" "))
    }

    /// Keymap contexts of the mode, innermost first.
    pub fn contexts(&self) -> &'static [&'static str] {
        match self.mode {
            Mode::Insert => &["insert", "editor", "global"],
            Mode::Normal if self.pending.is_some() => &["operator", "normal", "global"],
            Mode::Normal => &["normal", "global"],
            Mode::Visual | Mode::VisualLine => &["visual", "normal", "global"],
        }
    }

    /// Whether a character is an argument of the pending command, regardless of its bindings.
    pub fn wants(&self, char: char) -> bool {
        self.is_searching()
            || (self.awaiting.is_some() && !char.is_control())
            || (char == '0' && self.count.is_some())
            || (self.universal && char.is_ascii_digit())
    }

    /// Whether a search is being typed.
    pub fn is_searching(&self) -> bool {
        self.prompt.is_some()
    }

    /// Whether a command expects characters.
    pub fn is_awaiting(&self) -> bool {
        self.awaiting.is_some() || self.prompt.is_some()
    }

    pub fn take_requests(&mut self) -> Vec<EditorRequest> {
        std::mem::take(&mut self.requests)
    }

    /// Cancels the pending command and returns to insert mode, after the application replaced the
    /// text.
    pub fn reset(&mut self, area: &mut TextArea) {
        self.cancel();
        self.anchor = None;
        self.mode = Mode::Insert;
        self.insertion = None;
        area.undo.close_group();
    }

    /// Prepares for an edit by the application in insert mode.
    pub fn touch(&mut self, area: &mut TextArea) {
        if self.modes && self.mode == Mode::Insert && self.insertion.is_none() {
            self.begin_insert(area, 1, false);
        }
    }

    /// Records an edit or a cursor movement by the application in insert mode.
    pub fn edited(&mut self, area: &mut TextArea, moved: bool) {
        if let Some(insertion) = &mut self.insertion {
            if moved || area.cursor < insertion.start {
                insertion.start = area.cursor;
            }
            if moved {
                area.undo.open_group();
            }
        }
    }

    /// Receives the clipboard text.
    pub fn clipboard(&mut self, area: &mut TextArea, text: &str) {
        self.registers.set_clipboard(text);
        if let Some((after, times)) = self.clipboard_put.take() {
            self.put(area, after, Some('+'), times);
            self.settle(area);
        }
    }
}

#[cfg(test)]
mod tests;
