//! The task of a client: writes calls and replies, reads lines, and delivers responses, events and questions.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::process::ChildStderr;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_util::task::AbortOnDropHandle;

use super::error::CallError;
use super::questions::QuestionHandler;
use crate::frame::{Frame, Id, Response};
use crate::lines::{Line, LineReader};
use crate::ui::{UiMethod, UiRequest, UiResponse};
use osier_base::process::Piped;
use osier_base::text::tail_bytes;
use osier_protocol::Event;

/// The longest accepted line of an agent, in bytes: a complete conversation can be one line.
const LINE_LIMIT: usize = 1024 * 1024 * 1024;
/// Bytes of a child's standard error that `CallError::Closed` contains.
const STDERR_LIMIT: usize = 4096;

/// A command and where to send its response.
#[derive(Debug)]
pub(super) struct Call {
    pub command: String,
    pub parameters: Value,
    pub reply: oneshot::Sender<Result<Response, CallError>>,
}

/// The streams of a client, its open calls and its open questions.
pub(super) struct ClientTask<R, W, P> {
    reader: LineReader<R>,
    output: Option<W>,
    questions: Arc<P>,
    child: Option<(Piped, JoinHandle<String>)>,
    pending_calls: HashMap<i64, oneshot::Sender<Result<Response, CallError>>>,
    /// Questions that are being answered.
    open_questions: HashMap<String, AbortOnDropHandle<()>>,
    last_id: i64,
}

impl<R, W, P> ClientTask<R, W, P>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
    P: QuestionHandler,
{
    pub(super) fn new(input: R, output: W, questions: P) -> Self {
        Self {
            reader: LineReader::new(input, LINE_LIMIT),
            output: Some(output),
            questions: Arc::new(questions),
            child: None,
            pending_calls: HashMap::new(),
            open_questions: HashMap::new(),
            last_id: 0,
        }
    }

    /// Owns the child process of the streams.
    pub(super) fn with_child(mut self, child: Piped, stderr: ChildStderr) -> Self {
        self.child = Some((child, osier_base::task::spawn(tail(stderr))));
        self
    }

    pub(super) fn can_answer(&self) -> bool {
        self.questions.can_answer()
    }

    /// Runs until the agent has exited.
    pub(super) async fn run(
        mut self,
        mut calls: mpsc::UnboundedReceiver<Call>,
        events: mpsc::UnboundedSender<Event>,
    ) {
        let (replies, mut received_replies) = mpsc::unbounded_channel();
        let mut has_client = true;
        loop {
            tokio::select! {
                call = calls.recv(), if has_client => if let Some(call) = call {
                    self.call(call).await;
                } else {
                    has_client = false;
                    self.close_output().await;
                },
                Some(reply) = received_replies.recv() => self.write(&with_type("ui_response", &reply)).await,
                line = self.reader.next() => match line {
                    Ok(Some(Line::Complete(line))) => self.handle_line(&line, &events, &replies),
                    Ok(Some(Line::TooLong)) => {}
                    Ok(None) | Err(_) => break,
                },
            }
        }
        let stderr = self.end().await;
        calls.close();
        while let Some(call) = calls.recv().await {
            // The caller may have dropped its receiver.
            let _ = call.reply.send(Err(CallError::Closed {
                stderr: stderr.clone(),
            }));
        }
    }

    async fn call(&mut self, call: Call) {
        let Call {
            command,
            parameters,
            reply,
        } = call;
        self.last_id += 1;
        self.pending_calls.insert(self.last_id, reply);
        let mut line = json!({"id": self.last_id, "type": command});
        if let (Value::Object(line), Value::Object(parameters)) = (&mut line, parameters) {
            line.extend(parameters);
        }
        self.write(&line).await;
    }

    /// Writes a line. When that fails, the agent has exited, which the reading side reports.
    async fn write(&mut self, value: &Value) {
        if let Some(output) = &mut self.output {
            let line = format!("{value}\n");
            if output.write_all(line.as_bytes()).await.is_err() || output.flush().await.is_err() {
                self.output = None;
            }
        }
    }

    fn handle_line(
        &mut self,
        line: &[u8],
        events: &mpsc::UnboundedSender<Event>,
        replies: &mpsc::UnboundedSender<UiResponse>,
    ) {
        // Ignore messages of newer agents that this client does not know.
        let Ok(frame) = Frame::parse(line) else {
            return;
        };
        match frame {
            Frame::Response(response) => {
                if let Some(Id::Number(id)) = &response.id
                    && let Some(reply) = self.pending_calls.remove(id)
                {
                    let _ = reply.send(Ok(response));
                }
            }
            Frame::UiRequest(request) => self.ask(*request, replies),
            Frame::UiClosed(closed) => drop(self.open_questions.remove(&closed.id)),
            // The receiver may have been dropped.
            Frame::Event(event) => drop(events.send(*event)),
        }
    }

    fn ask(&mut self, request: UiRequest, replies: &mpsc::UnboundedSender<UiResponse>) {
        let Some(id) = request.id.clone() else {
            if let UiMethod::Notify(severity) = request.method {
                self.questions.notice(severity, request.title);
            }
            return;
        };
        let (answer, replies) = (self.questions.answer(request), replies.clone());
        let name = id.clone();
        let answering = osier_base::task::spawn(async move {
            let _ = replies.send(UiResponse::new(name, answer.await));
        });
        self.open_questions
            .insert(id, AbortOnDropHandle::new(answering));
    }

    async fn close_output(&mut self) {
        if let Some(mut output) = self.output.take() {
            // The output may already be closed.
            let _ = output.shutdown().await;
        }
    }

    /// Ends the child and fails the open calls. Returns the end of the child's standard error.
    async fn end(&mut self) -> String {
        self.close_output().await;
        let mut last_output = String::new();
        if let Some((child, stderr)) = self.child.take() {
            child.end().await;
            last_output = stderr.await.unwrap_or_default();
        }
        for (_, reply) in self.pending_calls.drain() {
            let _ = reply.send(Err(CallError::Closed {
                stderr: last_output.clone(),
            }));
        }
        last_output
    }
}

fn with_type(kind: &str, reply: &UiResponse) -> Value {
    let mut value = json!(reply);
    value["type"] = json!(kind);
    value
}

/// Reads a stream to its end and returns its last bytes.
async fn tail(mut stream: ChildStderr) -> String {
    let mut stderr = Vec::new();
    let mut buffer = [0; 1024];
    while let Ok(read @ 1..) = stream.read(&mut buffer).await {
        stderr.extend_from_slice(&buffer[..read]);
        if stderr.len() > 2 * STDERR_LIMIT {
            stderr.drain(..stderr.len() - STDERR_LIMIT);
        }
    }
    let stderr = String::from_utf8_lossy(&stderr);
    tail_bytes(&stderr, STDERR_LIMIT).to_owned()
}
