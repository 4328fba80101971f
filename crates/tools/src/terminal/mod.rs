//! Terminal sessions: programs on a pseudo-terminal that the model and the user type into and read. `bash` starts one;
//! the tool `terminal`, which is offered from then on, does the rest. Each is a task that owns its program and ends with
//! the session at the latest.

mod emulator;
mod flood;
#[cfg(test)]
mod flood_tests;
mod keys;
mod output;
mod secrets;
mod session;
mod tool;
mod typed;
mod watcher;

use std::collections::HashSet;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use osier_agent::{Tool, ToolSet};
use osier_base::process::{PtySize, spawn_terminal};
use osier_protocol::{SandboxMode, TerminalInfo, TerminalScreen};
use serde_json::{Map, Value};
use tokio_util::task::AbortOnDropHandle;

pub(crate) use self::session::TerminalSession;
pub(crate) use self::tool::started;
pub use self::typed::Typed;
use crate::built_in::BuiltIn;
use crate::workspace::Workspace;

/// Terminals of a session, running or ended; the oldest ended one is removed first.
const MAX_TERMINALS: usize = 8;

/// The size of a new terminal.
const SIZE: PtySize = PtySize {
    rows: 24,
    columns: 80,
};

/// The tool for terminals that run.
pub const TERMINAL: &str = "terminal";

pub(super) const TOOLS: [BuiltIn; 1] = [BuiltIn {
    name: TERMINAL,
    label: "Terminal",
    read_only: false,
    reads_web: false,
    asks_user: false,
    main_argument: "text",
    file: None,
    files: None,
    replaces: &[],
    make: |workspace| Arc::new(tool::TerminalTool::new(&workspace)),
}];

/// What happened to a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TerminalChange {
    /// The terminals changed.
    List,
    /// The terminal with this id shows something else.
    Screen(String, Box<TerminalScreen>),
    /// A watcher has a message for the model.
    Watched(String),
}

/// Called when something happens to a terminal. Must not block.
pub type TerminalObserver = Arc<dyn Fn(TerminalChange) + Send + Sync>;

/// The terminals of one session, oldest first.
#[derive(Default)]
pub(super) struct Terminals {
    list: Mutex<List>,
    observer: Option<TerminalObserver>,
    /// The tool, once it is offered.
    offered: OnceLock<Arc<dyn Tool>>,
    watchers: Mutex<Vec<AbortOnDropHandle<()>>>,
    /// Calls whose input was checked as input of a program that is no shell.
    for_programs: Mutex<HashSet<String>>,
}

#[derive(Debug, Default)]
struct List {
    terminals: Vec<Arc<TerminalSession>>,
    started: usize,
    inputs: usize,
}

impl std::fmt::Debug for Terminals {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Terminals")
            .field("list", &self.list)
            .finish_non_exhaustive()
    }
}

impl Terminals {
    fn list(&self) -> MutexGuard<'_, List> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn all(&self) -> Vec<Arc<TerminalSession>> {
        self.list().terminals.clone()
    }

    fn find(&self, id: &str) -> Option<Arc<TerminalSession>> {
        self.all().into_iter().find(|terminal| terminal.id == id)
    }

    fn for_programs(&self) -> MutexGuard<'_, HashSet<String>> {
        let locked = self.for_programs.lock();
        locked.unwrap_or_else(PoisonError::into_inner)
    }

    /// The input of `call` is for a program that is no shell.
    fn note_program(&self, call: &str) {
        self.for_programs().insert(call.to_owned());
    }

    fn was_for_program(&self, call: &str) -> bool {
        self.for_programs().remove(call)
    }

    fn changed(&self, change: TerminalChange) {
        if let Some(observer) = &self.observer {
            observer(change);
        }
    }

    /// Starts `command`. The error kind `QuotaExceeded` means too many terminals.
    fn start(&self, workspace: &Workspace, command: &str) -> io::Result<Arc<TerminalSession>> {
        let mut list = self.list();
        if list.terminals.len() >= MAX_TERMINALS {
            let ended = |terminal: &Arc<TerminalSession>| terminal.ended().is_some();
            let Some(ended) = list.terminals.iter().position(ended) else {
                return Err(io::ErrorKind::QuotaExceeded.into());
            };
            list.terminals.remove(ended);
        }
        let (invocation, _report) = workspace.shell().invocation(command)?;
        let child = spawn_terminal(&invocation, SIZE)?;
        list.started += 1;
        let terminal = Arc::new(TerminalSession::new(
            format!("term{}", list.started),
            command,
            child,
            SIZE,
            workspace.confinement().mode() == SandboxMode::ReadOnly,
            self.observer.clone(),
        ));
        list.terminals.push(Arc::clone(&terminal));
        drop(list);
        self.changed(TerminalChange::List);
        Ok(terminal)
    }
}

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

    pub(super) fn has_terminals(&self) -> bool {
        self.terminals.observer.is_some()
    }

    /// The tool for terminals, once there was one or a background job.
    pub fn terminal_tools(self: &Arc<Self>) -> ToolSet {
        let is_used = || !self.terminals.list().terminals.is_empty() || self.jobs.has_started();
        if self.terminals.offered.get().is_none() && self.has_terminals() && is_used() {
            let tool = tool::TerminalTool::new(self);
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
        let terminal = self.terminals.start(self, command);
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

    fn known_terminal(&self, id: &str) -> Result<Arc<TerminalSession>, String> {
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
        let input = (tool == TERMINAL).then(|| tool::Input::of(arguments))??;
        let terminal = self.terminals.find(&input.id)?;
        let Some(typed) = terminal.meaning(&input.text, &input.keys) else {
            self.terminals.note_program(call);
            return None;
        };
        let number = {
            let mut list = self.terminals.list();
            list.inputs += 1;
            list.inputs
        };
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

/// How long the first screen of a new terminal may take.
const FIRST_SCREEN: Duration = Duration::from_secs(3);

fn not_started(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::QuotaExceeded => "too many terminals are open; close one first".to_owned(),
        _ => format!("cannot start the terminal: {error}"),
    }
}

#[cfg(test)]
mod tests;
