//! The state of the transcript, and how it changes when cells move.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Instant;

use super::cell::{Body, Cell};
use super::cell_style::CellStyle;
use super::strip::Strip;
use crate::actions::{Effect, Outbox, Toast};
use osier_protocol::questions::Question;
use osier_protocol::{Landmark, Op, SubagentInfo};
use osier_settings::{Density, ScreenSettings};
use osier_store::Needle;
use osier_term::KeyPress;
use osier_term::images::PlacedStrip;

/// Notices up to which a session still has its start page.
const START_NOTICES: usize = 8;

/// The position of the viewport.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Position {
    /// The last row is at the bottom.
    #[default]
    Follow,
    /// Row `row` of cell `cell` is at the top.
    At { cell: usize, row: usize },
}

/// The cells and the position in them.
#[derive(Debug, Default)]
pub struct Transcript {
    /// The end of the conversation: new cells are added here.
    pub(super) near: Strip,
    /// A separate part of the conversation; if it is set, the position is in it.
    pub(super) away: Option<Strip>,
    /// The requested page.
    pub(super) asked: Option<PageRequest>,
    /// The number of the last requested page.
    pub(super) requests: u64,
    pub(super) ops: Vec<Op>,
    /// The search text that is highlighted.
    pub(super) needle: Option<Needle>,
    /// The match that the search is at: its entry, and its number from the end of it.
    pub(super) found: Option<(Arc<str>, usize)>,
    /// The selection, made with the mouse or by lines.
    pub(super) selection: Option<Selection>,
    /// The block that is picked.
    pub(super) pick: Option<Pick>,
    /// The landmark that was not found.
    pub(super) missed: Option<String>,
    pub(super) position: Position,
    pub(super) style: CellStyle,
    pub(super) settings: Arc<ScreenSettings>,
    /// Width and height of the last frame; scrolling is counted in its rows.
    pub(super) viewport: (u16, u16),
    /// The assistant's message that streams: its id, and the cell of each block.
    pub(super) open: Option<OpenMessage>,
    /// The newest message that is not from the assistant.
    pub(super) started: Option<Started>,
    /// Cells of the user's commands that have not ended, by id.
    pub(super) shells: HashMap<String, usize>,
    /// The newest call about each terminal that runs: the terminal's id, and the call's.
    pub(super) terminals: HashMap<String, String>,
    /// Terminals of calls that were read from the session file.
    pub(super) restored_terminals: Vec<String>,
    /// The rows that arrived below the viewport.
    pub(super) below: Option<Below>,
    /// Image files that became visible.
    pub(super) wanted: Vec<String>,
    /// Whether a session was shown before; earlier notices belong to all sessions.
    pub(super) opened: bool,
    /// The conversation went back to before its first prompt: it is no new session.
    pub(super) is_before_start: bool,
    /// Keys belong to the transcript, not to the editor.
    pub(super) browsing: bool,
    /// Strips of pictures that the terminal paints over the last frame.
    pub(super) placed: Vec<PlacedStrip>,
    /// The questions about calls that wait. A question can come before its call.
    pub(super) proposals: Vec<Question>,
    pub(super) subagents: Reported,
    /// The question that is open: the conversation ends with its call.
    pub(super) open_question: Option<String>,
    /// The rows that inline mode has printed.
    pub(super) printed: Printed,
}

/// The subagents as they were reported last.
#[derive(Debug, Default)]
pub(super) struct Reported {
    pub(super) infos: Vec<SubagentInfo>,
    /// When a tick counted the time of the running ones last.
    pub(super) counted: Option<Instant>,
    /// The texts typed on their pages, by id.
    pub(super) drafts: BTreeMap<String, String>,
}

#[derive(Debug)]
pub(super) struct OpenMessage {
    pub(super) id: String,
    /// The id of its entry, once it is stored.
    pub(super) entry: Option<Arc<str>>,
    pub(super) blocks: Vec<usize>,
    /// The cell that says that the answer is partial and a retry replaces it.
    pub(super) partial: Option<usize>,
}

/// A complete message that is not stored yet, as far as the transcript knows.
#[derive(Debug)]
pub(super) struct Started {
    pub(super) id: String,
    /// The first cell of the message, or the cell of the call whose result it is.
    pub(super) place: usize,
    pub(super) is_result: bool,
}

/// The use of a page when it arrives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Purpose {
    /// The page extends the loaded part upward.
    Earlier,
    /// The page extends the separate strip downward.
    Later,
    /// The first row of the page goes to the top of the screen.
    Start,
    /// The first landmark in that direction goes to the top of the screen.
    Landmark { landmark: Landmark, down: bool },
    /// Scrolls to a match in this entry, counted from its end.
    Show { entry: Arc<str>, nth: usize },
}

/// A pending request for a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PageRequest {
    pub(super) request: u64,
    pub(super) purpose: Purpose,
}

/// The picked cell, or a code block in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pick {
    pub(super) cell: usize,
    pub(super) code: Option<usize>,
}

/// A place in the strip that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) cell: usize,
    /// Counted without the gap above the cell.
    pub(super) row: usize,
    /// Counted without the indent of the cell.
    pub(super) column: u16,
}

/// The unit by which a selection grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Cell,
    Word,
    /// A line as it was written, however many rows it has.
    Line,
}

/// The selection, from its start to its current end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Selection {
    pub(super) anchor: Place,
    pub(super) head: Place,
    pub(super) unit: Unit,
    /// The mouse has moved since the button was pressed.
    pub(super) is_shown: bool,
}

impl Selection {
    /// The selection after the cells moved by `count`; `None` if one of its cells was removed.
    pub(super) fn shifted(mut self, count: isize) -> Option<Self> {
        self.anchor.cell = self.anchor.cell.checked_add_signed(count)?;
        self.head.cell = self.head.cell.checked_add_signed(count)?;
        Some(self)
    }
}

/// The rows that arrived since the reader left the end.
#[derive(Debug, Default)]
pub(super) struct Below {
    /// The first cell whose rows are not all counted for good, and the number of its rows that are counted or were
    /// seen.
    pub(super) cell: usize,
    pub(super) seen: usize,
    /// Rows counted for good, and all rows as of the last count.
    pub(super) finished: usize,
    pub(super) rows: usize,
}

/// The content of a row of the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    /// The blank row above a cell.
    Gap,
    /// A row of a cell, its gap not counted.
    Row { cell: usize, row: usize },
}

/// The rows that inline mode has printed, and those that it may print next.
#[derive(Debug, Default)]
pub(super) struct Printed {
    /// The first cell that is not printed completely, and the number of its rows that are, with the gap above it.
    pub(super) next: Option<(usize, usize)>,
    /// The end of the rows that do not change any more, and since when it is known.
    pub(super) settled: Option<((usize, usize), Instant)>,
    /// The name of the conversation that was opened below another one.
    pub(super) title: Option<String>,
    pub(super) has_text: bool,
}

impl Printed {
    /// Cells were inserted or removed before the newest ones.
    pub(super) fn shift(&mut self, count: isize) {
        let settled = self.settled.iter_mut().map(|(end, _)| end);
        for place in self.next.iter_mut().chain(settled) {
            place.0 = place.0.saturating_add_signed(count);
        }
    }

    /// A cell was removed.
    pub(super) fn removed(&mut self, cell: usize) {
        let settled = self.settled.iter_mut().map(|(end, _)| end);
        for place in self.next.iter_mut().chain(settled) {
            if place.0 == cell {
                place.1 = 0;
            }
            place.0 -= usize::from(place.0 > cell);
        }
    }
}

impl Transcript {
    pub fn new(settings: &Arc<ScreenSettings>) -> Self {
        let mut transcript = Self {
            viewport: (80, 24),
            ..Self::default()
        };
        transcript.set_settings(settings);
        transcript.set_density(settings.density);
        transcript
    }

    /// Applies the settings. Thinking that was expanded or collapsed with a key stays when other settings change.
    pub fn set_settings(&mut self, settings: &Arc<ScreenSettings>) {
        self.style.linear = settings.screen_reader;
        self.style.turn_summaries = settings.turn_summary;
        let before = std::mem::replace(&mut self.settings, Arc::clone(settings));
        if settings.density != before.density && settings.density != self.style.density {
            self.set_density(settings.density);
        }
        if settings.show_thinking != before.show_thinking {
            self.style.show_thinking = settings.show_thinking;
            self.clear_overrides();
        }
    }

    pub fn is_empty(&self) -> bool {
        self.near.cells.is_empty()
    }

    /// The rows of the notices of a session that has only notices; `None` if it has other entries, or many notices.
    pub fn notice_rows(&mut self, width: u16) -> Option<u16> {
        let (style, cells) = (self.style, &mut self.near.cells);
        let is_notice = |cell: &Cell| matches!(cell.body, Body::Notice(_));
        let is_new = !self.is_before_start && self.away.is_none() && cells.len() <= START_NOTICES;
        if !is_new || !cells.iter().all(is_notice) {
            return None;
        }
        let rows: usize = cells.iter_mut().map(|cell| cell.height(width, style)).sum();
        Some((rows + cells.len().saturating_sub(1)) as u16)
    }

    /// The strip that is read: the position is in it.
    pub(super) fn strip(&self) -> &Strip {
        self.away.as_ref().unwrap_or(&self.near)
    }

    pub(super) fn strip_mut(&mut self) -> &mut Strip {
        self.away.as_mut().unwrap_or(&mut self.near)
    }

    /// Returns to the end of the conversation; pending pages of the separate part are ignored.
    pub(super) fn leave_away(&mut self) {
        if self.away.take().is_some() {
            self.unmark();
        }
        self.asked = None;
    }

    /// Clears the selection and the picked block: their cells have changed.
    pub(super) fn unmark(&mut self) {
        self.selection = None;
        self.pick = None;
    }

    /// Moves the marks by `count` cells.
    pub(super) fn shift_marks(&mut self, count: isize) {
        self.selection = self
            .selection
            .take()
            .and_then(|selection| selection.shifted(count));
        self.pick = self.pick.take().and_then(|mut pick| {
            pick.cell = pick.cell.checked_add_signed(count)?;
            Some(pick)
        });
    }

    /// The first cell that may still change.
    pub(super) fn first_live(&self) -> usize {
        let open = self.open.iter().flat_map(|open| open.blocks.iter());
        let calls = self.near.calls.values().chain(self.shells.values());
        let started = self.started.as_ref().map(|started| &started.place);
        let live = open.chain(calls).chain(started).min();
        live.copied().unwrap_or(self.near.cells.len())
    }

    /// Updates the state after `count` cells were inserted before the newest ones.
    pub(super) fn shift_live(&mut self, count: usize) {
        self.live_places().for_each(|place| *place += count);
        self.shift_below(count.cast_signed());
        self.printed.shift(count.cast_signed());
    }

    /// Updates the state after `count` cells before the newest ones were removed.
    pub(super) fn shift_live_down(&mut self, count: usize) {
        self.live_places().for_each(|place| *place -= count);
        self.shift_below(-count.cast_signed());
        self.printed.shift(-count.cast_signed());
    }

    fn live_places(&mut self) -> impl Iterator<Item = &mut usize> {
        let open = self.open.iter_mut().flat_map(|open| open.blocks.iter_mut());
        let started = self.started.iter_mut().map(|started| &mut started.place);
        open.chain(self.shells.values_mut()).chain(started)
    }

    /// Lays pictures out for cells of this size in pixels; without a size, pictures are not shown.
    pub fn set_cell(&mut self, cell: Option<(u16, u16)>) {
        self.style.cell = cell;
    }

    /// The paths of pictures in answers that came into view, as they were written: each once.
    pub fn take_wanted(&mut self) -> Vec<String> {
        std::mem::take(&mut self.wanted)
    }

    /// Shows the picture file `path`, as base64, or the reason why there is none. Returns whether a cell contains the
    /// picture.
    pub fn set_illustration(&mut self, path: &str, read: &Result<String, String>) -> bool {
        let away = self.away.iter_mut().flat_map(|away| away.cells.iter_mut());
        let cells = self.near.cells.iter_mut().chain(away);
        let mut any = false;
        for cell in cells {
            any |= cell.set_illustration(path, read);
        }
        any
    }

    /// Names the key that expands tool calls where one is collapsed.
    pub fn set_expand_key(&mut self, key: Option<KeyPress>) {
        self.style.expand_key = key;
    }

    /// Whether the end is followed.
    pub fn follows(&self) -> bool {
        self.position == Position::Follow
    }

    /// Whether a command of the user has not ended.
    pub fn runs_shell(&self) -> bool {
        !self.shells.is_empty()
    }

    /// Text of the last answer, as the model wrote it.
    pub fn last_answer(&self) -> Option<String> {
        let cells = &self.near.cells;
        let last = cells
            .iter()
            .rposition(|cell| matches!(cell.body, Body::Text(_)))?;
        let first = (0..=last).rev().find(|cell| !cells[*cell].continues)?;
        let text: String = cells[first..=last]
            .iter()
            .map(|cell| match &cell.body {
                Body::Text(markdown) => markdown.source(),
                _ => "",
            })
            .collect();
        Some(text.trim().to_owned())
    }

    pub fn toggle_thinking(&mut self) {
        self.style.show_thinking = !self.style.show_thinking;
        self.clear_overrides();
    }

    /// The next density, which is saved: normal, everything, quiet.
    pub(crate) fn next_density(&mut self, outbox: &mut Outbox) {
        let density = match self.style.density {
            Density::Normal => Density::Everything,
            Density::Everything => Density::Quiet,
            Density::Quiet => Density::Normal,
        };
        self.set_density(density);
        outbox.push(Effect::Remember {
            name: "density",
            value: osier_settings::quoted(density.name()),
        });
        let meaning = match density {
            Density::Quiet => "calls without their output",
            Density::Normal => "the start or the end of each output",
            Density::Everything => "every output completely",
        };
        outbox.push(Toast::info(format!("{}: {meaning}", density.name())));
    }

    fn set_density(&mut self, density: Density) {
        self.style.density = density;
        self.style.show_thinking = self.settings.show_thinking || self.style.expands();
        self.clear_overrides();
    }

    pub(super) fn clear_overrides(&mut self) {
        let away = self.away.iter_mut().flat_map(|away| away.cells.iter_mut());
        for cell in self.near.cells.iter_mut().chain(away) {
            cell.expanded = None;
        }
    }
}
