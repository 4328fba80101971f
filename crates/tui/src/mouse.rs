//! The mouse: the wheel scrolls, a click folds what it hits or opens its link, dragging selects and copies.
//! Where no movement is reported, the button going down and up marks the ends of a selection.

use std::time::{Duration, Instant};

use super::action::Action;
use super::app::App;
use super::command::Command;
use super::transcript::Unit;
use osier_term::component::Cx;
use osier_term::input::{MouseButton, MouseEventKind, MouseInput};
use osier_term::widgets::textarea::modal::{Edit, RegionEdit};

/// Rows a turn of the wheel scrolls.
const WHEEL_ROWS: isize = 3;

/// Longest time between the clicks of a double one.
const DOUBLE_CLICK: Duration = Duration::from_millis(400);

/// Time between two rows while a drag scrolls at an edge.
const EDGE_STEP: Duration = Duration::from_millis(40);

/// What the button that is down has done so far.
#[derive(Debug, Default)]
pub(super) struct Pointer {
    /// The cell where the button went down.
    pressed: Option<(u16, u16)>,
    /// It was moved since.
    dragged: bool,
    /// The end was followed when the selection began.
    followed: bool,
    /// The last click, and how many came in a row.
    clicks: Option<(Instant, (u16, u16), u8)>,
    /// Scrolling at an edge: the direction and the next time.
    edge: Option<(bool, Instant)>,
}

impl App {
    pub(super) fn on_mouse(&mut self, mouse: MouseInput, now: Instant) {
        let at = (mouse.column, mouse.row);
        if !self.layers.is_empty() {
            self.dirty = self.wheel_in_layer(mouse.kind, now);
            return;
        }
        match mouse.kind {
            MouseEventKind::ScrollUp => self.transcript.scroll(-WHEEL_ROWS),
            MouseEventKind::ScrollDown => self.transcript.scroll(WHEEL_ROWS),
            MouseEventKind::Down(MouseButton::Left) => self.press(at, now),
            MouseEventKind::Drag(MouseButton::Left) => self.drag(at, now),
            MouseEventKind::Up(MouseButton::Left) => self.release(at),
            _ => self.dirty = false,
        }
    }

    /// The wheel moves in a list as the arrows do.
    fn wheel_in_layer(&mut self, kind: MouseEventKind, now: Instant) -> bool {
        let command = match kind {
            MouseEventKind::ScrollUp => Command::Up,
            MouseEventKind::ScrollDown => Command::Down,
            _ => return false,
        };
        for _ in 0..WHEEL_ROWS {
            let mut cx = Cx {
                actions: &mut self.actions,
                now,
            };
            let _ = self.layers.on_command(command, &mut cx);
        }
        true
    }

    /// A second click in place selects the word, a third the line.
    fn press(&mut self, at: (u16, u16), now: Instant) {
        let count = match self.pointer.clicks {
            Some((then, place, count))
                if place == at && now.saturating_duration_since(then) < DOUBLE_CLICK =>
            {
                count % 3 + 1
            }
            _ => 1,
        };
        self.pointer = Pointer {
            clicks: Some((now, at, count)),
            followed: self.transcript.follows(),
            ..Pointer::default()
        };
        if self.click_editor(at, count) {
            return;
        }
        let unit = match count {
            1 => Unit::Cell,
            2 => Unit::Word,
            _ => Unit::Line,
        };
        let had = self.transcript.clear_selection();
        if self.transcript.select_from(at, unit) {
            self.pointer.pressed = Some(at);
        }
        if unit == Unit::Cell {
            // Nothing is selected before the mouse moves.
            self.transcript.hide_selection();
            self.dirty = had;
        } else {
            self.pointer.dragged = true;
        }
    }

    /// A click into the editor puts its cursor there, and the keys go to it again; a second one selects the word
    /// where the keymap knows what to do with one.
    fn click_editor(&mut self, at: (u16, u16), count: u8) -> bool {
        let area = self.editor_area;
        if !(area.top()..area.bottom()).contains(&at.1) || at.0 >= area.right() {
            return false;
        }
        if self.browsing {
            self.leave_browsing();
        }
        let has_regions = !self
            .keymap
            .keys_for("editor", Command::Edit(Edit::Region(RegionEdit::Copy)))
            .is_empty();
        let selects = count == 2 && (self.editor.modal().has_modes() || has_regions);
        let cell = (at.0.saturating_sub(area.x), at.1 - area.y);
        self.editor.click(cell, selects);
        true
    }

    fn drag(&mut self, at: (u16, u16), now: Instant) {
        if self.pointer.pressed.is_none() {
            self.dirty = false;
            return;
        }
        if !self.pointer.dragged {
            self.pointer.dragged = true;
            self.transcript.stay();
        }
        self.transcript.select_to(at);
        let last = self.transcript.rows_shown().saturating_sub(1);
        self.pointer.edge = match at.1 {
            0 => Some((false, now)),
            row if row >= last => Some((true, now)),
            _ => None,
        };
    }

    fn release(&mut self, at: (u16, u16)) {
        let clicks = self.pointer.clicks;
        let kept = Pointer {
            clicks,
            ..Pointer::default()
        };
        let pointer = std::mem::replace(&mut self.pointer, kept);
        let Some(pressed) = pointer.pressed else {
            self.dirty = false;
            return;
        };
        if pointer.dragged || at != pressed {
            if !matches!(clicks, Some((_, place, 2..)) if place == at) {
                self.transcript.select_to(at);
            }
            self.copy_selection();
            if pointer.followed && pointer.dragged {
                self.transcript.go_bottom();
            }
            return;
        }
        self.transcript.clear_selection();
        if let Some(url) = self.transcript.link_at(at) {
            self.actions.push(Action::Open(url));
        } else {
            self.dirty = self.transcript.toggle_at(at.1);
        }
    }

    /// Copies what is selected; its mark stays until something else happens.
    fn copy_selection(&mut self) {
        if let Some(text) = self.transcript.selected_text() {
            self.actions.push(Action::Copy(text));
        }
    }

    /// Continues longer work: a search for files, scrolling while a drag is at an edge.
    pub fn tick(&mut self, now: Instant) {
        self.dirty |= self.editor.find_on();
        let Some((down, then)) = self.pointer.edge else {
            return;
        };
        if now < then + EDGE_STEP {
            return;
        }
        self.pointer.edge = Some((down, now));
        self.transcript.scroll(if down { 1 } else { -1 });
        let row = if down {
            self.transcript.rows_shown().saturating_sub(1)
        } else {
            0
        };
        self.transcript
            .select_to((if down { u16::MAX } else { 0 }, row));
        self.dirty = true;
    }

    pub(super) fn next_edge_step(&self) -> Option<Instant> {
        let (_, then) = self.pointer.edge?;
        Some(then + EDGE_STEP)
    }
}
