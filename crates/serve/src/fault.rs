//! What cannot be done, and why: one shape of error everywhere, `{"error": {"code", "message"}}`.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use osier_hub::OpenError;

/// Every kind of fault with its status and what it means: dispatch and documentation.
pub(super) const CODES: &[(Code, &str, StatusCode, &str)] = &[
    (
        Code::Unauthorized,
        "unauthorized",
        StatusCode::UNAUTHORIZED,
        "the token is missing or wrong",
    ),
    (
        Code::Forbidden,
        "forbidden",
        StatusCode::FORBIDDEN,
        "the token's owner may not do this",
    ),
    (
        Code::ForbiddenHost,
        "forbidden_host",
        StatusCode::FORBIDDEN,
        "the `Host` header names something that is not this server",
    ),
    (
        Code::ForbiddenOrigin,
        "forbidden_origin",
        StatusCode::FORBIDDEN,
        "another site's page asks",
    ),
    (
        Code::RateLimited,
        "rate_limited",
        StatusCode::TOO_MANY_REQUESTS,
        "too many requests, or too many wrong tokens; `retry-after` says when",
    ),
    (
        Code::UnsupportedProtocol,
        "unsupported_protocol",
        StatusCode::BAD_REQUEST,
        "the client speaks another version",
    ),
    (
        Code::UnsupportedMediaType,
        "unsupported_media_type",
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "a body has to be `application/json`",
    ),
    (
        Code::TooLarge,
        "too_large",
        StatusCode::PAYLOAD_TOO_LARGE,
        "the body or frame has more than 32 MiB",
    ),
    (
        Code::Malformed,
        "malformed",
        StatusCode::BAD_REQUEST,
        "the body or frame is not what was expected",
    ),
    (
        Code::NotFound,
        "not_found",
        StatusCode::NOT_FOUND,
        "there is nothing of that name",
    ),
    (
        Code::UnknownSession,
        "unknown_session",
        StatusCode::NOT_FOUND,
        "there is no such session",
    ),
    (
        Code::Unavailable,
        "unavailable",
        StatusCode::CONFLICT,
        "the session is there and cannot be opened",
    ),
    (
        Code::QuotaExceeded,
        "quota_exceeded",
        StatusCode::PAYMENT_REQUIRED,
        "what the user of the proxy may use in a month is used up",
    ),
    (
        Code::Refused,
        "refused",
        StatusCode::CONFLICT,
        "the agent did not do it",
    ),
    (
        Code::Occupied,
        "occupied",
        StatusCode::CONFLICT,
        "another client writes: `take_over` lets this one write",
    ),
    (
        Code::ShuttingDown,
        "shutting_down",
        StatusCode::SERVICE_UNAVAILABLE,
        "the server ends",
    ),
];

/// What kind of fault it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Code {
    Unauthorized,
    Forbidden,
    ForbiddenHost,
    ForbiddenOrigin,
    RateLimited,
    UnsupportedProtocol,
    UnsupportedMediaType,
    TooLarge,
    Malformed,
    NotFound,
    UnknownSession,
    Unavailable,
    QuotaExceeded,
    Refused,
    Occupied,
    ShuttingDown,
}

/// Why something is not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub code: Code,
    /// One sentence for a person.
    pub message: String,
    /// Seconds after which it may be tried again.
    pub retry_after: Option<u64>,
}

impl Code {
    fn row(self) -> (&'static str, StatusCode) {
        let row = CODES.iter().find(|row| row.0 == self);
        row.map_or(("internal", StatusCode::INTERNAL_SERVER_ERROR), |row| {
            (row.1, row.2)
        })
    }

    /// As it is written.
    pub(super) fn name(self) -> &'static str {
        self.row().0
    }
}

impl Fault {
    pub(super) fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            retry_after: None,
        }
    }

    pub(super) fn malformed(message: impl Into<String>) -> Self {
        Self::new(Code::Malformed, message)
    }

    /// The value of `error`.
    pub(super) fn value(&self) -> Value {
        let name = self.code.name();
        // `type` is what clients of a proxy look for.
        json!({"code": name, "type": name, "message": self.message})
    }
}

impl From<OpenError> for Fault {
    fn from(error: OpenError) -> Self {
        let code = match &error {
            OpenError::Unknown { .. } => Code::UnknownSession,
            OpenError::Unavailable { .. } => Code::Unavailable,
            OpenError::Directory { .. } | OpenError::Start(_) => Code::Malformed,
            OpenError::Closing => Code::ShuttingDown,
        };
        Self::new(code, error.to_string())
    }
}

impl IntoResponse for Fault {
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
