//! The conversation as a virtual list: only what is visible is laid out and drawn, so a frame costs the
//! same in a session of any length.
//!
//! The position is either the end, which is followed, or a row of a cell, which stays where it is
//! while the model streams. No total height is ever computed. Of a long conversation only the end and the
//! place that is read are here (`pages`).

mod browse;
mod cell;
mod events;
mod find;
mod illustration;
mod jump;
mod output;
mod pages;
mod pick;
mod selection;
mod shell;
mod strip;
mod task;
mod tool;
mod turn;
mod unseen;
mod view;

use std::collections::HashMap;
use std::sync::Arc;

use pages::PageRequest;
use pick::Pick;
use selection::Selection;
use strip::Strip;
use unseen::Below;

use osier_protocol::Op;
use osier_store::Needle;
use osier_term::images::PlacedStrip;
use osier_term::input::KeyPress;

pub(crate) use cell::{Body, CellStyle};
pub(crate) use output::{Painted, tail_rows};
pub(crate) use selection::Unit;

/// Notices up to which a session still has its start page.
const START_NOTICES: usize = 8;

/// The position of the viewport.
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
    /// The end of the conversation: what happens is added here.
    near: Strip,
    /// A separate part of the conversation; if it is set, the position is in it.
    away: Option<Strip>,
    /// The requested page.
    asked: Option<PageRequest>,
    /// The number of the last requested page.
    requests: u64,
    ops: Vec<Op>,
    /// The search text that is highlighted.
    needle: Option<Needle>,
    /// The match that the search is at: its entry, and its number from the end of it.
    found: Option<(Arc<str>, usize)>,
    /// What is selected, by mouse or by lines.
    selection: Option<Selection>,
    /// The block that is picked.
    pick: Option<Pick>,
    /// The landmark that was not found.
    missed: Option<String>,
    position: Position,
    style: CellStyle,
    /// Width and height of the last frame; scrolling is counted in its rows.
    viewport: (u16, u16),
    /// The assistant's message that streams: its id, and the cell of each block.
    open: Option<OpenMessage>,
    /// The newest message that is not from the assistant.
    started: Option<Started>,
    /// Cells of the user's commands that have not ended, by id.
    shells: HashMap<String, usize>,
    /// The newest call about each terminal that runs: the terminal's id, and the call's.
    terminals: HashMap<String, String>,
    /// Terminals of calls that were read from the session file.
    restored_terminals: Vec<String>,
    /// What arrived below the visible part.
    below: Option<Below>,
    /// Image files that became visible.
    wanted: Vec<String>,
    /// Whether a session was shown before; earlier notices belong to all sessions.
    opened: bool,
    /// Keys belong to the transcript, not to the editor.
    browsing: bool,
    /// Strips of pictures that the terminal paints over the last frame.
    placed: Vec<PlacedStrip>,
}

#[derive(Debug)]
struct OpenMessage {
    id: String,
    /// The id of its entry, once it is stored.
    entry: Option<Arc<str>>,
    blocks: Vec<usize>,
    /// The cell that says that the answer is partial and a retry replaces it.
    partial: Option<usize>,
}

/// A complete message that is not stored yet, as far as the transcript knows.
#[derive(Debug)]
struct Started {
    id: String,
    /// Its first cell, or that of the call it is the result of.
    place: usize,
    is_result: bool,
}

impl Transcript {
    pub fn new(show_thinking: bool) -> Self {
        Self {
            near: Strip::default(),
            away: None,
            asked: None,
            requests: 0,
            ops: Vec::new(),
            needle: None,
            found: None,
            selection: None,
            pick: None,
            missed: None,
            position: Position::Follow,
            style: CellStyle {
                show_thinking,
                turn_summaries: true,
                expand_tools: false,
                cell: None,
                expand_key: None,
                linear: false,
            },
            viewport: (80, 24),
            open: None,
            started: None,
            shells: HashMap::new(),
            terminals: HashMap::new(),
            restored_terminals: Vec::new(),
            below: None,
            wanted: Vec::new(),
            opened: false,
            browsing: false,
            placed: Vec::new(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.near.cells.is_empty()
    }

    /// The rows of the notices of a session that has nothing else; `None` if it has, or if they are many.
    pub fn notice_rows(&mut self, width: u16) -> Option<u16> {
        let (style, cells) = (self.style, &mut self.near.cells);
        let is_notice = |cell: &cell::Cell| matches!(cell.body, Body::Notice(_));
        if cells.len() > START_NOTICES || self.away.is_some() || !cells.iter().all(is_notice) {
            return None;
        }
        let rows: usize = cells.iter_mut().map(|cell| cell.height(width, style)).sum();
        Some((rows + cells.len().saturating_sub(1)) as u16)
    }

    /// The cells that are read: the position is in them.
    fn strip(&self) -> &Strip {
        self.away.as_ref().unwrap_or(&self.near)
    }

    fn strip_mut(&mut self) -> &mut Strip {
        self.away.as_mut().unwrap_or(&mut self.near)
    }

    /// Returns to the end of the conversation; pending pages of the separate part are ignored.
    fn leave_away(&mut self) {
        if self.away.take().is_some() {
            self.unmark();
        }
        self.asked = None;
    }

    /// Forgets what is selected and picked: its cells are others now.
    fn unmark(&mut self) {
        self.selection = None;
        self.pick = None;
    }

    /// The cells that are read are others by `count` places.
    fn shift_marks(&mut self, count: isize) {
        self.selection = self
            .selection
            .take()
            .and_then(|selection| selection.shifted(count));
        self.pick = self.pick.take().and_then(|mut pick| {
            pick.cell = pick.cell.checked_add_signed(count)?;
            Some(pick)
        });
    }

    /// The first cell that something may still change.
    fn first_live(&self) -> usize {
        let open = self.open.iter().flat_map(|open| open.blocks.iter());
        let calls = self.near.calls.values().chain(self.shells.values());
        let started = self.started.as_ref().map(|started| &started.place);
        let live = open.chain(calls).chain(started).min();
        live.copied().unwrap_or(self.near.cells.len())
    }

    /// Cells were put in front of the newest ones.
    fn shift_live(&mut self, count: usize) {
        self.live_places().for_each(|place| *place += count);
        self.shift_below(count.cast_signed());
    }

    /// Cells before the newest ones were taken away.
    fn shift_live_down(&mut self, count: usize) {
        self.live_places().for_each(|place| *place -= count);
        self.shift_below(-count.cast_signed());
    }

    fn live_places(&mut self) -> impl Iterator<Item = &mut usize> {
        let open = self.open.iter_mut().flat_map(|open| open.blocks.iter_mut());
        let started = self.started.iter_mut().map(|started| &mut started.place);
        open.chain(self.shells.values_mut()).chain(started)
    }

    /// Lays pictures out for cells of so many pixels; not at all without.
    pub fn set_cell(&mut self, cell: Option<(u16, u16)>) {
        self.style.cell = cell;
    }

    /// The paths of pictures in answers that came into view, as they were written: each once.
    pub fn take_wanted(&mut self) -> Vec<String> {
        std::mem::take(&mut self.wanted)
    }

    /// Takes the file of such a picture in base64, or why there is none; whether a cell shows it.
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

    /// Lays everything out to be read aloud.
    pub fn set_linear(&mut self, linear: bool) {
        self.style.linear = linear;
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

    pub fn show_turn_summaries(&mut self, show: bool) {
        self.style.turn_summaries = show;
    }

    pub fn show_thinking(&mut self, show: bool) {
        self.style.show_thinking = show;
        self.clear_overrides();
    }

    pub fn toggle_tools(&mut self) {
        self.style.expand_tools = !self.style.expand_tools;
        self.clear_overrides();
    }

    fn clear_overrides(&mut self) {
        let away = self.away.iter_mut().flat_map(|away| away.cells.iter_mut());
        for cell in self.near.cells.iter_mut().chain(away) {
            cell.expanded = None;
        }
    }
}
