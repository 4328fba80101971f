//! Access to the environment and to commands. The caller provides it, so that sessions can be tested and
//! isolated.

use std::sync::Arc;

use futures_util::future::BoxFuture;

/// Looks up an environment variable.
pub type Environment = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Runs a shell command; returns its output, or why it failed.
pub type CommandRunner =
    Arc<dyn Fn(String) -> BoxFuture<'static, Result<String, String>> + Send + Sync>;
