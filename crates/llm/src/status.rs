//! How a model call ended. The agent loop decides on this alone.

use serde::{Deserialize, Serialize};

/// The outcome of one call. Messages are for people: one line, without keys.
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
        /// The model is done: no tool calls, and it said something.
        final_answer: bool,
    },
    /// Too many requests; worth waiting or trying another model.
    RateLimit {
        message: String,
        /// What the provider asked for, in milliseconds.
        retry_after_ms: Option<u64>,
    },
    /// The key is missing, wrong or not allowed: the provider is skipped for the session.
    AuthError { message: String },
    /// Paid quota is used up: the provider is skipped for the session.
    QuotaExceeded { message: String },
    /// The provider refused or broke.
    ModelError { message: String, retryable: bool },
    /// The connection failed or was cut.
    NetworkError { message: String, retryable: bool },
    /// Nothing came for too long.
    Timeout { message: String },
    /// What came was not the wire format: an HTML page, half a stream, garbage.
    InvalidResponse { message: String },
    /// The conversation is longer than the model's window.
    ContextOverflow { message: String },
    /// The user interrupted.
    Aborted,
}

impl TurnStatus {
    pub fn is_success(&self) -> bool {
        matches!(self, Self::Success { .. })
    }

    /// Whether the same request may succeed later or elsewhere.
    pub fn is_retryable(&self) -> bool {
        match self {
            // A cut or garbled stream is most often a proxy's passing fault.
            Self::RateLimit { .. } | Self::Timeout { .. } | Self::InvalidResponse { .. } => true,
            Self::ModelError { retryable, .. } | Self::NetworkError { retryable, .. } => *retryable,
            _ => false,
        }
    }

    /// Whether the provider is of no more use in this session.
    pub fn disables_provider(&self) -> bool {
        matches!(self, Self::AuthError { .. } | Self::QuotaExceeded { .. })
    }

    /// The message of a failure, to be changed in place.
    pub fn message_mut(&mut self) -> Option<&mut String> {
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

    /// The message of a failure, for people.
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
