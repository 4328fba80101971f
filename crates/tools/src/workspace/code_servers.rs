//! Language servers, which a session provides.

use async_trait::async_trait;
use osier_lsp::{Change, Server};
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// A server that knows the text of a file.
pub type Opened = (Arc<Server>, Change);

/// The language servers of a session.
#[async_trait]
pub trait CodeServers: fmt::Debug + Send + Sync {
    /// The servers of a file, which know its text as it is now.
    ///
    /// # Errors
    /// Why none runs, for the model.
    async fn open(&self, path: &Path) -> Result<Vec<Opened>, String>;

    /// The servers that run.
    fn running(&self) -> Vec<Arc<Server>>;

    /// How long the tool `diagnostics` waits for them.
    fn patience(&self) -> Duration {
        Duration::from_secs(15)
    }
}
