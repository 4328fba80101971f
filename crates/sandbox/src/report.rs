//! The sandbox's report on a command that has ended.

use parking_lot::Mutex;
use std::sync::Arc;

use super::protected::Identities;

/// The events in the sandbox of one command.
#[derive(Debug, Clone, Default)]
pub struct Report {
    pub(super) protected: Identities,
    pub(super) denied_hosts: DeniedHosts,
}

/// The network hosts that a command wanted, as `HOST:PORT`, each once.
#[derive(Debug, Clone, Default)]
pub(super) struct DeniedHosts(Arc<Mutex<Vec<String>>>);

impl DeniedHosts {
    /// Stored names at most.
    const MAX: usize = 20;

    pub(super) fn add(&self, host: String) {
        let mut hosts = self.0.lock();
        if hosts.len() < Self::MAX && !hosts.contains(&host) {
            hosts.push(host);
        }
    }

    fn all(&self) -> Vec<String> {
        self.0.lock().clone()
    }
}

impl Report {
    /// Files that are named; more are counted.
    const NAMES: usize = 8;

    /// Whether a network host was denied.
    pub fn has_denied_host(&self) -> bool {
        !self.denied_hosts.all().is_empty()
    }

    /// Sentences for the result of the command.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        for host in self.denied_hosts.all() {
            notes.push(format!("The sandbox denied the network host {host}"));
        }
        let changed = self.protected.changed();
        for name in changed.iter().take(Self::NAMES) {
            notes.push(format!(
                "The command created or replaced `{name}` in the working directory, which makes other programs run code; the user should check it"
            ));
        }
        if let more @ 1.. = changed.len().saturating_sub(Self::NAMES) {
            notes.push(format!(
                "The command created or replaced {more} more such files"
            ));
        }
        notes
    }
}
