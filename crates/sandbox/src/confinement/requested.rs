//! The sandbox that was requested.

use std::path::PathBuf;

use crate::backend::{Backend, Preferred, SandboxError};
use crate::denied::Denied;
use crate::network::{HostRule, Hosts};
use osier_protocol::questions::Questions;
use osier_protocol::{NetworkAccess, SandboxMode};

#[derive(Debug, Clone, Default)]
pub(crate) struct Requested {
    pub(super) mode: SandboxMode,
    /// Plan mode forces read-only.
    pub(super) plan: bool,
    pub(super) network: NetworkAccess,
    pub(crate) writable: Vec<PathBuf>,
    pub(super) denied: Denied,
    /// Asks the user whether a command can run outside of the sandbox.
    pub(super) asker: Option<Questions>,
    pub(super) preferred: Preferred,
}

impl Requested {
    pub(super) fn effective(&self) -> SandboxMode {
        if self.plan {
            SandboxMode::ReadOnly
        } else {
            self.mode
        }
    }

    /// The hosts that commands reach; none without a network.
    pub(super) fn hosts(&self, backend: &Backend) -> Result<Option<Hosts>, SandboxError> {
        let denied = self.denied.hosts();
        let allowed = match self.network() {
            NetworkAccess::Off => return Ok(None),
            // Only the proxy distinguishes hosts.
            NetworkAccess::All if !denied.is_empty() && !backend.has_proxy() => return Ok(None),
            NetworkAccess::All => None,
            NetworkAccess::Hosts(hosts) => {
                let rules = hosts.iter().map(|host| HostRule::parse(host));
                Some(rules.collect::<Result<_, _>>().map_err(SandboxError::new)?)
            }
        };
        Ok(Some(Hosts { allowed, denied }))
    }

    pub(super) fn network(&self) -> &NetworkAccess {
        if self.plan || self.denied.network() {
            &NetworkAccess::Off
        } else {
            &self.network
        }
    }
}
