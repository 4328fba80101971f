//! The connection to a server: requests and their answers in any order, and messages that the server sends by itself.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{mpsc, oneshot, watch};

use crate::frame::{FrameReader, framed};
use crate::lists;
use crate::pace::Pace;

/// Maximum number of messages that wait until the server reads them. With more, the server hangs.
const QUEUE: usize = 256;
/// Messages in a row that cannot be read before the server is stopped.
const MAX_INVALID: usize = 20;
/// Bytes of an error message of a server.
const ERROR_BYTES: usize = 300;
/// Error codes for requests that the server gave up because files changed: `ContentModified` and
/// `ServerCancelled`.
const OUTDATED: [i64; 2] = [-32801, -32802];
/// How often such a request is repeated, and the pause before.
const REPEATS: usize = 20;
const REPEAT_PAUSE: Duration = Duration::from_millis(100);

/// Why a request has no result, in one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// The server has ended.
    Ended(String),
    /// The server answered with an error.
    Refused(String),
    /// The server answered that its files changed meanwhile, again and again.
    Outdated(String),
    /// The server did not answer in time.
    TimedOut(Duration),
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended(reason) => formatter.write_str(reason),
            Self::Refused(message) | Self::Outdated(message) => {
                write!(formatter, "it answered with an error: {message}")
            }
            Self::TimedOut(limit) => {
                write!(
                    formatter,
                    "it did not answer within {} s",
                    limit.as_secs_f32()
                )
            }
        }
    }
}

/// The receiver of a server's notifications and requests.
pub(crate) trait Receiver: Send + Sync + 'static {
    fn notification(&self, method: &str, params: &str);

    /// The server sends more than is read.
    fn flooded(&self);

    /// The answer to a request; `None` for an unknown one.
    fn request(&self, method: &str, params: &str) -> Option<Value>;
}

type Answer = Result<Box<RawValue>, Problem>;

/// A connection.
#[derive(Debug)]
pub(crate) struct Connection {
    outgoing: mpsc::Sender<Vec<u8>>,
    pending: Mutex<HashMap<i64, oneshot::Sender<Answer>>>,
    next: AtomicI64,
    /// Why the connection ended.
    ended: watch::Sender<Option<String>>,
}

/// A message of a server.
#[derive(Debug, Deserialize)]
struct Incoming<'m> {
    #[serde(default, borrow)]
    id: Option<&'m RawValue>,
    #[serde(default)]
    method: Option<String>,
    #[serde(default, borrow)]
    params: Option<&'m RawValue>,
    #[serde(default, borrow)]
    result: Option<&'m RawValue>,
    #[serde(default, borrow)]
    error: Option<&'m RawValue>,
}

impl Connection {
    /// Connects to a server. Its output is read by a task that [`Connection::receive`] starts.
    pub(crate) fn new(mut stdin: impl AsyncWrite + Unpin + Send + 'static) -> Arc<Self> {
        let (outgoing, mut queue) = mpsc::channel::<Vec<u8>>(QUEUE);
        osier_base::task::spawn(async move {
            while let Some(frame) = queue.recv().await {
                // The end of the output reports the end of the server.
                if stdin.write_all(&frame).await.is_err() || stdin.flush().await.is_err() {
                    return;
                }
            }
        });
        Arc::new(Self {
            outgoing,
            pending: Mutex::default(),
            next: AtomicI64::new(1),
            ended: watch::Sender::new(None),
        })
    }

    /// Reads messages until the server ends. Returns why.
    pub(crate) async fn read(
        &self,
        stdout: impl AsyncRead + Unpin,
        receiver: &dyn Receiver,
    ) -> String {
        let mut frames = FrameReader::new(stdout);
        let mut pace = Pace::new();
        let mut invalid = 0;
        loop {
            let message = match frames.next().await {
                Ok(message) => message,
                Err(error) => return error.to_string(),
            };
            if pace.message(message.len()).await {
                receiver.flooded();
            }
            let read = str::from_utf8(&message).ok();
            let read = read.and_then(|text| serde_json::from_str::<Incoming<'_>>(text).ok());
            let Some(incoming) = read else {
                invalid += 1;
                if invalid > MAX_INVALID {
                    return format!("it sent {invalid} messages in a row that are not JSON");
                }
                continue;
            };
            invalid = 0;
            self.dispatch(&incoming, receiver);
        }
    }

    fn dispatch(&self, incoming: &Incoming<'_>, receiver: &dyn Receiver) {
        let params = incoming.params.map_or("null", RawValue::get);
        match (incoming.id, &incoming.method) {
            (None, Some(method)) => receiver.notification(method, params),
            (Some(id), Some(method)) => {
                let id: Value = serde_json::from_str(id.get()).unwrap_or_default();
                let answer = match receiver.request(method, params) {
                    Some(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
                    None => json!({"jsonrpc": "2.0", "id": id, "error": {
                        "code": -32601, "message": "not supported",
                    }}),
                };
                // A server that does not read its answers is stopped by the next message.
                let _ = self.send(&answer);
            }
            (Some(id), None) => {
                let sender = id.get().parse().ok();
                let sender = sender.and_then(|id: i64| self.pending.lock().remove(&id));
                let Some(sender) = sender else { return };
                let answer = match (incoming.error, incoming.result) {
                    (Some(error), _) => Err(problem(error.get())),
                    (None, Some(result)) => Ok(result.to_owned()),
                    (None, None) => RawValue::from_string("null".to_owned())
                        .map_err(|error| Problem::Refused(error.to_string())),
                };
                // The caller may have given up.
                let _ = sender.send(answer);
            }
            (None, None) => {}
        }
    }

    /// Sends a request and waits for its answer. It is repeated if the server's files change meanwhile.
    pub(crate) async fn request(&self, method: &str, params: Value, limit: Duration) -> Answer {
        for _ in 0..REPEATS {
            match self.request_once(method, &params, limit).await {
                Err(Problem::Outdated(_)) => tokio::time::sleep(REPEAT_PAUSE).await,
                answer => return answer,
            }
        }
        self.request_once(method, &params, limit).await
    }

    async fn request_once(&self, method: &str, params: &Value, limit: Duration) -> Answer {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        self.pending.lock().insert(id, sender);
        let forget = Forget {
            connection: self,
            id,
        };
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        let mut ended = self.ended.subscribe();
        tokio::select! {
            answer = answer => {
                answer.unwrap_or_else(|_| Err(Problem::Ended(self.ended().unwrap_or_default())))
            }
            reason = ended.wait_for(Option::is_some) => {
                let reason = reason.ok().and_then(|reason| reason.clone());
                Err(Problem::Ended(reason.unwrap_or_default()))
            }
            () = tokio::time::sleep(limit) => {
                drop(forget);
                Err(Problem::TimedOut(limit))
            }
        }
    }

    pub(crate) fn notify(&self, method: &str, params: &Value) -> Result<(), Problem> {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}))
    }

    fn send(&self, message: &Value) -> Result<(), Problem> {
        if let Some(reason) = self.ended() {
            return Err(Problem::Ended(reason));
        }
        let frame = framed(message.to_string().as_bytes());
        self.outgoing.try_send(frame).map_err(|_| {
            let reason = "it does not read its input".to_owned();
            self.end(reason.clone());
            Problem::Ended(reason)
        })
    }

    /// Why the connection has ended, if it has.
    pub(crate) fn ended(&self) -> Option<String> {
        self.ended.borrow().clone()
    }

    /// Ends the connection, for the first reason given.
    pub(crate) fn end(&self, reason: String) {
        self.ended.send_if_modified(|ended| {
            let is_first = ended.is_none();
            if is_first {
                *ended = Some(reason);
            }
            is_first
        });
        self.pending.lock().clear();
    }

    pub(crate) async fn wait_for_end(&self) {
        let _ = self.ended.subscribe().wait_for(Option::is_some).await;
    }
}

/// Removes a request that nobody waits for any more, and cancels it at the server.
struct Forget<'c> {
    connection: &'c Connection,
    id: i64,
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        if self.connection.pending.lock().remove(&self.id).is_some() {
            let params = json!({"id": self.id});
            let _ = self.connection.notify("$/cancelRequest", &params);
        }
    }
}

/// The problem for an error that the server answers.
fn problem(error: &str) -> Problem {
    let error = lists::value(error, 64 * 1024).unwrap_or_default();
    let message = error["message"].as_str().unwrap_or("without a message");
    let message = lists::line(message, ERROR_BYTES);
    let code = error["code"].as_i64();
    if code.is_some_and(|code| OUTDATED.contains(&code)) {
        Problem::Outdated(message)
    } else {
        Problem::Refused(message)
    }
}
