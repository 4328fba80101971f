//! Terminal sessions, as clients see and use them.

use std::sync::{Arc, OnceLock};

use osier_agent::{Severity, Tool, ToolSet, ToolSource};
use osier_protocol::{Event, TerminalOp};
use osier_tools::{TerminalChange, TerminalObserver, Workspace};

use crate::cx::Cx;
use crate::emitter::{Callback, Emitter};

/// News for the actor. Screens do not pass it.
#[derive(Debug)]
pub(crate) enum TerminalNews {
    /// A terminal started, changed or ended.
    Changed,
    /// A watcher has a message for the model.
    Watched(String),
}

/// Publishes screens and passes on the rest.
pub(crate) fn observer(emitter: Emitter, news: Callback<TerminalNews>) -> TerminalObserver {
    Arc::new(move |change| match change {
        TerminalChange::List => news.call(TerminalNews::Changed),
        TerminalChange::Watched(text) => news.call(TerminalNews::Watched(text)),
        TerminalChange::Screen(id, screen) => emitter.publish(Event::TerminalScreen { id, screen }),
    })
}

/// Publishes the terminals of the open session.
pub(crate) fn list(workspace: Option<&Workspace>, emitter: &Emitter) {
    let terminals = workspace.map(Workspace::terminals);
    emitter.publish(Event::Terminals {
        terminals: terminals.unwrap_or_default(),
    });
}

/// Handles a request about terminals.
pub(crate) fn handle(op: TerminalOp, cx: Cx<'_>) {
    let Some(session) = cx.session else { return };
    let (workspace, emitter) = (Arc::clone(&session.workspace), cx.emitter.clone());
    let warn = |done: Result<(), String>, emitter: &Emitter| {
        if let Err(error) = done {
            emitter.post_notice(Severity::Warning, error);
        }
    };
    match op {
        TerminalOp::ListTerminals => list(Some(&workspace), &emitter),
        // Not in the background, so that inputs stay in order.
        TerminalOp::TypeInTerminal {
            terminal: id,
            text,
            paste,
        } => warn(workspace.type_into_terminal(&id, &text, paste), &emitter),
        TerminalOp::ResizeTerminal {
            terminal: id,
            rows,
            columns,
        } => warn(workspace.resize_terminal(&id, rows, columns), &emitter),
        TerminalOp::ShowTerminal { terminal: id } => match workspace.terminal_screen(&id) {
            Some(screen) => {
                let screen = Box::new(screen);
                emitter.post(Event::TerminalScreen { id, screen });
            }
            None => warn(Err(format!("no terminal with the id `{id}`")), &emitter),
        },
        TerminalOp::StartTerminal { command } => {
            osier_base::task::spawn(async move {
                let started = workspace.start_terminal(&command).await;
                warn(started.map(drop), &emitter);
            });
        }
        TerminalOp::CloseTerminal { terminal: id } => {
            osier_base::task::spawn(async move {
                warn(workspace.close_terminal(&id).await, &emitter);
            });
        }
    }
}

/// Offers the tool for terminals once there is one.
#[derive(Debug)]
pub(crate) struct TerminalSource {
    workspace: Arc<Workspace>,
    offered: OnceLock<Arc<dyn Tool>>,
}

impl TerminalSource {
    pub(crate) fn new(workspace: &Arc<Workspace>) -> Arc<Self> {
        Arc::new(Self {
            workspace: Arc::clone(workspace),
            offered: OnceLock::new(),
        })
    }
}

impl ToolSource for TerminalSource {
    fn tools(&self) -> ToolSet {
        if self.offered.get().is_none()
            && let Some(tool) = self.workspace.terminal_tool()
        {
            let _ = self.offered.set(tool);
        }
        self.offered.get().cloned().into_iter().collect()
    }
}
