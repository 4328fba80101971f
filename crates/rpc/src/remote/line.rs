//! The task that holds the line: joins a session, passes ops and events on, and makes the line again.

use std::time::{Duration, Instant};

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use super::dial::{Dialled, Stream, dial};
use super::outgoing::{Outgoing, Taken};
use super::{Joining, Target};
use crate::PROTOCOL;
use osier_agent::{Severity, UserMessage};
use osier_protocol::questions::Question;
use osier_protocol::{Event, LineState, Op};
use osier_session::RemoteSession;

/// First pause before the line is made again; each is twice the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(15);
/// How often the other end is asked for a sign of life, and how long it may give none.
const ASKED_EVERY: Duration = Duration::from_secs(5);
const SILENCE: Duration = Duration::from_secs(20);

type Socket = WebSocketStream<Box<dyn Stream>>;

/// What the task knows.
pub(super) struct Line {
    target: Target,
    joining: Joining,
    host: RemoteSession,
    outgoing: Outgoing,
    /// Number of the last event that was passed on.
    heard: Option<u64>,
    /// Questions that are open.
    questions: Vec<Question>,
    /// By it this client is the same to the others there after its line was cut.
    key: String,
}

/// How a line has ended.
enum Ended {
    /// The mode has left.
    Left,
    /// The session over there has ended.
    Closed,
    Lost(String),
}

/// How the wait for another try has ended.
enum Waited {
    Out,
    /// Somebody is there and does something.
    Wanted,
    Left,
}

impl Line {
    pub(super) fn new(target: Target, joining: Joining, host: RemoteSession) -> Self {
        Self {
            outgoing: Outgoing::new(target.to_string(), joining.drafts.clone()),
            target,
            joining,
            host,
            heard: None,
            questions: Vec::new(),
            key: uuid::Uuid::new_v4().simple().to_string(),
        }
    }

    pub(super) async fn run(mut self) {
        let mut pause = FIRST_PAUSE;
        self.tell(LineState::Connecting, self.target.short());
        loop {
            let dialled = tokio::select! {
                dialled = dial(&self.target, &self.joining) => dialled,
                () = left(&mut self.host, &mut self.outgoing) => break,
            };
            let reason = match dialled {
                Ok(dialled) => {
                    let began = Instant::now();
                    match self.talk(dialled).await {
                        Ended::Left | Ended::Closed => break,
                        Ended::Lost(reason) => {
                            if began.elapsed() > LONGEST_PAUSE {
                                pause = FIRST_PAUSE;
                            }
                            reason
                        }
                    }
                }
                Err(error) => {
                    if error.is_final() {
                        self.notice(Severity::Error, error.to_string());
                        pause = LONGEST_PAUSE;
                    }
                    error.to_string()
                }
            };
            self.outgoing.asked.forget();
            self.tell(LineState::Lost, reason);
            match self.wait(pause).await {
                Waited::Out => pause = (pause * 2).min(LONGEST_PAUSE),
                Waited::Wanted => pause = FIRST_PAUSE,
                Waited::Left => break,
            }
        }
        self.outgoing.end().await;
        self.host.publish(Event::ShutDown);
    }

    /// Waits before the line is made again. Somebody who does something does not wait long for it: what kept
    /// the line away may be over, and they would see that first.
    async fn wait(&mut self, pause: Duration) -> Waited {
        let now = tokio::time::Instant::now();
        let (mut due, mut waited) = (now + pause, Waited::Out);
        loop {
            tokio::select! {
                () = tokio::time::sleep_until(due) => return waited,
                op = self.host.next() => match op {
                    None | Some(Op::ShutDown) => return Waited::Left,
                    Some(op) => {
                        if let Some(event) = self.outgoing.take_later(&op) {
                            self.host.publish(event);
                        }
                        waited = Waited::Wanted;
                        due = due.min(tokio::time::Instant::now() + FIRST_PAUSE);
                    }
                },
            }
        }
    }

    /// Joins the session and passes everything on until the line ends.
    async fn talk(&mut self, dialled: Dialled) -> Ended {
        let Dialled { socket, child } = dialled;
        let (mut sink, mut stream) = socket.split();
        let ended = match self.join(&mut sink, &mut stream).await {
            Ok(()) => self.pass_on(&mut sink, &mut stream).await,
            Err(ended) => ended,
        };
        if !matches!(ended, Ended::Lost(_)) {
            // Whoever is there still hears that this one goes. One that comes back says nothing: it has its
            // place there for a while.
            let _ = tokio::time::timeout(Duration::from_millis(200), sink.close()).await;
        }
        drop(child);
        ended
    }

    async fn join(
        &mut self,
        sink: &mut SplitSink<Socket, Message>,
        stream: &mut SplitStream<Socket>,
    ) -> Result<(), Ended> {
        say(
            sink,
            &json!({"id": "hello", "type": "hello", "protocol": PROTOCOL}),
        )
        .await?;
        let mut frames = [
            json!({"id": "all", "command": {"type": "hello", "events": "all", "client": "osier attach"}}),
            json!({
                "id": "subscribe", "type": "subscribe", "after": self.heard,
                "client": {"name": self.joining.name, "key": self.key},
            }),
        ];
        if self.outgoing.session.is_none() {
            self.heard = None;
            frames[1]["after"] = Value::Null;
            let cwd = self.target.folder().map(std::path::Path::to_owned);
            let cwd = cwd.or_else(|| self.joining.cwd.clone());
            let open = json!({
                "cwd": cwd, "session": self.joining.session, "model": self.joining.model,
                "join": !self.joining.fresh && self.joining.session.is_none(),
            });
            // What follows goes along, so that nothing waits for the name of the session.
            let open = json!({"id": "open", "type": "open", "open": open, "then": frames});
            say(sink, &open).await?;
            let opened = loop {
                let frame = hear(stream).await?;
                let payload = &frame["payload"];
                match (frame["type"].as_str(), payload["id"].as_str()) {
                    (Some("response"), Some("open")) => break payload["data"].clone(),
                    (Some("error"), _) => {
                        let message = payload["message"].as_str().unwrap_or("it was refused");
                        self.notice(Severity::Error, message.to_owned());
                        return Err(Ended::Lost(message.to_owned()));
                    }
                    _ => {}
                }
            };
            self.outgoing.session = opened["id"].as_str().map(str::to_owned);
            // An older server does not take what goes along.
            if opened["then"] == json!(frames.len()) {
                return Ok(());
            }
        }
        for mut frame in frames {
            frame["sessionId"] = json!(self.outgoing.session);
            say(sink, &frame).await?;
        }
        Ok(())
    }

    async fn pass_on(
        &mut self,
        sink: &mut SplitSink<Socket, Message>,
        stream: &mut SplitStream<Socket>,
    ) -> Ended {
        for frame in self.outgoing.again() {
            if let Err(ended) = say(sink, &frame).await {
                return ended;
            }
        }
        let mut heard = Instant::now();
        let mut asking = tokio::time::interval(ASKED_EVERY);
        loop {
            let done = tokio::select! {
                op = self.host.next() => match op {
                    None | Some(Op::ShutDown) => Err(Ended::Left),
                    Some(op) => match self.outgoing.take(&op) {
                        Taken::Goes(frame) => say(sink, &frame).await,
                        Taken::Answered(event) => {
                            self.host.publish(event);
                            Ok(())
                        }
                        Taken::Nothing => Ok(()),
                    },
                },
                message = stream.next() => {
                    heard = Instant::now();
                    match message {
                        Some(Ok(Message::Text(text))) => self.take(&text),
                        Some(Ok(Message::Close(_))) | None => {
                            Err(Ended::Lost("the server has closed the line".to_owned()))
                        }
                        Some(Ok(_)) => Ok(()),
                        Some(Err(error)) => Err(Ended::Lost(error.to_string())),
                    }
                }
                _ = asking.tick() => {
                    if heard.elapsed() > SILENCE {
                        Err(Ended::Lost("the other end is silent".to_owned()))
                    } else {
                        let ping = Message::Ping(Vec::new().into());
                        sink.send(ping).await.map_err(|error| Ended::Lost(error.to_string()))
                    }
                }
            };
            if let Err(ended) = done {
                return ended;
            }
        }
    }

    fn take(&mut self, text: &str) -> Result<(), Ended> {
        // What a newer server says and this end cannot read is left out.
        let Ok(mut frame) = serde_json::from_str::<Value>(text) else {
            return Ok(());
        };
        let number = frame["number"].as_u64();
        let payload = frame["payload"].take();
        match frame["type"].as_str() {
            Some("event") => {
                self.heard = number.or(self.heard);
                if payload["type"] == "shut_down" {
                    return Err(Ended::Closed);
                }
                self.publish(payload);
            }
            Some("replay_gap") if payload["type"] == "shut_down" => return Err(Ended::Closed),
            Some("replay_gap") => self.stand(payload),
            Some("response") => self.answered(payload),
            Some("error") => return self.refused(&payload),
            _ => {}
        }
        Ok(())
    }

    fn answered(&mut self, mut payload: Value) {
        if payload["id"] == "subscribe" {
            let snapshot = payload["data"]["snapshot"].take();
            if !snapshot.is_null() {
                self.stand(snapshot);
            }
            return self.tell(LineState::Connected, self.target.short());
        }
        let id = payload["id"].as_u64();
        let op = self.outgoing.answered(id);
        if payload["success"] != json!(false) {
            return;
        }
        let error = payload["error"].as_str().unwrap_or("it was refused");
        if payload["code"] != "occupied" {
            return self.notice(Severity::Error, error.to_owned());
        }
        self.notice(Severity::Warning, error.to_owned());
        if let Some(op) = op {
            self.give_back(op);
        }
    }

    /// Another was quicker: what was said here comes back to where it was written.
    fn give_back(&mut self, op: Value) {
        let Ok(op) = serde_json::from_value::<Op>(op) else {
            return;
        };
        let message = match op {
            Op::Agent(
                osier_agent::Op::Prompt { text, attachments }
                | osier_agent::Op::Steer { text, attachments }
                | osier_agent::Op::FollowUp { text, attachments },
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
                    self.host.publish(Event::QuestionAsked { question });
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
        self.host
            .publish(osier_agent::Event::QueueRecalled { messages }.into());
    }

    fn refused(&mut self, payload: &Value) -> Result<(), Ended> {
        let message = payload["message"].as_str().unwrap_or("it was refused");
        let message = message.to_owned();
        if payload["code"] == "unknown_session" {
            // Nothing had been stored of it: another begins.
            self.notice(
                Severity::Warning,
                "the session is gone over there: another is joined",
            );
            self.outgoing.session = None;
            return Err(Ended::Lost(message));
        }
        let id = payload["id"].as_u64();
        self.outgoing.answered(id);
        self.notice(Severity::Error, message);
        Ok(())
    }

    /// Applies how everything stands.
    fn stand(&mut self, mut snapshot: Value) {
        for Question { id, .. } in std::mem::take(&mut self.questions) {
            self.host.publish(Event::QuestionClosed { id });
        }
        self.heard = snapshot["number"].as_u64();
        if let Value::Array(events) = snapshot["events"].take() {
            for event in events {
                self.publish(event);
            }
        }
    }

    fn publish(&mut self, mut payload: Value) {
        if !self.outgoing.asked.hear(&mut payload) {
            return;
        }
        // What a newer host says and this end cannot read is left out.
        let Ok(event) = serde_json::from_value::<Event>(payload) else {
            return;
        };
        match &event {
            Event::QuestionAsked { question } => self.questions.push((**question).clone()),
            Event::QuestionClosed { id } => self.questions.retain(|known| known.id != *id),
            _ => {}
        }
        self.host.publish(event);
    }

    fn tell(&self, state: LineState, detail: String) {
        self.host.publish(Event::Connection { state, detail });
    }

    fn notice(&self, severity: Severity, text: impl Into<String>) {
        self.host.publish(Event::HostNotice {
            severity,
            text: text.into(),
            request: None,
        });
    }
}

/// Keeps what is told the host while the line is away; returns when the mode has left.
async fn left(host: &mut RemoteSession, outgoing: &mut Outgoing) {
    while let Some(op) = host.next().await {
        if matches!(op, Op::ShutDown) {
            return;
        }
        if let Some(event) = outgoing.take_later(&op) {
            host.publish(event);
        }
    }
}

async fn say(sink: &mut SplitSink<Socket, Message>, frame: &Value) -> Result<(), Ended> {
    let message = Message::text(frame.to_string());
    let sent = sink.send(message).await;
    sent.map_err(|error| Ended::Lost(error.to_string()))
}

/// The next frame that is text.
async fn hear(stream: &mut SplitStream<Socket>) -> Result<Value, Ended> {
    let lost = |text: &str| Ended::Lost(text.to_owned());
    loop {
        let message = tokio::time::timeout(SILENCE, stream.next()).await;
        match message.map_err(|_| lost("the other end is silent"))? {
            Some(Ok(Message::Text(text))) => {
                return serde_json::from_str(&text).map_err(|error| lost(&error.to_string()));
            }
            Some(Ok(_)) => {}
            Some(Err(error)) => return Err(lost(&error.to_string())),
            None => return Err(lost("the server has closed the line")),
        }
    }
}
