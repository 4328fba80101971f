//! Applies actions. No other place changes the app on the user's behalf.

use std::time::Instant;

use super::App;
use crate::actions::Action;
use crate::conversation::terminals;
use crate::dialogs::{permissions, questions};
use crate::history::{Changes, sessions};
use crate::input::{keymap, prompt::Submission};

impl App {
    /// Applies an action and what follows from it.
    pub(crate) fn act(&mut self, action: impl Into<Action>, now: Instant) {
        self.outbox.push(action);
        self.apply_actions(now);
    }

    /// Applies the actions of components and features until there are no more.
    pub(super) fn apply_actions(&mut self, now: Instant) {
        for action in self.outbox.take() {
            self.apply(action, now);
            // Actions that an action causes come before the next action, so that ops keep their
            // order.
            self.apply_actions(now);
        }
        self.transcript.set_open_question(self.questions.open());
    }

    fn apply(&mut self, action: Action, now: Instant) {
        // A request changes nothing on the screen.
        self.outbox
            .redraw(!matches!(action, Action::Op(_) | Action::Effect(_)));
        let (overlays, outbox) = (&mut self.overlays, &mut self.outbox);
        let editor = &mut self.prompt.editor;
        match action {
            Action::Run(command) => {
                let is_used = self.app_command(command, now);
                questions::explain_unused(is_used, &[command], &mut self.outbox);
            }
            Action::InView(command) => _ = self.command(command, now),
            Action::Op(op) => self.ops.push(self.tree.sending(op)),
            Action::Effect(effect) => self.effects.push(effect),
            Action::Toast(toast) => self.activity.toast.show(&toast, now),
            Action::Submit { .. } if self.questions.is_answer(&editor.text()) => {
                self.questions.open_for_prompt(editor, overlays, outbox);
            }
            action @ (Action::Submit { .. } | Action::SendPrompt { .. }) => {
                let to = Submission {
                    follow_up: false,
                    session: &self.session,
                    footer: &self.footer,
                    keymap: &self.keymap,
                    transcript: &mut self.transcript,
                    outbox,
                };
                self.prompt.apply(action, to);
            }
            Action::SetEditor { text } => self.prompt.replace_text(&text, outbox),
            Action::InsertText { text } => editor.paste(&text),
            Action::CloseLayer => self.changes.close_layer(overlays, outbox),
            Action::OfferInUse { target } => sessions::offer_in_use(&target, None, overlays),
            Action::OpenSession { stored, new_tab } => {
                let new_tab = new_tab || self.is_engaged();
                self.tabs.open_session(stored, new_tab, &mut self.outbox);
            }
            Action::ShowSessionNumber(number) => self.tabs.go_to(number, outbox),
            Action::CloseSession(number) => {
                let is_remote = self.footer.is_remote();
                self.tabs.close(number, is_remote, overlays, outbox);
            }
            Action::RestoreStashed(id) => self.stash.restore(&id, &mut self.prompt, outbox),
            Action::MarkSession { mark, on } => sessions::mark(&self.session.id, mark, on, outbox),
            Action::Move { op, files } => self.tree.move_to(op, files, overlays.top(), outbox),
            Action::ShowEntry(entry) => self.tree.expect(entry, &self.session.id, overlays),
            Action::ShowChanges(range) => self.changes.read(range, outbox),
            Action::ShowChangesOf(path) => self.changes.read_file(path, outbox),
            Action::ReloadChanges => self.changes.reload(overlays, outbox),
            Action::SendReview(pieces) => {
                Changes::send(pieces, self.activity.is_idle(), overlays, outbox);
            }
            Action::Answer { id, answer } => {
                // While another client has control, the dialog stays.
                let presence = &self.footer.presence;
                if !presence.is_controlled_elsewhere(&self.keymap, outbox) {
                    self.questions.answer(id, answer, editor, overlays, outbox);
                }
            }
            Action::LeaveQuestion { id, draft } => self.questions.leave(&id, draft, overlays),
            Action::ShowEditedAnswer { id, text } => {
                self.questions.edited(&id, &text, overlays, outbox);
            }
            Action::TypeInNewTerminal => {
                terminals::open_new(self.footer.terminals, overlays, outbox);
            }
            Action::ShowSubagent(info) => self.transcript.open_page(&info, overlays, outbox, now),
            Action::KeepSubagentDraft(draft) => self.transcript.keep_subagent_draft(draft),
            Action::ShowServer(name) => self.servers.open_menu(&name, overlays, outbox),
            action @ (Action::Search(_) | Action::StepSearch { .. } | Action::EndSearch) => {
                self.search
                    .apply(action, &mut self.transcript, overlays, outbox);
            }
            Action::ToggleTool(name) => self.tools.toggle(&name, overlays, outbox),
            Action::EditSetting(name) => self.settings_editor.edit(name, overlays, outbox),
            Action::AddRule(rule) => permissions::add_rule(rule, self.tools.names(), overlays),
            Action::CaptureKeys { context, command } => {
                keymap::capture_keys(context, command, overlays);
            }
            Action::Unbind { context, command } => {
                keymap::unbind(&self.keymap, &context, command, outbox);
            }
        }
    }

    /// Whether leaving this session would cut something off.
    pub(super) fn is_engaged(&self) -> bool {
        !self.activity.is_idle() || self.questions.height() > 0
    }

    pub(super) fn quit(&mut self) {
        let is_remote = self.footer.is_remote();
        let running = if !self.activity.is_idle() {
            Some("This session is still running")
        } else if self.footer.jobs > 0 {
            Some("A background job is still running")
        } else if self.footer.terminals > 0 {
            Some("A terminal is still open")
        } else {
            None
        };
        self.tabs
            .quit(running, is_remote, &mut self.overlays, &mut self.outbox);
    }
}
