//! The terminals of a session.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use osier_base::process::{PtySize, spawn_terminal};
use osier_protocol::SandboxMode;
use tokio_util::task::AbortOnDropHandle;

use super::change::{TerminalChange, TerminalObserver};
use super::session::TerminalSession;
use crate::commands::shell::Shell;

/// Terminals of a session, running or ended; the oldest ended one is removed first.
const MAX_TERMINALS: usize = 8;

/// The size of a new terminal.
const SIZE: PtySize = PtySize {
    rows: 24,
    columns: 80,
};

/// The terminals of one session, oldest first.
#[derive(Default)]
pub(crate) struct Terminals {
    list: Mutex<List>,
    pub(crate) observer: Option<TerminalObserver>,
    pub(crate) watchers: Mutex<Vec<AbortOnDropHandle<()>>>,
}

#[derive(Debug, Default)]
struct List {
    terminals: Vec<Arc<TerminalSession>>,
    started: usize,
    inputs: usize,
}

osier_base::opaque_debug!(Terminals);

impl Terminals {
    fn list(&self) -> MutexGuard<'_, List> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn all(&self) -> Vec<Arc<TerminalSession>> {
        self.list().terminals.clone()
    }

    pub(crate) fn find(&self, id: &str) -> Option<Arc<TerminalSession>> {
        self.all().into_iter().find(|terminal| terminal.id == id)
    }

    fn changed(&self, change: TerminalChange) {
        if let Some(observer) = &self.observer {
            observer(change);
        }
    }

    /// Starts `command`. The error kind `QuotaExceeded` means too many terminals.
    pub(crate) fn start(&self, shell: &Shell, command: &str) -> io::Result<Arc<TerminalSession>> {
        let mut list = self.list();
        if list.terminals.len() >= MAX_TERMINALS {
            let ended = |terminal: &Arc<TerminalSession>| terminal.ended().is_some();
            let Some(ended) = list.terminals.iter().position(ended) else {
                return Err(io::ErrorKind::QuotaExceeded.into());
            };
            list.terminals.remove(ended);
        }
        let (invocation, _report) = shell.invocation(command)?;
        let child = spawn_terminal(&invocation, SIZE)?;
        list.started += 1;
        let terminal = Arc::new(TerminalSession::new(
            format!("term{}", list.started),
            command,
            child,
            SIZE,
            shell.confinement.mode() == SandboxMode::ReadOnly,
            self.observer.clone(),
        ));
        list.terminals.push(Arc::clone(&terminal));
        drop(list);
        self.changed(TerminalChange::List);
        Ok(terminal)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.list().terminals.is_empty()
    }

    /// The number of the next input whose line is not known.
    pub(crate) fn next_input(&self) -> usize {
        let mut list = self.list();
        list.inputs += 1;
        list.inputs
    }
}
