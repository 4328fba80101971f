//! The terminals of a workspace, for tools and for the user.

use std::sync::Arc;

use osier_agent::ToolSet;
use osier_base::process::PtySize;
use osier_protocol::{TerminalInfo, TerminalScreen};
use serde_json::{Map, Value};

use super::terminal_tool::{Input, TERMINAL, TerminalTool, not_started};
use crate::terminal::{TerminalObserver, TerminalSession, Typed};
use crate::workspace::Workspace;

/// What a call would type into a shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypedCall {
    pub typed: Typed,
    /// Describes input whose line is not known; no two descriptions are the same.
    pub description: String,
    /// Whether the terminal was started where the sandbox denies all writes.
    pub is_read_only: bool,
}

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
    pub fn terminal_tools(self: &Arc<Self>) -> ToolSet {
        let is_used = || !self.terminals.is_empty() || self.commands.jobs.has_started();
        if self.terminals.offered.get().is_none() && self.has_terminals() && is_used() {
            let tool = TerminalTool::new(self);
            let _ = self.terminals.offered.set(Arc::new(tool));
        }
        self.terminals.offered.get().cloned().into_iter().collect()
    }

    /// The terminals of the session, oldest first.
    pub fn terminals(&self) -> Vec<TerminalInfo> {
        let terminals = self.terminals.all();
        terminals.iter().map(|terminal| terminal.info()).collect()
    }

    /// What the terminal `id` shows.
    pub fn terminal_screen(&self, id: &str) -> Option<TerminalScreen> {
        self.terminals.find(id).map(|terminal| terminal.screen())
    }

    /// Starts `command` on a terminal for the user; returns its id.
    pub async fn start_terminal(&self, command: &str) -> Result<String, String> {
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

    /// What the call of `tool` would type into a shell; `None` if it types nothing into one.
    pub fn typed_call(&self, call: &str, tool: &str, arguments: &Value) -> Option<TypedCall> {
        let input = (tool == TERMINAL).then(|| Input::of(arguments))??;
        let terminal = self.terminals.find(&input.id)?;
        let Some(typed) = terminal.meaning(&input.text, &input.keys) else {
            self.terminals.note_program(call);
            return None;
        };
        let number = self.terminals.next_input();
        let keys = input.keys.join(" ");
        Some(TypedCall {
            typed,
            description: format!("input {number} of {}: {}{keys}", input.id, input.text),
            is_read_only: terminal.is_read_only,
        })
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
