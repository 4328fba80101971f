//! Reading the conversation by keyboard: picking blocks and lines, copying them, jumping between what matters,
//! and opening a block in another program.

use std::time::Instant;

use super::action::Action;
use super::app::{App, Effect, Viewer};
use super::command::Command;
use osier_store::Landmark;

impl App {
    /// A command of whoever reads; false when it is none, or there is nothing to do it with.
    pub(super) fn read_command(&mut self, command: Command, now: Instant) -> bool {
        let lines = self.transcript.has_selection();
        match command {
            Command::PageUp => self.transcript.page(false),
            Command::PageDown => self.transcript.page(true),
            Command::LineUp if lines && self.browsing => self.transcript.select_by(false),
            Command::LineDown if lines && self.browsing => self.transcript.select_by(true),
            Command::LineUp => self.transcript.scroll(-1),
            Command::LineDown => self.transcript.scroll(1),
            Command::Top => self.transcript.go_top(),
            Command::Bottom => self.transcript.go_bottom(),
            Command::PreviousPrompt => self.jump(Landmark::Prompt, false, now),
            Command::NextPrompt => self.jump(Landmark::Prompt, true, now),
            Command::PreviousCall => self.jump(Landmark::Call, false, now),
            Command::NextCall => self.jump(Landmark::Call, true, now),
            Command::PreviousError => self.jump(Landmark::Error, false, now),
            Command::NextError => self.jump(Landmark::Error, true, now),
            Command::PreviousEdit => self.jump(Landmark::Edit, false, now),
            Command::NextEdit => self.jump(Landmark::Edit, true, now),
            Command::PreviousBlock => self.pick(false),
            Command::NextBlock => self.pick(true),
            Command::SelectLines => self.select_lines(),
            Command::CopyBlock => self.copy_block(now),
            Command::CopyCommand => self.copy_command(now),
            Command::ToggleBlock => {
                self.browsing = true;
                if self.transcript.picked_text().is_none() {
                    self.transcript.pick_next(true);
                } else if !self.transcript.toggle_picked() {
                    self.activity.toast("this block does not fold", false, now);
                }
            }
            Command::OpenBlock => self.open_block(Viewer::Editor, now),
            Command::PageBlock => self.open_block(Viewer::Pager, now),
            Command::Browse => self.browsing = true,
            _ => return false,
        }
        true
    }

    /// Gives the keys back to the editor, and lets what is picked and selected go.
    pub(super) fn leave_browsing(&mut self) {
        self.browsing = false;
        self.transcript.clear_selection();
        self.transcript.clear_pick();
    }

    /// Esc goes back by one: from lines to the block, from the block to reading, from reading to the editor.
    pub(super) fn step_back(&mut self) {
        if !self.transcript.clear_selection() && !self.transcript.clear_pick() {
            self.leave_browsing();
        }
    }

    pub(super) fn tell_missed(&mut self, now: Instant) {
        if let Some(text) = self.transcript.take_missed() {
            self.activity.toast(text, false, now);
            self.dirty = true;
        }
    }

    fn jump(&mut self, landmark: Landmark, down: bool, now: Instant) {
        self.transcript.go_landmark(landmark, down);
        if landmark != Landmark::Prompt {
            self.browsing = true;
        }
        self.tell_missed(now);
    }

    fn pick(&mut self, down: bool) {
        self.browsing = true;
        self.transcript.clear_selection();
        self.transcript.pick_next(down);
    }

    fn select_lines(&mut self) {
        self.browsing = true;
        if !self.transcript.clear_selection() {
            self.transcript.select_line();
        }
    }

    /// The selected lines, else the picked block, else the last answer.
    fn copy_block(&mut self, now: Instant) {
        let selected = self.transcript.selected_text();
        let text = selected
            .or_else(|| self.transcript.picked_text())
            .or_else(|| self.transcript.last_answer());
        match text {
            Some(text) => self.actions.push(Action::Copy(text)),
            None => self
                .activity
                .toast("there is nothing to copy yet", true, now),
        }
        self.transcript.clear_selection();
    }

    fn copy_command(&mut self, now: Instant) {
        match self.transcript.picked_command() {
            Some(command) => self.actions.push(Action::Copy(command)),
            None => self
                .activity
                .toast("pick a call first: its command is copied", true, now),
        }
    }

    fn open_block(&mut self, with: Viewer, now: Instant) {
        let text = self.transcript.picked_text();
        match text.or_else(|| self.transcript.last_answer()) {
            Some(text) => self.effects.push(Effect::View { text, with }),
            None => self
                .activity
                .toast("there is nothing to open yet", true, now),
        }
    }
}
