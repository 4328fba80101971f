//! Reading the conversation by keyboard: picking blocks and lines, copying them, jumping between what matters,
//! and opening a block in another program.

use std::time::Instant;

use crate::action::Action;
use crate::app::{App, Effect, Viewer};
use osier_protocol::Landmark;

impl App {
    /// Scrolls by a line, or extends the selected lines while browsing.
    pub(crate) fn scroll_line(&mut self, down: bool) {
        if self.browsing && self.transcript.has_selection() {
            self.transcript.select_by(down);
        } else {
            self.transcript.scroll(if down { 1 } else { -1 });
        }
    }

    pub(crate) fn toggle_block(&mut self, now: Instant) {
        self.browsing = true;
        if self.transcript.picked_text().is_none() {
            self.transcript.pick_next(true);
        } else if !self.transcript.toggle_picked() {
            self.activity
                .toast("this block cannot be collapsed", false, now);
        }
    }

    /// Gives the keys back to the editor, and lets what is picked and selected go.
    pub(crate) fn leave_browsing(&mut self) {
        self.browsing = false;
        self.transcript.clear_selection();
        self.transcript.clear_pick();
    }

    /// Esc goes back by one: from lines to the block, from the block to reading, from reading to the editor.
    pub(crate) fn step_back(&mut self) {
        if !self.transcript.clear_selection() && !self.transcript.clear_pick() {
            self.leave_browsing();
        }
    }

    pub(crate) fn tell_missed(&mut self, now: Instant) {
        if let Some(text) = self.transcript.take_missed() {
            self.activity.toast(text, false, now);
            self.dirty = true;
        }
    }

    pub(crate) fn jump(&mut self, landmark: Landmark, down: bool, now: Instant) {
        self.transcript.go_landmark(landmark, down);
        if landmark != Landmark::Prompt {
            self.browsing = true;
        }
        self.tell_missed(now);
    }

    pub(crate) fn pick(&mut self, down: bool) {
        self.browsing = true;
        self.transcript.clear_selection();
        self.transcript.pick_next(down);
    }

    pub(crate) fn select_lines(&mut self) {
        self.browsing = true;
        if !self.transcript.clear_selection() {
            self.transcript.select_line();
        }
    }

    /// The selected lines, else the picked block, else the last answer.
    pub(crate) fn copy_block(&mut self, now: Instant) {
        let selected = self.transcript.selected_text();
        let text = selected
            .or_else(|| self.transcript.picked_text())
            .or_else(|| self.transcript.last_answer());
        match text {
            Some(text) => self.actions.push(Action::Copy(text)),
            None => self.activity.toast("nothing to copy yet", true, now),
        }
        self.transcript.clear_selection();
    }

    pub(crate) fn copy_command(&mut self, now: Instant) {
        match self.transcript.picked_command() {
            Some(command) => self.actions.push(Action::Copy(command)),
            None => self.activity.toast("select a tool call first", true, now),
        }
    }

    pub(crate) fn open_block(&mut self, with: Viewer, now: Instant) {
        let text = self.transcript.picked_text();
        match text.or_else(|| self.transcript.last_answer()) {
            Some(text) => self.effects.push(Effect::View { text, with }),
            None => self.activity.toast("nothing to open yet", true, now),
        }
    }

    /// Copies the last answer.
    pub(crate) fn copy_answer(&mut self, now: Instant) {
        match self.transcript.last_answer() {
            Some(answer) => self.effects.push(Effect::Copy(answer)),
            None => self.activity.toast("no answer to copy yet", true, now),
        }
    }
}
