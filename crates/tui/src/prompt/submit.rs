//! Sending the prompt, completing it, editing it elsewhere and stashing it.

use std::time::Instant;

use super::{Missing, history_picker};
use crate::action::Action;
use crate::app::{App, Effect};
use crate::command::{Command, parse_slash};
use crate::stash;
use osier_agent::{Op as AgentOp, UserMessage};
use osier_protocol::Op;

impl App {
    /// Sends the editor's text: a slash command, a shell command, or a prompt.
    pub(crate) fn submit(&mut self, follow_up: bool) {
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
            let text = "read-only session: `/clone` continues in a copy";
            return self.toast(text, true, Instant::now());
        }
        if self.is_controlled_elsewhere(Instant::now()) {
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
        self.pending.add(UserMessage {
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

    /// Offers completions for the word at the cursor; requests a list when it is first needed.
    pub(crate) fn offer_completion(&mut self) {
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

    /// Edits the prompt in an external editor.
    pub(crate) fn edit_prompt(&mut self) {
        let text = self.editor.text();
        self.effects.push(Effect::ExternalEditor(text));
    }

    /// Lists the prompt history.
    pub(crate) fn open_history(&mut self) {
        let picker = history_picker::picker(self.editor.history());
        self.layers.push(history_picker::ID, picker);
    }

    /// Completes the word at the cursor of the prompt; false while an overlay is open.
    pub(crate) fn complete(&mut self) -> bool {
        let applies = self.layers.is_empty();
        if applies {
            let missing = self.editor.complete_path();
            self.ask_for(missing);
        }
        applies
    }

    /// Stashes the prompt; when it is empty, lists the stashed prompts.
    pub(crate) fn stash_prompt(&mut self, now: Instant) {
        if self.editor.is_empty() {
            return self.stash.open(&mut self.layers, &mut self.ops);
        }
        if !self.layers.is_empty() {
            return;
        }
        self.ops.push(stash::stash(&self.editor, &self.attachments));
        self.editor.clear();
        let keys = self.keymap.keys_for("global", Command::Stash);
        let key = keys.first().map_or("/stash", String::as_str);
        let text = format!("stashed; press {key} in an empty prompt to restore");
        self.toast(&text, false, now);
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
