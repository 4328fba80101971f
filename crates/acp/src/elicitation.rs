//! Elicitation: questions as forms of the editor, and URLs to visit. A form never asks for a secret.
//!
//! These messages are written by hand, because the types of the schema crate sort the fields of a form by name.

use agent_client_protocol_schema::v1 as acp;
use serde_json::{Map, Value, json};

use crate::jsonrpc::AcpClient;
use osier_protocol::form::{Field, FieldKind, Form, as_text};
use osier_protocol::questions::{Answer, Choice, Question, QuestionKind, Subject};

/// The main field of a question that is not a form.
const ANSWER: &str = "answer";

/// The field for another answer than the choices.
const OTHER: &str = "other";

/// Asks and waits, without a timeout. A question that the editor does not support is dismissed.
pub(super) async fn ask(
    client: &AcpClient,
    session: &acp::SessionId,
    question: &Question,
) -> Answer {
    let capabilities = client.capabilities.elicitation.as_ref();
    let Some(mut params) = capabilities.and_then(|capabilities| request(question, capabilities))
    else {
        return Answer::Dismissed;
    };
    params["sessionId"] = json!(session);
    let method = acp::CLIENT_METHOD_NAMES.elicitation_create;
    let response = client.request(method, params).await;
    response.map_or(Answer::Dismissed, |response| {
        answer(&question.kind, &response)
    })
}

/// The parameters without the session; `None` if the editor does not support the question.
fn request(question: &Question, capabilities: &acp::ElicitationCapabilities) -> Option<Value> {
    let mut message = format!("{}: {}", question.origin, question.title);
    if let Some(Subject::Text { text }) = &question.subject {
        message = format!("{message}\n\n{text}");
    }
    match &question.kind {
        QuestionKind::Visit { url } if capabilities.supports_url() => Some(json!({
            "mode": "url", "message": message, "url": url, "elicitationId": question.id,
        })),
        kind if capabilities.supports_form() => {
            let schema = form_schema(kind, &question.title)?;
            Some(json!({"mode": "form", "message": message, "requestedSchema": schema}))
        }
        _ => None,
    }
}

/// The form for a question; `None` for a question that a form cannot ask.
fn form_schema(kind: &QuestionKind, title: &str) -> Option<Value> {
    let single = |mut field: Value| {
        field["title"] = json!(title);
        let properties = Map::from_iter([(ANSWER.to_owned(), field)]);
        json!({"type": "object", "properties": properties, "required": [ANSWER]})
    };
    match kind {
        QuestionKind::Select { choices, other } => {
            let choices: Vec<Value> = choices.iter().map(choice).collect();
            let mut schema = single(json!({"type": "string", "oneOf": choices}));
            if *other {
                schema["properties"][OTHER] = json!({"type": "string", "title": "Other answer"});
                schema["required"] = json!([]);
            }
            Some(schema)
        }
        QuestionKind::Input {
            placeholder,
            prefill,
            secret: false,
            ..
        } => Some(single(text_field(placeholder, prefill))),
        QuestionKind::Form { schema } => {
            let form = Form::new(schema);
            let fields = form.fields.iter();
            let properties: Map<String, Value> = fields
                .map(|field| (field.name.clone(), field_schema(field)))
                .collect();
            let required = form.fields.iter().filter(|field| field.required);
            let required: Vec<&str> = required.map(|field| field.name.as_str()).collect();
            Some(json!({"type": "object", "properties": properties, "required": required}))
        }
        _ => None,
    }
}

fn text_field(description: &str, default: &str) -> Value {
    let mut field = json!({"type": "string"});
    for (name, text) in [("description", description), ("default", default)] {
        if !text.is_empty() {
            field[name] = json!(text);
        }
    }
    field
}

fn choice(choice: &Choice) -> Value {
    let mut option = json!({"const": choice.value, "title": choice.label});
    if !choice.description.is_empty() {
        option["description"] = json!(choice.description);
    }
    option
}

fn field_schema(field: &Field) -> Value {
    let options = |choices: &[(Value, String)]| -> Vec<Value> {
        let options = choices.iter();
        options
            .map(|(value, label)| json!({"const": as_text(value), "title": label}))
            .collect()
    };
    let mut schema = match &field.kind {
        FieldKind::Text { min, max, format } => {
            let mut schema = json!({"type": "string"});
            set(&mut schema, "minLength", *min);
            set(&mut schema, "maxLength", *max);
            let known = ["email", "uri", "date", "date-time"];
            let format = format.as_deref().filter(|format| known.contains(format));
            set(&mut schema, "format", format);
            schema
        }
        FieldKind::Number { whole, min, max } => {
            let mut schema = json!({"type": if *whole { "integer" } else { "number" }});
            let value = |limit: f64| match whole {
                true => json!(limit as i64),
                false => json!(limit),
            };
            set(&mut schema, "minimum", min.map(value));
            set(&mut schema, "maximum", max.map(value));
            schema
        }
        FieldKind::Flag => json!({"type": "boolean"}),
        FieldKind::Choice(choices) => json!({"type": "string", "oneOf": options(choices)}),
        FieldKind::Several { choices, min, max } => {
            let mut schema = json!({"type": "array", "items": {"anyOf": options(choices)}});
            set(&mut schema, "minItems", *min);
            set(&mut schema, "maxItems", *max);
            schema
        }
    };
    schema["title"] = json!(field.title);
    if !field.description.is_empty() {
        schema["description"] = json!(field.description);
    }
    if !field.default.is_empty() {
        let default = match &field.kind {
            FieldKind::Text { .. } | FieldKind::Choice(_) => Some(json!(field.default)),
            // The default of other kinds is JSON.
            _ => serde_json::from_str(&field.default).ok(),
        };
        set(&mut schema, "default", default);
    }
    schema
}

fn set(schema: &mut Value, name: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        schema[name] = value.into();
    }
}

/// The answer in the response to an elicitation.
fn answer(kind: &QuestionKind, response: &Value) -> Answer {
    let content = match response["action"].as_str() {
        Some("accept") => &response["content"],
        Some("decline") => return Answer::Refuse { reason: None },
        _ => return Answer::Dismissed,
    };
    match kind {
        QuestionKind::Visit { .. } => Answer::Yes,
        QuestionKind::Form { schema } => {
            let form = Form::new(schema);
            let fields = form.fields.iter();
            let texts: Vec<String> = fields.map(|field| as_text(&content[&field.name])).collect();
            match form.values(&texts) {
                Ok(values) => Answer::Values { values },
                Err(errors) => {
                    let errors = errors.into_iter();
                    let errors: Vec<String> = errors
                        .map(|(index, error)| format!("`{}` {error}", form.fields[index].name))
                        .collect();
                    let reason = Some(errors.join("; "));
                    Answer::Refuse { reason }
                }
            }
        }
        _ => {
            let other = content[OTHER].as_str();
            let other = other.filter(|text| !text.trim().is_empty());
            match other.or(content[ANSWER].as_str()) {
                Some(text) => Answer::Text {
                    text: text.to_owned(),
                },
                None => Answer::Dismissed,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn select(other: bool) -> QuestionKind {
        QuestionKind::Select {
            choices: vec![Choice {
                value: "a".to_owned(),
                label: "The first".to_owned(),
                description: String::new(),
            }],
            other,
        }
    }

    #[test]
    fn choice_is_a_form_with_one_field() {
        let kind = select(false);
        assert_eq!(
            form_schema(&kind, "Which?"),
            Some(json!({
                "type": "object", "required": ["answer"],
                "properties": {"answer": {
                    "type": "string", "title": "Which?",
                    "oneOf": [{"const": "a", "title": "The first"}],
                }},
            }))
        );
        let accepted = json!({"action": "accept", "content": {"answer": "a"}});
        let text = "a".to_owned();
        assert_eq!(answer(&kind, &accepted), Answer::Text { text });
        let declined = json!({"action": "decline"});
        assert_eq!(answer(&kind, &declined), Answer::Refuse { reason: None });
        assert_eq!(
            answer(&kind, &json!({"action": "cancel"})),
            Answer::Dismissed
        );
    }

    #[test]
    fn other_answer_is_a_second_field() {
        let kind = select(true);
        let form = json!({
            "type": "object", "required": [],
            "properties": {
                "answer": {
                    "type": "string", "title": "Which?",
                    "oneOf": [{"const": "a", "title": "The first"}],
                },
                "other": {"type": "string", "title": "Other answer"},
            },
        });
        assert_eq!(form_schema(&kind, "Which?"), Some(form));
        for (content, text) in [
            (json!({"answer": "a"}), "a"),
            (json!({"answer": "a", "other": " "}), "a"),
            (json!({"answer": "a", "other": "neither"}), "neither"),
            (json!({"other": "neither"}), "neither"),
        ] {
            let accepted = json!({"action": "accept", "content": content});
            let text = text.to_owned();
            assert_eq!(answer(&kind, &accepted), Answer::Text { text });
        }
        let empty = json!({"action": "accept", "content": {}});
        assert_eq!(answer(&kind, &empty), Answer::Dismissed);
    }

    #[test]
    fn form_preserves_types_and_order() {
        let schema = json!({"type": "object", "required": ["count"], "properties": {
            "sure": {"type": "boolean", "default": true},
            "count": {"type": "integer", "minimum": 1, "title": "How many"},
            "kind": {"type": "string", "enum": ["x", "y"]},
        }});
        let kind = QuestionKind::Form { schema };
        let form = json!({"type": "object", "properties": {
            "sure": {"type": "boolean", "title": "sure", "default": true},
            "count": {"type": "integer", "minimum": 1, "title": "How many"},
            "kind": {
                "type": "string",
                "oneOf": [{"const": "x", "title": "x"}, {"const": "y", "title": "y"}],
                "title": "kind",
            },
        }, "required": ["count"]});
        let sent = form_schema(&kind, "").map(|schema| schema.to_string());
        assert_eq!(sent, Some(form.to_string()));
        let content = json!({"sure": false, "count": 3, "kind": "y"});
        let accepted = json!({"action": "accept", "content": content});
        let values = Map::from_iter([
            ("sure".to_owned(), json!(false)),
            ("count".to_owned(), json!(3)),
            ("kind".to_owned(), json!("y")),
        ]);
        assert_eq!(answer(&kind, &accepted), Answer::Values { values });
    }

    #[test]
    fn invalid_content_is_refused_with_a_reason() {
        let schema =
            json!({"type": "object", "properties": {"count": {"type": "integer", "minimum": 1}}});
        let invalid = json!({"action": "accept", "content": {"count": 0}});
        let reason = Some("`count` has to be at least 1".to_owned());
        assert_eq!(
            answer(&QuestionKind::Form { schema }, &invalid),
            Answer::Refuse { reason }
        );
    }

    #[test]
    fn secret_is_never_a_form() {
        let kind = QuestionKind::Input {
            placeholder: String::new(),
            prefill: String::new(),
            multiline: false,
            secret: true,
        };
        assert_eq!(form_schema(&kind, "Key?"), None);
    }
}
