//! One client in one session: its commands go in, answers and numbered events come out.
//!
//! The seat hears every event as soon as it is told, because answers are made of them; what the client does
//! not take is let go of here. A client that has lost events is told how everything stands.

use std::sync::Arc;
use std::time::Instant;

use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use super::frames::{Item, Kind};
use super::outbox::Outbox;
use osier_hub::{Introduction, Place, Room, Snapshot, Told, Watch};
use osier_protocol::Event;
use osier_rpc::{Dispatcher, Rendering};

/// What a client wants of a session.
#[derive(Debug)]
pub(super) struct Order {
    /// The client's name for it; null when it has none.
    pub id: Value,
    pub what: What,
}

#[derive(Debug)]
pub(super) enum What {
    /// A command of the protocol. What was taken under the name `once` is not done again.
    Command {
        command: Map<String, Value>,
        once: Option<String>,
    },
    /// Events from this number on; how everything stands first, when there is none.
    Subscribe {
        after: Option<u64>,
        client: Option<Introduction>,
    },
    /// Events from now on, and no word about it.
    Listen,
    Unsubscribe,
}

/// The client's place.
pub(super) struct Seat {
    /// What the client calls the session.
    name: Arc<str>,
    room: Arc<Room>,
    /// What the client is to the others there.
    place: Arc<Place>,
    watch: Watch,
    dispatcher: Dispatcher,
    out: Outbox,
    /// Number of the last event that was heard.
    heard: u64,
    /// The client wants events.
    listens: bool,
    /// The client has said how it wants them.
    greeted: bool,
    /// Events up to this number are told in another way.
    told: u64,
    /// Events were lost.
    lost: bool,
}

impl Seat {
    pub(super) fn new(place: Place, name: Arc<str>, out: Outbox) -> Self {
        let (room, place) = (Arc::clone(place.room()), Arc::new(place));
        let watch = room.watch();
        let mut dispatcher = Dispatcher::new(room.host().clone()).at(Arc::clone(&place));
        for event in watch.standing() {
            dispatcher.take_event(&event);
        }
        dispatcher.output().clear();
        Self {
            name,
            heard: watch.number,
            room,
            place,
            watch,
            dispatcher,
            out,
            listens: false,
            greeted: false,
            told: 0,
            lost: false,
        }
    }

    /// Serves until the orders or the session end. One that nobody listens from ends when its commands are
    /// answered.
    pub(super) async fn run(mut self, orders: &mut mpsc::UnboundedReceiver<Order>) {
        loop {
            let deadline = self.dispatcher.next_deadline();
            tokio::select! {
                biased;
                order = orders.recv() => match order {
                    Some(order) => self.take(order).await,
                    None => return,
                },
                () = self.out.drained(), if self.lost => self.mend().await,
                told = self.watch.next() => match told {
                    Some(told) => self.hear(&told),
                    None => return self.leave(),
                },
                () = until(deadline) => {
                    self.dispatcher.time_passed(Instant::now());
                    self.flush(None);
                }
            }
            let needed = self.listens || self.greeted || self.dispatcher.owes_answers();
            if !needed && orders.is_empty() {
                orders.close();
                if orders.is_empty() {
                    return;
                }
            }
        }
    }

    async fn take(&mut self, Order { id, what }: Order) {
        match what {
            What::Command {
                once: Some(name), ..
            } if !self.room.is_first(&name) => {
                self.answer(&id, "op", &json!({"repeated": true}));
            }
            What::Command { mut command, .. } => {
                let kind = command.get("type").and_then(Value::as_str);
                self.greeted |= kind == Some("hello");
                // The id of a reply is that of the question.
                let is_reply = kind.is_some_and(|kind| kind.ends_with("ui_response"));
                if !is_reply {
                    command.shift_remove("id");
                    if !id.is_null() {
                        command.insert("id".to_owned(), id);
                    }
                }
                let line = Value::Object(command).to_string();
                self.dispatcher.take_line(line.as_bytes());
                self.flush(None);
            }
            What::Subscribe { after, client } => {
                self.place.enter(client.unwrap_or_default());
                self.subscribe(&id, after).await;
            }
            What::Listen => {
                self.place.enter(Introduction::default());
                self.listens = true;
            }
            What::Unsubscribe => {
                self.place.leave();
                self.listens = false;
                self.lost = false;
                self.greeted = false;
                self.answer(&id, "unsubscribe", &json!({}));
            }
        }
    }

    async fn subscribe(&mut self, id: &Value, after: Option<u64>) {
        self.room.read();
        self.listens = true;
        self.lost = false;
        let missed = after.and_then(|after| self.room.after(after));
        if let Some(missed) = missed {
            self.told = after.unwrap_or_default();
            self.answer(id, "subscribe", &json!({"number": self.heard}));
            return self.tell_again(&missed);
        }
        let Some(snapshot) = self.room.snapshot().await else {
            return;
        };
        self.told = snapshot.number;
        let whole = self.value_of(&snapshot);
        if after.is_none() {
            let data = json!({"number": snapshot.number, "snapshot": whole});
            return self.answer(id, "subscribe", &data);
        }
        self.answer(
            id,
            "subscribe",
            &json!({"number": snapshot.number, "gap": true}),
        );
        self.push(Kind::ReplayGap, Some(snapshot.number), whole.to_string());
    }

    /// Tells what was missed, as far as it was heard here: the rest is on its way.
    fn tell_again(&mut self, missed: &[Arc<Told>]) {
        let mut again = self.dispatcher.again();
        for told in missed {
            if told.number.is_some_and(|number| number > self.heard) {
                return;
            }
            match &told.event {
                Event::QuestionClosed { id } if self.dispatcher.rendering() != Rendering::All => {
                    let line = json!({"type": "ui_closed", "id": id, "reason": "answered"});
                    self.push(Kind::UiClosed, told.number, line.to_string());
                }
                event => {
                    again.take_event(&self.place.told(event));
                    self.send_lines(&std::mem::take(again.output()), told.number);
                }
            }
        }
    }

    /// The client takes events again: it is told how everything stands, and hears the rest.
    async fn mend(&mut self) {
        let Some(snapshot) = self.room.snapshot().await else {
            return;
        };
        self.lost = false;
        self.told = snapshot.number;
        let whole = self.value_of(&snapshot);
        self.push(Kind::ReplayGap, Some(snapshot.number), whole.to_string());
    }

    /// How everything stands, as this client has things told.
    fn value_of(&self, snapshot: &Snapshot) -> Value {
        let mut again = self.dispatcher.again();
        for event in &snapshot.events {
            again.take_event(&self.place.told(event));
        }
        let lines = std::mem::take(again.output());
        let lines = String::from_utf8(lines).unwrap_or_default();
        let events = lines.lines().map(serde_json::from_str::<Value>);
        let events: Vec<Value> = events.filter_map(Result::ok).collect();
        json!({"number": snapshot.number, "session": self.room.info(), "events": events})
    }

    fn hear(&mut self, told: &Told) {
        self.heard = told.number.unwrap_or(self.heard);
        self.dispatcher.take_event(&self.place.told(&told.event));
        self.flush(told.number);
    }

    /// Sends what the dispatcher has written.
    fn flush(&mut self, number: Option<u64>) {
        let lines = std::mem::take(self.dispatcher.output());
        if !lines.is_empty() {
            self.send_lines(&lines, number);
        }
    }

    fn send_lines(&mut self, lines: &[u8], number: Option<u64>) {
        let known = number.is_some_and(|number| number <= self.told);
        // What is written here is JSON.
        for line in String::from_utf8_lossy(lines).lines() {
            let kind = Kind::of_line(line);
            if kind == Kind::Response {
                self.push(kind, None, line.to_owned());
            } else if self.listens && !self.lost && !known {
                self.push(kind, number, line.to_owned());
            }
        }
    }

    fn answer(&mut self, id: &Value, command: &str, data: &Value) {
        let mut line = json!({"type": "response", "command": command, "success": true});
        if !id.is_null() {
            line["id"] = id.clone();
        }
        line["data"] = data.clone();
        self.push(Kind::Response, None, line.to_string());
    }

    fn push(&mut self, kind: Kind, number: Option<u64>, payload: String) {
        let session = Some(Arc::clone(&self.name));
        self.lost |= !self.out.push(Item {
            kind,
            session,
            number,
            payload,
        });
    }

    /// The session is closed: the last event may have been lost.
    fn leave(&mut self) {
        if self.lost && self.listens {
            let payload = json!({"type": "shut_down"}).to_string();
            let session = Some(Arc::clone(&self.name));
            self.out.push(Item {
                kind: Kind::ReplayGap,
                session,
                number: None,
                payload,
            });
        }
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
        None => std::future::pending().await,
    }
}
