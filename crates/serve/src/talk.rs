//! Talking to one session by request: a command and its answer, a prompt and its run, all events.

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

use super::Server;
use super::fault::{Code, Fault};
use super::frames::{Item, Kind};
use super::gate::body;
use super::outbox::Outbox;
use super::seat::{Order, Seat, What};
use osier_hub::{Place, Room};
use osier_rpc::Dispatcher;

/// How often a stream shows that it is alive.
const ALIVE_EVERY: Duration = Duration::from_secs(15);

/// One command of the protocol.
pub(super) async fn command(
    State(server): State<Arc<Server>>,
    Path(id): Path<String>,
    request: Request,
) -> Result<Response, Fault> {
    let command: Map<String, Value> = body(request).await?;
    let room = server.hosts.find(&id).await?;
    let answer = ask(&room, command).await?;
    let status = match answer["code"].as_str() {
        None => StatusCode::OK,
        Some("refused" | "occupied") => StatusCode::CONFLICT,
        Some("shutting_down") => StatusCode::SERVICE_UNAVAILABLE,
        Some(_) => StatusCode::BAD_REQUEST,
    };
    Ok((status, Json(answer)).into_response())
}

/// Does a command and waits for its answer.
async fn ask(room: &Arc<Room>, command: Map<String, Value>) -> Result<Value, Fault> {
    let mut watch = room.watch();
    let place = Place::new(Arc::clone(room), Arc::default());
    let mut dispatcher = Dispatcher::new(room.host().clone()).at(Arc::new(place));
    for event in watch.standing() {
        dispatcher.take_event(&event);
    }
    dispatcher.output().clear();
    let named = command.get("type").cloned();
    dispatcher.take_line(Value::Object(command).to_string().as_bytes());
    loop {
        let lines = std::mem::take(dispatcher.output());
        let lines = String::from_utf8(lines).unwrap_or_default();
        let mut answers = lines
            .lines()
            .filter(|line| Kind::of_line(line) == Kind::Response);
        if let Some(answer) = answers.next() {
            return serde_json::from_str(answer).map_err(|error| {
                Fault::new(Code::Refused, format!("the answer is broken: {error}"))
            });
        }
        // A reply that fits has no answer of its own.
        if !dispatcher.owes_answers() {
            return Ok(json!({"type": "response", "command": named, "success": true}));
        }
        let Some(told) = watch.next().await else {
            return Err(Fault::new(Code::ShuttingDown, "the session was closed"));
        };
        dispatcher.take_event(&told.event);
    }
}

/// A seat that is given up with the request.
struct Guest {
    out: Outbox,
    orders: mpsc::UnboundedSender<Order>,
    _serving: AbortOnDropHandle<()>,
}

impl Guest {
    fn new(room: Arc<Room>, name: &str) -> Self {
        let out = Outbox::new();
        let (orders, mut received) = mpsc::unbounded_channel();
        let place = Place::new(room, Arc::default());
        let seat = Seat::new(place, name.into(), out.clone());
        let end = out.clone();
        let serving = tokio::spawn(async move {
            seat.run(&mut received).await;
            end.finish();
        });
        Self {
            out,
            orders,
            _serving: AbortOnDropHandle::new(serving),
        }
    }

    fn order(&self, id: Value, what: What) {
        // A seat whose session has ended closes the outbox.
        let _ = self.orders.send(Order { id, what });
    }
}

/// A prompt, and the events of its run up to `agent_settled`.
pub(super) async fn prompt(
    State(server): State<Arc<Server>>,
    Path(id): Path<String>,
    request: Request,
) -> Result<Response, Fault> {
    let mut command: Map<String, Value> = body(request).await?;
    command.insert("type".to_owned(), json!("prompt"));
    let room = server.hosts.find(&id).await?;
    let guest = Guest::new(room, &id);
    guest.order(Value::Null, What::Listen);
    guest.order(
        json!("prompt"),
        What::Command {
            command,
            once: None,
        },
    );
    let mut first = Vec::new();
    let answer: Value = loop {
        let Some(item) = guest.out.next().await else {
            return Err(Fault::new(Code::ShuttingDown, "the session was closed"));
        };
        let answer = (item.kind == Kind::Response).then(|| serde_json::from_str(&item.payload));
        first.push(item);
        if let Some(answer) = answer {
            break answer.unwrap_or_default();
        }
    };
    if answer["success"] != json!(true) {
        let code = match answer["code"].as_str() {
            Some("refused") => Code::Refused,
            Some("occupied") => Code::Occupied,
            _ => Code::Malformed,
        };
        let message = answer["error"].as_str().unwrap_or("it was refused");
        return Err(Fault::new(code, message));
    }
    let runs = answer["data"]["disposition"] != json!("handled");
    let first: Vec<Item> = first;
    let ends = move |item: &Item| item.is_settled() || (!runs && item.kind == Kind::Response);
    Ok(events_of(guest, first, ends))
}

/// Every event from `after` on; how everything stands first, when it is left out.
pub(super) async fn events(
    State(server): State<Arc<Server>>,
    Path(id): Path<String>,
    request: Request,
) -> Result<Response, Fault> {
    let after = wanted(&request)?;
    let room = server.hosts.find(&id).await?;
    let guest = Guest::new(room, &id);
    let client = None;
    guest.order(Value::Null, What::Subscribe { after, client });
    Ok(events_of(guest, Vec::new(), |_| false))
}

/// The number of the last event that was heard: what a browser says that has lost the line, or `after`.
fn wanted(request: &Request) -> Result<Option<u64>, Fault> {
    let last = request.headers().get("last-event-id");
    let last = last.and_then(|value| value.to_str().ok());
    let query = request.uri().query().unwrap_or_default().split('&');
    let mut after = query.filter_map(|pair| pair.strip_prefix("after="));
    let Some(text) = last.or_else(|| after.next()) else {
        return Ok(None);
    };
    let number = text.parse().map(Some);
    number.map_err(|_| Fault::malformed("`after` has to be the number of an event"))
}

/// Events as they come, each with its number, until one of them ends it.
fn events_of(
    guest: Guest,
    first: Vec<Item>,
    ends: impl Fn(&Item) -> bool + Send + 'static,
) -> Response {
    let start = (guest, first.into_iter(), ends, false);
    let pieces = stream::unfold(start, |(guest, mut first, ends, ended)| async move {
        if ended {
            return None;
        }
        let item = match first.next() {
            Some(item) => Some(item),
            None => match tokio::time::timeout(ALIVE_EVERY, guest.out.next()).await {
                Ok(item) => Some(item?),
                Err(_) => None,
            },
        };
        let ended = item.as_ref().is_some_and(&ends);
        let text = item.as_ref().map_or_else(|| ":\n\n".to_owned(), sent);
        let piece = Ok::<_, Infallible>(text);
        Some((piece, (guest, first, ends, ended)))
    });
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    (headers, Body::from_stream(pieces)).into_response()
}

/// The piece of a stream that an item becomes.
fn sent(item: &Item) -> String {
    let whole = |kind: &str, mut payload: Value| {
        payload["type"] = json!(kind);
        let number = payload["number"].as_u64();
        Item {
            number,
            payload: payload.to_string(),
            ..item.clone()
        }
        .server_sent()
    };
    let payload = || serde_json::from_str::<Value>(&item.payload).unwrap_or_default();
    match item.kind {
        Kind::ReplayGap => whole("replay_gap", payload()),
        Kind::Response => {
            let mut answer = payload();
            match answer["data"]["snapshot"].take() {
                Value::Null => item.server_sent(),
                snapshot => whole("snapshot", snapshot),
            }
        }
        _ => item.server_sent(),
    }
}
