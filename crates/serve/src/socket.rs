//! The WebSocket: commands of many sessions in, their answers and events out.
//!
//! A frame that is not understood is answered with an error and nothing else happens. A client that shows no
//! sign of life is let go; its sessions go on.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::response::Response;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Map, Value, json};
use tokio::sync::{Notify, mpsc};
use tokio_util::task::AbortOnDropHandle;

use super::Server;
use super::fault::{Code, Fault};
use super::frames::{ClientFrame, Item, Kind};
use super::gate::BODY_LIMIT;
use super::outbox::Outbox;
use super::seat::{Order, Seat, What};
use super::sessions::NewSession;
use osier_hub::{Hosts, Place};
use osier_rpc::PROTOCOL;

/// How often the other end is asked for a sign of life.
const ASKED_EVERY: Duration = Duration::from_secs(15);
/// How long it may give none.
const SILENCE: Duration = Duration::from_secs(50);

pub(super) async fn open(State(server): State<Arc<Server>>, upgrade: WebSocketUpgrade) -> Response {
    upgrade
        .max_message_size(BODY_LIMIT)
        .max_frame_size(BODY_LIMIT)
        .on_upgrade(move |socket| serve(server, socket))
}

async fn serve(server: Arc<Server>, socket: WebSocket) {
    let (sink, stream) = socket.split();
    let out = Outbox::new();
    let mut writing = tokio::spawn(write(sink, out.clone()));
    let (sender, opened) = mpsc::unbounded_channel();
    let mut client = Client {
        hosts: server.hosts.clone(),
        stop: Arc::clone(&server.stop),
        out: out.clone(),
        seats: HashMap::new(),
        farewell: Arc::default(),
        opened: sender,
    };
    tokio::select! {
        () = client.read(stream, opened) => {}
        _ = &mut writing => {}
    }
    drop(client);
    out.close();
    // It ends with its queue, or hangs on a line that is dead.
    writing.abort();
}

async fn write(mut sink: SplitSink<WebSocket, Message>, out: Outbox) {
    while let Some(item) = out.next().await {
        let message = match item.kind {
            Kind::Ping => Message::Ping(Vec::new().into()),
            _ => Message::Text(item.envelope().into()),
        };
        if sink.send(message).await.is_err() {
            return;
        }
    }
}

/// One connection.
struct Client {
    hosts: Hosts,
    stop: Arc<Notify>,
    out: Outbox,
    seats: HashMap<String, Taken>,
    /// The client has said that it goes: its line was not cut.
    farewell: Arc<AtomicBool>,
    opened: mpsc::UnboundedSender<Opened>,
}

/// A session that was opened, and what is to be done in it.
type Opened = (String, Vec<ClientFrame>);

/// A seat that was taken. It is given up with this.
struct Taken {
    orders: mpsc::UnboundedSender<Order>,
    _serving: AbortOnDropHandle<()>,
}

impl Client {
    async fn read(
        &mut self,
        mut stream: SplitStream<WebSocket>,
        mut opened: mpsc::UnboundedReceiver<Opened>,
    ) {
        let mut heard = Instant::now();
        let mut asking = tokio::time::interval(ASKED_EVERY);
        loop {
            tokio::select! {
                message = stream.next() => {
                    heard = Instant::now();
                    match message {
                        Some(Ok(Message::Text(text))) => self.take(text.as_bytes()),
                        Some(Ok(Message::Binary(_))) => {
                            let fault = Fault::malformed("a frame has to be text");
                            self.out.push(Item::error(None, &Value::Null, &fault));
                        }
                        Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                        Some(Ok(Message::Close(_))) => {
                            self.farewell.store(true, Ordering::Relaxed);
                            return;
                        }
                        Some(Err(_)) | None => return,
                    }
                }
                Some((session, frames)) = opened.recv() => {
                    for frame in frames {
                        let session_id = Some(session.clone());
                        self.take_frame(ClientFrame { session_id, ..frame });
                    }
                }
                _ = asking.tick() => {
                    if heard.elapsed() > SILENCE {
                        return;
                    }
                    self.out.push(Item::ping());
                }
            }
        }
    }

    fn take(&mut self, text: &[u8]) {
        let object = serde_json::from_slice::<Map<String, Value>>(text);
        let read = object.and_then(|object| serde_json::from_value(Value::Object(object)));
        let frame: ClientFrame = match read {
            Ok(frame) => frame,
            Err(error) => {
                let fault = Fault::malformed(format!("the frame was not understood: {error}"));
                self.out.push(Item::error(None, &id_of(text), &fault));
                return;
            }
        };
        self.take_frame(frame);
    }

    fn take_frame(&mut self, frame: ClientFrame) {
        let session = frame.session_id.as_deref().map(Arc::from);
        let id = frame.id.clone();
        if let Err(fault) = self.do_frame(frame) {
            self.out.push(Item::error(session, &id, &fault));
        }
    }

    fn do_frame(&mut self, frame: ClientFrame) -> Result<(), Fault> {
        let ClientFrame {
            id,
            r#type,
            session_id,
            command,
            after,
            once,
            open,
            protocol,
            client,
            then,
        } = frame;
        let what = match (r#type.as_deref(), command) {
            (Some("hello"), None) => return self.greet(&id, protocol),
            (Some("open"), None) => return self.open(id, open.unwrap_or_default(), then),
            (Some("stop"), None) => {
                self.out.push(answer(&id, "stop", &json!({})));
                self.stop.notify_one();
                return Ok(());
            }
            (Some("subscribe"), None) => {
                let client = client.map(Into::into);
                What::Subscribe { after, client }
            }
            (Some("unsubscribe"), None) => What::Unsubscribe,
            (None, Some(command)) => What::Command { command, once },
            _ => {
                return Err(Fault::malformed(
                    "a frame has a `command`, or the `type` `subscribe`, `unsubscribe`, `open`, `stop` or `hello`",
                ));
            }
        };
        let Some(session) = session_id else {
            return Err(Fault::malformed(
                "`sessionId` says which session it is about",
            ));
        };
        self.order(session, Order { id, what });
        Ok(())
    }

    fn greet(&self, id: &Value, protocol: Option<u64>) -> Result<(), Fault> {
        speaks(protocol)?;
        let data = json!({
            "protocol": PROTOCOL,
            "name": osier_base::PROGRAM,
            "version": env!("CARGO_PKG_VERSION"),
        });
        self.out.push(answer(id, "hello", &data));
        Ok(())
    }

    /// Opens a session beside the frames that follow; `then` is done in it.
    fn open(
        &self,
        id: Value,
        mut wanted: Map<String, Value>,
        then: Vec<ClientFrame>,
    ) -> Result<(), Fault> {
        let join = wanted.shift_remove("join") == Some(Value::Bool(true));
        let wanted = serde_json::from_value::<NewSession>(Value::Object(wanted))
            .map_err(|error| Fault::malformed(format!("`open` was not understood: {error}")))?;
        let wanted = wanted.checked()?;
        let (hosts, out, opened) = (self.hosts.clone(), self.out.clone(), self.opened.clone());
        tokio::spawn(async move {
            let room = if join {
                hosts.join(wanted).await
            } else {
                hosts.open(wanted).await
            };
            let room = match room {
                Ok(room) => room,
                Err(error) => {
                    out.push(Item::error(None, &id, &error.into()));
                    return;
                }
            };
            let mut info = json!(room.info());
            if !then.is_empty() {
                info["then"] = json!(then.len());
            }
            out.push(answer(&id, "open", &info));
            // A client that has gone wants nothing done.
            let _ = opened.send((room.id(), then));
        });
        Ok(())
    }

    /// Gives an order to the seat in its session, which is taken where there is none.
    fn order(&mut self, session: String, order: Order) {
        let order = match self.seats.get(&session) {
            Some(taken) => match taken.orders.send(order) {
                Ok(()) => return,
                Err(unsent) => unsent.0,
            },
            None => order,
        };
        let (orders, received) = mpsc::unbounded_channel();
        // Its receiver is not dropped yet.
        let _ = orders.send(order);
        let name: Arc<str> = session.as_str().into();
        let farewell = Arc::clone(&self.farewell);
        let serving = sit(
            self.hosts.clone(),
            (name, farewell),
            self.out.clone(),
            received,
        );
        let taken = Taken {
            orders,
            _serving: AbortOnDropHandle::new(tokio::spawn(serving)),
        };
        self.seats.insert(session, taken);
    }
}

/// An answer that is about no session.
fn answer(id: &Value, command: &str, data: &Value) -> Item {
    let payload =
        json!({"type": "response", "id": id, "command": command, "success": true, "data": data});
    Item {
        kind: Kind::Response,
        session: None,
        number: None,
        payload: payload.to_string(),
    }
}

/// Takes a seat in a session, which may have to be opened for it.
async fn sit(
    hosts: Hosts,
    (name, farewell): (Arc<str>, Arc<AtomicBool>),
    out: Outbox,
    mut orders: mpsc::UnboundedReceiver<Order>,
) {
    match hosts.find(&name).await {
        Ok(room) => {
            let place = Place::new(room, farewell);
            Seat::new(place, Arc::clone(&name), out.clone())
                .run(&mut orders)
                .await;
            orders.close();
            // What was asked too late is asked of a session that has ended.
            let fault = Fault::new(Code::ShuttingDown, "the session was closed");
            refuse(&name, &out, &mut orders, &fault);
        }
        Err(error) => {
            orders.close();
            refuse(&name, &out, &mut orders, &error.into());
        }
    }
}

fn refuse(
    name: &Arc<str>,
    out: &Outbox,
    orders: &mut mpsc::UnboundedReceiver<Order>,
    fault: &Fault,
) {
    while let Ok(order) = orders.try_recv() {
        out.push(Item::error(Some(Arc::clone(name)), &order.id, fault));
    }
}

/// Whether the version the client speaks is spoken here.
pub(super) fn speaks(protocol: Option<u64>) -> Result<(), Fault> {
    match protocol {
        Some(asked) if asked != u64::from(PROTOCOL) => Err(Fault::new(
            Code::UnsupportedProtocol,
            format!("version {asked} is not spoken here: this is {PROTOCOL}"),
        )),
        _ => Ok(()),
    }
}

/// The id of a frame of which little else makes sense.
fn id_of(text: &[u8]) -> Value {
    let value: Value = serde_json::from_slice(text).unwrap_or_default();
    value.get("id").cloned().unwrap_or_default()
}
