//! The routes of the LLM proxy (`--proxy`), described in docs/proxy.md.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use axum::{Extension, Json};
use futures_util::StreamExt as _;
use serde::Serialize;

use super::access::Caller;
use super::error::{ApiError, ErrorCode};
use super::request_body::json_body;
use super::state::ServerState;
use osier_llm::TurnStatus;
use osier_llm::http::ProxyRequest;
use osier_proxy::{MAX_CALLS, Refusal, Spent};

/// The paths that users of the proxy may request.
pub(super) const PATHS: &[&str] = &[
    "/api/status",
    "/api/models",
    "/api/usage",
    "/api/proxy/stream",
];

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

/// The response of `GET /api/usage`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(super) struct UserUsage {
    name: String,
    /// Limit in US dollars per month.
    monthly_limit: Option<f64>,
    /// Maximum number of calls at the same time.
    max_calls: u32,
    /// The models that the user may call, `PROVIDER/ID` or `PROVIDER/*`; all if empty.
    models: Vec<String>,
    month: UsageTotal,
    total: UsageTotal,
}

/// The usage of a user in a period.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct UsageTotal {
    calls: u64,
    tokens: u64,
    /// US dollars.
    cost: f64,
}

impl From<Spent> for UsageTotal {
    fn from(spent: Spent) -> Self {
        let Spent {
            calls,
            tokens,
            cost,
        } = spent;
        Self {
            calls,
            tokens,
            cost,
        }
    }
}

/// Returns what the caller has used.
pub(super) async fn usage(
    State(server): State<Arc<ServerState>>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<UserUsage>, ApiError> {
    let user = caller.user().zip(server.access.proxy());
    let Some((user, proxy)) = user else {
        let message =
            "only users of the LLM proxy have usage; the owner runs `osier serve users list`";
        return Err(ApiError::new(ErrorCode::NotFound, message));
    };
    let row = proxy.usage(&user).map_err(Refusal::from)?;
    let row = row.ok_or_else(|| ApiError::new(ErrorCode::Unauthorized, "the user was removed"))?;
    Ok(Json(UserUsage {
        name: row.name,
        monthly_limit: row.rules.limit,
        max_calls: row.rules.calls.unwrap_or(MAX_CALLS),
        models: row.rules.models,
        month: row.month.into(),
        total: row.all.into(),
    }))
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        let message = refusal.to_string();
        let code = match &refusal {
            Refusal::TooManyCalls(_) => {
                return Self {
                    retry_after: Some(1),
                    ..Self::new(ErrorCode::RateLimited, message)
                };
            }
            Refusal::Stopped => ErrorCode::ShuttingDown,
            Refusal::UnknownModel(_) => ErrorCode::NotFound,
            Refusal::Spent(_) => ErrorCode::QuotaExceeded,
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
