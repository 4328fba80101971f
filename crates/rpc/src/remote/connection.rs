//! The task of a remote session: joins the session on the server, forwards ops and events, and reconnects.

use std::time::{Duration, Instant};

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use super::connect::{ServerStream, Stream, connect};
use super::pending_ops::{OpAction, PendingOps};
use super::{AttachOptions, Target};
use crate::PROTOCOL;
use osier_agent::{Severity, UserMessage};
use osier_protocol::questions::Question;
use osier_protocol::{ConnectionState, Event, Op};
use osier_session::RemoteSession;

/// First delay before a reconnection; each further delay is twice as long.
const FIRST_DELAY: Duration = Duration::from_millis(200);
const MAX_DELAY: Duration = Duration::from_secs(15);
/// Interval of pings, and the time without any message after which the connection is considered lost.
const PING_INTERVAL: Duration = Duration::from_secs(5);
const PING_TIMEOUT: Duration = Duration::from_secs(20);

type Socket = WebSocketStream<Box<dyn Stream>>;

/// The state of the task.
pub(super) struct RemoteConnection {
    target: Target,
    options: AttachOptions,
    session: RemoteSession,
    ops: PendingOps,
    /// Number of the last event that was forwarded.
    last_number: Option<u64>,
    /// Open questions.
    questions: Vec<Question>,
    /// The secret by which the server recognizes this client after a reconnection.
    key: String,
}

/// Why a connection ended.
enum EndReason {
    /// The user left.
    Left,
    /// The session on the server has ended.
    Closed,
    Lost(String),
}

/// Why the wait before a reconnection ended.
enum WaitResult {
    Elapsed,
    /// The user did something.
    UserInput,
    Left,
}

impl RemoteConnection {
    pub(super) fn new(target: Target, options: AttachOptions, session: RemoteSession) -> Self {
        Self {
            ops: PendingOps::new(target.to_string(), options.drafts.clone()),
            target,
            options,
            session,
            last_number: None,
            questions: Vec::new(),
            key: uuid::Uuid::new_v4().simple().to_string(),
        }
    }

    pub(super) async fn run(mut self) {
        let mut delay = FIRST_DELAY;
        self.publish_state(ConnectionState::Connecting, self.target.label());
        loop {
            let connected = tokio::select! {
                connected = connect(&self.target, &self.options) => connected,
                () = queue_until_left(&mut self.session, &mut self.ops) => break,
            };
            let reason = match connected {
                Ok(connected) => {
                    let began = Instant::now();
                    match self.run_connection(connected).await {
                        EndReason::Left | EndReason::Closed => break,
                        EndReason::Lost(reason) => {
                            if began.elapsed() > MAX_DELAY {
                                delay = FIRST_DELAY;
                            }
                            reason
                        }
                    }
                }
                Err(error) => {
                    if error.is_final() {
                        self.notice(Severity::Error, error.to_string());
                        delay = MAX_DELAY;
                    }
                    error.to_string()
                }
            };
            self.ops.answers.clear();
            self.publish_state(ConnectionState::Lost, reason);
            match self.wait(delay).await {
                WaitResult::Elapsed => delay = (delay * 2).min(MAX_DELAY),
                WaitResult::UserInput => delay = FIRST_DELAY,
                WaitResult::Left => break,
            }
        }
        self.ops.end().await;
        self.session.publish(Event::ShutDown);
    }

    /// Waits before a reconnection. Input of the user shortens the wait: the network may be available again.
    async fn wait(&mut self, delay: Duration) -> WaitResult {
        let now = tokio::time::Instant::now();
        let (mut due, mut result) = (now + delay, WaitResult::Elapsed);
        loop {
            tokio::select! {
                () = tokio::time::sleep_until(due) => return result,
                op = self.session.next() => match op {
                    None | Some(Op::ShutDown) => return WaitResult::Left,
                    Some(op) => {
                        if let Some(event) = self.ops.handle_offline(&op) {
                            self.session.publish(event);
                        }
                        result = WaitResult::UserInput;
                        due = due.min(tokio::time::Instant::now() + FIRST_DELAY);
                    }
                },
            }
        }
    }

    /// Joins the session and forwards ops and events until the connection ends.
    async fn run_connection(&mut self, connected: ServerStream) -> EndReason {
        let ServerStream { socket, child } = connected;
        let (mut sink, mut stream) = socket.split();
        let reason = match self.join(&mut sink, &mut stream).await {
            Ok(()) => self.forward(&mut sink, &mut stream).await,
            Err(reason) => reason,
        };
        if !matches!(reason, EndReason::Lost(_)) {
            // A WebSocket close tells the server that the client leaves for good. After a lost connection the client stays
            // present for a while instead.
            let _ = tokio::time::timeout(Duration::from_millis(200), sink.close()).await;
        }
        drop(child);
        reason
    }

    async fn join(
        &mut self,
        sink: &mut SplitSink<Socket, Message>,
        stream: &mut SplitStream<Socket>,
    ) -> Result<(), EndReason> {
        send_frame(
            sink,
            &json!({"id": "hello", "type": "hello", "protocol": PROTOCOL}),
        )
        .await?;
        let mut frames = [
            json!({"id": "all", "command": {"type": "hello", "events": "all", "client": "osier attach"}}),
            json!({
                "id": "subscribe", "type": "subscribe", "after": self.last_number,
                "client": {"name": self.options.name, "key": self.key},
            }),
        ];
        if self.ops.session.is_none() {
            self.last_number = None;
            frames[1]["after"] = Value::Null;
            let cwd = self.target.folder().map(std::path::Path::to_owned);
            let cwd = cwd.or_else(|| self.options.cwd.clone());
            let open = json!({
                "cwd": cwd, "session": self.options.session, "model": self.options.model,
                "join": !self.options.new_session && self.options.session.is_none(),
            });
            // Send the next frames along, without waiting for the id of the session.
            let open = json!({"id": "open", "type": "open", "open": open, "then": frames});
            send_frame(sink, &open).await?;
            let opened = loop {
                let frame = receive_frame(stream).await?;
                let payload = &frame["payload"];
                match (frame["type"].as_str(), payload["id"].as_str()) {
                    (Some("response"), Some("open")) => break payload["data"].clone(),
                    (Some("error"), _) => {
                        let message = payload["message"]
                            .as_str()
                            .unwrap_or("the server rejected the request");
                        self.notice(Severity::Error, message.to_owned());
                        return Err(EndReason::Lost(message.to_owned()));
                    }
                    _ => {}
                }
            };
            self.ops.session = opened["id"].as_str().map(str::to_owned);
            // Older servers ignore `then`.
            if opened["then"] == json!(frames.len()) {
                return Ok(());
            }
        }
        for mut frame in frames {
            frame["sessionId"] = json!(self.ops.session);
            send_frame(sink, &frame).await?;
        }
        Ok(())
    }

    async fn forward(
        &mut self,
        sink: &mut SplitSink<Socket, Message>,
        stream: &mut SplitStream<Socket>,
    ) -> EndReason {
        for frame in self.ops.unanswered_frames() {
            if let Err(reason) = send_frame(sink, &frame).await {
                return reason;
            }
        }
        let mut last_received = Instant::now();
        let mut ping = tokio::time::interval(PING_INTERVAL);
        loop {
            let done = tokio::select! {
                op = self.session.next() => match op {
                    None | Some(Op::ShutDown) => Err(EndReason::Left),
                    Some(op) => match self.ops.handle(&op) {
                        OpAction::Send(frame) => send_frame(sink, &frame).await,
                        OpAction::Answered(event) => {
                            self.session.publish(event);
                            Ok(())
                        }
                        OpAction::Nothing => Ok(()),
                    },
                },
                message = stream.next() => {
                    last_received = Instant::now();
                    match message {
                        Some(Ok(Message::Text(text))) => self.handle_text(&text),
                        Some(Ok(Message::Close(_))) | None => {
                            Err(EndReason::Lost("the server closed the connection".to_owned()))
                        }
                        Some(Ok(_)) => Ok(()),
                        Some(Err(error)) => Err(EndReason::Lost(error.to_string())),
                    }
                }
                _ = ping.tick() => {
                    if last_received.elapsed() > PING_TIMEOUT {
                        Err(EndReason::Lost("the server does not respond".to_owned()))
                    } else {
                        let ping = Message::Ping(Vec::new().into());
                        sink.send(ping).await.map_err(|error| EndReason::Lost(error.to_string()))
                    }
                }
            };
            if let Err(reason) = done {
                return reason;
            }
        }
    }

    fn handle_text(&mut self, text: &str) -> Result<(), EndReason> {
        // Ignore frames of newer servers that this client cannot parse.
        let Ok(mut frame) = serde_json::from_str::<Value>(text) else {
            return Ok(());
        };
        let number = frame["number"].as_u64();
        let payload = frame["payload"].take();
        match frame["type"].as_str() {
            Some("event") => {
                self.last_number = number.or(self.last_number);
                if payload["type"] == "shut_down" {
                    return Err(EndReason::Closed);
                }
                self.publish(payload);
            }
            Some("replay_gap") if payload["type"] == "shut_down" => return Err(EndReason::Closed),
            Some("replay_gap") => self.apply_snapshot(payload),
            Some("response") => self.handle_response(payload),
            Some("error") => return self.handle_error(&payload),
            _ => {}
        }
        Ok(())
    }

    fn handle_response(&mut self, mut payload: Value) {
        if payload["id"] == "subscribe" {
            let snapshot = payload["data"]["snapshot"].take();
            if !snapshot.is_null() {
                self.apply_snapshot(snapshot);
            }
            return self.publish_state(ConnectionState::Connected, self.target.label());
        }
        let id = payload["id"].as_u64();
        let op = self.ops.complete(id);
        if payload["success"] != json!(false) {
            return;
        }
        let error = payload["error"]
            .as_str()
            .unwrap_or("the server rejected the request");
        if payload["code"] != "occupied" {
            return self.notice(Severity::Error, error.to_owned());
        }
        self.notice(Severity::Warning, error.to_owned());
        if let Some(op) = op {
            self.return_input(op);
        }
    }

    /// Another client holds the write lock: returns the rejected input to the user.
    fn return_input(&mut self, op: Value) {
        let Ok(op) = serde_json::from_value::<Op>(op) else {
            return;
        };
        let message = match op {
            Op::Agent(
                osier_agent::Op::Prompt {
                    text, attachments, ..
                }
                | osier_agent::Op::Steer {
                    text, attachments, ..
                }
                | osier_agent::Op::FollowUp {
                    text, attachments, ..
                },
            ) => (text, attachments),
            Op::Shell {
                command,
                exclude_from_context,
            } => {
                let mark = if exclude_from_context { "!!" } else { "!" };
                (format!("{mark}{command}"), Vec::new())
            }
            Op::AnswerQuestion { id, .. } => {
                let mut open = self.questions.iter();
                if let Some(question) = open.find(|question| question.id == id) {
                    let question = Box::new(question.clone());
                    self.session.publish(Event::QuestionAsked { question });
                }
                return;
            }
            _ => return,
        };
        let (text, attachments) = message;
        let message = UserMessage {
            text,
            attachments,
            ..UserMessage::default()
        };
        let messages = vec![message];
        self.session
            .publish(osier_agent::Event::QueueRecalled { messages }.into());
    }

    fn handle_error(&mut self, payload: &Value) -> Result<(), EndReason> {
        let message = payload["message"]
            .as_str()
            .unwrap_or("the server rejected the request");
        let message = message.to_owned();
        if payload["code"] == "unknown_session" {
            // The session was never stored. Join another one.
            self.notice(
                Severity::Warning,
                "the session no longer exists on the server; joining another one",
            );
            self.ops.session = None;
            return Err(EndReason::Lost(message));
        }
        let id = payload["id"].as_u64();
        self.ops.complete(id);
        self.notice(Severity::Error, message);
        Ok(())
    }

    /// Applies a snapshot.
    fn apply_snapshot(&mut self, mut snapshot: Value) {
        for Question { id, .. } in std::mem::take(&mut self.questions) {
            self.session.publish(Event::QuestionClosed { id });
        }
        self.last_number = snapshot["number"].as_u64();
        if let Value::Array(events) = snapshot["events"].take() {
            for event in events {
                self.publish(event);
            }
        }
    }

    fn publish(&mut self, mut payload: Value) {
        if !self.ops.answers.accept(&mut payload) {
            return;
        }
        // Ignore events of newer servers that this client does not know.
        let Ok(event) = serde_json::from_value::<Event>(payload) else {
            return;
        };
        match &event {
            Event::QuestionAsked { question } => self.questions.push((**question).clone()),
            Event::QuestionClosed { id } => self.questions.retain(|known| known.id != *id),
            _ => {}
        }
        self.session.publish(event);
    }

    fn publish_state(&self, state: ConnectionState, detail: String) {
        self.session.publish(Event::Connection { state, detail });
    }

    fn notice(&self, severity: Severity, text: impl Into<String>) {
        self.session.publish(Event::Notice {
            severity,
            text: text.into(),
            request: None,
        });
    }
}

/// Queues ops while there is no connection. Returns when the user leaves.
async fn queue_until_left(session: &mut RemoteSession, ops: &mut PendingOps) {
    while let Some(op) = session.next().await {
        if matches!(op, Op::ShutDown) {
            return;
        }
        if let Some(event) = ops.handle_offline(&op) {
            session.publish(event);
        }
    }
}

async fn send_frame(sink: &mut SplitSink<Socket, Message>, frame: &Value) -> Result<(), EndReason> {
    let message = Message::text(frame.to_string());
    let sent = sink.send(message).await;
    sent.map_err(|error| EndReason::Lost(error.to_string()))
}

/// The next text frame.
async fn receive_frame(stream: &mut SplitStream<Socket>) -> Result<Value, EndReason> {
    let lost = |text: &str| EndReason::Lost(text.to_owned());
    loop {
        let message = tokio::time::timeout(PING_TIMEOUT, stream.next()).await;
        match message.map_err(|_| lost("the server does not respond"))? {
            Some(Ok(Message::Text(text))) => {
                return serde_json::from_str(&text).map_err(|error| lost(&error.to_string()));
            }
            Some(Ok(_)) => {}
            Some(Err(error)) => return Err(lost(&error.to_string())),
            None => return Err(lost("the server closed the connection")),
        }
    }
}
