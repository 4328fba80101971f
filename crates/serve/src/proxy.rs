//! The routes of the LLM proxy (`--proxy`), described in docs/proxy.md.

use std::convert::Infallible;
use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use futures_util::StreamExt as _;

use super::ServerState;
use super::access::Caller;
use super::error::{ApiError, ErrorCode};
use super::request_check::json_body;
use osier_llm::TurnStatus;
use osier_llm::http::ProxyRequest;
use osier_proxy::Refusal;

/// The paths that users of the proxy may request.
pub(super) const PATHS: &[&str] = &["/api/status", "/api/models", "/api/proxy/stream"];

/// Calls a model and streams the frames of its answer.
pub(super) async fn stream(
    State(server): State<Arc<ServerState>>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<Response, ApiError> {
    let Some(proxy) = server.access.proxy() else {
        let message = "this server is not an LLM proxy; start it with `--proxy`";
        return Err(ApiError::new(ErrorCode::NotFound, message));
    };
    let asked: ProxyRequest = json_body(request).await?;
    let frames = proxy.call(caller.user(), asked).await?;
    let pieces = frames.map(|frame| {
        // Serializing a frame cannot fail.
        let data = serde_json::to_string(&frame).unwrap_or_default();
        Ok::<_, Infallible>(format!("data: {data}\n\n"))
    });
    let headers = [(header::CONTENT_TYPE, "text/event-stream")];
    Ok((headers, Body::from_stream(pieces)).into_response())
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        let message = refusal.to_string();
        let code = match &refusal {
            Refusal::UnknownModel(_) => ErrorCode::NotFound,
            Refusal::Spent { .. } => ErrorCode::QuotaExceeded,
            // The caller cannot fix the keys of the server.
            Refusal::Failed(TurnStatus::AuthError { .. }) => {
                let message = "the server has no API key for this model; ask its owner to add one";
                return Self::new(ErrorCode::Forbidden, message);
            }
            Refusal::Users(_) | Refusal::Failed(_) => ErrorCode::Unavailable,
        };
        Self::new(code, message)
    }
}
