//! Modal editing and regions: what a keymap such as `vim` or `emacs` can bind beyond the plain commands. One
//! state machine: a step (`Edit`) or a character goes in, the text area changes, and the mode says which
//! keymap contexts hold next.
//!
//! It knows no keys. What a step did is kept as the inputs it was made of, so that `.` does it again. Whatever
//! comes in, the cursor stands on a cluster of the text, and one change is one step of undo.

mod change;
mod insert;
mod markup;
mod motion;
mod moving;
mod object;
mod operate;
mod region;
mod register;
mod search;
mod sentence;
mod step;
mod table;
mod visual;
mod walk;

use std::collections::BTreeMap;

use self::motion::Find;
use self::register::Registers;
use self::search::Search;
use super::TextArea;
use super::buffer::{Fragment, Position};

pub use self::table::{EDITS, Edit, EditInfo};

/// What keys mean.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mode {
    #[default]
    Insert,
    Normal,
    Visual,
    VisualLine,
}

impl Mode {
    /// Whether something is selected.
    pub fn is_visual(self) -> bool {
        matches!(self, Self::Visual | Self::VisualLine)
    }
}

/// What came of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Done,
    /// There was nothing to do; the key may mean something else.
    Unused,
}

/// What only the world outside can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// Put this on the clipboard.
    Copy(String),
    /// Bring the clipboard's text through `Modal::clipboard`.
    Paste,
}

/// A part of a change, for doing it again.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Input {
    Edit(Edit),
    Char(char),
    Digit(char),
    Text(Fragment),
    /// As much as was selected: lines, or lines and clusters in the last one.
    Extent {
        lines: usize,
        clusters: Option<usize>,
    },
}

/// An operator that waits for what it works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Pending {
    operator: Edit,
    count: Option<usize>,
}

/// A character that has to come next.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Awaiting {
    Find {
        back: bool,
        till: bool,
    },
    Replace,
    Register,
    /// The character up to which is cut.
    Zap,
    SetMark,
    GoMark {
        line: bool,
    },
    /// The text to search, as far as it is typed.
    Search {
        back: bool,
        typed: String,
    },
    /// A search with the cursor going along from where it was.
    Typing {
        back: bool,
        typed: String,
        origin: Position,
    },
}

/// Text is being inserted.
#[derive(Debug, Clone, Copy)]
struct Inserting {
    start: Position,
    times: usize,
    /// Each repetition has a line of its own.
    lines: bool,
}

/// The state machine.
#[derive(Debug, Clone, Default)]
pub struct Modal {
    /// Whether there are modes at all; without, only regions.
    modes: bool,
    mode: Mode,
    count: Option<usize>,
    /// The count is being given without modes, where digits are text.
    universal: bool,
    /// How often four times as many were asked for.
    fours: u32,
    pending: Option<Pending>,
    awaiting: Option<Awaiting>,
    register: Option<char>,
    registers: Registers,
    /// The other end of the selection or region.
    anchor: Option<Position>,
    /// The column that vertical motions aim at.
    column: Option<usize>,
    find: Option<Find>,
    search: Search,
    marks: BTreeMap<char, Position>,
    inserting: Option<Inserting>,
    recording: Vec<Input>,
    last_change: Vec<Input>,
    changed: bool,
    replaying: bool,
    requests: Vec<Request>,
    /// What waits for the clipboard.
    waits: Option<(Edit, usize)>,
    /// What was selected last: how, from where, to where, and the column.
    selected: Option<(Mode, Position, Position, Option<usize>)>,
}

impl Modal {
    /// With modes it begins in insert mode.
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

    /// The name of the mode, or what is typed for a search.
    pub fn label(&self) -> Option<String> {
        if let Some(Awaiting::Search { back, typed } | Awaiting::Typing { back, typed, .. }) =
            &self.awaiting
        {
            let mark = if *back { '?' } else { '/' };
            return Some(format!("{mark}{typed}"));
        }
        let name = match self.mode {
            _ if !self.modes => {
                return self.times().map(|count| format!("{count} times"));
            }
            Mode::Insert => "insert",
            Mode::Normal => "normal",
            Mode::Visual => "visual",
            Mode::VisualLine => "visual line",
        };
        let begun: String = self
            .recording
            .iter()
            .filter_map(|input| match input {
                Input::Digit(digit) if self.mode != Mode::Insert => Some(*digit),
                _ => None,
            })
            .collect();
        let operator = self.pending.map(|pending| pending.operator.info().name);
        let parts = [
            Some(name),
            operator,
            Some(begun.as_str()).filter(|text| !text.is_empty()),
        ];
        Some(parts.into_iter().flatten().collect::<Vec<_>>().join(" "))
    }

    /// Keymap contexts of the mode, the innermost first.
    pub fn contexts(&self) -> &'static [&'static str] {
        match self.mode {
            Mode::Insert => &["insert", "editor", "global"],
            Mode::Normal if self.pending.is_some() => &["operator", "normal", "global"],
            Mode::Normal => &["normal", "global"],
            Mode::Visual | Mode::VisualLine => &["visual", "normal", "global"],
        }
    }

    /// Whether this character is an argument, whatever it is bound to.
    pub fn wants(&self, char: char) -> bool {
        let searches = self.is_searching();
        (self.awaiting.is_some() && (searches || !char.is_control()))
            || (char == '0' && self.count.is_some())
            || (self.universal && char.is_ascii_digit())
    }

    /// Whether a text to search, or a command, is being typed.
    pub fn is_searching(&self) -> bool {
        matches!(
            self.awaiting,
            Some(Awaiting::Search { .. } | Awaiting::Typing { .. })
        )
    }

    pub fn is_awaiting(&self) -> bool {
        self.awaiting.is_some()
    }

    pub fn take_requests(&mut self) -> Vec<Request> {
        std::mem::take(&mut self.requests)
    }

    /// The text was replaced from outside: what was begun is dropped, insert mode stays.
    pub fn reset(&mut self, area: &mut TextArea) {
        self.drop_begun();
        self.anchor = None;
        self.mode = Mode::Insert;
        self.inserting = None;
        area.undo.close_group();
    }

    /// Something else is about to edit the text in insert mode.
    pub fn touch(&mut self, area: &mut TextArea) {
        if self.modes && self.mode == Mode::Insert && self.inserting.is_none() {
            self.begin_insert(area, 1, false);
        }
    }

    /// Something else edited the text, or moved the cursor, in insert mode.
    pub fn edited(&mut self, area: &mut TextArea, moved: bool) {
        if let Some(inserting) = &mut self.inserting {
            if moved || area.cursor < inserting.start {
                inserting.start = area.cursor;
            }
            if moved {
                area.undo.open_group();
            }
        }
    }

    /// The rest of a search: its end, or one character less.
    pub fn search_key(&mut self, area: &mut TextArea, accept: bool) {
        match self.awaiting.take() {
            Some(Awaiting::Search { back, typed }) if accept => {
                self.recording.push(Input::Char('\n'));
                self.search.set(&typed, back);
                self.search_step(area, false);
                self.settle(area);
            }
            Some(Awaiting::Search { back, mut typed }) => {
                if typed.pop().is_some() {
                    self.awaiting = Some(Awaiting::Search { back, typed });
                } else {
                    self.drop_begun();
                }
            }
            Some(Awaiting::Typing {
                typed,
                origin,
                back,
            }) if !accept => {
                let mut typed = typed;
                typed.pop();
                area.set_cursor(origin);
                self.search_typed(area, typed, back, origin);
            }
            _ => {}
        }
    }

    /// Leaves a search that is being typed; the cursor goes back to where it was.
    pub fn leave_search(&mut self, area: &mut TextArea) {
        if let Some(Awaiting::Typing { origin, .. }) = self.awaiting.take() {
            area.set_cursor(origin);
        }
        self.drop_begun();
    }

    /// The clipboard's text has come.
    pub fn clipboard(&mut self, area: &mut TextArea, text: &str) {
        self.registers.set_clipboard(text);
        if let Some((edit, times)) = self.waits.take() {
            self.put(area, edit, Some('+'), times);
            self.settle(area);
        }
    }
}

#[cfg(test)]
mod tests;
