//! What commands and actions do. The only place that changes the app on the user's behalf.

use std::time::{Duration, Instant};

use super::action::Action;
use super::activity::TOAST_TIME;
use super::app::{App, Effect};
use super::command::{Command, parse_slash};
use super::deck::DeckRequest;
use super::editor::Missing;
use super::overlays;
use osier_agent::{Op as AgentOp, UserMessage};
use osier_session::host::{Op, TreeOp};
use osier_term::component::{Cx, Handled};

/// Two presses of Ctrl+C within this time exit: as long as the line that says so stands.
const EXIT_WINDOW: Duration = TOAST_TIME;

impl App {
    /// Runs a bound command: the layer in front first, then the editor, then the app. False when nobody
    /// has a use for it now.
    pub(super) fn command(&mut self, command: Command, now: Instant) -> bool {
        if !self.layers.is_empty() {
            let mut cx = Cx {
                actions: &mut self.actions,
                now,
            };
            return self.layers.on_command(command, &mut cx) == Handled::Yes
                || self.app_command(command, now);
        }
        if self.browsing {
            // The one word that means something else here.
            if command == Command::Cancel {
                self.step_back();
                return true;
            }
            return self.app_command(command, now);
        }
        if self.editor.on_command(command) {
            // Walking the list or the history, and closing the list, must not offer it anew.
            if !matches!(command, Command::Interrupt | Command::Up | Command::Down) {
                self.offer_completion();
            }
            return true;
        }
        self.app_command(command, now)
    }

    /// Does what components asked for, until nothing more is asked.
    pub(super) fn apply_actions(&mut self, now: Instant) {
        while !self.actions.is_empty() {
            for action in std::mem::take(&mut self.actions) {
                self.apply(action, now);
            }
        }
    }

    fn apply(&mut self, action: Action, now: Instant) {
        self.dirty = true;
        match action {
            Action::Run(command) => {
                self.app_command(command, now);
            }
            Action::Tell(op) => self.ops.push(op),
            Action::Submit { follow_up } => self.submit(follow_up),
            Action::SetEditor { text } => self.editor.set_text(&text),
            Action::CloseLayer => {
                self.layers.pop();
            }
            Action::OfferInUse { target } => self.offer_in_use(&target),
            Action::OpenSession {
                target,
                cwd,
                opening,
                beside,
            } => self.open_session((target, cwd), opening, beside),
            Action::ShowSessionNumber(number) => self.show_number(number, now),
            Action::CloseSession(number) => self.close_session(number, now),
            Action::CloseSessionAnyway(number) => self.want(DeckRequest::Close(number)),
            Action::TakeStashed(id) => self.take_stashed(&id),
            Action::MarkSession { mark, on } => self.mark_session(mark, on, now),
            Action::LeaveAnyway => self.effects.push(Effect::Quit),
            Action::Move { op, files } => self.move_in_tree(op, files),
            Action::ShowChanges(range) => self.ask_changes(range),
            Action::SendReview(pieces) => self.send_review(pieces, now),
            Action::EditFile { path, line } => {
                self.effects.push(Effect::EditFile { path, line });
            }
            Action::RememberTree(memory) => self.tree = memory,
            Action::Answer { id, answer } => self.answer_question(id, answer, now),
            Action::LeaveQuestion { id, draft } => self.leave_question(&id, draft),
            Action::Open(url) => self.effects.push(Effect::Open(url)),
            Action::ShowServer(name) => self.show_server(&name),
            Action::Copy(text) => self.effects.push(Effect::Copy(text)),
            Action::Search(query) => self.start_search(query),
            Action::StepSearch { older } => self.step_search(older),
            Action::EndSearch => self.end_search(),
            Action::ToggleTool(name) => self.toggle_tool(&name),
            Action::EditSetting(name) => self.edit_setting(&name),
            Action::WriteSetting { name, value } => {
                self.effects.push(Effect::WriteSetting { name, value });
            }
            Action::CaptureKeys { context, command } => self.layers.push(
                overlays::capture::ID,
                overlays::capture::Capture::new(context, command),
            ),
            Action::Bind(binding) => self.effects.push(Effect::Bind(binding)),
            Action::Unbind { context, command } => self.unbind(&context, command),
            Action::PreviewTheme(name) => self.effects.push(Effect::PreviewTheme(name)),
            Action::SetTheme(name) => self.effects.push(Effect::LoadTheme(name)),
            Action::ReloadLooks => self.effects.push(Effect::ReloadLooks),
            Action::Toast { text, error } => self.activity.toast(text, error, now),
            Action::Quit => self.quit(),
        }
    }

    fn app_command(&mut self, command: Command, now: Instant) -> bool {
        command.info().is_some_and(|info| info.apply(self, now))
    }

    pub(super) fn open_models(&mut self) {
        self.layers.push(overlays::model::ID, self.model_picker());
        self.ops.push(Op::ListModels);
    }

    pub(super) fn open_accounts(&mut self, sign_out: bool) {
        self.layers.push(
            overlays::account::id(sign_out),
            overlays::account::picker(&[], sign_out),
        );
        self.ops.push(Op::ListAccounts);
    }

    pub(super) fn open_hooks(&mut self) {
        self.layers
            .push(overlays::hooks::ID, overlays::hooks::picker(&[]));
        self.ops.push(Op::ListHooks);
    }

    pub(super) fn open_skills(&mut self) {
        self.layers
            .push(overlays::skill::ID, overlays::skill::picker(&[]));
        self.ops.push(Op::ListContext);
    }

    pub(super) fn open_permissions(&mut self) {
        self.layers
            .push(overlays::permissions::ID, self.permissions_picker());
        self.ops.push(Op::ListPermissions);
    }

    pub(super) fn open_palette(&mut self) {
        let picker = overlays::palette::picker(&self.keymap, self.editor.commands());
        self.layers.push(overlays::palette::ID, picker);
    }

    pub(super) fn open_keymap(&mut self) {
        let picker = overlays::keymap::picker(&self.keymap, &self.plugins.keys);
        self.layers.push(overlays::keymap::ID, picker);
    }

    pub(super) fn open_help(&mut self) {
        let added = self.editor.commands();
        let page = overlays::help::page(&self.keymap, added, &self.plugins.keys);
        self.layers.push(overlays::help::ID, page);
    }

    pub(super) fn open_history(&mut self) {
        let picker = overlays::history::picker(self.editor.history());
        self.layers.push(overlays::history::ID, picker);
    }

    pub(super) fn edit_prompt(&mut self) {
        let text = self.editor.text();
        self.effects.push(Effect::ExternalEditor(text));
    }

    pub(super) fn copy_answer(&mut self, now: Instant) {
        match self.transcript.last_answer() {
            Some(answer) => self.effects.push(Effect::Copy(answer)),
            None => self
                .activity
                .toast("there is no answer to copy yet", true, now),
        }
    }

    /// Completes the word at the cursor of the prompt; false while an overlay is open.
    pub(super) fn complete(&mut self) -> bool {
        let applies = self.layers.is_empty();
        if applies {
            let missing = self.editor.complete_path();
            self.ask_for(missing);
        }
        applies
    }

    pub(super) fn quit_when_empty(&mut self) -> bool {
        let applies = self.editor.is_empty();
        if applies {
            self.quit();
        }
        applies
    }

    /// Moves in the tree; with `files`, their changes follow for review, else a note when they differ.
    pub(super) fn move_in_tree(&mut self, op: TreeOp, files: bool) {
        self.move_files = Some(files);
        self.ops.push(Op::Tree(op));
    }

    pub(super) fn model_picker(&self) -> overlays::picker::Picker {
        overlays::model::picker(&self.models, &self.footer)
    }

    pub(super) fn tell(&mut self, op: AgentOp) {
        self.ops.push(Op::Agent(op));
    }

    /// Stops what runs. What was queued here comes back into the editor first.
    pub(super) fn interrupt(&mut self) {
        if self.activity.is_idle() {
            return;
        }
        let is_own = self.footer.company.writer().is_none();
        if is_own && !(self.queue.steering.is_empty() && self.queue.follow_up.is_empty()) {
            self.tell(AgentOp::RecallQueue);
        }
        self.tell(AgentOp::Abort);
    }

    pub(super) fn clear_or_exit(&mut self, now: Instant) {
        if !self.editor.is_empty() {
            self.editor.clear();
            return;
        }
        if !self.activity.is_idle() {
            self.interrupt();
            return;
        }
        let armed = self
            .exit_armed
            .is_some_and(|since| now.saturating_duration_since(since) < EXIT_WINDOW);
        if armed {
            self.quit();
            return;
        }
        self.exit_armed = Some(now);
        self.activity.toast("ctrl+c again exits", false, now);
    }

    /// Sends the editor's text: a slash command, a shell command, or a prompt.
    pub(super) fn submit(&mut self, follow_up: bool) {
        let text = self.editor.text();
        let trimmed = text.trim();
        if trimmed.is_empty() {
            return;
        }
        let added = self.editor.is_added_command(trimmed);
        if let Some(parsed) = parse_slash(trimmed).filter(|_| !added) {
            match parsed {
                Ok(actions) => {
                    self.remember(trimmed);
                    self.editor.clear();
                    self.actions.extend(actions);
                }
                // The text stays: nothing typed is lost.
                Err(message) => self.actions.push(Action::Toast {
                    text: message,
                    error: true,
                }),
            }
            return;
        }
        if self.session.read_only {
            let text = "this session is only looked at: `/clone` goes on in a copy of it";
            return self.toast(text, true, Instant::now());
        }
        if self.is_held(Instant::now()) {
            return;
        }
        // The first line of a paste may begin with spaces that mean something.
        let prompt = without_blank_ends(&text);
        let Some(attachments) = self.attachments_to_send(Instant::now()) else {
            return;
        };
        self.remember(prompt);
        self.editor.clear();
        self.transcript.go_bottom();
        if let Some(command) = trimmed.strip_prefix('!') {
            let (command, exclude_from_context) = match command.strip_prefix('!') {
                Some(command) => (command, true),
                None => (command, false),
            };
            let command = command.trim().to_owned();
            if !command.is_empty() {
                self.ops.push(Op::Shell {
                    command,
                    exclude_from_context,
                });
            }
            return;
        }
        let text = prompt.to_owned();
        self.sent.add(UserMessage {
            text: text.clone(),
            attachments: attachments.clone(),
            ..UserMessage::default()
        });
        self.tell(if follow_up {
            AgentOp::FollowUp { text, attachments }
        } else {
            AgentOp::Prompt { text, attachments }
        });
    }

    fn remember(&mut self, text: &str) {
        self.editor.remember(text);
        self.ops.push(Op::AddHistory {
            text: text.to_owned(),
        });
    }

    /// Shows what the word at the cursor may become; asks for a list when it is first needed.
    pub(super) fn offer_completion(&mut self) {
        let missing = self.editor.offer_completion();
        self.ask_for(missing);
    }

    fn ask_for(&mut self, missing: Option<Missing>) {
        match missing {
            Some(Missing::Files) => self.ops.push(Op::ListFiles),
            Some(Missing::Models) => self.ops.push(Op::ListModels),
            None => {}
        }
    }
}

/// `text` without blank lines before and blanks after it.
fn without_blank_ends(text: &str) -> &str {
    let text = text.trim_end();
    let first = text.len() - text.trim_start().len();
    let line = text[..first].rfind('\n').map_or(0, |newline| newline + 1);
    &text[line..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_blank_lines_are_taken_from_the_start() {
        assert_eq!(without_blank_ends("\n \n  a\n b \n\n"), "  a\n b");
        assert_eq!(without_blank_ends("a"), "a");
        assert_eq!(without_blank_ends(" \n"), "");
    }
}
