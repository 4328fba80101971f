//! Why a call failed.

use std::io;
use std::time::Duration;

use crate::frame::ErrorCode;

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The agent rejected the command.
    #[error("`{command}`: {message}")]
    Refused {
        command: String,
        code: Option<ErrorCode>,
        message: String,
    },
    #[error("`{command}` timed out after {after:?}")]
    TimedOut { command: String, after: Duration },
    /// The agent has exited; `stderr` is the end of its standard error.
    #[error("the agent has exited{}", with_stderr(.stderr))]
    Closed { stderr: String },
    /// The answer does not have the expected type.
    #[error("unexpected answer to `{command}`: {source}")]
    Unexpected {
        command: String,
        source: serde_json::Error,
    },
    #[error("cannot start `{program}`: {source}")]
    Start { program: String, source: io::Error },
}

fn with_stderr(stderr: &str) -> String {
    match stderr.trim() {
        "" => String::new(),
        stderr => format!(": {stderr}"),
    }
}
