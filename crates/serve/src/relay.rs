//! `--proxy`: models for the agents of other people. What comes and goes is described in docs/proxy.md.

use std::convert::Infallible;
use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use futures_util::StreamExt as _;

use super::Server;
use super::access::Caller;
use super::fault::{Code, Fault};
use super::gate::body;
use osier_llm::TurnStatus;
use osier_llm::http::ProxyRequest;
use osier_proxy::Refusal;

/// What people may ask for who are users of the proxy and nothing else.
pub(super) const PATHS: &[&str] = &["/api/status", "/api/models", "/api/proxy/stream"];

/// One call of a model; the frames of its answer.
pub(super) async fn stream(
    State(server): State<Arc<Server>>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<Response, Fault> {
    let Some(relay) = server.access.relay() else {
        let message = "this server calls no models for others: it has to run with `--proxy`";
        return Err(Fault::new(Code::NotFound, message));
    };
    let asked: ProxyRequest = body(request).await?;
    let frames = relay.call(caller.user(), asked).await?;
    let pieces = frames.map(|frame| {
        // What is sent here can always be written.
        let data = serde_json::to_string(&frame).unwrap_or_default();
        Ok::<_, Infallible>(format!("data: {data}\n\n"))
    });
    let headers = [(header::CONTENT_TYPE, "text/event-stream")];
    Ok((headers, Body::from_stream(pieces)).into_response())
}

impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Self {
        let message = refusal.to_string();
        let code = match &refusal {
            Refusal::UnknownModel(_) => Code::NotFound,
            Refusal::Spent { .. } => Code::QuotaExceeded,
            // Whose key it is that fails is nothing the caller can mend.
            Refusal::Failed(TurnStatus::AuthError { .. }) => {
                let message = "the server has no key for this model: whoever runs it can add one";
                return Self::new(Code::Forbidden, message);
            }
            Refusal::Users(_) | Refusal::Failed(_) => Code::Unavailable,
        };
        Self::new(code, message)
    }
}
