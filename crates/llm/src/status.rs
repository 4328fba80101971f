//! The status of a model call. The agent loop decides on it alone.

use serde::{Deserialize, Serialize};

/// The status of a call. Messages are for the user: one line, without keys.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum TurnStatus {
    Success {
        has_tool_calls: bool,
        /// Whether the model is done: it called no tools and wrote text.
        final_answer: bool,
    },
    /// Too many requests: a retry or another model can succeed.
    RateLimit {
        message: String,
        /// The delay requested by the provider, in milliseconds.
        retry_after_ms: Option<u64>,
    },
    /// The key is missing, invalid or not permitted: the provider is disabled for the session.
    AuthError { message: String },
    /// The paid quota is used up: the provider is disabled for the session.
    QuotaExceeded { message: String },
    /// The provider rejected the request or failed.
    ModelError { message: String, retryable: bool },
    /// The connection failed or was interrupted.
    NetworkError { message: String, retryable: bool },
    /// The connection was idle for too long.
    Timeout { message: String },
    /// The response does not have the wire format: an HTML page, an incomplete stream.
    InvalidResponse { message: String },
    /// The conversation exceeds the context window.
    ContextOverflow { message: String },
    /// The user interrupted.
    Aborted,
}

impl TurnStatus {
    pub fn is_success(&self) -> bool {
        matches!(self, Self::Success { .. })
    }

    /// Whether the same request can succeed later or with another model.
    pub fn is_retryable(&self) -> bool {
        match self {
            // An interrupted or invalid stream is usually a temporary problem of a proxy.
            Self::RateLimit { .. } | Self::Timeout { .. } | Self::InvalidResponse { .. } => true,
            Self::ModelError { retryable, .. } | Self::NetworkError { retryable, .. } => *retryable,
            _ => false,
        }
    }

    /// Whether the provider is disabled for the session.
    pub fn disables_provider(&self) -> bool {
        matches!(self, Self::AuthError { .. } | Self::QuotaExceeded { .. })
    }

    /// The message of a failure, for changes.
    pub(crate) fn message_mut(&mut self) -> Option<&mut String> {
        match self {
            Self::Success { .. } | Self::Aborted => None,
            Self::RateLimit { message, .. }
            | Self::AuthError { message }
            | Self::QuotaExceeded { message }
            | Self::ModelError { message, .. }
            | Self::NetworkError { message, .. }
            | Self::Timeout { message }
            | Self::InvalidResponse { message }
            | Self::ContextOverflow { message } => Some(message),
        }
    }

    /// The message of a failure; empty for other statuses.
    pub fn message(&self) -> &str {
        match self {
            Self::Success { .. } => "",
            Self::Aborted => "interrupted",
            Self::RateLimit { message, .. }
            | Self::AuthError { message }
            | Self::QuotaExceeded { message }
            | Self::ModelError { message, .. }
            | Self::NetworkError { message, .. }
            | Self::Timeout { message }
            | Self::InvalidResponse { message }
            | Self::ContextOverflow { message } => message,
        }
    }
}
