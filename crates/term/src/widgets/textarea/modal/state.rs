//! The state machine, and the functions for the application.

use std::collections::BTreeMap;
use std::ops::Range;

use super::super::TextArea;
use super::super::buffer::{Fragment, Position};
use super::motion::{Cursor, Find, Operator};
use super::object::TextRange;
use super::register::Registers;
use super::search::Search;
use super::text::{after, line_end};

/// The highest count.
pub(super) const MAX_COUNT: usize = 9_999;

/// An action of modal editing, by its name in keymaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Edit(pub(super) &'static str);

impl Edit {
    pub const NORMAL_MODE: Self = Self("normal_mode");
    pub const UP: Self = Self("go_up");
    pub const DOWN: Self = Self("go_down");
    pub const DIGIT: Self = Self("digit");
    pub const FIND_TEXT: Self = Self("find_text");
    pub const FIND_TEXT_BACK: Self = Self("find_text_back");
    pub const COPY_REGION: Self = Self("copy_region");
    pub const DROP_MARK: Self = Self("drop_mark");

    /// The name of the mode in keymaps.
    pub fn name(self) -> &'static str {
        self.0
    }
}

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
    pub(super) fn is_visual(self) -> bool {
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

/// A command: the one being typed, or the last change for `.`.
#[derive(Debug, Clone, Default)]
pub(super) struct Command {
    pub(super) edit: Option<Edit>,
    pub(super) operator: Option<Operator>,
    pub(super) operator_name: &'static str,
    pub(super) count: Option<usize>,
    /// The count before the operator.
    pub(super) multiplier: Option<usize>,
    pub(super) register: Option<char>,
    /// The character that the action waited for.
    pub(super) argument: Option<char>,
    /// A jump deletes into the numbered registers.
    pub(super) jumps: bool,
    /// The search that the operator covered.
    pub(super) search: Option<Search>,
    pub(super) extent: Option<Extent>,
    /// The text that was inserted after it.
    pub(super) typed: Fragment,
}

impl Command {
    /// Whether nothing was typed before the action.
    pub(super) fn is_bare(&self) -> bool {
        self.operator.is_none() && self.count.is_none() && self.register.is_none()
    }
}

/// The size of a selection: lines, and the clusters in the last one unless it is complete.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extent {
    pub(super) lines: usize,
    pub(super) clusters: Option<usize>,
}

/// A search that is being typed.
#[derive(Debug, Clone)]
pub(super) struct SearchPrompt {
    pub(super) back: bool,
    pub(super) typed: String,
    /// Where an incremental search started. Incremental search moves the cursor during typing.
    pub(super) origin: Option<Position>,
}

/// The current insertion.
#[derive(Debug, Clone)]
pub(super) struct Insertion {
    pub(super) start: Position,
    pub(super) times: usize,
    /// Each repetition starts a line.
    pub(super) lines: bool,
    pub(super) command: Command,
}

/// The state machine.
#[derive(Debug, Clone, Default)]
pub struct Modal {
    /// Whether the keymap has modes. Without them, only regions are available.
    pub(super) modes: bool,
    pub(super) mode: Mode,
    pub(super) command: Command,
    /// The count is a numeric argument without modes, where digits are otherwise text.
    pub(super) universal: bool,
    /// How often a numeric argument was multiplied by four.
    pub(super) fours: u32,
    /// Whether the action waits for a character.
    pub(super) awaiting: bool,
    pub(super) prompt: Option<SearchPrompt>,
    pub(super) registers: Registers,
    /// The other end of the selection or region.
    pub(super) anchor: Option<Position>,
    /// The column that vertical motions aim at.
    pub(super) column: Option<usize>,
    pub(super) find: Option<Find>,
    pub(super) search: Search,
    pub(super) marks: BTreeMap<char, Position>,
    pub(super) insertion: Option<Insertion>,
    pub(super) last_change: Option<Command>,
    pub(super) changed: bool,
    /// The action had no effect.
    pub(super) unused: bool,
    pub(super) requests: Vec<EditorRequest>,
    /// A put that waits for the clipboard, and whether it goes after the cursor.
    pub(super) clipboard_put: Option<(Command, bool)>,
    /// The last selection: mode, anchor, cursor and column.
    pub(super) last_selection: Option<(Mode, Position, Position, Option<usize>)>,
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
            return self.argument_times().map(|count| format!("{count} times"));
        }
        let mode = match self.mode {
            Mode::Insert => "insert",
            Mode::Normal => "normal",
            Mode::Visual => "visual",
            Mode::VisualLine => "visual line",
        };
        let operator = self.command.operator_name;
        let count = self.count().map(|count| count.to_string());
        let mut parts = vec![mode, operator, count.as_deref().unwrap_or_default()];
        parts.retain(|part| !part.is_empty());
        Some(parts.join(" "))
    }

    /// Keymap contexts of the mode, innermost first.
    pub fn contexts(&self) -> &'static [&'static str] {
        match self.mode {
            Mode::Insert => &["insert", "editor", "global"],
            Mode::Normal if self.command.operator.is_some() => &["operator", "normal", "global"],
            Mode::Normal => &["normal", "global"],
            Mode::Visual | Mode::VisualLine => &["visual", "normal", "global"],
        }
    }

    /// Whether a character is an argument of the pending command, regardless of its bindings.
    pub fn wants(&self, char: char) -> bool {
        self.is_searching()
            || (self.awaiting && !char.is_control())
            || (char == '0' && self.command.count.is_some())
            || (self.universal && char.is_ascii_digit())
    }

    /// Whether a search is being typed.
    pub fn is_searching(&self) -> bool {
        self.prompt.is_some()
    }

    /// Whether a command expects characters.
    pub fn is_awaiting(&self) -> bool {
        self.awaiting || self.prompt.is_some()
    }

    pub fn take_requests(&mut self) -> Vec<EditorRequest> {
        std::mem::take(&mut self.requests)
    }

    /// The selection or region; `end` is after it.
    pub fn selection(&self, area: &TextArea) -> Option<Range<Position>> {
        let range = self.marked(area)?;
        Some(area.positions(range.bytes()))
    }

    /// The selection of a visual mode.
    pub(super) fn selected(&self, area: &TextArea) -> Option<TextRange> {
        self.marked(area).filter(|_| self.mode.is_visual())
    }

    fn marked(&self, area: &TextArea) -> Option<TextRange> {
        let (anchor, at) = (area.offset(self.anchor?), area.at());
        let (from, to) = (anchor.min(at), anchor.max(at));
        let text = area.marked_text();
        Some(match self.mode {
            Mode::VisualLine => TextRange::lines(&text, from, to),
            Mode::Visual => {
                let (end, line_end) = (after(&text, to), line_end(&text, to));
                // After `$`, and in an empty line, the selection includes the line break.
                let with_end = end == to || (self.column == Some(usize::MAX) && end == line_end);
                let with_end = with_end && to == at && end < text.len();
                TextRange::from(from..end + usize::from(with_end))
            }
            Mode::Insert | Mode::Normal => TextRange::from(from..to),
        })
    }

    /// The product of the counts before and after an operator.
    pub(super) fn count(&self) -> Option<usize> {
        let Command {
            count, multiplier, ..
        } = self.command;
        let product = count.or(multiplier)? * count.and(multiplier).unwrap_or(1);
        Some(product.clamp(1, MAX_COUNT))
    }

    pub(super) fn times(&self) -> usize {
        self.count().unwrap_or(1)
    }

    /// The cursor in `text` with the count and the operator.
    pub(super) fn cursor<'a>(&self, area: &TextArea, text: &'a str) -> Cursor<'a> {
        Cursor {
            text,
            at: area.at(),
            count: self.count(),
            operator: self.command.operator,
            around: false,
        }
    }

    pub(super) fn cancel(&mut self) {
        self.universal = false;
        self.awaiting = false;
        self.prompt = None;
        self.command = Command::default();
    }
}
