//! What the lines between a client and an agent are.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::ui::UiRequest;
use osier_protocol::Event;

/// What a client calls a command by. It comes back as it was.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Id {
    Number(i64),
    Text(String),
}

/// A command as a line says it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Request {
    pub id: Option<Id>,
    pub command: String,
    pub parameters: Map<String, Value>,
}

/// The answer to one command. There is one for every line that was read, but for `ui_response`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Response {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<Id>,
    /// The command as it was written; `parse` when the line was none.
    pub command: String,
    pub success: bool,
    /// What the command is documented to give.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// What is wrong and how to mend it, in one sentence for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The same for a program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
}

/// What kind of fault an error is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// The line is no JSON object with a `type`.
    Parse,
    LineTooLong,
    UnknownCommand,
    InvalidParameters,
    /// A command with this id is not answered yet.
    DuplicateId,
    /// The client speaks a version that is not spoken here.
    UnsupportedProtocol,
    /// The agent did not do it.
    Refused,
    /// Another client writes: `take_over` lets this one write. `data` names it as `writer`.
    Occupied,
    /// The agent ends.
    ShuttingDown,
}

/// Which events a client gets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Rendering {
    /// What happens. Answers come only as responses, questions and notices as `ui_request`.
    #[default]
    Changes,
    /// Every event of the host as it is, for a client that is an interface of its own.
    All,
    /// Only responses and questions.
    None,
}

/// What `hello` answers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Greeting {
    /// The version of the protocol that is spoken.
    pub protocol: u32,
    /// `osier`.
    pub name: String,
    /// Of the program.
    pub version: String,
    /// Longest line that is read, in bytes.
    pub line_limit: usize,
    /// Every command there is.
    pub commands: Vec<String>,
}

/// A line from the agent.
#[derive(Debug, Clone, PartialEq)]
pub enum Frame {
    Response(Response),
    /// Something a person has to decide or should know.
    UiRequest(Box<UiRequest>),
    /// The request with this id needs no answer any more.
    UiClosed {
        id: String,
        reason: String,
    },
    Event(Box<Event>),
}

impl Request {
    /// Reads a line. The error is a sentence, beside the id where that could be read.
    pub(super) fn parse(line: &[u8]) -> Result<Self, (Option<Id>, String)> {
        let value: Value = serde_json::from_slice(line)
            .map_err(|error| (None, format!("the line is no JSON: {error}")))?;
        let Value::Object(mut parameters) = value else {
            return Err((None, "the line is no JSON object".to_owned()));
        };
        let id = match parameters.shift_remove("id") {
            None | Some(Value::Null) => None,
            // The question that is answered, not a name of the answer.
            Some(id) if is_reply(&parameters) => {
                parameters.insert("id".to_owned(), id);
                None
            }
            Some(id) => Some(serde_json::from_value(id).map_err(|_| {
                let text = "`id` has to be a text or a whole number".to_owned();
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
                "the object has no `type` that names a command".to_owned(),
            )),
        }
    }
}

/// Whether the object answers a question: its `id` is that of the question.
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

    pub(super) fn with(self, data: Value) -> Self {
        let data = Some(data).filter(|data| !data.is_null());
        Self { data, ..self }
    }

    pub(super) fn failed(self, code: Code, error: impl Into<String>) -> Self {
        Self {
            success: false,
            error: Some(error.into()),
            code: Some(code),
            ..self
        }
    }
}

impl Frame {
    /// Reads a line of an agent.
    pub(super) fn parse(line: &[u8]) -> serde_json::Result<Self> {
        #[derive(Deserialize)]
        struct Kind {
            r#type: String,
        }
        #[derive(Deserialize)]
        struct Closed {
            id: String,
            reason: String,
        }
        let Kind { r#type } = serde_json::from_slice(line)?;
        Ok(match r#type.as_str() {
            "response" => Self::Response(serde_json::from_slice(line)?),
            "ui_request" => Self::UiRequest(serde_json::from_slice(line)?),
            "ui_closed" => {
                let Closed { id, reason } = serde_json::from_slice(line)?;
                Self::UiClosed { id, reason }
            }
            _ => Self::Event(serde_json::from_slice(line)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_line_is_a_command_with_an_id_of_the_clients_choice() {
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
                "the object has no `type` that names a command".to_owned()
            ))
        );
        assert_eq!(
            read("[1]"),
            Err((None, "the line is no JSON object".to_owned()))
        );
        assert_eq!(
            read(r#"{"id":[],"type":"abort"}"#),
            Err((None, "`id` has to be a text or a whole number".to_owned()))
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
