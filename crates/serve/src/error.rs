//! Errors of the server. All have the form `{"error": {"code", "message"}}`.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use osier_hub::OpenError;

/// Every error code with its name, status and meaning, for responses and the documentation.
pub(super) const CODES: &[(ErrorCode, &str, StatusCode, &str)] = &[
    (
        ErrorCode::Unauthorized,
        "unauthorized",
        StatusCode::UNAUTHORIZED,
        "the token is missing or wrong",
    ),
    (
        ErrorCode::Forbidden,
        "forbidden",
        StatusCode::FORBIDDEN,
        "this token does not allow the request",
    ),
    (
        ErrorCode::ForbiddenHost,
        "forbidden_host",
        StatusCode::FORBIDDEN,
        "the `Host` header is not a name of this server",
    ),
    (
        ErrorCode::ForbiddenOrigin,
        "forbidden_origin",
        StatusCode::FORBIDDEN,
        "the request comes from a page of another site",
    ),
    (
        ErrorCode::RateLimited,
        "rate_limited",
        StatusCode::TOO_MANY_REQUESTS,
        "too many requests or wrong tokens; retry after the time in `retry-after`",
    ),
    (
        ErrorCode::UnsupportedProtocol,
        "unsupported_protocol",
        StatusCode::BAD_REQUEST,
        "the client speaks another protocol version",
    ),
    (
        ErrorCode::UnsupportedMediaType,
        "unsupported_media_type",
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "the body is not `application/json`",
    ),
    (
        ErrorCode::TooLarge,
        "too_large",
        StatusCode::PAYLOAD_TOO_LARGE,
        "the body or frame is larger than 32 MiB",
    ),
    (
        ErrorCode::RequestTimeout,
        "request_timeout",
        StatusCode::REQUEST_TIMEOUT,
        "the body did not arrive in time",
    ),
    (
        ErrorCode::Malformed,
        "malformed",
        StatusCode::BAD_REQUEST,
        "the body or frame is invalid",
    ),
    (
        ErrorCode::NotFound,
        "not_found",
        StatusCode::NOT_FOUND,
        "the path or resource does not exist",
    ),
    (
        ErrorCode::UnknownSession,
        "unknown_session",
        StatusCode::NOT_FOUND,
        "the session does not exist",
    ),
    (
        ErrorCode::NoDirectory,
        "no_directory",
        StatusCode::BAD_REQUEST,
        "the working directory does not exist or is unreadable",
    ),
    (
        ErrorCode::Unavailable,
        "unavailable",
        StatusCode::CONFLICT,
        "the session exists but cannot be opened",
    ),
    (
        ErrorCode::QuotaExceeded,
        "quota_exceeded",
        StatusCode::PAYMENT_REQUIRED,
        "the monthly limit of the proxy user is used up",
    ),
    (
        ErrorCode::Refused,
        "refused",
        StatusCode::CONFLICT,
        "the agent did not execute the command",
    ),
    (
        ErrorCode::Occupied,
        "occupied",
        StatusCode::CONFLICT,
        "another client is writing; `take_over` takes control",
    ),
    (
        ErrorCode::ShuttingDown,
        "shutting_down",
        StatusCode::SERVICE_UNAVAILABLE,
        "the server is shutting down",
    ),
];

/// The kind of error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ErrorCode {
    Unauthorized,
    Forbidden,
    ForbiddenHost,
    ForbiddenOrigin,
    RateLimited,
    UnsupportedProtocol,
    UnsupportedMediaType,
    TooLarge,
    RequestTimeout,
    Malformed,
    NotFound,
    UnknownSession,
    NoDirectory,
    Unavailable,
    QuotaExceeded,
    Refused,
    Occupied,
    ShuttingDown,
}

/// An error response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ApiError {
    pub code: ErrorCode,
    /// The error and the advice, for users.
    pub message: String,
    /// Seconds until a retry is allowed.
    pub retry_after: Option<u64>,
}

impl ErrorCode {
    fn row(self) -> (&'static str, StatusCode) {
        let row = CODES.iter().find(|row| row.0 == self);
        row.map_or(("internal", StatusCode::INTERNAL_SERVER_ERROR), |row| {
            (row.1, row.2)
        })
    }

    /// The name in responses.
    pub(super) fn name(self) -> &'static str {
        self.row().0
    }
}

impl ApiError {
    pub(super) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            retry_after: None,
        }
    }

    pub(super) fn malformed(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Malformed, message)
    }

    /// The value of `error`.
    pub(super) fn value(&self) -> Value {
        let name = self.code.name();
        // Clients of the LLM proxy read `type`.
        json!({"code": name, "type": name, "message": self.message})
    }
}

impl From<OpenError> for ApiError {
    fn from(error: OpenError) -> Self {
        let code = match &error {
            OpenError::Unknown { .. } => ErrorCode::UnknownSession,
            OpenError::Unavailable { .. } => ErrorCode::Unavailable,
            OpenError::Directory { .. } => ErrorCode::NoDirectory,
            OpenError::Start(_) | OpenError::Open { .. } => ErrorCode::Malformed,
            OpenError::Closing => ErrorCode::ShuttingDown,
        };
        Self::new(code, error.to_string())
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let (_, status) = self.code.row();
        let mut response = (status, Json(json!({"error": self.value()}))).into_response();
        if let Some(after) = self.retry_after {
            let value = HeaderValue::from(after);
            response.headers_mut().insert(header::RETRY_AFTER, value);
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_one_row() {
        for (place, (code, name, ..)) in CODES.iter().enumerate() {
            assert_eq!(code.name(), *name);
            assert!(CODES[..place].iter().all(|row| row.1 != *name));
        }
    }
}
