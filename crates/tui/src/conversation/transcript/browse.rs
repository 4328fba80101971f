//! Reading the conversation by keyboard: picking blocks and lines, copying them, jumping between what matters,
//! and opening a block in another program.

use super::state::Transcript;
use crate::actions::{Action, Command, Effect, Outbox, Toast, Viewer};
use crate::drawing::frame;
use osier_protocol::Landmark;
use osier_settings::ScreenMode;
use osier_term::Keymap;

impl Transcript {
    /// Runs a command of the conversation; returns false for other commands.
    pub(crate) fn on_command(&mut self, command: Command, outbox: &mut Outbox) -> bool {
        match command {
            Command::CopyAnswer => copy(self.last_answer(), "answer", "no answer", outbox),
            Command::CopyCode => copy(self.last_code(), "code", "no code block", outbox),
            Command::CopyOutput => copy(self.last_output(), "output", "no output", outbox),
            Command::ToggleThinking => self.toggle_thinking(),
            Command::ToggleTools => self.next_density(outbox),
            Command::Browse => self.browsing = true,
            Command::PageUp => self.page(false),
            Command::PageDown => self.page(true),
            Command::LineUp => self.scroll_line(false),
            Command::LineDown => self.scroll_line(true),
            Command::Top => self.go_top(),
            Command::Bottom => self.go_bottom(),
            Command::PreviousPrompt => self.go_to_next(Landmark::Prompt, false, outbox),
            Command::NextPrompt => self.go_to_next(Landmark::Prompt, true, outbox),
            Command::PreviousCall => self.go_to_next(Landmark::Call, false, outbox),
            Command::NextCall => self.go_to_next(Landmark::Call, true, outbox),
            Command::PreviousError => self.go_to_next(Landmark::Error, false, outbox),
            Command::NextError => self.go_to_next(Landmark::Error, true, outbox),
            Command::PreviousEdit => self.go_to_next(Landmark::Edit, false, outbox),
            Command::NextEdit => self.go_to_next(Landmark::Edit, true, outbox),
            Command::PreviousBlock => self.pick(false),
            Command::NextBlock => self.pick(true),
            Command::SelectLines => self.select_lines(),
            Command::CopyBlock => self.copy_block(outbox),
            Command::CopyCall => self.copy_command(outbox),
            Command::ToggleBlock => self.toggle_block(outbox),
            Command::OpenBlock => self.open_picked(Viewer::Editor, outbox),
            Command::PageBlock => self.open_picked(Viewer::Pager, outbox),
            _ => return false,
        }
        true
    }

    /// Whether keys belong to the transcript, not to the editor.
    pub(crate) fn is_browsing(&self) -> bool {
        self.browsing
    }

    /// The text in the prompt while keys go to the conversation, with the key that returns to the prompt.
    pub(crate) fn where_keys_go(&self, keymap: &Keymap<Command>) -> Option<String> {
        if !self.browsing {
            return None;
        }
        let key = frame::shown_key(keymap, "transcript", Command::Cancel);
        let back = key.map_or_else(String::new, |key| {
            format!("; {key} goes back to the prompt")
        });
        Some(format!("Keys move in the conversation{back}"))
    }

    /// Scrolls by a line, or extends the selected lines while browsing.
    fn scroll_line(&mut self, down: bool) {
        if self.browsing && self.has_selection() {
            self.select_by(down);
        } else {
            self.scroll(if down { 1 } else { -1 });
        }
    }

    /// The position for the status line: the keys while browsing, else the rows below the viewport.
    pub(crate) fn status(&self, keymap: &Keymap<Command>, width: u16) -> Option<String> {
        if self.browsing {
            let width = usize::from(width);
            return Some(frame::view_keys(keymap, "transcript", BROWSING, width));
        }
        if self.follows() {
            return None;
        }
        let keys = keymap.keys_for("global", Command::Bottom);
        let key = keys.first().map_or("scroll", String::as_str);
        if self.settings.screen_reader {
            return Some(format!("{} rows below, {key} go to end", self.unseen()));
        }
        Some(match self.unseen() {
            0 => format!("↓ {key} go to end"),
            1 => format!("↓ 1 new row · {key} go to end"),
            unseen => format!("↓ {unseen} new rows · {key} go to end"),
        })
    }

    fn toggle_block(&mut self, outbox: &mut Outbox) {
        self.browsing = true;
        if self.picked_text().is_none() {
            self.pick_next(true);
        } else if let Some(info) = self.picked_subagent() {
            outbox.push(Action::ShowSubagent(Box::new(info)));
        } else if !self.toggle_picked() {
            outbox.push(Toast::info("this block cannot be collapsed"));
        }
    }

    /// Gives the keys back to the editor, and clears the selection and the picked block.
    pub(crate) fn leave_browsing(&mut self) {
        self.browsing = false;
        self.clear_selection();
        self.clear_pick();
    }

    /// Esc goes back one step: from lines to the block, from the block to reading, from reading to
    /// the editor.
    pub(crate) fn step_back(&mut self) {
        if !self.clear_selection() && !self.clear_pick() {
            self.leave_browsing();
            if self.settings.screen == ScreenMode::Inline {
                self.go_bottom();
            }
        }
    }

    /// Reports a search for a landmark that found nothing.
    pub(crate) fn report_missed(&mut self, outbox: &mut Outbox) {
        if let Some(text) = self.take_missed() {
            outbox.push(Toast::info(text));
        }
    }

    fn go_to_next(&mut self, landmark: Landmark, down: bool, outbox: &mut Outbox) {
        self.go_landmark(landmark, down);
        if landmark != Landmark::Prompt {
            self.browsing = true;
        }
        self.report_missed(outbox);
    }

    fn pick(&mut self, down: bool) {
        self.browsing = true;
        self.clear_selection();
        self.pick_next(down);
    }

    fn select_lines(&mut self) {
        self.browsing = true;
        if !self.clear_selection() {
            self.select_line();
        }
    }

    /// The selected lines, else the picked block, else the last answer.
    fn copy_block(&mut self, outbox: &mut Outbox) {
        let selected = self.selected_text().map(|text| (text, "selection"));
        let picked = self.picked_name();
        let text = selected
            .or_else(|| self.picked_text().map(|text| (text, picked)))
            .or_else(|| self.last_answer().map(|text| (text, "answer")));
        match text {
            Some((text, what)) => outbox.push(Effect::Copy(text, what)),
            None => outbox.push(Toast::error("nothing to copy yet")),
        }
        self.clear_selection();
    }

    fn copy_command(&mut self, outbox: &mut Outbox) {
        match self.picked_command() {
            Some(command) => outbox.push(Effect::Copy(command, "call")),
            None => outbox.push(Toast::error("select a tool call first")),
        }
    }

    fn open_picked(&mut self, with: Viewer, outbox: &mut Outbox) {
        let text = self.picked_text();
        match text.or_else(|| self.last_answer()) {
            Some(text) => outbox.push(Effect::View { text, with }),
            None => outbox.push(Toast::error("nothing to open yet")),
        }
    }
}

/// Copies a text and names it `kind`. Without a text, the error begins with `none`, such as `no
/// code`.
fn copy(text: Option<String>, kind: &'static str, none: &str, outbox: &mut Outbox) {
    match text {
        Some(text) => outbox.push(Effect::Copy(text, kind)),
        None => outbox.push(Toast::error(format!("{none} to copy yet"))),
    }
}

/// The keys that matter while the conversation is browsed.
const BROWSING: &[(Command, &str)] = &[
    (Command::Cancel, "back"),
    (Command::PreviousBlock, "select"),
    (Command::CopyBlock, "copy"),
    (Command::PreviousCall, "to a call"),
    (Command::CopyCall, "copy the call"),
    (Command::PreviousPrompt, "previous prompt"),
    (Command::LineDown, "down"),
    (Command::LineUp, "up"),
    (Command::Bottom, "end"),
];
