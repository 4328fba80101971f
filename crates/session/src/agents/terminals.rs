//! Terminal sessions, as clients see and use them, and the messages of watchers to the model.

use std::sync::Arc;

use osier_agent::{Agent, Severity, Tool, ToolSet, ToolSource};
use osier_protocol::{Event, Op};
use osier_tools::{TerminalChange, TerminalObserver, Workspace};

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

/// Gives the model the message of a watcher. Starts a run when none is active.
pub(crate) fn wake(agent: &Agent, text: &str) {
    agent.send(osier_agent::Op::Steer {
        text: format!("[{text}]"),
        attachments: Vec::new(),
        typed: Some(String::new()),
    });
}

/// Handles the requests about terminals.
pub(crate) fn apply(op: Op, workspace: &Arc<Workspace>, emitter: &Emitter) {
    match &op {
        Op::ListTerminals => return list(Some(workspace), emitter),
        // In order.
        Op::TypeInTerminal {
            terminal: id,
            text,
            paste,
        } => {
            if let Err(error) = workspace.type_into_terminal(id, text, *paste) {
                emitter.notice(Severity::Warning, error);
            }
            return;
        }
        _ => {}
    }
    let (workspace, emitter) = (Arc::clone(workspace), emitter.clone());
    osier_base::task::spawn(async move {
        if let Err(error) = carry_out(op, &workspace, &emitter).await {
            emitter.post_notice(Severity::Warning, error);
        }
    });
}

async fn carry_out(op: Op, workspace: &Workspace, emitter: &Emitter) -> Result<(), String> {
    match op {
        Op::StartTerminal { command } => {
            workspace.start_terminal(&command).await?;
        }
        Op::ResizeTerminal {
            terminal: id,
            rows,
            columns,
        } => {
            workspace.resize_terminal(&id, rows, columns)?;
        }
        Op::CloseTerminal { terminal: id } => workspace.close_terminal(&id).await?,
        Op::ShowTerminal { terminal: id } => {
            let screen = workspace.terminal_screen(&id);
            let screen = screen.ok_or_else(|| format!("no terminal with the id `{id}`"))?;
            let screen = Box::new(screen);
            emitter.post(Event::TerminalScreen { id, screen });
        }
        _ => {}
    }
    Ok(())
}

/// Offers the tool for terminals once there is one.
#[derive(Debug)]
pub(crate) struct TerminalSource(Arc<Workspace>);

impl TerminalSource {
    pub(crate) fn new(workspace: &Arc<Workspace>) -> Arc<Self> {
        Arc::new(Self(Arc::clone(workspace)))
    }
}

impl ToolSource for TerminalSource {
    fn tools(&self) -> ToolSet {
        let tools: Vec<Arc<dyn Tool>> = self.0.terminal_tools();
        tools
    }
}
