//! What goes to a client, and how it is wrapped.

use std::fmt::Write as _;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::fault::Fault;
use osier_hub::Introduction;

/// What a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Event,
    Response,
    UiRequest,
    UiClosed,
    Error,
    /// Events are gone; here is how everything stands.
    ReplayGap,
    /// Nothing: whether the other end is there.
    Ping,
}

/// One frame for a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Item {
    pub kind: Kind,
    /// As the client calls it.
    pub session: Option<Arc<str>>,
    pub number: Option<u64>,
    /// One JSON object.
    pub payload: String,
}

/// A frame of a client, over the WebSocket.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ClientFrame {
    /// Comes back with the answer: a text or a whole number.
    pub id: Value,
    /// `subscribe`, `unsubscribe`, `open`, `stop` or `hello`; not set beside a `command`.
    pub r#type: Option<String>,
    pub session_id: Option<String>,
    /// A command of `osier rpc`, without an id of its own.
    pub command: Option<Map<String, Value>>,
    /// Of `subscribe`: the number of the last event that was heard.
    pub after: Option<u64>,
    /// Of a command: a name of the client's choice. What was taken under it is not done again.
    pub once: Option<String>,
    /// Of `open`: what `POST /api/sessions` takes, and `join`: the session that is open there already, the
    /// one that was used last if there are several, comes before a new one.
    pub open: Option<Map<String, Value>>,
    /// Of `open`: frames that are done in the session once it is open, each as if it named it. The answer says
    /// in `then` how many were taken.
    pub then: Vec<ClientFrame>,
    /// Of `hello`: the version the client speaks.
    pub protocol: Option<u64>,
    /// Of `subscribe`: how the others who are in the session are told of this client.
    pub client: Option<Introduced>,
}

/// How a client wants to be known.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub(super) struct Introduced {
    /// For people to read: 40 columns of it.
    pub name: String,
    /// A word that only this client knows: one that is cut off and comes back with it is the same to the others.
    pub key: Option<String>,
}

impl From<Introduced> for Introduction {
    fn from(Introduced { name, key }: Introduced) -> Self {
        Self { name, key }
    }
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Event => "event",
            Self::Response => "response",
            Self::UiRequest => "ui_request",
            Self::UiClosed => "ui_closed",
            Self::Error => "error",
            Self::ReplayGap => "replay_gap",
            Self::Ping => "ping",
        }
    }

    /// What a line of a dispatcher is. It begins with its type.
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

impl Item {
    pub(super) fn error(session: Option<Arc<str>>, id: &Value, fault: &Fault) -> Self {
        let mut payload = fault.value();
        if !id.is_null() {
            payload["id"] = id.clone();
        }
        Self {
            kind: Kind::Error,
            session,
            number: None,
            payload: payload.to_string(),
        }
    }

    pub(super) fn ping() -> Self {
        Self {
            kind: Kind::Ping,
            session: None,
            number: None,
            payload: String::new(),
        }
    }

    /// Bytes it takes while it waits.
    pub(super) fn size(&self) -> usize {
        self.payload.len() + 128
    }

    /// As it goes over the WebSocket.
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

    /// As it goes over a stream of server-sent events.
    pub(super) fn server_sent(&self) -> String {
        match self.number {
            Some(number) => format!("id: {number}\ndata: {}\n\n", self.payload),
            None => format!("data: {}\n\n", self.payload),
        }
    }

    /// Whether it is the last event of a run.
    pub(super) fn is_settled(&self) -> bool {
        self.payload.starts_with(r#"{"type":"agent_settled""#)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_wrapped_as_it_is() {
        let line = r#"{"type":"ui_request","id":"q"}"#;
        let item = Item {
            kind: Kind::of_line(line),
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
