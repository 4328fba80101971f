//! How a server is started: how long osier waits for it, and how its program is confined.

use async_trait::async_trait;
use osier_base::process::Invocation;
use std::fmt;
use std::time::Duration;

/// How long to wait for a server.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The limit for the answer to `initialize`.
    pub start: Duration,
    /// The limit for any other answer.
    pub answer: Duration,
    /// How long an unused server continues to run.
    pub idle: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            start: Duration::from_secs(45),
            answer: Duration::from_secs(20),
            idle: Duration::from_mins(10),
        }
    }
}

/// How a server is started: in the sandbox of its session.
#[async_trait]
pub trait Launch: Send + Sync + fmt::Debug {
    /// A key for the permissions of the server. Servers with different keys are not shared.
    fn key(&self) -> String;

    /// Wraps the program in its sandbox. `settings` are the settings that the server will get, as JSON.
    ///
    /// # Errors
    /// The reason why the server cannot run.
    async fn wrap(&self, invocation: Invocation, settings: &str) -> Result<Invocation, String>;
}
