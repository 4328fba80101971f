//! Passes each command on to the feature that it belongs to.

use std::time::Instant;

use super::App;
use crate::actions::{Command, Toast, command::Category, command::Run, command::run_slash};
use crate::conversation::{budget, code_servers, jobs, subagents, terminals};
use crate::dialogs::{accounts, guide, help, hooks, project_map, skills};
use crate::history::{Tree, sessions, tabs, tree};
use crate::input::keymap;
use osier_agent::Op as AgentOp;
use osier_term::Handled;

impl App {
    /// Runs a bound command: the layer in front first, then the editor, then the app. False if the
    /// command does not apply now.
    pub(super) fn command(&mut self, command: Command, now: Instant) -> bool {
        if !self.overlays.is_empty() {
            let handled = self.overlays.on_command(command, &mut self.outbox.cx(now));
            return handled == Handled::Yes || self.app_command(command, now);
        }
        if self.transcript.is_browsing() {
            // In browse mode, this command has another meaning.
            if command == Command::Cancel {
                self.transcript.step_back();
                return true;
            }
            return self.app_command(command, now);
        }
        self.prompt.on_command(command, &mut self.outbox) || self.app_command(command, now)
    }

    /// Runs a command outside of every layer; false when it does not apply now.
    pub(super) fn app_command(&mut self, command: Command, now: Instant) -> bool {
        let Some(info) = command.info() else {
            return false;
        };
        match (info.run, info.slash) {
            (Run::Actions(actions), _) => {
                for action in actions() {
                    self.outbox.push(action);
                }
            }
            (Run::Feature, _) => {
                let applies = self.feature_command(command, info.category, now);
                return applies.unwrap_or_default();
            }
            (Run::Slash, Some(slash)) => {
                if let Ok(actions) = run_slash(slash, "") {
                    for action in actions {
                        self.outbox.push(action);
                    }
                } else {
                    // The command needs an argument, which the user types.
                    let text = format!("/{} ", slash.name);
                    self.prompt.replace_text(&text, &mut self.outbox);
                }
            }
            (Run::Component | Run::Slash, _) => return false,
        }
        true
    }

    /// Runs a command of a feature: whether it applies now; `None` when no feature has it.
    pub(super) fn feature_command(
        &mut self,
        command: Command,
        category: Category,
        now: Instant,
    ) -> Option<bool> {
        match category {
            Category::Prompt | Category::Run => self.prompt_command(command, now),
            Category::Tabs => {
                let is_remote = self.footer.is_remote();
                self.tabs
                    .on_command(command, is_remote, &mut self.overlays, &mut self.outbox)
                    .then_some(true)
            }
            Category::Conversation if command == Command::Search => {
                self.search
                    .open(&mut self.transcript, &mut self.overlays, &mut self.outbox);
                Some(true)
            }
            Category::Conversation => self
                .transcript
                .on_command(command, &mut self.outbox)
                .then_some(true),
            Category::Application => self.application_command(command, now),
            _ => self.list_command(command).then_some(true),
        }
    }

    fn prompt_command(&mut self, command: Command, now: Instant) -> Option<bool> {
        let (overlays, outbox) = (&mut self.overlays, &mut self.outbox);
        match command {
            Command::Stash => {
                self.stash
                    .stash_or_list(&mut self.prompt, &self.keymap, overlays, outbox);
            }
            Command::StashList => self.stash.open(overlays, outbox),
            Command::HistorySearch => self.prompt.open_history(overlays),
            Command::ExternalEditor => self.prompt.edit_externally(outbox),
            Command::Complete if overlays.is_empty() => self.prompt.complete(outbox),
            Command::Complete => return Some(false),
            Command::Skills => skills::open(overlays, outbox),
            Command::Interrupt => self.interrupt_or_rewind(now),
            Command::Answer => return Some(self.questions.enter(overlays)),
            Command::FanOut => self.models.open_fan(overlays, outbox),
            Command::RetryModel => self.models.open_retry(&self.footer, overlays, outbox),
            Command::Permissions => {
                self.permissions
                    .open(self.footer.permissions, overlays, outbox);
            }
            Command::ToggleTodo => {
                self.todo.toggle();
                self.side_panel.forget_layout();
            }
            Command::Jobs => jobs::open(overlays, outbox, now),
            Command::Subagents => subagents::open(overlays, outbox, now),
            Command::Terminals => terminals::open(overlays, outbox),
            _ => return None,
        }
        Some(true)
    }

    /// Opens the list of a feature; false when the command does not.
    fn list_command(&mut self, command: Command) -> bool {
        let new_tab = self.is_engaged();
        let (overlays, outbox) = (&mut self.overlays, &mut self.outbox);
        match command {
            Command::ModelPicker => self.models.open(&self.footer, overlays, outbox),
            Command::Login => accounts::open(false, overlays, outbox),
            Command::Logout => accounts::open(true, overlays, outbox),
            Command::NewSession => tabs::new_session(new_tab, outbox),
            Command::SessionPicker => {
                let (open, joins) = (self.tabs.open_files(), self.footer.is_remote());
                sessions::open(open, joins, overlays);
            }
            Command::ShowSession => sessions::describe(outbox),
            Command::Budget => {
                self.transcript.go_bottom();
                budget::show(&self.footer.budget, &mut self.transcript);
            }
            Command::CodeServers => {
                self.transcript.go_bottom();
                code_servers::show(&self.footer.code_servers, &mut self.transcript);
            }
            Command::TakeOver => self.footer.presence.take_over(outbox),
            Command::Keymap => {
                let used = &self.settings.keymap;
                keymap::open(&self.keymap, self.plugins.keys(), used, overlays);
            }
            Command::Tools => self.tools.open(overlays, outbox),
            Command::Servers => self.servers.open(overlays, outbox),
            Command::Hooks => hooks::open(overlays, outbox),
            Command::Map => project_map::open(overlays, outbox),
            Command::Tree => self.tree.open(&self.session.id, overlays),
            Command::TreeMenu => tree::open_menu(&self.keymap, overlays),
            Command::Rewind => Tree::rewind(&self.session.id, overlays),
            _ => return false,
        }
        true
    }

    fn application_command(&mut self, command: Command, now: Instant) -> Option<bool> {
        let added = self.prompt.editor.commands();
        match command {
            Command::Palette => {
                let is_idle = self.activity.is_idle();
                help::open_palette(&self.keymap, added, is_idle, &mut self.overlays);
            }
            Command::Help => self.keys_shown.open(),
            Command::SidePanel => self.side_panel.toggle(&mut self.outbox),
            Command::Guide => guide::open(&mut self.overlays),
            Command::ClearOrExit => self.clear_or_exit(now),
            Command::Exit if self.prompt.editor.is_empty() => self.quit(),
            Command::Exit if !self.writes() => return Some(false),
            Command::Exit => {
                let key = |command| {
                    let keys = self.keymap.keys_for("global", command);
                    keys.into_iter().next().unwrap_or_default()
                };
                let (quit, clear) = (key(Command::Exit), key(Command::ClearOrExit));
                let text = format!("{quit} quits when the prompt is empty; {clear} clears it");
                self.activity.toast.show(&Toast::info(text), now);
            }
            Command::Quit => self.quit(),
            _ => return None,
        }
        Some(true)
    }

    /// Stops the run; twice while nothing runs, lists the earlier prompts.
    fn interrupt_or_rewind(&mut self, now: Instant) {
        // A draft is kept when an earlier prompt returns. In an editor with modes, the key is often pressed twice while there is text.
        let is_free = self.prompt.editor.is_empty() || !self.prompt.editor.modal().has_modes();
        let has_more = is_free && !self.transcript.is_empty();
        if !self.activity.is_idle() {
            // Messages queued here return to the editor first.
            let is_own = self.footer.presence.writer().is_none();
            if is_own && self.prompt.has_queued() {
                self.outbox.push(AgentOp::RecallQueue);
                let text = "stopped; the queued messages are in the prompt again";
                self.outbox.push(Toast::info(text));
            }
            self.outbox.push(AgentOp::Abort);
        } else if has_more && self.overlays.is_empty() {
            if self.rewind.confirms(now) {
                self.activity.toast.clear();
                Tree::rewind(&self.session.id, &mut self.overlays);
            } else {
                let keys = self.keymap.keys_for("global", Command::Interrupt);
                if let Some(key) = keys.first() {
                    let text = format!("{key} again to go back to an earlier prompt");
                    self.activity.toast.arm(&text, now);
                }
            }
        }
    }

    fn clear_or_exit(&mut self, now: Instant) {
        if !self.prompt.editor.is_empty() {
            self.prompt.editor.clear();
            // The same key twice quits, with and without text.
            if self.activity.is_idle() && !self.tabs.confirms_exit(now) {
                let text = "cleared; press ctrl+c again to quit";
                self.activity.toast.arm(text, now);
            }
        } else if !self.activity.is_idle() {
            self.interrupt_or_rewind(now);
        } else if self.tabs.confirms_exit(now) {
            self.quit();
        } else {
            self.activity.toast.arm("press ctrl+c again to quit", now);
        }
    }
}
