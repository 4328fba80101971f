//! Servers inside of the program that controls osier, as in the Agent SDKs: their messages go over
//! the connection to that program.

use std::io;

use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

/// A message for a server of the program.
#[derive(Debug)]
pub struct ServerCall {
    pub server: String,
    /// The JSON-RPC message.
    pub message: Value,
    /// The JSON-RPC answer to a request, or an error of the program.
    pub reply: oneshot::Sender<Result<Value, String>>,
}

/// The connection to the program. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ProgramLink(mpsc::UnboundedSender<ServerCall>);

impl ProgramLink {
    pub fn new() -> (Self, mpsc::UnboundedReceiver<ServerCall>) {
        let (sender, calls) = mpsc::unbounded_channel();
        (Self(sender), calls)
    }
}

impl PartialEq for ProgramLink {
    fn eq(&self, other: &Self) -> bool {
        self.0.same_channel(&other.0)
    }
}

impl Eq for ProgramLink {}

type Received = RxJsonRpcMessage<RoleClient>;

/// The messages of one server.
#[derive(Debug)]
pub(super) struct ProgramTransport {
    server: String,
    link: ProgramLink,
    answers: mpsc::UnboundedSender<Received>,
    received: mpsc::UnboundedReceiver<Received>,
}

impl ProgramTransport {
    pub(super) fn new(server: &str, link: &ProgramLink) -> Self {
        let (answers, received) = mpsc::unbounded_channel();
        Self {
            server: server.to_owned(),
            link: link.clone(),
            answers,
            received,
        }
    }
}

impl Transport<RoleClient> for ProgramTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let (server, link, answers) =
            (self.server.clone(), self.link.clone(), self.answers.clone());
        async move {
            let message = serde_json::to_value(&item)?;
            let id = message.get("id").cloned();
            let is_request = id.is_some() && message.get("method").is_some();
            let (reply, answer) = oneshot::channel();
            let call = ServerCall {
                server,
                message,
                reply,
            };
            let ended = || io::Error::from(io::ErrorKind::NotConnected);
            link.0.send(call).map_err(|_| ended())?;
            if is_request {
                osier_base::task::spawn(async move {
                    let answer = answer.await;
                    let answer =
                        answer.unwrap_or_else(|_| Err("the program did not answer".to_owned()));
                    if let Ok(message) = serde_json::from_value(message_of(answer, id.as_ref())) {
                        // The connection may have been closed.
                        let _ = answers.send(message);
                    }
                });
            }
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<Received> {
        self.received.recv().await
    }

    async fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The answer to the request `id` as a JSON-RPC message.
fn message_of(answer: Result<Value, String>, id: Option<&Value>) -> Value {
    match answer {
        // The SDK for Python omits the version in errors.
        Ok(Value::Object(mut message)) => {
            message.insert("jsonrpc".to_owned(), json!("2.0"));
            Value::Object(message)
        }
        Ok(other) => json!({"jsonrpc": "2.0", "id": id, "result": other}),
        Err(message) => {
            json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32603, "message": message}})
        }
    }
}
