//! Questions as forms of the editor: elicitation of the protocol, which knows flat forms and addresses.
//! A secret is never asked for in a form.

use serde_json::{Map, Value, json};

use osier_protocol::form::{Field, FieldKind, Form, as_text};
use osier_protocol::questions::{Answer, Choice, QuestionKind};

/// The one field of a question that is no form.
const ANSWER: &str = "answer";

/// The form that asks the question; nothing when none can.
pub(super) fn schema(kind: &QuestionKind, title: &str) -> Option<Value> {
    let alone = |mut field: Value| {
        field["title"] = json!(title);
        let properties = Map::from_iter([(ANSWER.to_owned(), field)]);
        json!({"type": "object", "properties": properties, "required": [ANSWER]})
    };
    match kind {
        QuestionKind::Select { choices } => {
            let choices: Vec<Value> = choices.iter().map(choice).collect();
            Some(alone(json!({"type": "string", "oneOf": choices})))
        }
        QuestionKind::Input {
            placeholder,
            prefill,
            secret: false,
            ..
        } => Some(alone(text_field(placeholder, prefill))),
        QuestionKind::Form { schema } => {
            let form = Form::new(schema);
            let fields = form.fields.iter();
            let properties: Map<String, Value> = fields
                .map(|asked| (asked.name.clone(), field(asked)))
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

/// A field as the protocol has it.
fn field(asked: &Field) -> Value {
    let options = |choices: &[(Value, String)]| -> Vec<Value> {
        let options = choices.iter();
        options
            .map(|(value, label)| json!({"const": as_text(value), "title": label}))
            .collect()
    };
    let mut field = match &asked.kind {
        FieldKind::Text { min, max, format } => {
            let mut field = json!({"type": "string"});
            bound(&mut field, "minLength", min.map(Value::from));
            bound(&mut field, "maxLength", max.map(Value::from));
            let known = ["email", "uri", "date", "date-time"];
            let format = format.as_deref().filter(|format| known.contains(format));
            bound(&mut field, "format", format.map(Value::from));
            field
        }
        FieldKind::Number { whole, min, max } => {
            let mut field = json!({"type": if *whole { "integer" } else { "number" }});
            let value = |bound: f64| match whole {
                true => json!(bound as i64),
                false => json!(bound),
            };
            bound(&mut field, "minimum", min.map(value));
            bound(&mut field, "maximum", max.map(value));
            field
        }
        FieldKind::Flag => json!({"type": "boolean"}),
        FieldKind::Choice(choices) => json!({"type": "string", "oneOf": options(choices)}),
        FieldKind::Several { choices, min, max } => {
            let mut field = json!({"type": "array", "items": {"anyOf": options(choices)}});
            bound(&mut field, "minItems", min.map(Value::from));
            bound(&mut field, "maxItems", max.map(Value::from));
            field
        }
    };
    field["title"] = json!(asked.title);
    if !asked.description.is_empty() {
        field["description"] = json!(asked.description);
    }
    if !asked.default.is_empty() {
        let default = match &asked.kind {
            FieldKind::Text { .. } | FieldKind::Choice(_) => json!(asked.default),
            // Flags, numbers and lists are JSON as text, too.
            _ => serde_json::from_str(&asked.default).unwrap_or_default(),
        };
        bound(&mut field, "default", Some(default));
    }
    field
}

fn bound(field: &mut Value, name: &str, value: Option<Value>) {
    if let Some(value) = value.filter(|value| !value.is_null()) {
        field[name] = value;
    }
}

/// What the person has decided by the `action` of a form or an address.
pub(super) fn answered(kind: &QuestionKind, answer: &Value) -> Answer {
    let given = match answer["action"].as_str() {
        Some("accept") => &answer["content"],
        Some("decline") => return Answer::Refuse { reason: None },
        _ => return Answer::Dismissed,
    };
    match kind {
        QuestionKind::Visit { .. } => Answer::Yes,
        QuestionKind::Form { schema } => {
            let form = Form::new(schema);
            let fields = form.fields.iter();
            let texts: Vec<String> = fields.map(|field| as_text(&given[&field.name])).collect();
            match form.values(&texts) {
                Ok(values) => Answer::Values { values },
                Err(faults) => {
                    let faults = faults.into_iter();
                    let faults: Vec<String> = faults
                        .map(|(place, fault)| format!("`{}` {fault}", form.fields[place].name))
                        .collect();
                    let reason = Some(faults.join("; "));
                    Answer::Refuse { reason }
                }
            }
        }
        _ => match given[ANSWER].as_str() {
            Some(text) => Answer::Text {
                text: text.to_owned(),
            },
            None => Answer::Dismissed,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_a_form_of_one_field() {
        let kind = QuestionKind::Select {
            choices: vec![Choice {
                value: "a".to_owned(),
                label: "The first".to_owned(),
                description: String::new(),
            }],
        };
        assert_eq!(
            schema(&kind, "Which?"),
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
        assert_eq!(answered(&kind, &accepted), Answer::Text { text });
        let declined = json!({"action": "decline"});
        assert_eq!(answered(&kind, &declined), Answer::Refuse { reason: None });
        assert_eq!(
            answered(&kind, &json!({"action": "cancel"})),
            Answer::Dismissed
        );
    }

    #[test]
    fn a_form_keeps_its_types_both_ways() {
        let given = json!({"type": "object", "required": ["count"], "properties": {
            "count": {"type": "integer", "minimum": 1, "title": "How many"},
            "sure": {"type": "boolean", "default": true},
            "kind": {"type": "string", "enum": ["x", "y"]},
        }});
        let kind = QuestionKind::Form { schema: given };
        let form = schema(&kind, "").unwrap();
        assert_eq!(
            form["properties"]["count"],
            json!({"type": "integer", "minimum": 1, "title": "How many"})
        );
        assert_eq!(form["properties"]["sure"]["default"], true);
        assert_eq!(form["properties"]["kind"]["oneOf"][1]["const"], "y");
        let content = json!({"count": 3, "sure": false, "kind": "y"});
        let accepted = json!({"action": "accept", "content": content});
        let Answer::Values { values } = answered(&kind, &accepted) else {
            panic!("no values");
        };
        assert_eq!(Value::Object(values), content);
        let wrong = json!({"action": "accept", "content": {"count": 0}});
        let refused = answered(&kind, &wrong);
        assert!(
            matches!(&refused, Answer::Refuse { reason: Some(reason) } if reason.starts_with("`count` ")),
            "{refused:?}"
        );
    }

    #[test]
    fn a_secret_is_no_form() {
        let kind = QuestionKind::Input {
            placeholder: String::new(),
            prefill: String::new(),
            multiline: false,
            secret: true,
        };
        assert_eq!(schema(&kind, "Key?"), None);
    }
}
