//! The terminals of a workspace, for tools and for the user.

use std::sync::Arc;

use osier_agent::{ShellInput, Tool};
use osier_base::process::PtySize;
use osier_protocol::{TerminalInfo, TerminalScreen};
use serde_json::{Map, Value};

use super::terminal_tool::{self, not_started};
use crate::terminal::{TerminalObserver, TerminalSession, Typed};
use crate::workspace::Workspace;

impl Workspace {
    /// Lets commands start on a terminal, and reports to `observer` what happens to them.
    #[must_use]
    pub fn with_terminals(mut self, observer: TerminalObserver) -> Self {
        self.terminals.observer = Some(observer);
        self
    }

    pub(crate) fn has_terminals(&self) -> bool {
        self.terminals.observer.is_some()
    }

    /// The tool for terminals, once there was one or a background job.
    pub fn terminal_tool(self: &Arc<Self>) -> Option<Arc<dyn Tool>> {
        let is_used = || !self.terminals.is_empty() || self.commands.jobs.has_started();
        if self.has_terminals() && is_used() {
            terminal_tool::ROW.make(self)
        } else {
            None
        }
    }

    /// The terminals of the session, oldest first.
    pub fn terminals(&self) -> Vec<TerminalInfo> {
        let terminals = self.terminals.all();
        terminals.iter().map(|terminal| terminal.info()).collect()
    }

    /// The screen of the terminal `id`.
    pub fn terminal_screen(&self, id: &str) -> Option<TerminalScreen> {
        self.terminals.find(id).map(|terminal| terminal.screen())
    }

    /// Starts `command` on a terminal for the user, or the user's shell if it is empty; returns its id.
    pub async fn start_terminal(&self, command: &str) -> Result<String, String> {
        let command = &*match command.trim() {
            "" => users_shell(std::env::var("SHELL").ok()),
            command => command.to_owned(),
        };
        let prepared = self.confinement().prepare().await;
        prepared.map_err(|error| error.to_string())?;
        let terminal = self.terminals.start(&self.commands.shell, command);
        terminal
            .map(|terminal| terminal.id.clone())
            .map_err(|error| not_started(&error))
    }

    /// Types what the user pressed or pasted.
    pub fn type_into_terminal(&self, id: &str, text: &str, is_paste: bool) -> Result<(), String> {
        let terminal = self.known_terminal(id)?;
        terminal.type_unseen(text.as_bytes(), is_paste)
    }

    pub fn resize_terminal(&self, id: &str, rows: u16, columns: u16) -> Result<(), String> {
        let terminal = self.known_terminal(id)?;
        let resized = terminal.resize(PtySize { rows, columns });
        resized.map_err(|error| format!("cannot resize the terminal: {error}"))
    }

    /// Ends the program of a terminal and waits until it is gone.
    pub async fn close_terminal(&self, id: &str) -> Result<(), String> {
        self.known_terminal(id)?.close().await;
        Ok(())
    }

    pub(super) fn known_terminal(&self, id: &str) -> Result<Arc<TerminalSession>, String> {
        self.terminals.find(id).ok_or_else(|| {
            let known: Vec<String> = self.terminals().into_iter().map(|known| known.id).collect();
            let known = if known.is_empty() {
                "none".to_owned()
            } else {
                known.join(", ")
            };
            format!("no terminal `{id}`; terminals: {known}")
        })
    }

    /// The meaning of input for the shell of the terminal `id`, for the judgement; `None` if no shell reads the input.
    pub(super) fn shell_input(
        &self,
        id: &str,
        text: &str,
        keys: &[String],
    ) -> Option<(Typed, ShellInput)> {
        let terminal = self.terminals.find(id)?;
        let typed = terminal.meaning(text, keys)?;
        let command = match &typed {
            Typed::Nothing => None,
            Typed::Command(command) | Typed::Ahead(Some(command)) => Some(command.clone()),
            // No grammar reads this text, so no rule for commands allows it; the number makes each one different.
            Typed::Unknown | Typed::Ahead(None) => {
                let (number, keys) = (self.terminals.next_input(), keys.join(" "));
                Some(format!(
                    "(keys in a terminal: input {number} of {id}: {text}{keys}"
                ))
            }
        };
        let is_read_only = terminal.is_read_only;
        let input = ShellInput {
            command,
            is_read_only,
            is_ahead: matches!(typed, Typed::Ahead(_)),
            folder: terminal.folder(),
        };
        Some((typed, input))
    }

    /// The call that types `command` instead of what `arguments` type.
    pub fn with_typed_command(arguments: &Value, command: &str) -> Value {
        let mut arguments = match arguments {
            Value::Object(arguments) => arguments.clone(),
            _ => Map::new(),
        };
        arguments.remove("keys");
        arguments.insert("text".to_owned(), format!("\x03{command}\n").into());
        Value::Object(arguments)
    }
}

/// The command that starts the user's shell. A name that a shell would read otherwise is not used.
fn users_shell(named: Option<String>) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "/._-".contains(char);
    let named = named.filter(|named| named.starts_with('/') && named.chars().all(is_plain));
    named.unwrap_or_else(|| "sh".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_shell_is_a_plain_path() {
        let shell = |named: Option<&str>| users_shell(named.map(str::to_owned));
        assert_eq!(shell(Some("/bin/zsh")), "/bin/zsh");
        for other in [None, Some("fish"), Some("/bin/sh -c x"), Some("/$(x)")] {
            assert_eq!(shell(other), "sh", "{other:?}");
        }
    }
}
