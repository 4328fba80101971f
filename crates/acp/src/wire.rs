//! JSON-RPC 2.0 in lines: what comes from the client and what goes to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

/// A message of the client.
#[derive(Debug, PartialEq)]
pub(super) enum Incoming {
    Request {
        id: Value,
        method: String,
        params: Value,
    },
    Notification {
        method: String,
        params: Value,
    },
    /// The answer to a request of ours.
    Reply {
        id: u64,
        answer: Result<Value, Fault>,
    },
}

/// Why a request is not answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub code: i64,
    pub message: String,
}

impl Fault {
    pub(super) const PARSE: i64 = -32700;
    pub(super) const INVALID_REQUEST: i64 = -32600;
    pub(super) const UNKNOWN_METHOD: i64 = -32601;
    pub(super) const INVALID_PARAMS: i64 = -32602;
    pub(super) const INTERNAL: i64 = -32603;
    pub(super) const NOT_FOUND: i64 = -32002;
    /// Somebody has to sign in first.
    pub(super) const SIGN_IN: i64 = -32000;

    pub(super) fn new(code: i64, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { code, message }
    }

    /// A parameter that is missing or not what it has to be.
    pub(super) fn params(message: impl Into<String>) -> Self {
        Self::new(Self::INVALID_PARAMS, message)
    }
}

/// Reads a line; the id is that of the message, as far as it has one.
pub(super) fn parse(line: &[u8]) -> Result<Incoming, (Value, Fault)> {
    let fault = |id: Value, code, text: &str| (id, Fault::new(code, text));
    let mut message: Value = serde_json::from_slice(line).map_err(|error| {
        let text = format!("the line is no JSON: {error}");
        fault(Value::Null, Fault::PARSE, &text)
    })?;
    let invalid = |id, text| Err(fault(id, Fault::INVALID_REQUEST, text));
    if !message.is_object() {
        return invalid(Value::Null, "the line is no JSON-RPC message");
    }
    let id = message.get_mut("id").map(Value::take);
    let method = message.get_mut("method").map(Value::take);
    let params = message.get_mut("params").map(Value::take);
    let params = params.unwrap_or(Value::Null);
    match (method, id) {
        (Some(Value::String(method)), Some(id @ (Value::String(_) | Value::Number(_)))) => {
            Ok(Incoming::Request { id, method, params })
        }
        (Some(Value::String(method)), None) => Ok(Incoming::Notification { method, params }),
        (None, Some(id)) => {
            let Some(number) = id.as_u64() else {
                return invalid(Value::Null, "no request of that id was made");
            };
            let answer = match message.get_mut("error").map(Value::take) {
                Some(error) => Err(Fault {
                    code: error["code"].as_i64().unwrap_or(Fault::INTERNAL),
                    message: error["message"].as_str().unwrap_or_default().to_owned(),
                }),
                None => Ok(message["result"].take()),
            };
            Ok(Incoming::Reply { id: number, answer })
        }
        (_, id) => invalid(
            id.unwrap_or_default(),
            "the message has no `method`, or its `id` is neither text nor number",
        ),
    }
}

/// What goes to the client.
#[derive(Debug)]
pub(super) enum Outgoing {
    Message(Value),
    /// A request of ours, and who waits for its answer.
    Request {
        id: u64,
        method: &'static str,
        params: Value,
        reply: oneshot::Sender<Result<Value, Fault>>,
    },
    /// Nobody waits for the answer to this request any more.
    Withdrawn {
        id: u64,
    },
}

/// The way to the client. Cheap to clone; whoever sends waits while the client does not read.
#[derive(Debug, Clone)]
pub(super) struct Peer {
    messages: mpsc::Sender<Outgoing>,
    /// The number of the last request.
    last: Arc<AtomicU64>,
}

impl Peer {
    pub(super) fn new(messages: mpsc::Sender<Outgoing>) -> Self {
        let last = Arc::default();
        Self { messages, last }
    }

    pub(super) async fn notify(&self, method: &str, params: Value) {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.send(Outgoing::Message(message)).await;
    }

    pub(super) async fn answer(&self, id: &Value, answer: Result<Value, Fault>) {
        self.send(Outgoing::Message(answered(id, answer))).await;
    }

    /// Asks the client, which may take as long as a person does. Dropping the future takes the request back.
    pub(super) async fn request(
        &self,
        method: &'static str,
        params: Value,
    ) -> Result<Value, Fault> {
        let (reply, answered) = oneshot::channel();
        let id = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        self.send(Outgoing::Request {
            id,
            method,
            params,
            reply,
        })
        .await;
        let mut open = Open {
            id: Some(id),
            messages: &self.messages,
        };
        let answer = answered.await;
        open.id = None;
        let gone = |_| Fault::new(Fault::INTERNAL, "the client has gone");
        answer.map_err(gone)?
    }

    async fn send(&self, message: Outgoing) {
        // A client that has gone hears nothing more.
        let _ = self.messages.send(message).await;
    }
}

/// A request on its way, which is taken back when it is dropped.
struct Open<'a> {
    /// Not set once it is answered.
    id: Option<u64>,
    messages: &'a mpsc::Sender<Outgoing>,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            // A client that does not read keeps the question until it does.
            let _ = self.messages.try_send(Outgoing::Withdrawn { id });
        }
    }
}

/// The message that answers a request.
pub(super) fn answered(id: &Value, answer: Result<Value, Fault>) -> Value {
    match answer {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err(Fault { code, message }) => {
            let error = json!({"code": code, "message": message});
            json!({"jsonrpc": "2.0", "id": id, "error": error})
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_a_request_a_notification_or_a_reply() {
        let read = |value: Value| parse(value.to_string().as_bytes());
        let method = "session/cancel".to_owned();
        let params = json!({"sessionId": "s"});
        assert_eq!(
            read(json!({"jsonrpc": "2.0", "id": 0, "method": method, "params": params})),
            Ok(Incoming::Request {
                id: json!(0),
                method: method.clone(),
                params: params.clone(),
            })
        );
        assert_eq!(
            read(json!({"jsonrpc": "2.0", "method": method, "params": params})),
            Ok(Incoming::Notification { method, params })
        );
        let answer = Ok(json!({"outcome": 1}));
        assert_eq!(
            read(json!({"jsonrpc": "2.0", "id": 7, "result": {"outcome": 1}})),
            Ok(Incoming::Reply { id: 7, answer })
        );
        let answer = Err(Fault::new(-32800, "no"));
        assert_eq!(
            read(json!({"jsonrpc": "2.0", "id": 7, "error": {"code": -32800, "message": "no"}})),
            Ok(Incoming::Reply { id: 7, answer })
        );
        let (id, fault) = read(json!({"id": 3, "method": 5})).unwrap_err();
        assert_eq!((id, fault.code), (json!(3), Fault::INVALID_REQUEST));
        let (id, fault) = parse(b"{").unwrap_err();
        assert_eq!((id, fault.code), (Value::Null, Fault::PARSE));
    }
}
