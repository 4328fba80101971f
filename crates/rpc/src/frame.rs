//! The lines of the protocol: requests, responses and other messages.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::ui::{UiClosed, UiRequest};
use osier_protocol::Event;

/// The id of a command, chosen by the client. The response repeats it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Id {
    Number(i64),
    Text(String),
}

/// A command line.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Request {
    pub id: Option<Id>,
    pub command: String,
    pub parameters: Map<String, Value>,
}

/// The answer to one command. Every line has one, except a valid `ui_response`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Response {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<Id>,
    /// The name of the command as the client wrote it; `parse` if the line is not a command.
    pub command: String,
    pub success: bool,
    /// The data of the answer, as documented for the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// The error and the advice, for users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The kind of error, for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<ErrorCode>,
}

/// The kind of error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// The line is not a JSON object with a `type`.
    Parse,
    LineTooLong,
    UnknownCommand,
    InvalidParameters,
    /// A command with this id has no answer yet.
    DuplicateId,
    /// The client speaks an unsupported version of the protocol.
    UnsupportedProtocol,
    /// The agent did not execute the command.
    Refused,
    /// Another client is writing; `data` contains it as `writer`. `take_over` takes control.
    Occupied,
    /// The agent is shutting down.
    ShuttingDown,
}

/// Which events a client receives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum EventMode {
    /// Events that report changes. Answers are only in responses; questions and notices are `ui_request` messages.
    #[default]
    Changes,
    /// Every event of the session unchanged, for a client with its own interface.
    All,
    /// Only responses and questions.
    None,
}

/// Answer to `hello`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Greeting {
    /// The version of the protocol.
    pub protocol: u32,
    /// The name of the program: `osier`.
    pub name: String,
    /// The version of the program.
    pub version: String,
    /// The longest accepted line, in bytes.
    pub line_limit: usize,
    /// The names of all commands.
    pub commands: Vec<String>,
}

/// A line of the agent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Frame {
    Response(Response),
    /// A question or a notice for the user.
    UiRequest(Box<UiRequest>),
    UiClosed(UiClosed),
    Event(Box<Event>),
}

impl Request {
    /// Parses a line. The error contains the id, if it could be read, and the message.
    pub(super) fn parse(line: &[u8]) -> Result<Self, (Option<Id>, String)> {
        let value: Value = serde_json::from_slice(line)
            .map_err(|error| (None, format!("the line is not valid JSON: {error}")))?;
        let Value::Object(mut parameters) = value else {
            return Err((None, "the line is not a JSON object".to_owned()));
        };
        let id = match parameters.shift_remove("id") {
            None | Some(Value::Null) => None,
            // In a reply, `id` is the id of the question, not of the command.
            Some(id) if is_reply(&parameters) => {
                parameters.insert("id".to_owned(), id);
                None
            }
            Some(id) => Some(serde_json::from_value(id).map_err(|_| {
                let text = "`id` must be a string or an integer".to_owned();
                (None, text)
            })?),
        };
        match parameters.shift_remove("type") {
            Some(Value::String(command)) => Ok(Self {
                id,
                command,
                parameters,
            }),
            _ => Err((
                id,
                "the object has no `type` with the name of a command".to_owned(),
            )),
        }
    }
}

/// Whether the object answers a question, so that its `id` is that of the question.
fn is_reply(object: &Map<String, Value>) -> bool {
    let kind = object.get("type").and_then(Value::as_str);
    kind.is_some_and(|kind| kind.ends_with("ui_response"))
}

impl Response {
    pub(super) fn new(id: Option<Id>, command: impl Into<String>) -> Self {
        Self {
            id,
            command: command.into(),
            success: true,
            data: None,
            error: None,
            code: None,
        }
    }

    pub(super) fn with_data(self, data: Value) -> Self {
        let data = Some(data).filter(|data| !data.is_null());
        Self { data, ..self }
    }

    pub(super) fn failed(self, code: ErrorCode, error: impl Into<String>) -> Self {
        Self {
            success: false,
            error: Some(error.into()),
            code: Some(code),
            ..self
        }
    }
}

impl Frame {
    /// Parses a line of the agent.
    pub(super) fn parse(line: &[u8]) -> serde_json::Result<Self> {
        #[derive(Deserialize)]
        struct Kind {
            r#type: String,
        }
        let Kind { r#type } = serde_json::from_slice(line)?;
        Ok(match r#type.as_str() {
            "response" => Self::Response(serde_json::from_slice(line)?),
            "ui_request" => Self::UiRequest(serde_json::from_slice(line)?),
            "ui_closed" => Self::UiClosed(serde_json::from_slice(line)?),
            _ => Self::Event(serde_json::from_slice(line)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_line_is_a_command_with_an_optional_id() {
        let read = |line: &str| Request::parse(line.as_bytes());
        let parameters = json!({"message": "hi"});
        let request = |id| Request {
            id,
            command: "prompt".to_owned(),
            parameters: parameters.as_object().unwrap().clone(),
        };
        let named = Id::Text("a".to_owned());
        assert_eq!(
            read(r#"{"id":"a","type":"prompt","message":"hi"}"#),
            Ok(request(Some(named.clone())))
        );
        assert_eq!(
            read(r#"{"id":7,"type":"prompt","message":"hi"}"#),
            Ok(request(Some(Id::Number(7))))
        );
        assert_eq!(
            read(r#"{"type":"prompt","message":"hi"}"#),
            Ok(request(None))
        );
        assert_eq!(
            read(r#"{"id":"a"}"#),
            Err((
                Some(named),
                "the object has no `type` with the name of a command".to_owned()
            ))
        );
        assert_eq!(
            read("[1]"),
            Err((None, "the line is not a JSON object".to_owned()))
        );
        assert_eq!(
            read(r#"{"id":[],"type":"abort"}"#),
            Err((None, "`id` must be a string or an integer".to_owned()))
        );
    }

    #[test]
    fn the_id_of_a_reply_is_that_of_the_question() {
        let line = br#"{"type":"extension_ui_response","id":"q","confirmed":true}"#;
        let request = Request::parse(line).unwrap();
        assert_eq!(request.id, None);
        assert_eq!(
            Value::Object(request.parameters),
            json!({"confirmed": true, "id": "q"})
        );
    }
}
