//! The task behind a client: it writes calls and replies, reads frames, and gives each to whom it belongs.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::process::ChildStderr;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_util::task::AbortOnDropHandle;

use super::{CallError, Person};
use crate::frame::{Frame, Id, Response};
use crate::lines::{Line, Lines};
use crate::ui::{UiMethod, UiRequest, UiResponse};
use osier_base::process::Piped;
use osier_base::text::tail_bytes;
use osier_protocol::Event;

/// Longest line that is read of an agent, in bytes: a whole conversation may be one.
const FRAME_LIMIT: usize = 1024 * 1024 * 1024;
/// Bytes of a child's standard error that are kept for the error that tells of its end.
const SAID_LIMIT: usize = 4096;

/// A command on its way.
#[derive(Debug)]
pub(super) struct Call {
    pub command: String,
    pub parameters: Value,
    pub reply: oneshot::Sender<Result<Response, CallError>>,
}

/// Both streams and who is at this end.
pub(super) struct Link<R, W, P> {
    lines: Lines<R>,
    output: Option<W>,
    person: Arc<P>,
    child: Option<(Piped, JoinHandle<String>)>,
    waiting: HashMap<i64, oneshot::Sender<Result<Response, CallError>>>,
    /// Questions that the person thinks about.
    asked: HashMap<String, AbortOnDropHandle<()>>,
    last: i64,
}

impl<R, W, P> Link<R, W, P>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
    P: Person,
{
    pub(super) fn new(input: R, output: W, person: P) -> Self {
        Self {
            lines: Lines::new(input, FRAME_LIMIT),
            output: Some(output),
            person: Arc::new(person),
            child: None,
            waiting: HashMap::new(),
            asked: HashMap::new(),
            last: 0,
        }
    }

    /// The streams are those of a child, which ends with them.
    pub(super) fn of_child(mut self, child: Piped, stderr: ChildStderr) -> Self {
        self.child = Some((child, tokio::spawn(tail(stderr))));
        self
    }

    pub(super) fn has_person(&self) -> bool {
        self.person.is_there()
    }

    /// Serves until the agent has ended.
    pub(super) async fn run(
        mut self,
        mut calls: mpsc::UnboundedReceiver<Call>,
        events: mpsc::UnboundedSender<Event>,
    ) {
        let (replies, mut replied) = mpsc::unbounded_channel();
        let mut has_client = true;
        loop {
            tokio::select! {
                call = calls.recv(), if has_client => if let Some(call) = call {
                    self.call(call).await;
                } else {
                    has_client = false;
                    self.hang_up().await;
                },
                Some(reply) = replied.recv() => self.write(&tagged("ui_response", &reply)).await,
                line = self.lines.next() => match line {
                    Ok(Some(Line::Whole(line))) => self.take(&line, &events, &replies),
                    Ok(Some(Line::TooLong)) => {}
                    Ok(None) | Err(_) => break,
                },
            }
        }
        let said = self.end().await;
        calls.close();
        while let Some(call) = calls.recv().await {
            // Whoever asked may have gone.
            let _ = call
                .reply
                .send(Err(CallError::Closed { said: said.clone() }));
        }
    }

    async fn call(&mut self, call: Call) {
        let Call {
            command,
            parameters,
            reply,
        } = call;
        self.last += 1;
        self.waiting.insert(self.last, reply);
        let mut line = json!({"id": self.last, "type": command});
        if let (Value::Object(line), Value::Object(parameters)) = (&mut line, parameters) {
            line.extend(parameters);
        }
        self.write(&line).await;
    }

    /// Writes a line; one that cannot be written any more belongs to an agent that has ended, which reading
    /// will show.
    async fn write(&mut self, value: &Value) {
        if let Some(output) = &mut self.output {
            let line = format!("{value}\n");
            if output.write_all(line.as_bytes()).await.is_err() || output.flush().await.is_err() {
                self.output = None;
            }
        }
    }

    fn take(
        &mut self,
        line: &[u8],
        events: &mpsc::UnboundedSender<Event>,
        replies: &mpsc::UnboundedSender<UiResponse>,
    ) {
        // What a newer agent says and this end cannot read is left out.
        let Ok(frame) = Frame::parse(line) else {
            return;
        };
        match frame {
            Frame::Response(response) => {
                if let Some(Id::Number(id)) = &response.id
                    && let Some(reply) = self.waiting.remove(id)
                {
                    let _ = reply.send(Ok(response));
                }
            }
            Frame::UiRequest(request) => self.ask(*request, replies),
            Frame::UiClosed { id, .. } => drop(self.asked.remove(&id)),
            // Whoever does not want events has dropped them.
            Frame::Event(event) => drop(events.send(*event)),
        }
    }

    fn ask(&mut self, request: UiRequest, replies: &mpsc::UnboundedSender<UiResponse>) {
        let Some(id) = request.id.clone() else {
            if let UiMethod::Notify { severity } = request.method {
                self.person.notice(severity, request.title);
            }
            return;
        };
        let (answer, replies) = (self.person.answer(request), replies.clone());
        let name = id.clone();
        let thinking = tokio::spawn(async move {
            let _ = replies.send(UiResponse::new(name, answer.await));
        });
        self.asked.insert(id, AbortOnDropHandle::new(thinking));
    }

    async fn hang_up(&mut self) {
        if let Some(mut output) = self.output.take() {
            // It may be closed already.
            let _ = output.shutdown().await;
        }
    }

    /// Ends the child and tells those who still wait; what the child said last.
    async fn end(&mut self) -> String {
        self.hang_up().await;
        let mut said = String::new();
        if let Some((child, stderr)) = self.child.take() {
            child.end().await;
            said = stderr.await.unwrap_or_default();
        }
        for (_, reply) in self.waiting.drain() {
            let _ = reply.send(Err(CallError::Closed { said: said.clone() }));
        }
        said
    }
}

fn tagged(kind: &str, reply: &UiResponse) -> Value {
    let mut value = json!(reply);
    value["type"] = json!(kind);
    value
}

/// The end of what comes.
async fn tail(mut stream: ChildStderr) -> String {
    let mut said = Vec::new();
    let mut piece = [0; 1024];
    while let Ok(read @ 1..) = stream.read(&mut piece).await {
        said.extend_from_slice(&piece[..read]);
        if said.len() > 2 * SAID_LIMIT {
            said.drain(..said.len() - SAID_LIMIT);
        }
    }
    let said = String::from_utf8_lossy(&said);
    tail_bytes(&said, SAID_LIMIT).to_owned()
}
