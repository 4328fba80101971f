//! What a person has to decide or should know goes to the client as a request, and comes back as a reply.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use osier_agent::Severity;
use osier_protocol::questions::{Answer, Choice, Grant, Question, QuestionKind, Subject};

/// A request to the person behind the client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct UiRequest {
    /// What a reply names; not set for what needs none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// One sentence. It may come from a model, a tool or a server: it is shown, never interpreted.
    pub title: String,
    /// Who asks, as a person calls it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub origin: String,
    /// What the decision is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<Subject>,
    /// Milliseconds after which no answer is a dismissal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    #[serde(flatten)]
    pub method: UiMethod,
}

/// What is wanted of the person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    tag = "method",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum UiMethod {
    /// Whether a tool call may run: `confirmed`, or `answer` for a longer grant. `patterns` are the rules
    /// that a grant can name, the narrowest first.
    Permission {
        call_id: String,
        tool: String,
        arguments: Value,
        patterns: Vec<String>,
    },
    /// Yes or no: `confirmed`.
    Confirm,
    /// One of `choices`: its value as `value`.
    Select { choices: Vec<Choice> },
    /// A line of text as `value`; a `secret` one is never shown.
    Input {
        placeholder: String,
        prefill: String,
        secret: bool,
    },
    /// Several lines of text as `value`.
    Editor {
        placeholder: String,
        prefill: String,
    },
    /// An object as `value` that fits a flat JSON schema.
    Form { schema: Value },
    /// To go to an address and come back: `confirmed`.
    Visit { url: String },
    /// Nothing: this is told.
    Notify { severity: Severity },
}

/// The reply to a request; the first of these fields that is there counts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UiResponse {
    pub id: String,
    /// Any answer in full.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answer>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancelled: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmed: Option<bool>,
    /// A text, or the object of a form; beside `confirmed: false` a reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
}

/// The requests of one client that are open.
#[derive(Debug, Default)]
pub(super) struct Requests {
    open: Vec<Open>,
    /// How long one stays open; for ever when not set.
    pub patience: Option<Duration>,
    /// Nobody is there: everything is dismissed.
    pub absent: bool,
}

#[derive(Debug)]
struct Open {
    question: Question,
    until: Option<Instant>,
    /// Why it will close.
    reason: &'static str,
}

impl Requests {
    /// Opens a request; `None` when nobody is there to answer it.
    pub(super) fn ask(&mut self, question: &Question, now: Instant) -> Option<UiRequest> {
        if self.absent {
            return None;
        }
        self.open.push(Open {
            question: question.clone(),
            until: self.patience.map(|patience| now + patience),
            reason: "withdrawn",
        });
        let mut request = UiRequest::of(question);
        let patience = self.patience.map(|patience| patience.as_millis());
        request.timeout_ms = patience.and_then(|patience| u64::try_from(patience).ok());
        Some(request)
    }

    /// The answer that a reply is; a fault is a sentence, and the request stays open.
    pub(super) fn reply(&mut self, reply: UiResponse) -> Result<(String, Answer), String> {
        let open = self
            .open
            .iter_mut()
            .find(|open| open.question.id == reply.id);
        let Some(open) = open else {
            return Err(format!(
                "no request `{}` is open: it was answered or taken back",
                reply.id
            ));
        };
        let id = reply.id.clone();
        let answer = reply.into_answer(&open.question.kind)?;
        open.reason = "answered";
        Ok((id, answer))
    }

    /// Forgets a request that is closed, and says why it closed; `None` when it was not open here.
    pub(super) fn close(&mut self, id: &str) -> Option<&'static str> {
        let place = self.open.iter().position(|open| open.question.id == id)?;
        Some(self.open.remove(place).reason)
    }

    /// When the next request times out.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.open.iter().filter_map(|open| open.until).min()
    }

    /// The requests that have waited too long; they are told only once.
    pub(super) fn timed_out(&mut self, now: Instant) -> Vec<String> {
        let late = self
            .open
            .iter_mut()
            .filter(|open| open.until.is_some_and(|until| until <= now));
        late.map(|open| {
            open.until = None;
            open.reason = "timeout";
            open.question.id.clone()
        })
        .collect()
    }

    /// Nobody is there from now on: the requests that are open.
    pub(super) fn leave(&mut self) -> Vec<String> {
        self.absent = true;
        let ids = self.open.iter().map(|open| open.question.id.clone());
        ids.collect()
    }
}

impl UiRequest {
    fn of(question: &Question) -> Self {
        Self {
            id: Some(question.id.clone()),
            title: question.title.clone(),
            origin: question.origin.clone(),
            subject: question.subject.clone(),
            timeout_ms: None,
            method: UiMethod::of(question.kind.clone()),
        }
    }

    pub(super) fn notice(severity: Severity, text: &str) -> Self {
        Self {
            id: None,
            title: text.to_owned(),
            origin: String::new(),
            subject: None,
            timeout_ms: None,
            method: UiMethod::Notify { severity },
        }
    }
}

impl UiMethod {
    fn of(kind: QuestionKind) -> Self {
        match kind {
            QuestionKind::Permission {
                call_id,
                tool,
                arguments,
                patterns,
            } => Self::Permission {
                call_id,
                tool,
                arguments,
                patterns,
            },
            QuestionKind::Confirm => Self::Confirm,
            QuestionKind::Select { choices } => Self::Select { choices },
            QuestionKind::Input {
                placeholder,
                prefill,
                multiline: true,
                ..
            } => Self::Editor {
                placeholder,
                prefill,
            },
            QuestionKind::Input {
                placeholder,
                prefill,
                secret,
                ..
            } => Self::Input {
                placeholder,
                prefill,
                secret,
            },
            QuestionKind::Form { schema } => Self::Form { schema },
            QuestionKind::Visit { url } => Self::Visit { url },
        }
    }
}

impl UiResponse {
    /// The reply that gives an answer in full.
    pub fn new(id: impl Into<String>, answer: Answer) -> Self {
        Self {
            id: id.into(),
            answer: Some(answer),
            ..Self::default()
        }
    }

    fn into_answer(self, kind: &QuestionKind) -> Result<Answer, String> {
        if let Some(answer) = self.answer {
            return Ok(answer);
        }
        if self.cancelled == Some(true) {
            return Ok(Answer::Dismissed);
        }
        let reason = self.value.as_ref().and_then(Value::as_str);
        let reason = reason.map(str::to_owned);
        match (kind, self.confirmed, self.value) {
            (QuestionKind::Permission { .. }, Some(true), _) => Ok(Answer::Allow {
                grant: Grant::Once,
                arguments: None,
            }),
            (QuestionKind::Confirm | QuestionKind::Visit { .. }, Some(true), _) => Ok(Answer::Yes),
            (
                QuestionKind::Permission { .. }
                | QuestionKind::Confirm
                | QuestionKind::Visit { .. }
                | QuestionKind::Form { .. },
                Some(false),
                _,
            ) => Ok(Answer::Refuse { reason }),
            (QuestionKind::Select { choices }, _, Some(Value::String(text))) => {
                if choices.iter().any(|choice| choice.value == text) {
                    return Ok(Answer::Text { text });
                }
                let values: Vec<String> = choices
                    .iter()
                    .map(|choice| format!("`{}`", choice.value))
                    .collect();
                Err(format!("`value` has to be one of {}", values.join(", ")))
            }
            (QuestionKind::Input { .. }, _, Some(Value::String(text))) => Ok(Answer::Text { text }),
            (QuestionKind::Form { .. }, _, Some(Value::Object(values))) => {
                Ok(Answer::Values { values })
            }
            (kind, ..) => Err(wanted(kind)),
        }
    }
}

/// What a reply to this kind of request has to have.
fn wanted(kind: &QuestionKind) -> String {
    let field = match kind {
        QuestionKind::Permission { .. } | QuestionKind::Confirm | QuestionKind::Visit { .. } => {
            "`confirmed`, true or false"
        }
        QuestionKind::Select { .. } | QuestionKind::Input { .. } => "`value`, a text",
        QuestionKind::Form { .. } => "`value`, an object",
    };
    format!("the reply needs {field}; or `cancelled: true`")
}

/// A reply as a line says it.
pub(super) fn reply(parameters: Map<String, Value>) -> Result<UiResponse, String> {
    serde_json::from_value(Value::Object(parameters)).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn question(kind: QuestionKind) -> Question {
        Question {
            id: "q".to_owned(),
            origin: "a test".to_owned(),
            title: "Go on?".to_owned(),
            subject: None,
            kind,
        }
    }

    fn replied(kind: QuestionKind, fields: &Value) -> Result<Answer, String> {
        let mut requests = Requests::default();
        requests.ask(&question(kind), Instant::now()).unwrap();
        let mut fields = fields.as_object().unwrap().clone();
        fields.insert("id".to_owned(), json!("q"));
        requests.reply(reply(fields)?).map(|(_, answer)| answer)
    }

    #[test]
    fn a_reply_fits_its_request() {
        let select = || QuestionKind::Select {
            choices: ["red", "blue"]
                .map(|name| Choice {
                    value: name.to_owned(),
                    ..Choice::default()
                })
                .to_vec(),
        };
        let text = |text: &str| Answer::Text {
            text: text.to_owned(),
        };
        let cases = [
            (
                QuestionKind::Confirm,
                json!({"confirmed": true}),
                Ok(Answer::Yes),
            ),
            (
                QuestionKind::Confirm,
                json!({"confirmed": false, "value": "not now"}),
                Ok(Answer::Refuse {
                    reason: Some("not now".to_owned()),
                }),
            ),
            (
                QuestionKind::Confirm,
                json!({"cancelled": true}),
                Ok(Answer::Dismissed),
            ),
            (
                QuestionKind::Confirm,
                json!({"value": "yes"}),
                Err("the reply needs `confirmed`, true or false; or `cancelled: true`".to_owned()),
            ),
            (select(), json!({"value": "blue"}), Ok(text("blue"))),
            (
                select(),
                json!({"value": "green"}),
                Err("`value` has to be one of `red`, `blue`".to_owned()),
            ),
            (
                select(),
                json!({"answer": {"type": "dismissed"}}),
                Ok(Answer::Dismissed),
            ),
        ];
        for (kind, fields, expected) in cases {
            assert_eq!(replied(kind, &fields), expected, "{fields}");
        }
    }

    #[test]
    fn a_request_times_out_once_and_says_so() {
        let now = Instant::now();
        let mut requests = Requests {
            patience: Some(Duration::from_millis(5)),
            ..Requests::default()
        };
        let request = requests.ask(&question(QuestionKind::Confirm), now).unwrap();
        assert_eq!(request.timeout_ms, Some(5));
        assert_eq!(requests.timed_out(now), Vec::<String>::new());
        let late = requests.next_deadline().unwrap();
        assert_eq!(requests.timed_out(late), ["q"]);
        assert_eq!(requests.timed_out(late), Vec::<String>::new());
        assert_eq!(requests.close("q"), Some("timeout"));
        assert_eq!(requests.close("q"), None);
    }

    #[test]
    fn nobody_is_asked_when_nobody_is_there() {
        let mut requests = Requests::default();
        requests
            .ask(&question(QuestionKind::Confirm), Instant::now())
            .unwrap();
        assert_eq!(requests.leave(), ["q"]);
        let question = question(QuestionKind::Confirm);
        assert_eq!(requests.ask(&question, Instant::now()), None);
    }
}
