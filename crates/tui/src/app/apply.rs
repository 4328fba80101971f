//! What commands and actions do. The only place that changes the app on the user's behalf.

use std::time::{Duration, Instant};

use super::{App, Effect};
use crate::action::Action;
use crate::activity::TOAST_TIME;
use crate::command::Command;
use crate::sessions;
use crate::tabs::TabRequest;
use osier_agent::Op as AgentOp;
use osier_protocol::Op;
use osier_term::component::{Cx, Handled};

/// Two presses of Ctrl+C within this time quit: as long as the hint is shown.
const EXIT_WINDOW: Duration = TOAST_TIME;

impl App {
    /// Runs a bound command: the layer in front first, then the editor, then the app. False when nobody
    /// has a use for it now.
    pub(crate) fn command(&mut self, command: Command, now: Instant) -> bool {
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
            // Moving in the list or the history, and closing the list, must not open it again.
            if !matches!(command, Command::Interrupt | Command::Up | Command::Down) {
                self.offer_completion();
            }
            return true;
        }
        self.app_command(command, now)
    }

    /// Does what components asked for, until nothing more is asked.
    pub(crate) fn apply_actions(&mut self, now: Instant) {
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
            Action::OfferInUse { target } => sessions::offer_in_use(&target, &mut self.layers),
            Action::OpenSession {
                target,
                cwd,
                opening,
                new_tab,
            } => self.open_session((target, cwd), opening, new_tab),
            Action::ShowSessionNumber(number) => {
                self.go_to_tab(self.summaries.numbered(number), now);
            }
            Action::CloseSession(number) => self.close_session(number, now),
            Action::CloseSessionAnyway(number) => {
                self.effects.push(Effect::Tabs(TabRequest::Close(number)));
            }
            Action::RestoreStashed(id) => {
                self.stash
                    .restore(&id, &mut self.editor, &mut self.attachments, &mut self.ops);
            }
            Action::MarkSession { mark, on } => self.mark_session(mark, on, now),
            Action::QuitAnyway => self.effects.push(Effect::Quit),
            Action::Move { op, files } => self.move_in_tree(op, files),
            Action::ShowChanges(range) => self.ops.push(self.changes.read(range)),
            Action::SendReview(pieces) => self.send_review(pieces, now),
            Action::EditFile { path, line } => {
                self.effects.push(Effect::EditFile { path, line });
            }
            Action::RememberTree(memory) => self.tree = memory,
            Action::Answer { id, answer } => self.answer_question(id, answer, now),
            Action::LeaveQuestion { id, draft } => {
                self.questions.leave(&id, draft, &mut self.layers);
            }
            Action::Open(url) => self.effects.push(Effect::Open(url)),
            Action::ShowServer(name) => {
                if let Err(text) = self.servers.open_menu(&name, &mut self.layers) {
                    self.activity.toast(text, true, now);
                }
            }
            Action::Copy(text) => self.effects.push(Effect::Copy(text)),
            Action::Search(query) => {
                let op = self
                    .search
                    .start(query, &mut self.transcript, &mut self.layers);
                self.ops.push(op);
            }
            Action::StepSearch { older } => {
                self.search
                    .step(older, &mut self.transcript, &mut self.layers);
            }
            Action::EndSearch => {
                let op = self.search.end(&mut self.transcript, &mut self.layers);
                self.ops.push(op);
            }
            Action::ToggleTool(name) => self.ops.push(self.tools.toggle(&name, &mut self.layers)),
            Action::EditSetting(name) => {
                self.effects
                    .extend(self.settings.edit(&name, &mut self.layers));
            }
            Action::WriteSetting { name, value } => {
                self.effects.push(Effect::WriteSetting { name, value });
            }
            Action::CaptureKeys { context, command } => self.capture_keys(context, command),
            Action::Bind(binding) => self.effects.push(Effect::Bind(binding)),
            Action::Unbind { context, command } => self.unbind(&context, command),
            Action::PreviewTheme(name) => self.effects.push(Effect::PreviewTheme(name)),
            Action::SetTheme(name) => self.effects.push(Effect::LoadTheme(name)),
            Action::ReloadAppearance => self.effects.push(Effect::ReloadAppearance),
            Action::Toast { text, error } => self.activity.toast(text, error, now),
            Action::Quit => self.quit(),
        }
    }

    fn app_command(&mut self, command: Command, now: Instant) -> bool {
        command.info().is_some_and(|info| info.apply(self, now))
    }

    pub(crate) fn quit_when_empty(&mut self) -> bool {
        let applies = self.editor.is_empty();
        if applies {
            self.quit();
        }
        applies
    }

    pub(crate) fn tell(&mut self, op: AgentOp) {
        self.ops.push(Op::Agent(op));
    }

    /// Stops the run. Messages queued here return to the editor first.
    pub(crate) fn interrupt(&mut self) {
        if self.activity.is_idle() {
            return;
        }
        let is_own = self.footer.presence.writer().is_none();
        if is_own && !(self.queue.steering.is_empty() && self.queue.follow_up.is_empty()) {
            self.tell(AgentOp::RecallQueue);
        }
        self.tell(AgentOp::Abort);
    }

    pub(crate) fn clear_or_exit(&mut self, now: Instant) {
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
        self.activity
            .toast("press ctrl+c again to quit", false, now);
    }
}
