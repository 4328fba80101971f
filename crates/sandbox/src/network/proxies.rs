//! The proxies of a session, one for each command.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[cfg(target_os = "linux")]
use super::handover;
use super::hosts::HostRule;
use super::policy::{Answers, Asker, Hosts, Policy};
use super::proxy::PORT;
use crate::backend::{Backend, SandboxError};
use crate::report::DeniedHosts;

/// The proxies of a session.
#[derive(Debug, Default)]
pub(crate) struct Proxies {
    started: AtomicUsize,
    answers: Arc<Answers>,
}

/// The proxy of one command.
#[derive(Debug)]
pub(crate) struct Proxy {
    /// Where the helper hands the listener over.
    pub socket: PathBuf,
    pub denied: DeniedHosts,
}

impl Proxies {
    /// Starts a proxy for one command, which ends with it. Its socket is created in `folder`.
    pub(crate) fn start(
        &self,
        backend: &Backend,
        hosts: Hosts,
        asker: Asker,
        folder: &Path,
    ) -> Result<Proxy, SandboxError> {
        if !backend.has_proxy() {
            let reason = "`sandbox_network` lists hosts, which only bubblewrap can enforce";
            let advice = "Install bubblewrap, or set `sandbox_network` to true or false";
            return Err(SandboxError::new(reason).with_advice(advice));
        }
        let number = self.started.fetch_add(1, Ordering::Relaxed);
        let socket = folder.join(format!("network-{number}.sock"));
        let denied = DeniedHosts::default();
        let policy = Policy::new(hosts, Arc::clone(&self.answers), asker, denied.clone());
        #[cfg(target_os = "linux")]
        handover::receive(&socket, policy).map_err(|error| {
            SandboxError::new(format!("cannot start the network proxy: {error}"))
        })?;
        #[cfg(not(target_os = "linux"))]
        drop(policy);
        Ok(Proxy { socket, denied })
    }
}

/// The variables that make programs use the proxy. Servers inside the sandbox are reached directly,
/// unless `hosts` names servers of this machine.
pub(crate) fn environment(hosts: &[String]) -> HashMap<OsString, OsString> {
    let proxy = format!("http://127.0.0.1:{PORT}");
    let has_local = hosts
        .iter()
        .filter_map(|host| HostRule::parse(host).ok())
        .any(|rule| rule.is_local());
    let direct = if has_local {
        ""
    } else {
        "localhost,127.0.0.1,::1"
    };
    let mut variables = HashMap::new();
    for name in ["http_proxy", "https_proxy", "all_proxy"] {
        variables.insert(name.into(), proxy.clone().into());
        variables.insert(name.to_uppercase().into(), proxy.clone().into());
    }
    for name in ["no_proxy", "NO_PROXY"] {
        variables.insert(name.into(), direct.into());
    }
    variables.insert("NODE_USE_ENV_PROXY".into(), "1".into());
    variables
}
