//! Frames of clients and of the server, as WebSocket messages and server-sent events.

use std::fmt::Write as _;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::error::{ApiError, ErrorCode};
use osier_hub::{ClientIdentity, Piece};
use osier_rpc::PROTOCOL;

/// The type of a server frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FrameKind {
    Event,
    Response,
    UiRequest,
    UiClosed,
    Error,
    /// Events were lost; contains the current state.
    ReplayGap,
    /// A ping of the WebSocket.
    Ping,
    /// The end of the WebSocket because the server stops.
    Stopped,
    /// The end of the WebSocket because a frame of the client is too large.
    TooLarge,
}

/// A frame for a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServerFrame {
    pub kind: FrameKind,
    /// The id by which the client refers to the session.
    pub session: Option<Arc<str>>,
    pub number: Option<u64>,
    /// A JSON object.
    pub payload: String,
}

/// A frame of a client over the WebSocket.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ClientFrame {
    /// A string or an integer that the response repeats.
    pub id: Value,
    /// `subscribe`, `unsubscribe`, `open`, `stop`, `piece` or `hello`; not set with a `command`.
    pub r#type: Option<String>,
    pub session_id: Option<String>,
    /// A command of `osier rpc`, without an `id`.
    pub command: Option<Map<String, Value>>,
    /// For `subscribe`: the number of the last received event.
    pub after: Option<u64>,
    /// For a command: an idempotency key. A command with a known key is not executed again; keys of prompts are stored
    /// with their messages.
    pub once: Option<String>,
    /// For a command `op` with a prompt: its text is added to the prompt history, too.
    pub history: bool,
    /// For `piece`: a part of a frame with a command, whose key is `once`. The response contains in `received` how many
    /// bytes of it the server has; the command is executed when all are there, and answered by a response of its own.
    pub piece: Option<Piece>,
    /// For `open`: the fields of `POST /api/sessions`, and `join`: use the open session of the directory, the last used
    /// one if there are several, instead of a new one.
    pub open: Option<Map<String, Value>>,
    /// For `open`: frames to execute in the opened session, as if each frame named the session. The response contains
    /// their number in `then`.
    pub then: Vec<ClientFrame>,
    /// For `hello`: the protocol version of the client.
    pub protocol: Option<u64>,
    /// For `hello`: `gzip`, if the client reads binary messages that are compressed text messages.
    pub compression: Option<String>,
    /// For `subscribe`: how other clients of the session see this client.
    pub client: Option<ClientIdentity>,
}

impl FrameKind {
    fn name(self) -> &'static str {
        match self {
            Self::Event => "event",
            Self::Response => "response",
            Self::UiRequest => "ui_request",
            Self::UiClosed => "ui_closed",
            Self::Error => "error",
            Self::ReplayGap => "replay_gap",
            Self::Ping => "ping",
            Self::Stopped => "stopped",
            Self::TooLarge => "too_large",
        }
    }

    /// The type of a line of the dispatcher, which begins with `type`.
    pub(super) fn of_line(line: &str) -> Self {
        let kind = line.strip_prefix(r#"{"type":""#).unwrap_or_default();
        match kind.split('"').next() {
            Some("response") => Self::Response,
            Some("ui_request") => Self::UiRequest,
            Some("ui_closed") => Self::UiClosed,
            _ => Self::Event,
        }
    }
}

impl ServerFrame {
    pub(super) fn error(session: Option<Arc<str>>, id: &Value, error: &ApiError) -> Self {
        let mut payload = error.value();
        if !id.is_null() {
            payload["id"] = id.clone();
        }
        Self {
            kind: FrameKind::Error,
            session,
            number: None,
            payload: payload.to_string(),
        }
    }

    /// A frame of the WebSocket itself, without content.
    pub(super) fn control(kind: FrameKind) -> Self {
        Self {
            kind,
            session: None,
            number: None,
            payload: String::new(),
        }
    }

    /// Memory of the frame in a queue, in bytes.
    pub(super) fn size(&self) -> usize {
        self.payload.len() + 128
    }

    /// The frame as a WebSocket message.
    pub(super) fn envelope(&self) -> String {
        let mut text = format!(r#"{{"type":"{}""#, self.kind.name());
        if let Some(session) = &self.session {
            let _ = write!(text, r#","sessionId":{}"#, json!(&**session));
        }
        if let Some(number) = self.number {
            let _ = write!(text, r#","number":{number}"#);
        }
        text.push_str(r#","payload":"#);
        text.push_str(&self.payload);
        text.push('}');
        text
    }

    /// The frame as a server-sent event.
    pub(super) fn server_sent(&self) -> String {
        match self.number {
            Some(number) => format!("id: {number}\ndata: {}\n\n", self.payload),
            None => format!("data: {}\n\n", self.payload),
        }
    }

    /// Whether this is the last event of a run.
    pub(super) fn is_settled(&self) -> bool {
        self.payload.starts_with(r#"{"type":"agent_settled""#)
    }
}

/// Checks the protocol version of a client.
pub(super) fn check_protocol(protocol: Option<u64>) -> Result<(), ApiError> {
    match protocol {
        Some(asked) if asked != u64::from(PROTOCOL) => Err(ApiError::new(
            ErrorCode::UnsupportedProtocol,
            format!("unsupported protocol version {asked}; expected {PROTOCOL}"),
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_wrapped_as_it_is() {
        let line = r#"{"type":"ui_request","id":"q"}"#;
        let item = ServerFrame {
            kind: FrameKind::of_line(line),
            session: Some("a".into()),
            number: Some(7),
            payload: line.to_owned(),
        };
        let wrapped: Value = serde_json::from_str(&item.envelope()).unwrap();
        let payload = json!({"type": "ui_request", "id": "q"});
        assert_eq!(
            wrapped,
            json!({"type": "ui_request", "sessionId": "a", "number": 7, "payload": payload})
        );
        assert_eq!(item.server_sent(), format!("id: 7\ndata: {line}\n\n"));
    }
}
