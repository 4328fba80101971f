//! Questions and notices for the user (`ui_request`) and the replies of the client (`ui_response`).

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use osier_agent::Severity;
use osier_protocol::questions::{Answer, Grant, Question, QuestionKind, Subject};

/// A question or a notice for the user of the client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct UiRequest {
    /// The id that the reply repeats; not set for a notice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The question or notice. It may contain text of a model, a tool or a server: display it as plain text.
    pub title: String,
    /// Who asks, for display.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub origin: String,
    /// The id of the subagent whose work waits for the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subagent: Option<String>,
    /// The subject of the decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<Subject>,
    /// Milliseconds until the question is dismissed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    #[serde(flatten)]
    pub method: UiMethod,
}

/// A question or a notice. On the wire `method` is the name of its kind; a question for several lines of text is an
/// `editor`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(into = "Map<String, Value>", try_from = "Map<String, Value>")]
pub enum UiMethod {
    Ask(QuestionKind),
    /// A notice, without a reply.
    Notify(Severity),
}

impl From<UiMethod> for Map<String, Value> {
    fn from(method: UiMethod) -> Self {
        let fields = match method {
            UiMethod::Ask(kind) => json!(kind),
            UiMethod::Notify(severity) => json!({"type": "notify", "severity": severity}),
        };
        let Value::Object(mut fields) = fields else {
            return Self::new();
        };
        let mut name = fields.shift_remove("type").unwrap_or_default();
        if fields.shift_remove("multiline") == Some(json!(true)) {
            fields.shift_remove("secret");
            name = json!("editor");
        }
        let mut named = Self::from_iter([("method".to_owned(), name)]);
        named.append(&mut fields);
        named
    }
}

impl TryFrom<Map<String, Value>> for UiMethod {
    type Error = serde_json::Error;

    fn try_from(mut fields: Map<String, Value>) -> Result<Self, Self::Error> {
        let mut name = fields.shift_remove("method").unwrap_or_default();
        if name == "notify" {
            let severity = fields.shift_remove("severity").unwrap_or_default();
            return serde_json::from_value(severity).map(Self::Notify);
        }
        let is_editor = name == "editor";
        if is_editor {
            name = json!("input");
            fields.insert("secret".to_owned(), json!(false));
        }
        fields.insert("multiline".to_owned(), json!(is_editor));
        fields.insert("type".to_owned(), name);
        serde_json::from_value(Value::Object(fields)).map(Self::Ask)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for UiMethod {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "UiMethod".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let kinds = json!(<QuestionKind as schemars::JsonSchema>::json_schema(
            generator
        ));
        let method = |kind: &Value, name: &str, without: &[&str]| {
            let is_kept = |field: &str| !without.contains(&field);
            let fields = kind["properties"].as_object().into_iter().flatten();
            let fields = fields.filter(|(field, _)| is_kept(field));
            let fields = fields.map(|(field, schema)| (field.clone(), schema.clone()));
            let named = (
                "method".to_owned(),
                json!({"type": "string", "const": name}),
            );
            let required = kind["required"].as_array().into_iter().flatten();
            let required = required.filter(|field| field.as_str().is_some_and(is_kept));
            let mut method = kind.clone();
            method["properties"] = std::iter::once(named).chain(fields).collect();
            method["required"] = std::iter::once(&json!("method"))
                .chain(required)
                .cloned()
                .collect();
            method
        };
        let mut variants = Vec::new();
        for kind in kinds["oneOf"].as_array().into_iter().flatten() {
            let name = kind["properties"]["type"]["const"]
                .as_str()
                .unwrap_or_default();
            variants.push(method(kind, name, &["type", "multiline"]));
            if name == "input" {
                variants.push(method(kind, "editor", &["type", "multiline", "secret"]));
            }
        }
        let severity = generator.subschema_for::<Severity>();
        variants.push(json!({
            "description": "A notice, without a reply.",
            "type": "object",
            "properties": {"method": {"type": "string", "const": "notify"}, "severity": severity},
            "required": ["method", "severity"],
        }));
        schemars::json_schema!({"oneOf": variants})
    }
}

/// The reply to a question. The first field that is set counts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UiResponse {
    pub id: String,
    /// Any answer, in full.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answer>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancelled: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmed: Option<bool>,
    /// A text or the object of a form; with `confirmed: false` a reason, with `confirmed: true` an edited plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
}

/// A question that needs no answer any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UiClosed {
    pub id: String,
    pub reason: CloseReason,
}

/// Why a question needs no answer any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum CloseReason {
    Answered,
    Withdrawn,
    Timeout,
}

/// The open questions of one client.
#[derive(Debug, Default)]
pub(super) struct OpenQuestions {
    open: Vec<OpenQuestion>,
    /// How long a question stays open; without limit when not set.
    pub timeout: Option<Duration>,
    /// No user can answer: every question is dismissed.
    pub no_user: bool,
}

#[derive(Debug)]
struct OpenQuestion {
    question: Question,
    expires: Option<Instant>,
    /// The reason to report when it closes.
    reason: CloseReason,
}

impl OpenQuestions {
    /// Opens a question; `None` if no user can answer it.
    pub(super) fn ask(&mut self, question: &Question, now: Instant) -> Option<UiRequest> {
        if self.no_user {
            return None;
        }
        self.open.push(OpenQuestion {
            question: question.clone(),
            expires: self.timeout.map(|timeout| now + timeout),
            reason: CloseReason::Withdrawn,
        });
        let mut request = UiRequest::from_question(question);
        let timeout = self.timeout.map(|timeout| timeout.as_millis());
        request.timeout_ms = timeout.and_then(|timeout| u64::try_from(timeout).ok());
        Some(request)
    }

    /// Converts a reply to an answer. After an error the question stays open.
    pub(super) fn answer(&mut self, reply: UiResponse) -> Result<(String, Answer), String> {
        let open = self
            .open
            .iter_mut()
            .find(|open| open.question.id == reply.id);
        let Some(open) = open else {
            return Err(format!(
                "no question `{}` is open; it was answered or withdrawn",
                reply.id
            ));
        };
        let id = reply.id.clone();
        let answer = reply.into_answer(&open.question.kind)?;
        open.reason = CloseReason::Answered;
        Ok((id, answer))
    }

    /// Removes a closed question; `None` if it was not open.
    pub(super) fn close(&mut self, id: &str) -> Option<UiClosed> {
        let index = self.open.iter().position(|open| open.question.id == id)?;
        let OpenQuestion {
            question, reason, ..
        } = self.open.remove(index);
        let id = question.id;
        Some(UiClosed { id, reason })
    }

    /// When the next question times out.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.open.iter().filter_map(|open| open.expires).min()
    }

    /// The questions that have timed out. Each is returned once.
    pub(super) fn timed_out(&mut self, now: Instant) -> Vec<String> {
        let expired = self
            .open
            .iter_mut()
            .filter(|open| open.expires.is_some_and(|expires| expires <= now));
        expired
            .map(|open| {
                open.expires = None;
                open.reason = CloseReason::Timeout;
                open.question.id.clone()
            })
            .collect()
    }

    /// No user can answer from now on. Returns the open questions.
    pub(super) fn set_no_user(&mut self) -> Vec<String> {
        self.no_user = true;
        let ids = self.open.iter().map(|open| open.question.id.clone());
        ids.collect()
    }
}

impl UiRequest {
    fn from_question(question: &Question) -> Self {
        Self {
            id: Some(question.id.clone()),
            title: question.title.clone(),
            origin: question.origin.clone(),
            subagent: question.subagent.clone(),
            subject: question.subject.clone(),
            timeout_ms: None,
            method: UiMethod::Ask(question.kind.clone()),
        }
    }

    pub(super) fn notice(severity: Severity, text: &str) -> Self {
        Self {
            id: None,
            title: text.to_owned(),
            origin: String::new(),
            subagent: None,
            subject: None,
            timeout_ms: None,
            method: UiMethod::Notify(severity),
        }
    }
}

impl UiResponse {
    /// A reply with a full answer.
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
            (QuestionKind::Plan { .. }, Some(true), _) => Ok(Answer::Approve {
                mode: None,
                plan: reason,
            }),
            (QuestionKind::Confirm | QuestionKind::Visit { .. }, Some(true), _) => Ok(Answer::Yes),
            (
                QuestionKind::Permission { .. }
                | QuestionKind::Plan { .. }
                | QuestionKind::Confirm
                | QuestionKind::Visit { .. }
                | QuestionKind::Form { .. },
                Some(false),
                _,
            ) => Ok(Answer::Refuse { reason }),
            (QuestionKind::Select { choices, other }, _, Some(Value::String(text))) => {
                if *other || choices.iter().any(|choice| choice.value == text) {
                    return Ok(Answer::Text { text });
                }
                let values: Vec<String> = choices
                    .iter()
                    .map(|choice| format!("`{}`", choice.value))
                    .collect();
                Err(format!("`value` must be one of {}", values.join(", ")))
            }
            (QuestionKind::Input { .. }, _, Some(Value::String(text))) => Ok(Answer::Text { text }),
            (QuestionKind::Form { .. }, _, Some(Value::Object(values))) => {
                Ok(Answer::Values { values })
            }
            (kind, ..) => Err(expected_fields(kind)),
        }
    }
}

/// The error for a reply that does not match the question.
fn expected_fields(kind: &QuestionKind) -> String {
    let field = match kind {
        QuestionKind::Permission { .. }
        | QuestionKind::Plan { .. }
        | QuestionKind::Confirm
        | QuestionKind::Visit { .. } => "`confirmed`, true or false",
        QuestionKind::Select { .. } | QuestionKind::Input { .. } => "`value`, a string",
        QuestionKind::Form { .. } => "`value`, an object",
    };
    format!("the reply requires {field}; or `cancelled: true`")
}

/// Parses the parameters of `ui_response`.
pub(super) fn parse_reply(parameters: Map<String, Value>) -> Result<UiResponse, String> {
    serde_json::from_value(Value::Object(parameters)).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use osier_protocol::questions::Choice;

    use super::*;

    fn question(kind: QuestionKind) -> Question {
        Question {
            id: "q".to_owned(),
            origin: "a test".to_owned(),
            subagent: None,
            title: "Go on?".to_owned(),
            subject: None,
            kind,
        }
    }

    fn answer_of(kind: QuestionKind, fields: &Value) -> Result<Answer, String> {
        let mut requests = OpenQuestions::default();
        requests.ask(&question(kind), Instant::now()).unwrap();
        let mut fields = fields.as_object().unwrap().clone();
        fields.insert("id".to_owned(), json!("q"));
        requests
            .answer(parse_reply(fields)?)
            .map(|(_, answer)| answer)
    }

    #[test]
    fn a_reply_matches_its_question() {
        let select = |other| QuestionKind::Select {
            choices: ["red", "blue"]
                .map(|name| Choice {
                    value: name.to_owned(),
                    ..Choice::default()
                })
                .to_vec(),
            other,
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
                Err(
                    "the reply requires `confirmed`, true or false; or `cancelled: true`"
                        .to_owned(),
                ),
            ),
            (select(false), json!({"value": "blue"}), Ok(text("blue"))),
            (select(true), json!({"value": "green"}), Ok(text("green"))),
            (
                select(false),
                json!({"value": "green"}),
                Err("`value` must be one of `red`, `blue`".to_owned()),
            ),
            (
                select(false),
                json!({"answer": {"type": "dismissed"}}),
                Ok(Answer::Dismissed),
            ),
        ];
        for (kind, fields, expected) in cases {
            assert_eq!(answer_of(kind, &fields), expected, "{fields}");
        }
    }

    #[test]
    fn a_question_times_out_once() {
        let now = Instant::now();
        let mut requests = OpenQuestions {
            timeout: Some(Duration::from_millis(5)),
            ..OpenQuestions::default()
        };
        let request = requests.ask(&question(QuestionKind::Confirm), now).unwrap();
        assert_eq!(request.timeout_ms, Some(5));
        assert_eq!(requests.timed_out(now), Vec::<String>::new());
        let expired = requests.next_deadline().unwrap();
        assert_eq!(requests.timed_out(expired), ["q"]);
        assert_eq!(requests.timed_out(expired), Vec::<String>::new());
        let closed = UiClosed {
            id: "q".to_owned(),
            reason: CloseReason::Timeout,
        };
        assert_eq!(requests.close("q"), Some(closed));
        assert_eq!(requests.close("q"), None);
    }

    #[test]
    fn no_question_is_asked_without_a_user() {
        let mut requests = OpenQuestions::default();
        requests
            .ask(&question(QuestionKind::Confirm), Instant::now())
            .unwrap();
        assert_eq!(requests.set_no_user(), ["q"]);
        let question = question(QuestionKind::Confirm);
        assert_eq!(requests.ask(&question, Instant::now()), None);
    }
}
