//! The connection of one client to one session: commands in, responses and numbered events out.
//!
//! The connection handles every event immediately, because answers depend on them, and drops events that the client
//! reads too slowly. A client that has lost events gets a snapshot.

use std::sync::Arc;
use std::time::Instant;

use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use super::error::ApiError;
use super::frames::{ClientFrame, FrameKind, ServerFrame};
use super::merged_event::MergedEvent;
use super::send_queue::SendQueue;
use osier_base::task::sleep_until;
use osier_hub::{
    ClientHandle, ClientIdentity, NumberedEvent, Piece, SharedSession, Snapshot, Subscriber,
    TimedEvent,
};
use osier_protocol::Event;
use osier_rpc::{Dispatcher, EventMode};

/// A request of a client to a session.
#[derive(Debug)]
pub(super) struct SessionRequest {
    /// The id of the request; null if it has none.
    pub id: Value,
    pub kind: RequestKind,
}

#[derive(Debug)]
pub(super) enum RequestKind {
    /// A command of the protocol. It is not executed again if the idempotency key `once` is known.
    Command {
        command: Map<String, Value>,
        once: Option<String>,
        /// The text of the prompt is added to the prompt history.
        history: bool,
    },
    /// A part of a frame with a command.
    Piece {
        key: String,
        piece: Piece,
    },
    /// Send the events after this number; a snapshot first if it is not set.
    Subscribe {
        after: Option<u64>,
        client: Option<ClientIdentity>,
    },
    /// Send the events from now on, without a response.
    Listen,
    Unsubscribe,
}

/// The connection of one client to one session.
pub(super) struct SessionConnection {
    /// The id by which the client refers to the session.
    session_id: Arc<str>,
    session: Arc<SharedSession>,
    /// The presence and write access of the client.
    client: Arc<ClientHandle>,
    subscriber: Subscriber,
    dispatcher: Dispatcher,
    queue: SendQueue,
    /// Number of the last received event.
    last_received: u64,
    /// The client receives events.
    sends_events: bool,
    /// The client has selected its events with `hello`.
    has_selected_events: bool,
    /// Events up to this number are in a snapshot or a replay.
    covered: u64,
    /// Events were lost.
    has_lost_events: bool,
    /// The event of a stream that waits, for a client that gets streams merged.
    merged: MergedEvent,
}

impl SessionConnection {
    pub(super) fn new(client: ClientHandle, session_id: Arc<str>, queue: SendQueue) -> Self {
        let (session, client) = (Arc::clone(client.session()), Arc::new(client));
        let subscriber = session.subscribe();
        let mut dispatcher =
            Dispatcher::new(session.handle().clone()).for_client(Arc::clone(&client));
        for event in subscriber.retained() {
            dispatcher.handle_event(event.time, &event.event);
        }
        dispatcher.output().clear();
        Self {
            session_id,
            last_received: subscriber.number,
            session,
            client,
            subscriber,
            dispatcher,
            queue,
            sends_events: false,
            has_selected_events: false,
            covered: 0,
            has_lost_events: false,
            merged: MergedEvent::default(),
        }
    }

    /// Serves until the requests or the session end. A connection without events ends when its commands are
    /// answered.
    pub(super) async fn run(mut self, requests: &mut mpsc::UnboundedReceiver<SessionRequest>) {
        loop {
            let deadline = self.dispatcher.next_deadline();
            let merged = self.merged.deadline();
            tokio::select! {
                biased;
                request = requests.recv() => match request {
                    Some(request) => {
                        self.send_merged();
                        self.handle(request).await;
                    }
                    None => return,
                },
                () = self.queue.drained(), if self.has_lost_events => {
                    self.send_merged();
                    self.send_snapshot().await;
                }
                () = sleep_until(merged.map(Into::into)) => self.send_merged(),
                numbered = self.subscriber.next() => {
                    let Some(numbered) = numbered else {
                        self.send_merged();
                        return self.report_end();
                    };
                    self.on_event(&numbered);
                }
                () = sleep_until(deadline.map(Into::into)) => {
                    self.dispatcher.handle_timeouts(Instant::now());
                    self.flush(None);
                }
            }
            let needed = self.sends_events
                || self.has_selected_events
                || self.dispatcher.pending_commands() > 0;
            if !needed && requests.is_empty() {
                requests.close();
                if requests.is_empty() {
                    return;
                }
            }
        }
    }

    async fn handle(&mut self, SessionRequest { id, kind }: SessionRequest) {
        match kind {
            RequestKind::Piece { key, piece } => self.add_piece(&id, &key, &piece),
            RequestKind::Command {
                command,
                once,
                history,
            } => self.command(id, command, once, history),
            RequestKind::Subscribe { after, client } => {
                self.client.join(client.unwrap_or_default());
                self.subscribe(&id, after).await;
            }
            RequestKind::Listen => {
                self.client.join(ClientIdentity::default());
                self.sends_events = true;
            }
            RequestKind::Unsubscribe => {
                self.client.leave();
                self.sends_events = false;
                self.has_lost_events = false;
                self.has_selected_events = false;
                self.respond(&id, "unsubscribe", &json!({}));
            }
        }
    }

    fn command(
        &mut self,
        id: Value,
        mut command: Map<String, Value>,
        once: Option<String>,
        history: bool,
    ) {
        if once
            .as_deref()
            .is_some_and(|key| !self.session.claim_key(key))
        {
            return self.respond(&id, "op", &json!({"repeated": true}));
        }
        if history {
            self.add_history(&command);
        }
        let kind = command.get("type").and_then(Value::as_str);
        self.has_selected_events |= kind == Some("hello");
        // The id of a `ui_response` is that of the question.
        let is_reply = kind.is_some_and(|kind| kind.ends_with("ui_response"));
        if !is_reply {
            command.shift_remove("id");
            if !id.is_null() {
                command.insert("id".to_owned(), id);
            }
        }
        let line = Value::Object(command).to_string();
        self.dispatcher.handle_line_once(line.as_bytes(), once);
        self.flush(None);
    }

    /// The prompt of a command is added to the prompt history.
    fn add_history(&mut self, command: &Map<String, Value>) {
        let op = command.get("op");
        let field = |name: &str| op?.get(name)?.as_str();
        if let Some(text) = field("typed").or_else(|| field("text")) {
            let line = json!({"type": "op", "op": {"type": "add_history", "text": text}});
            self.dispatcher.handle_line(line.to_string().as_bytes());
        }
    }

    /// Stores a part of a frame; the complete frame is handled like one that arrived as a whole.
    fn add_piece(&mut self, id: &Value, key: &str, piece: &Piece) {
        if self.session.knows_key(key) {
            return self.respond(id, "op", &json!({"repeated": true}));
        }
        let (received, complete) = self.session.add_piece(key, piece);
        self.respond(id, "piece", &json!({"received": received}));
        let Some(text) = complete else { return };
        match serde_json::from_str::<ClientFrame>(&text) {
            Ok(ClientFrame {
                id,
                command: Some(command),
                once: Some(once),
                history,
                ..
            }) if once == key => self.command(id, command, Some(once), history),
            _ => {
                let error =
                    ApiError::malformed("the pieces are not a frame with a command and this key");
                let session = Some(Arc::clone(&self.session_id));
                self.has_lost_events |= !self.queue.push(ServerFrame::error(session, id, &error));
            }
        }
    }

    async fn subscribe(&mut self, id: &Value, after: Option<u64>) {
        self.session.mark_read();
        self.sends_events = true;
        self.has_lost_events = false;
        let missed = after.and_then(|after| self.session.events_after(after));
        if let Some(missed) = missed {
            self.covered = after.unwrap_or_default();
            self.respond(
                id,
                "subscribe",
                &json!({"number": self.last_received, "opened": self.session.opened()}),
            );
            return self.replay(&missed);
        }
        let Some(snapshot) = self.session.snapshot().await else {
            return;
        };
        self.covered = snapshot.number;
        let snapshot_value = self.snapshot_value(&snapshot);
        if after.is_none() {
            let data = json!({"number": snapshot.number, "snapshot": snapshot_value, "opened": self.session.opened()});
            return self.respond(id, "subscribe", &data);
        }
        self.respond(
            id,
            "subscribe",
            &json!({"number": snapshot.number, "gap": true, "opened": self.session.opened()}),
        );
        self.push(
            FrameKind::ReplayGap,
            Some(snapshot.number),
            snapshot_value.to_string(),
        );
    }

    /// Sends the missed events up to the last received one. Later events are still in the subscriber's queue.
    fn replay(&mut self, missed: &[Arc<NumberedEvent>]) {
        let mut renderer = self.dispatcher.renderer();
        for numbered in missed {
            if numbered
                .number
                .is_some_and(|number| number > self.last_received)
            {
                return;
            }
            match &numbered.event {
                Event::QuestionClosed { id } if self.dispatcher.event_mode() != EventMode::All => {
                    let line = json!({"type": "ui_closed", "id": id, "reason": "answered",
                        "timestamp": numbered.time});
                    self.push(FrameKind::UiClosed, numbered.number, line.to_string());
                }
                event => {
                    renderer.handle_event(numbered.time, &self.client.personalize(event));
                    self.send_lines(&std::mem::take(renderer.output()), numbered.number);
                }
            }
        }
    }

    /// Sends a snapshot to a client that reads again after it has lost events.
    async fn send_snapshot(&mut self) {
        let Some(snapshot) = self.session.snapshot().await else {
            return;
        };
        self.has_lost_events = false;
        self.covered = snapshot.number;
        let snapshot_value = self.snapshot_value(&snapshot);
        self.push(
            FrameKind::ReplayGap,
            Some(snapshot.number),
            snapshot_value.to_string(),
        );
    }

    /// The snapshot in the event mode of this client.
    fn snapshot_value(&self, snapshot: &Snapshot) -> Value {
        let mut renderer = self.dispatcher.renderer();
        for TimedEvent { time, event } in &snapshot.events {
            renderer.handle_event(*time, &self.client.personalize(event));
        }
        let lines = std::mem::take(renderer.output());
        let lines = String::from_utf8(lines).unwrap_or_default();
        let events = lines.lines().map(serde_json::from_str::<Value>);
        let events: Vec<Value> = events.filter_map(Result::ok).collect();
        json!({"number": snapshot.number, "session": self.session.info(), "events": events})
    }

    fn on_event(&mut self, numbered: &NumberedEvent) {
        // A client must not take the end of the server for the end of its session.
        if numbered.event == Event::ShutDown && self.session.ends_with_server() {
            return;
        }
        if self.queue.merges_streams() && self.merged.holds(numbered, Instant::now()) {
            return;
        }
        self.send_merged();
        self.send_event(numbered);
    }

    /// Sends the event that waits for later ones.
    fn send_merged(&mut self) {
        if let Some(merged) = self.merged.release(Instant::now()) {
            self.send_event(&merged);
        }
    }

    fn send_event(&mut self, numbered: &NumberedEvent) {
        self.last_received = numbered.number.unwrap_or(self.last_received);
        self.dispatcher
            .handle_event(numbered.time, &self.client.personalize(&numbered.event));
        self.flush(numbered.number);
    }

    /// Sends the output of the dispatcher.
    fn flush(&mut self, number: Option<u64>) {
        let lines = std::mem::take(self.dispatcher.output());
        if !lines.is_empty() {
            self.send_lines(&lines, number);
        }
    }

    fn send_lines(&mut self, lines: &[u8], number: Option<u64>) {
        let is_covered = number.is_some_and(|number| number <= self.covered);
        // The output is JSON, so it is valid UTF-8.
        for line in String::from_utf8_lossy(lines).lines() {
            let kind = FrameKind::of_line(line);
            if kind == FrameKind::Response {
                self.push(kind, None, line.to_owned());
            } else if self.sends_events && !self.has_lost_events && !is_covered {
                self.push(kind, number, line.to_owned());
            }
        }
    }

    fn respond(&mut self, id: &Value, command: &str, data: &Value) {
        let mut line = json!({"type": "response", "command": command, "success": true});
        if !id.is_null() {
            line["id"] = id.clone();
        }
        line["data"] = data.clone();
        self.push(FrameKind::Response, None, line.to_string());
    }

    fn push(&mut self, kind: FrameKind, number: Option<u64>, payload: String) {
        let session = Some(Arc::clone(&self.session_id));
        self.has_lost_events |= !self.queue.push(ServerFrame {
            kind,
            session,
            number,
            payload,
        });
    }

    /// Reports the end of the session if its last event was dropped.
    fn report_end(&mut self) {
        // The client sends its requests again after a restart of the server.
        if !self.session.ends_with_server() {
            self.dispatcher.end();
            self.flush(None);
        }
        if self.has_lost_events && self.sends_events && !self.session.ends_with_server() {
            let payload = json!({"type": "shut_down"}).to_string();
            let session = Some(Arc::clone(&self.session_id));
            self.queue.push(ServerFrame {
                kind: FrameKind::ReplayGap,
                session,
                number: None,
                payload,
            });
        }
    }
}
