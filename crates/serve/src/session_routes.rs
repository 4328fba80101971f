//! Routes of one session: run a command, send a prompt, receive events.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use super::error::{ApiError, ErrorCode};
use super::frames::{FrameKind, ServerFrame};
use super::request_body::json_body;
use super::send_queue::SendQueue;
use super::session_connection::{RequestKind, SessionConnection, SessionRequest};
use super::state::ServerState;
use osier_hub::{ClientHandle, SharedSession};
use osier_rpc::Dispatcher;

/// Interval of keep-alive comments in an event stream.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// Runs one command and returns its response.
pub(super) async fn command(
    State(server): State<Arc<ServerState>>,
    Path(id): Path<String>,
    request: Request,
) -> Result<Response, ApiError> {
    let command: Map<String, Value> = json_body(request).await?;
    let session = server.registry.find(&id).await?;
    let answer = run_command(&session, command).await?;
    let status = match answer["code"].as_str() {
        None => StatusCode::OK,
        Some("refused" | "occupied") => StatusCode::CONFLICT,
        Some("shutting_down") => StatusCode::SERVICE_UNAVAILABLE,
        Some(_) => StatusCode::BAD_REQUEST,
    };
    Ok((status, Json(answer)).into_response())
}

/// Runs a command and waits for its response.
async fn run_command(
    session: &Arc<SharedSession>,
    command: Map<String, Value>,
) -> Result<Value, ApiError> {
    let mut subscriber = session.subscribe();
    let client = ClientHandle::new(Arc::clone(session), Arc::default());
    let mut dispatcher = Dispatcher::new(session.handle().clone()).for_client(Arc::new(client));
    for event in subscriber.retained() {
        dispatcher.handle_event(event.time, &event.event);
    }
    dispatcher.output().clear();
    let name = command.get("type").cloned();
    dispatcher.handle_line(Value::Object(command).to_string().as_bytes());
    loop {
        let lines = std::mem::take(dispatcher.output());
        let lines = String::from_utf8(lines).unwrap_or_default();
        let mut answers = lines
            .lines()
            .filter(|line| FrameKind::of_line(line) == FrameKind::Response);
        if let Some(answer) = answers.next() {
            return serde_json::from_str(answer).map_err(|error| {
                ApiError::new(ErrorCode::Refused, format!("invalid response: {error}"))
            });
        }
        // A valid `ui_response` has no response.
        if dispatcher.pending_commands() == 0 {
            return Ok(json!({"type": "response", "command": name, "success": true}));
        }
        let Some(received) = subscriber.next().await else {
            return Err(ApiError::new(
                ErrorCode::ShuttingDown,
                "the session was closed",
            ));
        };
        dispatcher.handle_event(received.time, &received.event);
    }
}

/// A connection to a session that ends with the HTTP request.
struct TemporaryConnection {
    queue: SendQueue,
    requests: mpsc::UnboundedSender<SessionRequest>,
    _serving: AbortOnDropHandle<()>,
}

impl TemporaryConnection {
    fn new(session: Arc<SharedSession>, name: &str) -> Self {
        let queue = SendQueue::new();
        let (requests, mut received) = mpsc::unbounded_channel();
        let client = ClientHandle::new(session, Arc::default());
        let connection = SessionConnection::new(client, name.into(), queue.clone());
        let finished_queue = queue.clone();
        let serving = osier_base::task::spawn(async move {
            connection.run(&mut received).await;
            finished_queue.finish();
        });
        Self {
            queue,
            requests,
            _serving: AbortOnDropHandle::new(serving),
        }
    }

    fn send(&self, id: Value, kind: RequestKind) {
        // When the session has ended, the queue ends as well.
        let _ = self.requests.send(SessionRequest { id, kind });
    }
}

/// Stops the run of a session when it is dropped.
struct RunGuard(Option<Arc<SharedSession>>);

impl RunGuard {
    /// The run has ended, or did not start.
    fn disarm(guard: Option<Self>) {
        if let Some(mut guard) = guard {
            guard.0 = None;
        }
    }
}

impl Drop for RunGuard {
    fn drop(&mut self) {
        if let Some(session) = &self.0 {
            session.handle().send(osier_agent::Op::Abort.into());
        }
    }
}

/// Sends a prompt and streams the events of its run, up to `agent_settled`.
pub(super) async fn prompt(
    State(server): State<Arc<ServerState>>,
    Path(id): Path<String>,
    request: Request,
) -> Result<Response, ApiError> {
    let mut command: Map<String, Value> = json_body(request).await?;
    let kind = command.insert("type".to_owned(), json!("prompt"));
    if let Some(kind) = kind.filter(|kind| *kind != json!("prompt")) {
        let message = format!("`type` is {kind}; leave it out, or send other commands to `…/rpc`");
        return Err(ApiError::malformed(message));
    }
    let aborts = match command.remove("abortOnClose") {
        None | Some(Value::Null) => false,
        Some(Value::Bool(aborts)) => aborts,
        Some(_) => return Err(ApiError::malformed("`abortOnClose` must be true or false")),
    };
    let session = server.registry.find(&id).await?;
    let guard = aborts.then(|| RunGuard(Some(Arc::clone(&session))));
    let connection = TemporaryConnection::new(session, &id);
    connection.send(Value::Null, RequestKind::Listen);
    connection.send(
        json!("prompt"),
        RequestKind::Command {
            command,
            once: None,
            history: false,
        },
    );
    let mut first = Vec::new();
    let answer: Value = loop {
        let Some(frame) = connection.queue.next().await else {
            return Err(ApiError::new(
                ErrorCode::ShuttingDown,
                "the session was closed",
            ));
        };
        let answer =
            (frame.kind == FrameKind::Response).then(|| serde_json::from_str(&frame.payload));
        first.push(frame);
        if let Some(answer) = answer {
            break answer.unwrap_or_default();
        }
    };
    if answer["success"] != json!(true) {
        RunGuard::disarm(guard);
        let code = match answer["code"].as_str() {
            Some("refused") => ErrorCode::Refused,
            Some("occupied") => ErrorCode::Occupied,
            _ => ErrorCode::Malformed,
        };
        let message = answer["error"]
            .as_str()
            .unwrap_or("the command was refused");
        return Err(ApiError::new(code, message));
    }
    let starts_run = answer["data"]["disposition"] != json!("handled");
    let first: Vec<ServerFrame> = first;
    let ends = move |frame: &ServerFrame| {
        frame.is_settled() || (!starts_run && frame.kind == FrameKind::Response)
    };
    Ok(event_stream(connection, first, ends, guard))
}

/// Streams every event after `after`; a snapshot first if it is not set.
pub(super) async fn events(
    State(server): State<Arc<ServerState>>,
    Path(id): Path<String>,
    request: Request,
) -> Result<Response, ApiError> {
    let after = last_event_number(&request)?;
    let session = server.registry.find(&id).await?;
    let connection = TemporaryConnection::new(session, &id);
    let client = None;
    connection.send(Value::Null, RequestKind::Subscribe { after, client });
    Ok(event_stream(connection, Vec::new(), |_| false, None))
}

/// The number of the last received event: `Last-Event-ID` of a browser that reconnects, or `after`.
fn last_event_number(request: &Request) -> Result<Option<u64>, ApiError> {
    let last = request.headers().get("last-event-id");
    let last = last.and_then(|value| value.to_str().ok());
    let query = request.uri().query().unwrap_or_default().split('&');
    let mut after = None;
    for pair in query.filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        if name != "after" {
            let message = format!("unknown parameter `{name}`; expected `after`");
            return Err(ApiError::malformed(message));
        }
        after = after.or(Some(value));
    }
    let Some(text) = last.or(after) else {
        return Ok(None);
    };
    let number = text.parse().map(Some);
    number.map_err(|_| ApiError::malformed("`after` must be the number of an event"))
}

/// Streams the frames with their numbers, up to the first frame for which `ends` is true.
fn event_stream(
    connection: TemporaryConnection,
    first: Vec<ServerFrame>,
    ends: impl Fn(&ServerFrame) -> bool + Send + 'static,
    guard: Option<RunGuard>,
) -> Response {
    let start = (connection, first.into_iter(), ends, guard, false);
    let chunks = stream::unfold(start, |state| async move {
        let (connection, mut first, ends, mut guard, ended) = state;
        if ended {
            return None;
        }
        let frame = match first.next() {
            Some(frame) => Some(frame),
            None => {
                match tokio::time::timeout(KEEP_ALIVE_INTERVAL, connection.queue.next()).await {
                    Ok(frame) => Some(frame?),
                    Err(_) => None,
                }
            }
        };
        let ended = frame.as_ref().is_some_and(&ends);
        if ended {
            RunGuard::disarm(guard.take());
        }
        let text = frame
            .as_ref()
            .map_or_else(|| ":\n\n".to_owned(), server_sent);
        let chunk = Ok::<_, Infallible>(text);
        Some((chunk, (connection, first, ends, guard, ended)))
    });
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    (headers, Body::from_stream(chunks)).into_response()
}

/// A frame as a server-sent event.
fn server_sent(frame: &ServerFrame) -> String {
    let with_type = |kind: &str, mut payload: Value| {
        payload["type"] = json!(kind);
        let number = payload["number"].as_u64();
        ServerFrame {
            number,
            payload: payload.to_string(),
            ..frame.clone()
        }
        .server_sent()
    };
    let payload = || serde_json::from_str::<Value>(&frame.payload).unwrap_or_default();
    match frame.kind {
        FrameKind::ReplayGap => with_type("replay_gap", payload()),
        FrameKind::Response => {
            let mut answer = payload();
            match answer["data"]["snapshot"].take() {
                Value::Null => frame.server_sent(),
                snapshot => with_type("snapshot", snapshot),
            }
        }
        _ => frame.server_sent(),
    }
}
