//! Sending the prompt: as a slash command, a shell command or a message.

use std::path::Path;

use super::Prompt;
use crate::actions::{Action, Command, Outbox, TabRequest, Toast, command::parse_slash};
use crate::conversation::Transcript;
use crate::status::Footer;
use osier_agent::{Op as AgentOp, UserMessage};
use osier_protocol::{Op, SessionInfo};
use osier_session::models::{DEMO_PROVIDER, tour};
use osier_term::Keymap;

/// Whether the first prompt of a session in a directory of the user would play the demo.
fn starts_demo(to: &mut Submission<'_>) -> bool {
    let model = to.footer.model.as_ref();
    model.is_some_and(|model| model.provider == DEMO_PROVIDER)
        && to.transcript.notice_rows(80).is_some()
        && !tour::is_sample(Path::new(&to.session.cwd))
}

/// Where a prompt goes, and what decides whether it can be sent.
#[derive(Debug)]
pub(crate) struct Submission<'a> {
    /// Wait until the model is done.
    pub(crate) follow_up: bool,
    pub(crate) session: &'a SessionInfo,
    pub(crate) footer: &'a Footer,
    pub(crate) keymap: &'a Keymap<Command>,
    pub(crate) transcript: &'a mut Transcript,
    pub(crate) outbox: &'a mut Outbox,
}

impl Submission<'_> {
    /// Whether the session takes prompts from here; shows why not.
    fn is_allowed(&mut self) -> bool {
        if self.session.read_only {
            let text = "read-only session: `/clone` continues in a copy";
            self.outbox.push(Toast::error(text));
            return false;
        }
        let presence = &self.footer.presence;
        !presence.is_controlled_elsewhere(self.keymap, self.outbox)
    }
}

impl Prompt {
    /// Sends the editor's text, or a prompt that a command wrote.
    pub(crate) fn apply(&mut self, action: Action, mut to: Submission<'_>) {
        match action {
            Action::Submit { follow_up } => {
                to.follow_up = follow_up;
                self.submit(to);
            }
            Action::SendPrompt { text, typed } => self.send(text, typed, to),
            _ => {}
        }
    }

    /// Sends the editor's text: a slash command, a shell command, or a prompt.
    fn submit(&mut self, mut to: Submission<'_>) {
        if self.editor.continue_line() {
            return;
        }
        let text = self.editor.text();
        let trimmed = text.trim();
        if trimmed.is_empty() {
            return;
        }
        let parsed = parse_slash(trimmed, |name| self.editor.is_added_command(name));
        if let Some(parsed) = parsed {
            match parsed {
                Ok(actions) => {
                    // A command without an argument is quicker to type than to recall, and would
                    // hide the prompts.
                    if trimmed.contains(char::is_whitespace) {
                        self.remember(trimmed, to.outbox);
                    }
                    self.editor.clear();
                    for action in actions {
                        to.outbox.push(action);
                    }
                }
                // The text stays: nothing typed is lost.
                Err(message) => to.outbox.push(Toast::error(message)),
            }
            return;
        }
        if !to.is_allowed() {
            return;
        }
        let is_text = self.editor.attachments().is_empty() && !trimmed.starts_with('!');
        if is_text && !self.editor.is_elsewhere() && starts_demo(&mut to) {
            self.editor.clear();
            let prompt = trimmed.to_owned();
            return to.outbox.push(TabRequest::Demo { prompt });
        }
        let outbox = to.outbox;
        // The first line of a paste may begin with spaces that mean something.
        let prompt = without_blank_ends(&text);
        let model = to.footer.model.as_ref();
        let Some(attachments) = self.attachments_to_send(model, outbox) else {
            return;
        };
        self.remember(prompt, outbox);
        self.editor.clear();
        to.transcript.go_bottom();
        if let Some(command) = trimmed.strip_prefix('!') {
            return send_shell(command, outbox);
        }
        let text = prompt.to_owned();
        self.pending.add(UserMessage {
            text: text.clone(),
            attachments: attachments.clone(),
            ..UserMessage::default()
        });
        outbox.push(if to.follow_up {
            AgentOp::FollowUp {
                text,
                attachments,
                typed: None,
                once: None,
            }
        } else {
            AgentOp::Prompt {
                text,
                attachments,
                typed: None,
                once: None,
            }
        });
    }

    /// Sends a prompt that a command wrote.
    fn send(&mut self, text: String, typed: Option<String>, mut to: Submission<'_>) {
        if !to.is_allowed() {
            return;
        }
        self.pending.add(UserMessage {
            text: text.clone(),
            typed: typed.clone(),
            ..UserMessage::default()
        });
        to.transcript.go_bottom();
        let attachments = Vec::new();
        to.outbox.push(AgentOp::Prompt {
            text,
            attachments,
            typed,
            once: None,
        });
    }

    fn remember(&mut self, text: &str, outbox: &mut Outbox) {
        self.editor.remember(text);
        outbox.push(Op::AddHistory {
            text: text.to_owned(),
        });
    }
}

/// Runs a shell command of the user. With a second `!`, the model does not see it; with `>`, it
/// starts on a terminal.
fn send_shell(command: &str, outbox: &mut Outbox) {
    if let Some(command) = command.strip_prefix('>') {
        let command = command.trim().to_owned();
        if !command.is_empty() {
            outbox.push(Op::StartTerminal { command });
            outbox.push(Action::TypeInNewTerminal);
        }
        return;
    }
    let (command, exclude_from_context) = match command.strip_prefix('!') {
        Some(command) => (command, true),
        None => (command, false),
    };
    let command = command.trim().to_owned();
    if !command.is_empty() {
        outbox.push(Op::Shell {
            command,
            exclude_from_context,
        });
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
