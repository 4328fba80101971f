//! Streamable HTTP: one path, to which clients post messages with the token.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use axum::{Json, Router};
use futures_util::{Stream, stream};
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::timeout;

use super::super::access::{Access, Caller, Client as Sender, make_token};
use super::super::connections::{ConnectionInfo, ConnectionUse, Trust};
use super::super::error::{ApiError, ErrorCode};
use super::super::headers::header_text;
use super::super::listen::{Bound, Listen, ListenError};
use super::super::request_body::{LargeBodies, json_body};
use super::super::request_check::{check_json, check_origin, check_own_host, check_token};
use super::client::{Call, Client, Reply, Service};
use super::event_log::{EventId, KEEP_ALIVE};
use super::headers;
use super::protocol::{
    HANDSHAKE, INVALID_REQUEST, MODERN, PARSE, Refusal, UNKNOWN_METHOD, check_version, is_modern,
};
use super::sessions::{Session, Sessions};

/// The path of the server.
const PATH: &str = "/mcp";
/// The header with the id of a session.
const SESSION: &str = "mcp-session-id";
/// How long cancelled calls and open responses may take to end.
const END_TIMEOUT: Duration = Duration::from_secs(5);

/// How the server listens and which clients it accepts.
#[derive(Debug)]
pub struct McpOptions {
    pub address: SocketAddr,
    /// The token that clients send.
    pub token: String,
    /// Additional host names of the server.
    pub allowed_hosts: Vec<String>,
}

/// A server that listens but does not accept requests yet.
#[derive(Debug)]
pub struct McpServer {
    state: Arc<McpState>,
    listener: Bound,
}

/// The state that all requests share.
#[derive(Debug)]
struct McpState {
    service: Service,
    access: Access,
    large_bodies: LargeBodies,
    sessions: Sessions,
}

impl McpServer {
    /// Starts to listen.
    ///
    /// # Errors
    /// The address is in use or invalid.
    pub async fn bind(service: Service, options: McpOptions) -> Result<Self, ListenError> {
        let listener = Bound::new(&Listen::Address(options.address)).await?;
        let access = Access::new(&options.token, listener.ip(), &options.allowed_hosts);
        Ok(Self {
            state: Arc::new(McpState {
                service,
                access,
                large_bodies: LargeBodies::default(),
                sessions: Sessions::default(),
            }),
            listener,
        })
    }

    /// The URL for clients.
    pub fn url(&self) -> String {
        format!("{}{PATH}", self.listener.url())
    }

    /// Serves until `stop` completes. Then cancels all calls and waits until their sessions are stored.
    ///
    /// # Errors
    /// The server cannot accept connections any more.
    pub async fn run_until(self, stop: impl Future<Output = ()>) -> io::Result<()> {
        let Self { state, listener } = self;
        let service = state.service.clone();
        let (end, ended) = watch::channel(false);
        let mut serving = osier_base::task::spawn(listener.serve(router(state), ended));
        tokio::select! {
            () = stop => {}
            outcome = &mut serving => return outcome.map_err(io::Error::other),
        }
        service.cancel();
        let _ = timeout(END_TIMEOUT, service.ended()).await;
        end.send_replace(true);
        if timeout(END_TIMEOUT, &mut serving).await.is_err() {
            serving.abort();
        }
        Ok(())
    }
}

fn router(state: Arc<McpState>) -> Router {
    let layer = from_fn_with_state(Arc::clone(&state), check_request);
    Router::new()
        .route(PATH, post(receive).get(resume).delete(end))
        .fallback(not_found)
        .layer(layer)
        .with_state(state)
}

async fn not_found() -> ApiError {
    ApiError::new(
        ErrorCode::NotFound,
        format!("unknown path; expected `{PATH}`"),
    )
}

/// Passes a valid request on; answers an invalid one with an error.
async fn check_request(
    State(state): State<Arc<McpState>>,
    mut request: Request,
    next: Next,
) -> Response {
    match check(&state, &mut request) {
        Ok(()) => next.run(request).await,
        Err(error) => {
            let is_unauthorized = error.code == ErrorCode::Unauthorized;
            let mut response = error.into_response();
            if is_unauthorized {
                let value = HeaderValue::from_static("Bearer");
                response
                    .headers_mut()
                    .insert(header::WWW_AUTHENTICATE, value);
            }
            response
        }
    }
}

fn check(state: &McpState, request: &mut Request) -> Result<(), ApiError> {
    let host = check_own_host(&state.access, request)?;
    check_origin(&state.access, request.headers(), host)?;
    let connection = request.extensions().get::<ConnectionInfo>();
    let sender = Sender::Connection(connection.map_or(0, |connection| connection.number));
    check_token(&state.access, request.headers(), sender)?;
    if *request.method() == Method::POST {
        check_json(request.headers())?;
    }
    if let Some(connection) = request.extensions().get::<ConnectionUse>() {
        connection.authenticated(Trust::Owner);
    }
    let permits = state.large_bodies.permits(&Caller::Owner);
    request.extensions_mut().insert(permits);
    Ok(())
}

/// Answers a posted message.
async fn receive(State(state): State<Arc<McpState>>, request: Request) -> Response {
    let headers = request.headers().clone();
    let message: Value = match json_body(request).await {
        Ok(message) => message,
        Err(error) if error.code == ErrorCode::Malformed => {
            let refusal = Refusal::new(PARSE, error.message);
            return refused(StatusCode::BAD_REQUEST, refusal, &Value::Null);
        }
        Err(error) => return error.into_response(),
    };
    let id = message.get("id").unwrap_or(&Value::Null);
    let given = header_text(&headers, headers::VERSION).map(str::trim);
    if is_modern(&message) || given == Some(MODERN) {
        return modern(&state, &headers, &message, id).await;
    }
    if let Some(version) = given.filter(|version| !HANDSHAKE.contains(version))
        && let Err(refusal) = check_version(version)
    {
        return refused(StatusCode::BAD_REQUEST, refusal, id);
    }
    if message["method"] == "initialize" {
        return begin(&state, &message);
    }
    let session = match session_of(&state, &headers) {
        Ok(session) => session,
        Err((status, refusal)) => return refused(status, refusal, id),
    };
    match session.client.message(&message) {
        Reply::Nothing => StatusCode::ACCEPTED.into_response(),
        Reply::Response(response) => Json(response).into_response(),
        Reply::Call(call) if accepts_events(&headers) => events(session.record(call).from(0)),
        Reply::Call(call) => last_message(call).await,
    }
}

/// Answers a message of a version without a handshake. The call ends with its response, also when the client closes it.
async fn modern(state: &McpState, headers: &HeaderMap, message: &Value, id: &Value) -> Response {
    if message.get("id").is_some()
        && let Err(refusal) = headers::check(headers, message)
    {
        return refused(StatusCode::BAD_REQUEST, refusal, id);
    }
    match Client::new(&state.service).message(message) {
        Reply::Nothing => StatusCode::ACCEPTED.into_response(),
        Reply::Response(response) => {
            let is_unknown = response["error"]["code"] == UNKNOWN_METHOD;
            let status = if is_unknown {
                StatusCode::NOT_FOUND
            } else {
                StatusCode::OK
            };
            (status, Json(response)).into_response()
        }
        Reply::Call(call) if accepts_events(headers) => events(until_closed(call)),
        Reply::Call(call) => last_message(call).await,
    }
}

/// Begins a session.
fn begin(state: &McpState, message: &Value) -> Response {
    let client = Client::new(&state.service);
    let response = match client.message(message) {
        Reply::Response(response) => response,
        Reply::Nothing | Reply::Call(_) => return StatusCode::ACCEPTED.into_response(),
    };
    let version = response["result"]["protocolVersion"].as_str();
    let Some(version) = version.map(str::to_owned) else {
        return Json(response).into_response();
    };
    let id = match make_token() {
        Ok(id) => id,
        Err(error) => {
            return ApiError::new(ErrorCode::Unavailable, error.to_string()).into_response();
        }
    };
    state.sessions.add(id.clone(), client, &version);
    ([(SESSION, id)], Json(response)).into_response()
}

/// Continues the events of a call after a lost connection.
async fn resume(State(state): State<Arc<McpState>>, request: Request) -> Response {
    let headers = request.headers();
    let Some(last) = header_text(headers, "last-event-id") else {
        // osier sends no messages of its own, so it has no stream for them.
        let allowed = HeaderValue::from_static("POST, DELETE");
        return (StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, allowed)]).into_response();
    };
    let session = match session_of(&state, headers) {
        Ok(session) => session,
        Err((status, refusal)) => return refused(status, refusal, &Value::Null),
    };
    let found = EventId::read(last).and_then(|id| Some((id, session.log(id)?)));
    let Some((id, log)) = found else {
        let refusal = Refusal::new(INVALID_REQUEST, format!("unknown event `{last}`"));
        return refused(StatusCode::BAD_REQUEST, refusal, &Value::Null);
    };
    events(log.from(id.event.saturating_add(1)))
}

/// Ends a session.
async fn end(State(state): State<Arc<McpState>>, request: Request) -> Response {
    let id = header_text(request.headers(), SESSION);
    let has_ended = id.is_some_and(|id| state.sessions.end(id.trim()));
    let status = if has_ended {
        StatusCode::NO_CONTENT
    } else {
        StatusCode::NOT_FOUND
    };
    status.into_response()
}

fn session_of(
    state: &McpState,
    headers: &HeaderMap,
) -> Result<Arc<Session>, (StatusCode, Refusal)> {
    let id = header_text(headers, SESSION).map(str::trim);
    let missing = || {
        let message = format!("send `initialize` first, and then its header `{SESSION}`");
        let refusal = Refusal::new(INVALID_REQUEST, message);
        (StatusCode::BAD_REQUEST, refusal)
    };
    let session = state.sessions.find(id.ok_or_else(missing)?);
    session.ok_or_else(|| {
        let refusal = Refusal::new(INVALID_REQUEST, "this session has ended; send `initialize`");
        (StatusCode::NOT_FOUND, refusal)
    })
}

fn refused(status: StatusCode, refusal: Refusal, id: &Value) -> Response {
    (status, Json(refusal.response(id))).into_response()
}

/// Whether a client reads server-sent events; without the header it does.
fn accepts_events(headers: &HeaderMap) -> bool {
    header_text(headers, "accept")
        .is_none_or(|accepted| accepted.contains("text/event-stream") || accepted.contains("*/*"))
}

fn events(texts: impl Stream<Item = Result<String, Infallible>> + Send + 'static) -> Response {
    let headers = [
        (header::CONTENT_TYPE.as_str(), "text/event-stream"),
        (header::CACHE_CONTROL.as_str(), "no-store"),
        ("x-accel-buffering", "no"),
    ];
    (headers, Body::from_stream(texts)).into_response()
}

/// The messages of a call, which is cancelled when the client closes the response.
fn until_closed(call: Call) -> impl Stream<Item = Result<String, Infallible>> + Send {
    let open = (call.messages, call.cancel.drop_guard());
    stream::unfold(open, |(mut messages, guard)| async move {
        let text = match timeout(KEEP_ALIVE, messages.recv()).await {
            Err(_) => ":\n\n".to_owned(),
            Ok(message) => format!("data: {}\n\n", message?),
        };
        Some((Ok(text), (messages, guard)))
    })
}

/// The response of a call, for a client that reads no events.
async fn last_message(mut call: Call) -> Response {
    let guard = call.cancel.drop_guard();
    let mut last = None;
    while let Some(message) = call.messages.recv().await {
        last = Some(message);
    }
    let is_answered = last.as_ref().is_some_and(|last| last.get("id").is_some());
    drop(guard);
    match last.filter(|_| is_answered) {
        Some(response) => Json(response).into_response(),
        None => StatusCode::ACCEPTED.into_response(),
    }
}
