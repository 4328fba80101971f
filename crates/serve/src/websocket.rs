//! The WebSocket: commands of several sessions in, responses and events out.
//!
//! An invalid frame is answered with an error and has no other effect. A client that does not respond is disconnected;
//! its sessions continue.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Map, Value, json};
use tokio::sync::{Notify, mpsc};
use tokio_util::task::AbortOnDropHandle;

use super::browser_sign_in::SUBPROTOCOL;
use super::client_environment;
use super::compression::{MIN_COMPRESSED, gzip};
use super::error::{ApiError, ErrorCode};
use super::frames::{ClientFrame, FrameKind, ServerFrame, check_protocol};
use super::request_body::BODY_LIMIT;
use super::send_queue::SendQueue;
use super::server_routes::NewSession;
use super::session_connection::{RequestKind, SessionConnection, SessionRequest};
use super::state::ServerState;
use osier_hub::{ClientHandle, SessionRegistry};
use osier_rpc::PROTOCOL;
use osier_rpc::compression::{self, Compressor, Decompressor};

/// Interval of pings.
const PING_INTERVAL: Duration = Duration::from_secs(15);
/// Time without any message after which the client is disconnected.
const PING_TIMEOUT: Duration = Duration::from_secs(50);

/// How long the last frames of a connection may take.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// The smallest number of sessions at which ended ones are removed.
const MIN_PRUNE: usize = 64;

pub(super) async fn open(
    State(server): State<Arc<ServerState>>,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Response {
    client_environment::adopt(&headers, &server.registry.template().folders.data);
    let asked = headers.get(compression::HEADER);
    let compresses = asked.is_some_and(|method| method == compression::METHOD);
    let mut response = upgrade
        .max_message_size(BODY_LIMIT)
        .max_frame_size(BODY_LIMIT)
        .protocols([SUBPROTOCOL])
        .on_upgrade(move |socket| {
            let sockets = server.sockets.clone();
            sockets.track_future(serve(server, socket, compresses))
        });
    if compresses {
        let method = HeaderValue::from_static(compression::METHOD);
        response.headers_mut().insert(compression::HEADER, method);
    }
    response
}

async fn serve(server: Arc<ServerState>, socket: WebSocket, compresses: bool) {
    let (sink, stream) = socket.split();
    let queue = SendQueue::new();
    if compresses {
        queue.merge_streams();
    }
    let compressor = compresses.then(Compressor::default);
    let mut writing = osier_base::task::spawn(write(sink, queue.clone(), compressor));
    let (sender, opened) = mpsc::unbounded_channel();
    let mut stopped = server.stopped.subscribe();
    let stop = async move {
        // This cannot fail: the sender is a field of the server.
        let _ = stopped.wait_for(|stopped| *stopped).await;
    };
    let mut connection = Connection {
        registry: server.registry.clone(),
        stop: Arc::clone(&server.stop),
        queue: queue.clone(),
        sessions: RunningConnections::default(),
        closed_cleanly: Arc::default(),
        opened: sender,
        decompressor: compresses.then(Decompressor::default),
    };
    tokio::select! {
        () = connection.read(stream, opened) => {
            // The last frame says why the server ends the connection.
            if queue.is_finished() {
                let _ = tokio::time::timeout(CLOSE_TIMEOUT, &mut writing).await;
            }
        }
        _ = &mut writing => {}
        () = stop => {
            queue.push(ServerFrame::control(FrameKind::Stopped));
            queue.finish();
            let _ = tokio::time::timeout(CLOSE_TIMEOUT, &mut writing).await;
        }
    }
    drop(connection);
    queue.close();
    // The task ends with its queue, unless it hangs in a dead connection.
    writing.abort();
}

async fn write(
    mut sink: SplitSink<WebSocket, Message>,
    queue: SendQueue,
    mut compressor: Option<Compressor>,
) {
    while let Some(item) = queue.next().await {
        let message = match item.kind {
            FrameKind::Ping => Message::Ping(Vec::new().into()),
            FrameKind::TooLarge => Message::Close(Some(CloseFrame {
                code: close_code::SIZE,
                reason: "a frame is larger than 32 MiB".into(),
            })),
            FrameKind::Stopped => Message::Close(Some(CloseFrame {
                code: close_code::RESTART,
                reason: "the server stops".into(),
            })),
            _ => match &mut compressor {
                Some(compressor) => match compressor.compress(&item.envelope()) {
                    Ok(bytes) => Message::Binary(bytes.into()),
                    Err(_) => return,
                },
                None => message(item.envelope(), queue.compresses()),
            },
        };
        if sink.send(message).await.is_err() {
            return;
        }
    }
}

/// A text message, or a compressed one for a client that reads those.
fn message(text: String, compresses: bool) -> Message {
    let is_large = text.len() >= MIN_COMPRESSED;
    let compressed = (compresses && is_large).then(|| gzip(text.as_bytes()).ok());
    match compressed.flatten() {
        Some(bytes) => Message::Binary(bytes.into()),
        None => Message::Text(text.into()),
    }
}

/// One WebSocket connection.
struct Connection {
    registry: SessionRegistry,
    stop: Arc<Notify>,
    queue: SendQueue,
    sessions: RunningConnections,
    /// The client closed the WebSocket itself.
    closed_cleanly: Arc<AtomicBool>,
    opened: mpsc::UnboundedSender<OpenedSession>,
    /// Binary messages are compressed ones.
    decompressor: Option<Decompressor>,
}

/// A session that was opened, and the frames to handle in it.
struct OpenedSession {
    id: String,
    frames: Vec<ClientFrame>,
}

/// A running connection to a session. It ends when this is dropped.
struct RunningConnection {
    requests: mpsc::UnboundedSender<SessionRequest>,
    _serving: AbortOnDropHandle<()>,
}

impl Connection {
    async fn read(
        &mut self,
        mut stream: SplitStream<WebSocket>,
        mut opened: mpsc::UnboundedReceiver<OpenedSession>,
    ) {
        let mut last_received = Instant::now();
        let mut ping = tokio::time::interval(PING_INTERVAL);
        loop {
            tokio::select! {
                message = stream.next() => {
                    last_received = Instant::now();
                    match message {
                        Some(Ok(Message::Text(text))) => self.handle_text(text.as_bytes()),
                        Some(Ok(Message::Binary(bytes))) => self.handle_binary(&bytes),
                        Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                        Some(Ok(Message::Close(_))) => {
                            self.closed_cleanly.store(true, Ordering::Relaxed);
                            return;
                        }
                        Some(Err(error)) => {
                            if is_too_long(&error) {
                                self.queue.push(ServerFrame::control(FrameKind::TooLarge));
                                self.queue.finish();
                            }
                            return;
                        }
                        None => return,
                    }
                }
                Some(OpenedSession { id, frames }) = opened.recv() => {
                    for frame in frames {
                        let session_id = Some(id.clone());
                        self.handle_frame(ClientFrame { session_id, ..frame });
                    }
                }
                _ = ping.tick() => {
                    if last_received.elapsed() > PING_TIMEOUT {
                        return;
                    }
                    self.sessions.prune();
                    self.queue.push(ServerFrame::control(FrameKind::Ping));
                }
            }
        }
    }

    fn handle_binary(&mut self, bytes: &[u8]) {
        let error = match &mut self.decompressor {
            Some(decompressor) => match decompressor.decompress(bytes, BODY_LIMIT) {
                Ok(text) => return self.handle_text(text.as_bytes()),
                Err(error) => {
                    // Later ones depend on it.
                    self.queue.finish();
                    ApiError::malformed(format!("a compressed message cannot be read: {error}"))
                }
            },
            None => ApiError::malformed("a frame must be a text message"),
        };
        let frame = ServerFrame::error(None, &Value::Null, &error);
        self.queue.push(frame);
    }

    fn handle_text(&mut self, text: &[u8]) {
        let object = serde_json::from_slice::<Map<String, Value>>(text);
        let read = object.and_then(|object| serde_json::from_value(Value::Object(object)));
        let frame: ClientFrame = match read {
            Ok(frame) => frame,
            Err(error) => {
                let error = ApiError::malformed(format!("invalid frame: {error}"));
                self.queue
                    .push(ServerFrame::error(None, &id_of(text), &error));
                return;
            }
        };
        self.handle_frame(frame);
    }

    fn handle_frame(&mut self, frame: ClientFrame) {
        let session = frame.session_id.as_deref().map(Arc::from);
        let id = frame.id.clone();
        if let Err(error) = self.try_handle_frame(frame) {
            self.queue.push(ServerFrame::error(session, &id, &error));
        }
    }

    fn try_handle_frame(&mut self, frame: ClientFrame) -> Result<(), ApiError> {
        frame.check_fields()?;
        let ClientFrame {
            id,
            r#type,
            session_id,
            command,
            after,
            once,
            history,
            piece,
            open,
            protocol,
            compression,
            client,
            then,
        } = frame;
        let kind = match (r#type.as_deref(), command) {
            (Some("hello"), None) => return self.hello(&id, protocol, compression.as_deref()),
            (Some("open"), None) => return self.open(id, open.unwrap_or_default(), then),
            (Some("stop"), None) => {
                self.queue.push(response(&id, "stop", &json!({})));
                self.stop.notify_one();
                return Ok(());
            }
            (Some("subscribe"), None) => RequestKind::Subscribe { after, client },
            (Some("unsubscribe"), None) => RequestKind::Unsubscribe,
            (Some("piece"), None) => match (piece, once) {
                (Some(piece), Some(key)) if piece.of <= BODY_LIMIT => {
                    RequestKind::Piece { key, piece }
                }
                _ => {
                    return Err(ApiError::malformed(
                        "a frame `piece` must have `once` and a `piece` of at most 32 MiB",
                    ));
                }
            },
            (None, Some(command)) => RequestKind::Command {
                command,
                once,
                history,
            },
            _ => {
                return Err(ApiError::malformed(
                    "a frame must have a `command`, or a `type`: `subscribe`, `unsubscribe`, `open`, `stop`, `piece` or `hello`",
                ));
            }
        };
        let Some(session) = session_id else {
            return Err(ApiError::malformed("the frame requires `sessionId`"));
        };
        self.request(session, SessionRequest { id, kind });
        Ok(())
    }

    fn hello(
        &self,
        id: &Value,
        protocol: Option<u64>,
        compression: Option<&str>,
    ) -> Result<(), ApiError> {
        check_protocol(protocol)?;
        match compression {
            None => {}
            Some("gzip") => self.queue.compress(),
            Some(other) => {
                return Err(ApiError::malformed(format!(
                    "unknown `compression` `{other}`; expected `gzip`"
                )));
            }
        }
        let data = json!({
            "protocol": PROTOCOL,
            "name": osier_base::PROGRAM,
            "version": env!("CARGO_PKG_VERSION"),
            "pieces": true,
        });
        self.queue.push(response(id, "hello", &data));
        Ok(())
    }

    /// Opens a session in the background, then handles the frames of `then` in it.
    fn open(
        &self,
        id: Value,
        mut options: Map<String, Value>,
        then: Vec<ClientFrame>,
    ) -> Result<(), ApiError> {
        let join = options.shift_remove("join") == Some(Value::Bool(true));
        let options = serde_json::from_value::<NewSession>(Value::Object(options))
            .map_err(|error| ApiError::malformed(format!("invalid `open`: {error}")))?;
        let options = options.validate()?;
        let (registry, queue, opened) = (
            self.registry.clone(),
            self.queue.clone(),
            self.opened.clone(),
        );
        osier_base::task::spawn(async move {
            let session = if join {
                registry.join(options).await
            } else {
                registry.open(options).await
            };
            let session = match session {
                Ok(session) => session,
                Err(error) => {
                    queue.push(ServerFrame::error(None, &id, &error.into()));
                    return;
                }
            };
            let mut info = json!(session.info());
            if !then.is_empty() {
                info["then"] = json!(then.len());
            }
            queue.push(response(&id, "open", &info));
            // The client may have disconnected.
            let _ = opened.send(OpenedSession {
                id: session.id(),
                frames: then,
            });
        });
        Ok(())
    }

    /// Sends a request to the connection of its session; opens the connection if there is none.
    fn request(&mut self, session: String, request: SessionRequest) {
        let request = match self.sessions.by_id.get(&session) {
            Some(running) => match running.requests.send(request) {
                Ok(()) => return,
                Err(unsent) => unsent.0,
            },
            None => request,
        };
        let (requests, received) = mpsc::unbounded_channel();
        // This cannot fail: the receiver still exists.
        let _ = requests.send(request);
        let serving = serve_session(
            self.registry.clone(),
            session.as_str().into(),
            Arc::clone(&self.closed_cleanly),
            self.queue.clone(),
            received,
        );
        let running = RunningConnection {
            requests,
            _serving: AbortOnDropHandle::new(osier_base::task::spawn(serving)),
        };
        self.sessions.insert(session, running);
    }
}

/// The running connections of one WebSocket. Those that ended, such as to unknown sessions, are forgotten.
#[derive(Default)]
struct RunningConnections {
    by_id: HashMap<String, RunningConnection>,
    /// The number of connections at which ended ones are removed.
    prune_at: usize,
}

impl RunningConnections {
    fn insert(&mut self, session: String, running: RunningConnection) {
        if self.by_id.len() >= self.prune_at.max(MIN_PRUNE) {
            self.prune();
        }
        self.by_id.insert(session, running);
    }

    /// Removes the sessions that ended and releases their memory.
    fn prune(&mut self) {
        self.by_id
            .retain(|_, running| !running.requests.is_closed());
        self.by_id.shrink_to(MIN_PRUNE);
        self.prune_at = 2 * self.by_id.len();
    }
}

/// Whether a frame is larger than the limit. The error has no other mark than its text.
fn is_too_long(error: &axum::Error) -> bool {
    error.to_string().contains("too long")
}

/// A response without a session.
fn response(id: &Value, command: &str, data: &Value) -> ServerFrame {
    let payload =
        json!({"type": "response", "id": id, "command": command, "success": true, "data": data});
    ServerFrame {
        kind: FrameKind::Response,
        session: None,
        number: None,
        payload: payload.to_string(),
    }
}

/// Opens a session if necessary, and serves the requests to it.
async fn serve_session(
    registry: SessionRegistry,
    session_id: Arc<str>,
    closed_cleanly: Arc<AtomicBool>,
    queue: SendQueue,
    mut requests: mpsc::UnboundedReceiver<SessionRequest>,
) {
    match registry.find(&session_id).await {
        Ok(session) => {
            let shared = Arc::clone(&session);
            let client = ClientHandle::new(session, closed_cleanly);
            SessionConnection::new(client, Arc::clone(&session_id), queue.clone())
                .run(&mut requests)
                .await;
            requests.close();
            // The client sends its requests again after a restart.
            if shared.ends_with_server() {
                return;
            }
            // Requests that arrive after the end of the session fail.
            let error = ApiError::new(ErrorCode::ShuttingDown, "the session was closed");
            reject_all(&session_id, &queue, &mut requests, &error);
        }
        Err(error) => {
            requests.close();
            reject_all(&session_id, &queue, &mut requests, &error.into());
        }
    }
}

fn reject_all(
    session_id: &Arc<str>,
    queue: &SendQueue,
    requests: &mut mpsc::UnboundedReceiver<SessionRequest>,
    error: &ApiError,
) {
    while let Ok(request) = requests.try_recv() {
        queue.push(ServerFrame::error(
            Some(Arc::clone(session_id)),
            &request.id,
            error,
        ));
    }
}

/// The id of an invalid frame.
fn id_of(text: &[u8]) -> Value {
    let value: Value = serde_json::from_slice(text).unwrap_or_default();
    value.get("id").cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A connection to a session; it has ended if there is no receiver.
    fn running(
        ended: bool,
    ) -> (
        RunningConnection,
        Option<mpsc::UnboundedReceiver<SessionRequest>>,
    ) {
        let (requests, received) = mpsc::unbounded_channel();
        let running = RunningConnection {
            requests,
            _serving: AbortOnDropHandle::new(osier_base::task::spawn(async {})),
        };
        (running, (!ended).then_some(received))
    }

    #[tokio::test]
    async fn unknown_sessions_are_forgotten() {
        let mut sessions = RunningConnections::default();
        let (open, _received) = running(false);
        sessions.insert("open".to_owned(), open);
        let mut most = 0;
        for id in 0..20_000 {
            sessions.insert(format!("unknown {id}"), running(true).0);
            most = most.max(sessions.by_id.len());
        }
        assert_eq!(most, MIN_PRUNE);
        sessions.prune();
        let left: Vec<&String> = sessions.by_id.keys().collect();
        assert_eq!(left, ["open"]);
        assert!(sessions.by_id.capacity() <= 2 * MIN_PRUNE);
    }

    #[tokio::test]
    async fn a_burst_of_unknown_sessions_is_given_back() {
        let mut sessions = RunningConnections::default();
        // None has ended while they arrive.
        let received: Vec<_> = (0..20_000)
            .map(|id| {
                let (running, received) = running(false);
                sessions.insert(id.to_string(), running);
                received
            })
            .collect();
        assert_eq!(sessions.by_id.len(), 20_000);
        drop(received);
        sessions.prune();
        assert_eq!(sessions.by_id.len(), 0);
        assert!(sessions.by_id.capacity() <= 2 * MIN_PRUNE);
    }
}
