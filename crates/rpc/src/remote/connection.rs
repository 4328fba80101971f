//! The task of a remote session: joins the session on the server, forwards ops and events, and reconnects.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::connect::{Attempt, ServerStream, connect};
use super::failure::{ConnectError, FailureKind};
use super::options::AttachOptions;
use super::outbox::Outbox;
use super::pending_ops::{OpAction, PendingOps};
use super::target::Target;
use super::wire::{EndReason, Receiver, Sender, split};
use crate::PROTOCOL;
use osier_agent::{Severity, UserMessage};
use osier_protocol::questions::Question;
use osier_protocol::{ConnectionState, Event, Op};
use osier_session::RemoteSession;

/// First delay before a reconnection; each further delay is twice as long.
const FIRST_DELAY: Duration = Duration::from_millis(200);
const MAX_DELAY: Duration = Duration::from_secs(15);
/// How long a line for the history waits for its prompt.
const HISTORY_WAIT: Duration = Duration::from_millis(50);
/// Interval of pings, and the time without any received byte after which the connection is considered lost.
const PING_INTERVAL: Duration = Duration::from_secs(3);
const PING_TIMEOUT: Duration = Duration::from_secs(9);

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
    /// The session was joined at least once.
    has_joined: bool,
    /// The response to `subscribe` has arrived over the current connection.
    has_subscribed: bool,
    /// The server was stopped and does not run yet.
    is_stopped: bool,
    /// The failure that the screen shows.
    shown: Option<FailureKind>,
    /// The number of the opening of the session that was joined last: while the server has this
    /// opening, it knows all keys that were sent to it.
    opened: Option<u64>,
    /// The frames that wait for the current connection.
    outbox: Outbox,
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
            has_joined: false,
            has_subscribed: false,
            is_stopped: false,
            shown: None,
            opened: None,
            outbox: Outbox::new(),
        }
    }

    pub(super) async fn run(mut self) {
        let mut delay = FIRST_DELAY;
        self.publish_state(ConnectionState::Connecting, self.target.label());
        loop {
            let frames = self.join_frames();
            let attempt = Attempt {
                is_stopped: self.is_stopped,
            };
            let connected = tokio::select! {
                connected = connect(&self.target, &self.options, attempt, &frames) => connected,
                () = queue_until_left(&mut self.session, &mut self.ops) => break,
            };
            let began = Instant::now();
            let ended = match connected {
                Ok(connected) => self.run_connection(connected).await,
                Err(error) => EndReason::Failed(error),
            };
            if began.elapsed() > MAX_DELAY {
                delay = FIRST_DELAY;
            }
            self.ops.answers.clear();
            if !self.report(ended).await {
                break;
            }
            match self.wait(delay).await {
                WaitResult::Elapsed => delay = (delay * 2).min(MAX_DELAY),
                WaitResult::UserInput => delay = FIRST_DELAY,
                WaitResult::Left => break,
            }
        }
        self.ops.end().await;
        self.session.publish(Event::ShutDown);
    }

    /// Shows why there is no connection. Returns whether to connect again.
    async fn report(&mut self, ended: EndReason) -> bool {
        match ended {
            EndReason::Left => return false,
            EndReason::Closed => {
                self.publish_state(ConnectionState::Closed, self.target.label());
                return false;
            }
            EndReason::Stopped => {
                self.is_stopped = true;
                let text = "the server was stopped".to_owned();
                self.publish_state(ConnectionState::Stopped, text);
            }
            EndReason::Lost(reason) => self.publish_state(ConnectionState::Lost, reason),
            EndReason::Failed(error) => return self.report_failure(&error).await,
        }
        true
    }

    async fn report_failure(&mut self, error: &ConnectError) -> bool {
        let retries = error.can_retry(self.has_joined);
        // A lost connection is a state in the footer; the conversation stays on the screen.
        let must_show = !retries || !self.has_joined || error.needs_user();
        if must_show && self.shown != Some(error.kind) {
            self.shown = Some(error.kind);
            self.notice(Severity::Error, error.screen(retries));
        }
        let reason = error.reason().to_owned();
        if !retries {
            self.publish_state(ConnectionState::Failed, reason);
            queue_until_left(&mut self.session, &mut self.ops).await;
            return false;
        }
        // A server that was stopped has not failed until it starts again.
        if !(self.is_stopped && error.kind == FailureKind::NotRunning) {
            self.publish_state(ConnectionState::Lost, reason);
        }
        true
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
                        handle_offline(&self.session, &mut self.ops, &op);
                        result = WaitResult::UserInput;
                        due = due.min(tokio::time::Instant::now() + FIRST_DELAY);
                    }
                },
            }
        }
    }

    /// Joins the session and forwards ops and events until the connection ends.
    async fn run_connection(&mut self, connected: ServerStream) -> EndReason {
        let ServerStream {
            socket,
            activity,
            child,
            compresses,
        } = connected;
        let (mut sender, mut receiver) = split(socket, compresses);
        self.outbox = Outbox::new();
        self.has_subscribed = false;
        let serve = async {
            match self.join(&mut sender, &mut receiver).await {
                Ok(()) => self.forward(&mut sender, &mut receiver).await,
                Err(reason) => reason,
            }
        };
        let reason = tokio::select! {
            reason = serve => reason,
            () = activity.silent_for(PING_TIMEOUT) => {
                EndReason::Lost("the server does not respond".to_owned())
            }
        };
        if matches!(
            reason,
            EndReason::Left | EndReason::Closed | EndReason::Failed(_)
        ) {
            // A WebSocket close tells the server that the client leaves for good. After a lost connection the client stays
            // present for a while instead.
            let _ = tokio::time::timeout(Duration::from_millis(200), sender.close()).await;
        }
        drop(child);
        reason
    }

    /// The frames of the session that select its events and subscribe.
    fn session_frames(&self) -> [Value; 2] {
        [
            json!({"id": "all", "command": {"type": "hello", "events": "all", "client": "osier attach"}}),
            json!({
                "id": "subscribe", "type": "subscribe", "after": self.last_number,
                "client": {"name": self.options.name, "key": self.key},
            }),
        ]
    }

    /// The first frames of a connection, which join the session. They need no response in between.
    fn join_frames(&mut self) -> Vec<Value> {
        let mut frames = vec![json!({"id": "hello", "type": "hello", "protocol": PROTOCOL})];
        if self.ops.session.is_some() {
            for mut frame in self.session_frames() {
                frame["sessionId"] = json!(self.ops.session);
                frames.push(frame);
            }
            return frames;
        }
        self.last_number = None;
        let cwd = self.target.folder().map(std::path::Path::to_owned);
        let cwd = cwd.or_else(|| self.options.cwd.clone());
        let open = json!({
            "cwd": cwd, "session": self.options.session, "model": self.options.model,
            "join": !self.options.new_session && self.options.session.is_none(),
        });
        let then = self.session_frames();
        frames.push(json!({"id": "open", "type": "open", "open": open, "then": then}));
        frames
    }

    /// Waits until the session is open.
    async fn join(
        &mut self,
        sender: &mut Sender,
        receiver: &mut Receiver,
    ) -> Result<(), EndReason> {
        if self.ops.session.is_some() {
            return Ok(());
        }
        let mut ping = tokio::time::interval(PING_INTERVAL);
        let opened = loop {
            let text = tokio::select! {
                text = receiver.text() => text?,
                _ = ping.tick() => {
                    sender.ping().await?;
                    continue;
                }
            };
            let frame: Value =
                serde_json::from_str(&text).map_err(|error| EndReason::Lost(error.to_string()))?;
            let payload = &frame["payload"];
            match (frame["type"].as_str(), payload["id"].as_str()) {
                (Some("response"), Some("open")) => break payload["data"].clone(),
                (Some("response"), Some("hello")) => self.set_pieces(payload),
                (Some("error"), _) => return Err(self.failed(payload)),
                _ => {}
            }
        };
        self.ops.session = opened["id"].as_str().map(str::to_owned);
        // If this session is lost, the next one can be a session that is already open.
        self.options.model = None;
        Ok(())
    }

    /// An error of the server that ends the connection.
    fn failed(&self, payload: &Value) -> EndReason {
        let text = |name: &str| payload[name].as_str().unwrap_or_default();
        if text("code") == "shutting_down" {
            return EndReason::Stopped;
        }
        let error = ConnectError::of_code(&self.target, text("code"), text("message"));
        EndReason::Failed(error)
    }

    async fn forward(&mut self, sender: &mut Sender, receiver: &mut Receiver) -> EndReason {
        let mut ping = tokio::time::interval(PING_INTERVAL);
        loop {
            // Before the response to `subscribe` it is not known which ops the server knows.
            if self.has_subscribed {
                while let Some((id, frame)) = self.ops.take_new() {
                    self.outbox.push(id, frame);
                }
            }
            while let Some(outgoing) = self.outbox.next() {
                if let Err(reason) = sender.text(outgoing.text).await {
                    return reason;
                }
                if let Some(id) = outgoing.completes {
                    self.ops.note_sent(id);
                }
            }
            let done = tokio::select! {
                op = self.session.next() => match op {
                    None | Some(Op::ShutDown) => Err(EndReason::Left),
                    Some(op) => {
                        if let OpAction::Answered(event) = self.ops.handle(&op) {
                            self.session.publish(event);
                        }
                        Ok(())
                    }
                },
                () = tokio::time::sleep(HISTORY_WAIT), if self.ops.has_history() => {
                    self.ops.flush_history();
                    Ok(())
                }
                text = receiver.text() => text.and_then(|text| self.handle_text(&text)),
                _ = ping.tick() => sender.ping().await,
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

    /// The response to `hello` says whether the server takes frames in pieces.
    fn set_pieces(&mut self, hello: &Value) {
        self.outbox.set_pieces(hello["data"]["pieces"] == true);
    }

    fn handle_response(&mut self, mut payload: Value) {
        if payload["id"] == "subscribe" {
            let snapshot = payload["data"]["snapshot"].take();
            if !snapshot.is_null() {
                self.apply_snapshot(snapshot);
            }
            self.has_joined = true;
            self.has_subscribed = true;
            self.is_stopped = false;
            self.shown = None;
            self.send_again(payload["data"]["opened"].as_u64());
            return self.publish_state(ConnectionState::Connected, self.target.label());
        }
        if payload["id"] == "hello" {
            return self.set_pieces(&payload);
        }
        let id = payload["id"].as_u64();
        if let (Some(id), Some(received)) = (id, payload["data"]["received"].as_u64())
            && payload["command"] == "piece"
        {
            let received = usize::try_from(received).unwrap_or(usize::MAX);
            return self.outbox.acknowledge(id, received);
        }
        if let Some(id) = id {
            self.outbox.forget(id);
        }
        if payload["success"] != json!(false) {
            return self.ops.accept(id);
        }
        let op = self.ops.complete(id);
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

    /// The connection has joined the session: sends the unanswered ops again, except those that
    /// could be executed twice.
    fn send_again(&mut self, opened: Option<u64>) {
        let is_reopened = self.opened.is_some() && self.opened != opened;
        self.opened = opened;
        let dropped = self.ops.resend(is_reopened);
        if !dropped.is_empty() {
            self.notice(
                Severity::Warning,
                format!(
                    "the connection was lost before the server answered `{}`, and the server has opened the session again \
                     since: it may have been done, so it was not sent again",
                    dropped.join("`, `")
                ),
            );
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
        // A request that the server did not execute because it stops stays unanswered, and is sent again.
        let is_stopping = payload["code"] == "shutting_down";
        if is_stopping || payload["id"] == "hello" {
            return Err(self.failed(payload));
        }
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
        if let Some(id) = id {
            self.outbox.forget(id);
        }
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
        let time = payload["timestamp"].as_i64();
        // Ignore events of newer servers that this client does not know.
        let Ok(event) = serde_json::from_value::<Event>(payload) else {
            return;
        };
        match &event {
            Event::QuestionAsked { question } => self.questions.push((**question).clone()),
            Event::QuestionClosed { id } => self.questions.retain(|known| known.id != *id),
            Event::Agent(event) => self.ops.on_event(event),
            _ => {}
        }
        match time {
            Some(time) => self.session.publish_at(time, event),
            None => self.session.publish(event),
        }
    }

    fn publish_state(&mut self, state: ConnectionState, detail: String) {
        self.session.publish(Event::Connection { state, detail });
        let is_connected = state == ConnectionState::Connected;
        if let Some(event) = self.ops.unconfirmed(is_connected) {
            self.session.publish(event);
        }
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
        handle_offline(session, ops, &op);
    }
}

/// Queues an op while there is no connection, and shows the prompts that wait.
fn handle_offline(session: &RemoteSession, ops: &mut PendingOps, op: &Op) {
    let answer = ops.handle_offline(op);
    for event in answer.into_iter().chain(ops.unconfirmed(false)) {
        session.publish(event);
    }
}
