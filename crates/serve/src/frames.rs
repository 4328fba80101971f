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
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
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

/// The fields that a frame of each type uses, besides `id` and `type`. A frame without a type has a command.
const FIELDS: [(&str, &[&str]); 7] = [
    ("command", &["sessionId", "command", "once", "history"]),
    ("subscribe", &["sessionId", "after", "client"]),
    ("unsubscribe", &["sessionId"]),
    ("open", &["open", "then"]),
    ("stop", &[]),
    ("piece", &["sessionId", "once", "piece"]),
    ("hello", &["protocol", "compression"]),
];

impl ClientFrame {
    /// Refuses a field that has no effect in a frame of this type.
    pub(super) fn check_fields(&self) -> Result<(), ApiError> {
        let kind = self.r#type.as_deref().unwrap_or("command");
        // The caller refuses an unknown type.
        let Some((_, known)) = FIELDS.iter().find(|(name, _)| *name == kind) else {
            return Ok(());
        };
        let given = [
            ("sessionId", self.session_id.is_some()),
            ("command", self.command.is_some()),
            ("after", self.after.is_some()),
            ("once", self.once.is_some()),
            ("history", self.history),
            ("piece", self.piece.is_some()),
            ("open", self.open.is_some()),
            ("then", !self.then.is_empty()),
            ("protocol", self.protocol.is_some()),
            ("compression", self.compression.is_some()),
            ("client", self.client.is_some()),
        ];
        let mut unused = given
            .iter()
            .filter(|(name, is_given)| *is_given && !known.contains(name));
        match unused.next() {
            None => Ok(()),
            Some((name, _)) => Err(ApiError::malformed(format!(
                "`{name}` has no effect in a frame `{kind}`; leave it out"
            ))),
        }
    }
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

    /// Every field of a frame has an effect or is refused by name.
    #[test]
    fn fields_of_frames_have_an_effect_or_are_refused() {
        let all = json!({"sessionId": "s", "command": {"type": "abort"}, "after": 1, "once": "k", "history": true,
            "piece": {"at": 0, "of": 1, "text": "x"}, "open": {}, "then": [{"type": "stop"}], "protocol": 1,
            "compression": "gzip", "client": {"name": "n"}});
        let all = all.as_object().unwrap();
        for (kind, known) in FIELDS {
            let mut frame = json!({"id": 1, "type": kind});
            if kind == "command" {
                frame["type"] = Value::Null;
            }
            let read = |frame: &Value| serde_json::from_value::<ClientFrame>(frame.clone());
            for (name, value) in all {
                let mut with = frame.clone();
                with[name] = value.clone();
                let checked = read(&with).unwrap().check_fields();
                assert_eq!(checked.is_ok(), known.contains(&name.as_str()), "{with}");
                if let Err(error) = checked {
                    let message = error.value().to_string();
                    assert!(
                        message.contains(&format!("`{name}` has no effect")),
                        "{message}"
                    );
                }
            }
            let mut unknown = frame;
            unknown["extra"] = json!(1);
            let error = read(&unknown).unwrap_err().to_string();
            assert!(error.starts_with("unknown field `extra`"), "{error}");
        }
        let parts = [
            json!({"client": {"nick": "n"}}),
            json!({"piece": {"at": 0, "of": 1, "text": "x", "nick": 1}}),
            json!({"then": [{"nick": 1}]}),
        ];
        for part in parts {
            let error = serde_json::from_value::<ClientFrame>(part).unwrap_err();
            assert!(
                error.to_string().contains("unknown field `nick`"),
                "{error}"
            );
        }
    }

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
