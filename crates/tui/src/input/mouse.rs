//! The mouse acts on what is under it: the wheel scrolls, a click folds what it hits or opens its link, dragging selects and copies.
//! Where no movement is reported, the button going down and up marks the ends of a selection.

use std::time::{Duration, Instant};

use ratatui::layout::Position;

use crate::actions::{Command, Effect, Outbox};
use crate::conversation::{Transcript, transcript::Unit};
use crate::drawing::Overlays;
use crate::input::Prompt;
use osier_term::Keymap;
use osier_term::input::{MouseButton, MouseEventKind, MouseInput};
use osier_term::widgets::textarea::modal::Edit;

/// Rows a turn of the wheel scrolls.
const WHEEL_ROWS: isize = 3;

/// Longest time between the clicks of a double one.
const DOUBLE_CLICK: Duration = Duration::from_millis(400);

/// Time between two rows while a drag scrolls at an edge.
const EDGE_STEP: Duration = Duration::from_millis(40);

/// A cell of the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CellAt {
    x: u16,
    y: u16,
}

/// The movement of the mouse while a button is pressed.
#[derive(Debug, Default)]
pub(crate) struct Pointer {
    /// The cell where the button went down.
    pressed: Option<CellAt>,
    /// The mouse was moved since.
    dragged: bool,
    /// The end was followed when the selection began.
    followed: bool,
    clicks: Option<Clicks>,
    edge: Option<EdgeScroll>,
}

/// The last click, and how many came in a row.
#[derive(Debug, Clone, Copy)]
struct Clicks {
    last: Instant,
    at: CellAt,
    count: u8,
}

/// Scrolling at an edge: the direction and the time of the last step.
#[derive(Debug, Clone, Copy)]
struct EdgeScroll {
    down: bool,
    last: Instant,
}

/// The targets of the mouse while no overlay is open.
#[derive(Debug)]
pub(crate) struct MouseTarget<'a> {
    pub(crate) transcript: &'a mut Transcript,
    pub(crate) prompt: &'a mut Prompt,
    pub(crate) keymap: &'a Keymap<Command>,
    pub(crate) outbox: &'a mut Outbox,
}

/// The wheel over an overlay moves in its list as the arrows do, unless that is a choice of answers; beyond it, the
/// conversation scrolls. Whether something changed.
pub(crate) fn scroll_overlay(
    mouse: MouseInput,
    overlays: &mut Overlays,
    transcript: &mut Transcript,
    outbox: &mut Outbox,
    now: Instant,
) -> bool {
    let (command, rows) = match mouse.kind {
        MouseEventKind::ScrollUp => (Command::Up, -WHEEL_ROWS),
        MouseEventKind::ScrollDown => (Command::Down, WHEEL_ROWS),
        _ => return false,
    };
    let at = Position {
        x: mouse.column,
        y: mouse.row,
    };
    if !overlays.covers(at) {
        transcript.scroll(rows);
    } else if overlays.takes_wheel() {
        for _ in 0..WHEEL_ROWS {
            let _ = overlays.on_command(command, &mut outbox.cx(now));
        }
    } else {
        return false;
    }
    true
}

impl Pointer {
    /// Applies an event of the mouse; whether something visible changed.
    pub(crate) fn on_mouse(
        &mut self,
        mouse: MouseInput,
        mut target: MouseTarget<'_>,
        now: Instant,
    ) -> bool {
        let at = CellAt {
            x: mouse.column,
            y: mouse.row,
        };
        match mouse.kind {
            MouseEventKind::ScrollUp => target.transcript.scroll(-WHEEL_ROWS),
            MouseEventKind::ScrollDown => target.transcript.scroll(WHEEL_ROWS),
            MouseEventKind::Down(MouseButton::Left) => return self.press(at, &mut target, now),
            MouseEventKind::Drag(MouseButton::Left) => {
                return self.drag(at, target.transcript, now);
            }
            MouseEventKind::Up(MouseButton::Left) => {
                return self.release(at, target.transcript, target.outbox);
            }
            _ => return false,
        }
        true
    }

    /// A second click in place selects the word, a third the line.
    fn press(&mut self, at: CellAt, target: &mut MouseTarget<'_>, now: Instant) -> bool {
        let count = match self.clicks {
            Some(clicks)
                if clicks.at == at && now.saturating_duration_since(clicks.last) < DOUBLE_CLICK =>
            {
                clicks.count % 3 + 1
            }
            _ => 1,
        };
        *self = Self {
            clicks: Some(Clicks {
                last: now,
                at,
                count,
            }),
            followed: target.transcript.follows(),
            ..Self::default()
        };
        if click_prompt(at, count, target) {
            return true;
        }
        let transcript = &mut *target.transcript;
        let unit = match count {
            1 => Unit::Cell,
            2 => Unit::Word,
            _ => Unit::Line,
        };
        let had = transcript.clear_selection();
        if transcript.select_from(at.x, at.y, unit) {
            self.pressed = Some(at);
        }
        if unit == Unit::Cell {
            // Nothing is selected before the mouse moves.
            transcript.hide_selection();
            return had;
        }
        self.dragged = true;
        true
    }

    fn drag(&mut self, at: CellAt, transcript: &mut Transcript, now: Instant) -> bool {
        if self.pressed.is_none() {
            return false;
        }
        if !self.dragged {
            self.dragged = true;
            transcript.stay();
        }
        transcript.select_to(at.x, at.y);
        let last = transcript.rows_shown().saturating_sub(1);
        let edge = |down| EdgeScroll { down, last: now };
        self.edge = match at.y {
            0 => Some(edge(false)),
            row if row >= last => Some(edge(true)),
            _ => None,
        };
        true
    }

    fn release(&mut self, at: CellAt, transcript: &mut Transcript, outbox: &mut Outbox) -> bool {
        let clicks = self.clicks;
        let kept = Self {
            clicks,
            ..Self::default()
        };
        let pointer = std::mem::replace(self, kept);
        let Some(pressed) = pointer.pressed else {
            return false;
        };
        if pointer.dragged || at != pressed {
            if !clicks.is_some_and(|clicks| clicks.count >= 2 && clicks.at == at) {
                transcript.select_to(at.x, at.y);
            }
            // The mark of what is copied stays until something else happens.
            if let Some(text) = transcript.selected_text() {
                outbox.push(Effect::Copy(text, "selection"));
            }
            if pointer.followed && pointer.dragged {
                transcript.go_bottom();
            }
            return true;
        }
        transcript.clear_selection();
        if let Some(url) = transcript.link_at(at.x, at.y) {
            outbox.push(Effect::Open(url));
            true
        } else {
            transcript.toggle_at(at.y)
        }
    }

    /// Scrolls on while a drag is at an edge; whether it did.
    pub(crate) fn tick(&mut self, transcript: &mut Transcript, now: Instant) -> bool {
        let Some(EdgeScroll { down, last }) = self.edge else {
            return false;
        };
        if now < last + EDGE_STEP {
            return false;
        }
        self.edge = Some(EdgeScroll { down, last: now });
        transcript.scroll(if down { 1 } else { -1 });
        let row = if down {
            transcript.rows_shown().saturating_sub(1)
        } else {
            0
        };
        transcript.select_to(if down { u16::MAX } else { 0 }, row);
        true
    }

    /// When a drag at an edge scrolls next.
    pub(crate) fn next_edge_step(&self) -> Option<Instant> {
        Some(self.edge?.last + EDGE_STEP)
    }
}

/// A click into the editor puts its cursor there, and the keys go to it again; a second one selects the word
/// where the keymap knows what to do with one.
fn click_prompt(at: CellAt, count: u8, target: &mut MouseTarget<'_>) -> bool {
    let Some(cell) = target.prompt.editor_cell(at.x, at.y) else {
        return false;
    };
    if target.transcript.is_browsing() {
        target.transcript.leave_browsing();
    }
    let has_regions = !target
        .keymap
        .keys_for("editor", Command::Edit(Edit::COPY_REGION))
        .is_empty();
    let editor = &mut target.prompt.editor;
    let selects = count == 2 && (editor.modal().has_modes() || has_regions);
    editor.click(cell, selects);
    true
}
