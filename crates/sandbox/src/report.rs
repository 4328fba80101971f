//! What the sandbox says about a command after it has ended.

use std::sync::{Arc, Mutex, PoisonError};

use super::protected::Identities;

/// What happened in the sandbox of one command.
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
        let mut hosts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if hosts.len() < Self::MAX && !hosts.contains(&host) {
            hosts.push(host);
        }
    }

    fn all(&self) -> Vec<String> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Report {
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
        for name in self.protected.changed() {
            notes.push(format!(
                "The command created or replaced `{name}` in the working directory, which makes other programs run code; the user should check it"
            ));
        }
        notes
    }
}
