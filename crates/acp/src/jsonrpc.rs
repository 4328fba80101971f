//! JSON-RPC 2.0 messages: parsing a line from the client, and a handle that sends to the client.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use agent_client_protocol_schema::v1::{
    AgentResponse, CLIENT_METHOD_NAMES, CancelRequestNotification, ClientCapabilities, Error,
    ErrorCode, JsonRpcMessage, Meta, Notification, PROTOCOL_LEVEL_METHOD_NAMES, Request, RequestId,
    Response, SessionId, SessionNotification, SessionUpdate,
};
use osier_base::secrets::hide_known;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

/// A message from the client.
#[derive(Debug, PartialEq)]
pub(super) enum Incoming {
    Request {
        id: RequestId,
        method: String,
        params: Value,
    },
    Notification {
        method: String,
        params: Value,
    },
    /// The response to a request of the agent.
    Response {
        id: RequestId,
        result: Result<Value, Error>,
    },
    /// A line that is not a message. The id is null if the line has no valid one.
    Invalid {
        id: RequestId,
        error: Error,
    },
}

pub(super) fn error(code: ErrorCode, message: impl Into<String>) -> Error {
    Error::new(code.into(), message)
}

pub(super) fn invalid_params(message: impl Into<String>) -> Error {
    error(ErrorCode::InvalidParams, message)
}

pub(super) fn internal_error(message: impl Into<String>) -> Error {
    error(ErrorCode::InternalError, message)
}

/// Decodes the parameters of a request or notification.
pub(super) fn decode<T: DeserializeOwned>(params: Value) -> Result<T, Error> {
    serde_path_to_error::deserialize(params).map_err(|error| {
        let path = error.path().to_string();
        let cause = error.into_inner();
        invalid_params(match path.as_str() {
            // The error is in the parameters as a whole.
            "." => format!("invalid parameters: {cause}"),
            path => format!("invalid parameter `{path}`: {cause}"),
        })
    })
}

/// Encodes a message as one line without the keys of osier. This fails only for a path that is not UTF-8.
pub(super) fn encode(message: impl Serialize) -> Result<String, Error> {
    encode_exactly(message).map(|line| hide_known(&line).into_owned())
}

/// Encodes a message whose texts are not for people: the content of a file, the arguments of a command.
fn encode_exactly(message: impl Serialize) -> Result<String, Error> {
    serde_json::to_string(&JsonRpcMessage::wrap(message))
        .map(|line| line + "\n")
        .map_err(|cause| internal_error(format!("cannot encode a message: {cause}")))
}

/// Parses a line.
pub(super) fn parse(line: &[u8]) -> Incoming {
    let invalid = |id, code, text: &str| Incoming::Invalid {
        id,
        error: error(code, text),
    };
    let mut message = match serde_json::from_slice(line) {
        Ok(Value::Object(message)) => message,
        Ok(_) => {
            let text = "the message is not a JSON object";
            return invalid(RequestId::Null, ErrorCode::InvalidRequest, text);
        }
        Err(cause) => {
            let text = format!("invalid JSON: {cause}");
            return invalid(RequestId::Null, ErrorCode::ParseError, &text);
        }
    };
    let method = message.remove("method");
    let params = message.remove("params").unwrap_or_default();
    let id = message.remove("id").map(serde_json::from_value);
    match (method, id) {
        (
            Some(Value::String(method)),
            Some(Ok(id @ (RequestId::Number(_) | RequestId::Str(_)))),
        ) => Incoming::Request { id, method, params },
        (Some(Value::String(method)), None) => Incoming::Notification { method, params },
        (None, Some(Ok(id))) => {
            let result = match message.remove("error") {
                None | Some(Value::Null) => Ok(message.remove("result").unwrap_or_default()),
                Some(error) => Err(serde_json::from_value(error).unwrap_or_else(|cause| {
                    internal_error(format!("invalid error from the client: {cause}"))
                })),
            };
            Incoming::Response { id, result }
        }
        (_, id) => invalid(
            id.and_then(Result::ok).unwrap_or(RequestId::Null),
            ErrorCode::InvalidRequest,
            "`method` must be a string, and `id` an integer or a string",
        ),
    }
}

/// A message to the client. `line` is the encoded message.
#[derive(Debug)]
pub(super) enum Outgoing {
    Message(String),
    Request {
        id: RequestId,
        line: String,
        result: oneshot::Sender<Result<Value, Error>>,
    },
    /// Cancels a request, unless it has a response.
    Cancel {
        id: RequestId,
        line: String,
    },
}

/// A handle that sends to the client. Cheap to clone. Sending waits while the client does not read.
#[derive(Debug, Clone)]
pub(super) struct AcpClient {
    outgoing: mpsc::Sender<Outgoing>,
    last_id: Arc<AtomicI64>,
    /// The capabilities from `initialize`. The agent uses only these features.
    pub capabilities: Arc<ClientCapabilities>,
}

impl AcpClient {
    pub(super) fn new(outgoing: mpsc::Sender<Outgoing>) -> Self {
        Self {
            outgoing,
            last_id: Arc::default(),
            capabilities: Arc::default(),
        }
    }

    /// Sends an update of something that happened at `time`, in milliseconds since the Unix epoch.
    pub(super) async fn update(&self, session: &SessionId, update: SessionUpdate, time: i64) {
        let meta = Meta::from_iter([("timestamp".to_owned(), time.into())]);
        let line = encode(Notification {
            method: CLIENT_METHOD_NAMES.session_update.into(),
            params: Some(SessionNotification::new(session.clone(), update).meta(meta)),
        });
        self.send(line.map(Outgoing::Message)).await;
    }

    pub(super) async fn respond(&self, id: RequestId, result: Result<AgentResponse, Error>) {
        let line = encode(Response::new(id, result));
        self.send(line.map(Outgoing::Message)).await;
    }

    /// Sends a request and waits for its result, without a timeout. Dropping the future cancels the request.
    pub(super) async fn request<R: DeserializeOwned>(
        &self,
        method: &'static str,
        params: impl Serialize,
    ) -> Result<R, Error> {
        let id = RequestId::Number(self.last_id.fetch_add(1, Ordering::Relaxed) + 1);
        let request = Request {
            id: id.clone(),
            method: method.into(),
            params: Some(params),
        };
        let names = &CLIENT_METHOD_NAMES;
        let acts = [names.fs_write_text_file, names.terminal_create].contains(&method);
        let line = if acts {
            encode_exactly(request)?
        } else {
            encode(request)?
        };
        let (sender, receiver) = oneshot::channel();
        self.send(Ok(Outgoing::Request {
            id: id.clone(),
            line,
            result: sender,
        }))
        .await;
        let mut guard = CancelOnDrop {
            id: Some(id),
            outgoing: &self.outgoing,
        };
        let result = receiver.await;
        guard.id = None;
        let result = result.map_err(|_| internal_error("the client disconnected"))??;
        serde_json::from_value(result)
            .map_err(|cause| internal_error(format!("invalid response to `{method}`: {cause}")))
    }

    async fn send(&self, message: Result<Outgoing, Error>) {
        if let Ok(message) = message {
            // Fails only after the connection ended.
            let _ = self.outgoing.send(message).await;
        }
    }
}

/// Cancels a request when it is dropped before the response.
struct CancelOnDrop<'a> {
    /// `None` after the response.
    id: Option<RequestId>,
    outgoing: &'a mpsc::Sender<Outgoing>,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        let line = encode(Notification {
            method: PROTOCOL_LEVEL_METHOD_NAMES.cancel_request.into(),
            params: Some(CancelRequestNotification::new(id.clone())),
        });
        if let Ok(line) = line {
            // The message is not sent if the queue is full, because this function cannot wait.
            let _ = self.outgoing.try_send(Outgoing::Cancel { id, line });
        }
    }
}

#[cfg(test)]
mod tests {
    use agent_client_protocol_schema::v1::{ContentBlock, ContentChunk};
    use osier_base::secrets::add_known;
    use serde_json::json;

    use super::*;

    /// A key of osier reaches the editor in no text, and is in the file that the model writes.
    #[tokio::test]
    async fn texts_for_the_editor_have_no_key_and_files_are_exact() {
        const KEY: &str = "plain words of acp 77";
        add_known([KEY.to_owned()]);
        let (outgoing, mut sent) = mpsc::channel(8);
        let client = AcpClient::new(outgoing);
        let chunk = ContentChunk::new(ContentBlock::from(format!("says {KEY}")));
        let update = SessionUpdate::AgentMessageChunk(chunk);
        client.update(&SessionId::new("s"), update, 0).await;
        let names = &CLIENT_METHOD_NAMES;
        for method in [
            names.session_request_permission,
            names.fs_write_text_file,
            names.terminal_create,
        ] {
            let client = client.clone();
            let request = async move {
                let _: Result<Value, Error> = client.request(method, json!({"text": KEY})).await;
            };
            let waiting = tokio::time::timeout(std::time::Duration::ZERO, request);
            drop(waiting.await);
        }
        let mut lines = Vec::new();
        while let Ok(message) = sent.try_recv() {
            lines.extend(match message {
                Outgoing::Message(line) | Outgoing::Request { line, .. } => Some(line),
                Outgoing::Cancel { .. } => None,
            });
        }
        let shown: Vec<bool> = lines.iter().map(|line| line.contains(KEY)).collect();
        assert_eq!(shown, [false, false, true, true], "{lines:?}");
        assert!(lines[0].contains("says [key removed]"), "{lines:?}");
    }

    fn read(value: &Value) -> Incoming {
        parse(value.to_string().as_bytes())
    }

    #[test]
    fn request_and_notification_are_parsed() {
        let method = "session/cancel".to_owned();
        let params = json!({"sessionId": "s"});
        assert_eq!(
            read(&json!({"jsonrpc": "2.0", "id": 0, "method": method, "params": params})),
            Incoming::Request {
                id: RequestId::Number(0),
                method: method.clone(),
                params: params.clone(),
            }
        );
        assert_eq!(
            read(&json!({"jsonrpc": "2.0", "method": method, "params": params})),
            Incoming::Notification { method, params }
        );
    }

    #[test]
    fn response_has_a_result_or_an_error() {
        let response = |result| Incoming::Response {
            id: RequestId::Number(7),
            result,
        };
        assert_eq!(
            read(&json!({"id": 7, "result": {"outcome": 1}, "error": null})),
            response(Ok(json!({"outcome": 1})))
        );
        assert_eq!(read(&json!({"id": 7})), response(Ok(Value::Null)));
        assert_eq!(
            read(&json!({"id": 7, "error": {"code": -32800, "message": "no"}})),
            response(Err(error(ErrorCode::RequestCancelled, "no")))
        );
        let text = "invalid error from the client: missing field `message`";
        assert_eq!(
            read(&json!({"id": 7, "error": {"code": -32800}})),
            response(Err(internal_error(text)))
        );
    }

    #[test]
    fn invalid_message_has_the_id_of_its_request() {
        let invalid = |id| Incoming::Invalid {
            id,
            error: error(
                ErrorCode::InvalidRequest,
                "`method` must be a string, and `id` an integer or a string",
            ),
        };
        let message = json!({"id": 3, "method": 5});
        assert_eq!(read(&message), invalid(RequestId::Number(3)));
        let message = json!({"id": {}, "method": "initialize"});
        assert_eq!(read(&message), invalid(RequestId::Null));
        let text = "invalid JSON: EOF while parsing an object at line 1 column 1";
        let invalid = Incoming::Invalid {
            id: RequestId::Null,
            error: error(ErrorCode::ParseError, text),
        };
        assert_eq!(parse(b"{"), invalid);
    }
}
