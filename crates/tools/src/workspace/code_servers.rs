//! Language servers, which a session provides.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use osier_lsp::{Change, Server};

/// A server that knows the text of a file.
pub type Opened = (Arc<Server>, Change);

/// The language servers of a session.
pub trait CodeServers: fmt::Debug + Send + Sync {
    /// The servers of a file, which know its text as it is now.
    ///
    /// # Errors
    /// Why none runs, for the model.
    fn open<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, Result<Vec<Opened>, String>>;

    /// The servers that run.
    fn running(&self) -> Vec<Arc<Server>>;

    /// How long the tool `diagnostics` waits for them.
    fn patience(&self) -> Duration {
        Duration::from_secs(15)
    }
}
