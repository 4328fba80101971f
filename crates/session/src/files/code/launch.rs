//! Starts programs of a project in the sandbox of the session.

use async_trait::async_trait;
use std::sync::Arc;

use osier_base::process::Invocation;
use osier_lsp::Launch;
use osier_sandbox::Confinement;

/// The sandbox for servers and formatters.
#[derive(Debug, Clone)]
pub(crate) struct Confined(pub Arc<Confinement>);

impl Confined {
    /// The program in the sandbox.
    pub(crate) async fn confine(&self, invocation: Invocation) -> Result<Invocation, String> {
        let Self(sandbox) = self;
        sandbox.prepare().await.map_err(|error| error.to_string())?;
        sandbox.wrap(invocation).map_err(|error| error.to_string())
    }
}

#[async_trait]
impl Launch for Confined {
    fn key(&self) -> String {
        let Self(sandbox) = self;
        let (mode, network) = (sandbox.mode().name(), sandbox.has_network());
        let denies = sandbox.denies_network();
        format!("{mode} {network} {denies}")
    }

    async fn wrap(&self, invocation: Invocation) -> Result<Invocation, String> {
        self.confine(invocation).await
    }
}
