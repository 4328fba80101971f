//! A form, derived from the flat JSON schema of an MCP elicitation.
//!
//! The schema is untrusted: an unsupported field becomes a text field, never an error. The values match the
//! supported types and limits.

use serde_json::{Map, Number, Value};

/// The fields in the order of the schema.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Form {
    pub fields: Vec<Field>,
}

/// A field of the form.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// The key of the field in the answer.
    pub name: String,
    /// The title for people. Untrusted.
    pub title: String,
    pub description: String,
    pub required: bool,
    /// The default as text; empty when there is none.
    pub default: String,
    pub kind: FieldKind,
}

/// The type of a field.
#[derive(Debug, Clone, PartialEq)]
pub enum FieldKind {
    Text {
        min: Option<u64>,
        max: Option<u64>,
        format: Option<String>,
    },
    Number {
        whole: bool,
        min: Option<f64>,
        max: Option<f64>,
    },
    Flag,
    /// One of these choices: value and label.
    Choice(Vec<(Value, String)>),
    /// Any of these. As text it is a JSON list of the values.
    Several {
        choices: Vec<(Value, String)>,
        min: Option<u64>,
        max: Option<u64>,
    },
}

impl Form {
    /// The fields of `schema`. A schema that is not an object has none.
    pub fn new(schema: &Value) -> Self {
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
            return Self::default();
        };
        let required: Vec<&str> = schema
            .get("required")
            .and_then(Value::as_array)
            .map(|names| names.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default();
        let fields = properties
            .iter()
            .map(|(name, schema)| Field::new(name, schema, required.contains(&name.as_str())));
        Self {
            fields: fields.collect(),
        }
    }

    /// The values for `texts`, one per field; else an error message with the index of the field.
    pub fn values(&self, texts: &[String]) -> Result<Map<String, Value>, Vec<(usize, String)>> {
        let mut values = Map::new();
        let mut faults = Vec::new();
        for (place, field) in self.fields.iter().enumerate() {
            let text = texts.get(place).map_or("", String::as_str);
            match field.value(text) {
                Ok(Some(value)) => drop(values.insert(field.name.clone(), value)),
                Ok(None) => {}
                Err(fault) => faults.push((place, fault)),
            }
        }
        if faults.is_empty() {
            Ok(values)
        } else {
            Err(faults)
        }
    }

    /// Checks values that did not come from the texts of a form.
    ///
    /// # Errors
    /// The first field whose value is missing or invalid, and why.
    pub fn check(&self, values: &Map<String, Value>) -> Result<(), String> {
        for field in &self.fields {
            let value = values.get(&field.name).unwrap_or(&Value::Null);
            if !field.has_type_of(value) {
                return Err(format!("`{}` has the wrong type", field.name));
            }
            let checked = field.value(&as_text(value));
            checked.map_err(|fault| format!("`{}` {fault}", field.name))?;
        }
        Ok(())
    }
}

impl Field {
    /// Whether a value, if there is one, has the type of the field.
    fn has_type_of(&self, value: &Value) -> bool {
        value.is_null()
            || match &self.kind {
                FieldKind::Text { .. } => value.is_string(),
                FieldKind::Number { .. } => value.is_number(),
                FieldKind::Flag => value.is_boolean(),
                FieldKind::Choice(choices) => choices.iter().any(|(choice, _)| choice == value),
                FieldKind::Several { choices, .. } => value.as_array().is_some_and(|values| {
                    let mut values = values.iter();
                    values.all(|value| choices.iter().any(|(choice, _)| choice == value))
                }),
            }
    }

    fn new(name: &str, schema: &Value, required: bool) -> Self {
        let word = |key: &str| schema.get(key).and_then(Value::as_str).unwrap_or_default();
        let title = match word("title") {
            "" => name.to_owned(),
            title => title.to_owned(),
        };
        let kind = FieldKind::new(schema);
        let default = match (schema.get("default"), &kind) {
            (None | Some(Value::Null), FieldKind::Flag) => "false".to_owned(),
            (None | Some(Value::Null), _) => String::new(),
            (Some(value), _) => as_text(value),
        };
        Self {
            name: name.to_owned(),
            title,
            description: word("description").to_owned(),
            required,
            default,
            kind,
        }
    }

    /// The value for `text`; `None` when it is empty and optional.
    fn value(&self, text: &str) -> Result<Option<Value>, String> {
        if text.trim().is_empty() {
            return if self.required {
                Err("is required".to_owned())
            } else {
                Ok(None)
            };
        }
        match &self.kind {
            FieldKind::Flag => Ok(Some(Value::Bool(text == "true"))),
            FieldKind::Choice(choices) => choices
                .iter()
                .find(|(value, _)| as_text(value) == text)
                .map(|(value, _)| Some(value.clone()))
                .ok_or_else(|| "is not one of the choices".to_owned()),
            FieldKind::Several { choices, min, max } => {
                let marked = listed(text);
                let chosen = choices.iter().map(|(value, _)| value);
                let chosen = chosen.filter(|value| marked.contains(value));
                let chosen: Vec<Value> = chosen.cloned().collect();
                check_count(chosen.len() as u64, *min, *max)?;
                Ok(Some(Value::Array(chosen)))
            }
            FieldKind::Number { whole, min, max } => number(text.trim(), *whole, *min, *max),
            FieldKind::Text { min, max, format } => {
                let length = text.chars().count() as u64;
                check_length(length, *min, *max)?;
                check_format(text.trim(), format.as_deref())?;
                Ok(Some(Value::String(text.to_owned())))
            }
        }
    }
}

impl FieldKind {
    fn new(schema: &Value) -> Self {
        if let Some(choices) = choices(schema) {
            return Self::Choice(choices);
        }
        if let Some(choices) = schema.get("items").and_then(choices) {
            let bound = |key: &str| schema.get(key).and_then(Value::as_u64);
            return Self::Several {
                choices,
                min: bound("minItems"),
                max: bound("maxItems"),
            };
        }
        let bound = |key: &str| schema.get(key).and_then(Value::as_f64);
        let length = |key: &str| schema.get(key).and_then(Value::as_u64);
        match schema.get("type").and_then(Value::as_str) {
            Some("boolean") => Self::Flag,
            Some(kind @ ("number" | "integer")) => Self::Number {
                whole: kind == "integer",
                min: bound("minimum"),
                max: bound("maximum"),
            },
            _ => Self::Text {
                min: length("minLength"),
                max: length("maxLength"),
                format: schema
                    .get("format")
                    .and_then(Value::as_str)
                    .map(str::to_owned),
            },
        }
    }
}

/// `enum` with `enumNames`, or `oneOf` with `const` and `title`.
fn choices(schema: &Value) -> Option<Vec<(Value, String)>> {
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        let names = schema.get("enumNames").and_then(Value::as_array);
        let label = |place: usize, value: &Value| {
            let name = names.and_then(|names| names.get(place)?.as_str());
            name.map_or_else(|| as_text(value), str::to_owned)
        };
        let values = values.iter().enumerate();
        return Some(
            values
                .map(|(place, value)| (value.clone(), label(place, value)))
                .collect(),
        );
    }
    let listed = ["oneOf", "anyOf"]
        .into_iter()
        .find_map(|key| schema.get(key)?.as_array())?;
    let choices: Vec<(Value, String)> = listed
        .iter()
        .filter_map(|choice| {
            let value = choice.get("const")?;
            let title = choice.get("title").and_then(Value::as_str);
            Some((
                value.clone(),
                title.map_or_else(|| as_text(value), str::to_owned),
            ))
        })
        .collect();
    (!choices.is_empty()).then_some(choices)
}

/// A value as the user types it.
pub fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        value => value.to_string(),
    }
}

/// The selected values in the text of a multiple-choice field.
pub fn listed(text: &str) -> Vec<Value> {
    serde_json::from_str(text).unwrap_or_default()
}

fn number(
    text: &str,
    whole: bool,
    min: Option<f64>,
    max: Option<f64>,
) -> Result<Option<Value>, String> {
    let value = if whole {
        let number: i64 = text
            .parse()
            .map_err(|_| "has to be a whole number".to_owned())?;
        Number::from(number)
    } else {
        let number: f64 = text.parse().map_err(|_| "has to be a number".to_owned())?;
        match text.parse::<i64>() {
            Ok(whole) => Number::from(whole),
            Err(_) => Number::from_f64(number).ok_or("has to be a finite number")?,
        }
    };
    let size = value.as_f64().unwrap_or(0.0);
    match (min, max) {
        (Some(min), _) if size < min => Err(format!("has to be at least {min}")),
        (_, Some(max)) if size > max => Err(format!("has to be at most {max}")),
        _ => Ok(Some(Value::Number(value))),
    }
}

fn check_length(length: u64, min: Option<u64>, max: Option<u64>) -> Result<(), String> {
    match (min, max) {
        (Some(min), _) if length < min => Err(format!("needs at least {min} characters")),
        (_, Some(max)) if length > max => Err(format!("accepts at most {max} characters")),
        _ => Ok(()),
    }
}

fn check_count(count: u64, min: Option<u64>, max: Option<u64>) -> Result<(), String> {
    match (min, max) {
        (Some(min), _) if count < min => Err(format!("needs at least {min} of them")),
        (_, Some(max)) if count > max => Err(format!("accepts at most {max} of them")),
        _ => Ok(()),
    }
}

fn check_format(text: &str, format: Option<&str>) -> Result<(), String> {
    let fits = match format {
        Some("email") => text
            .split_once('@')
            .is_some_and(|(name, host)| !name.is_empty() && !host.is_empty()),
        Some("uri") => text
            .split_once(':')
            .is_some_and(|(scheme, rest)| !scheme.is_empty() && !rest.is_empty()),
        Some("date") => text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok(),
        Some("date-time") => text.parse::<jiff::Timestamp>().is_ok(),
        _ => true,
    };
    match (fits, format) {
        (false, Some("date-time")) => Err("has to be a time like 2026-01-31T12:00:00Z".to_owned()),
        (false, Some("date")) => Err("has to be a date like 2026-01-31".to_owned()),
        (false, Some(format)) => Err(format!("is not a valid {format}")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn form() -> Form {
        Form::new(&json!({
            "type": "object",
            "properties": {
                "name": {"type": "string", "title": "Your name", "minLength": 2},
                "age": {"type": "integer", "minimum": 1, "maximum": 150, "default": 7},
                "share": {"type": "number"},
                "loud": {"type": "boolean"},
                "size": {"enum": ["s", "m"], "enumNames": ["Small", "Medium"], "default": "m"},
                "mail": {"type": "string", "format": "email"},
                "odd": {"oneOf": [{"const": 1, "title": "One"}]},
                "day": {"type": "string", "format": "date"},
                "play": {
                    "type": "array",
                    "items": {"anyOf": [{"const": "g", "title": "Guitar"}, {"const": "p"}]},
                    "maxItems": 1,
                    "default": ["p"],
                },
            },
            "required": ["name", "size"],
        }))
    }

    fn texts(texts: [&str; 9]) -> Vec<String> {
        texts.map(str::to_owned).to_vec()
    }

    #[test]
    fn values_of_programs_are_checked() {
        let form = form();
        let checked = |more: Value| {
            let mut values = json!({"name": "Ada", "size": "m"});
            for (name, value) in more.as_object().unwrap() {
                values[name] = value.clone();
            }
            form.check(values.as_object().unwrap())
        };
        let valid =
            json!({"age": 3, "share": 0.5, "loud": true, "odd": 1, "play": ["g"], "extra": 1});
        assert_eq!(checked(valid), Ok(()));
        for (wrong, fault) in [
            (json!({"name": null}), "`name` is required"),
            (json!({"name": "A"}), "`name` needs at least 2 characters"),
            (json!({"name": 1}), "`name` has the wrong type"),
            (json!({"age": "3"}), "`age` has the wrong type"),
            (json!({"age": 1.5}), "`age` has to be a whole number"),
            (json!({"age": 151}), "`age` has to be at most 150"),
            (json!({"loud": "true"}), "`loud` has the wrong type"),
            (json!({"size": "x"}), "`size` has the wrong type"),
            (json!({"mail": "x"}), "`mail` is not a valid email"),
            (json!({"play": ["x"]}), "`play` has the wrong type"),
            (
                json!({"play": ["g", "p"]}),
                "`play` accepts at most 1 of them",
            ),
        ] {
            assert_eq!(checked(wrong.clone()), Err(fault.to_owned()), "{wrong}");
        }
    }

    #[test]
    fn values_have_the_types_of_the_schema() {
        let form = form();
        let defaults: Vec<&str> = form
            .fields
            .iter()
            .map(|field| field.default.as_str())
            .collect();
        assert_eq!(defaults, ["", "7", "", "false", "m", "", "", "", "[\"p\"]"]);
        assert_eq!(form.fields[0].title, "Your name");
        let given = texts([
            "Ada",
            "36",
            "0.5",
            "true",
            "s",
            "",
            "1",
            "2026-02-28",
            "[\"g\"]",
        ]);
        let expected = json!({
            "name": "Ada", "age": 36, "share": 0.5, "loud": true, "size": "s", "odd": 1,
            "day": "2026-02-28", "play": ["g"],
        });
        assert_eq!(Value::Object(form.values(&given).unwrap()), expected);
    }

    #[test]
    fn every_fault_names_its_field() {
        let given = texts([
            "A",
            "200",
            "x",
            "false",
            "",
            "here",
            "2",
            "2026-02-30",
            "[\"g\",\"p\"]",
        ]);
        let faults = form().values(&given).unwrap_err();
        let shown: Vec<(usize, &str)> = faults
            .iter()
            .map(|(place, fault)| (*place, fault.as_str()))
            .collect();
        let expected = [
            (0, "needs at least 2 characters"),
            (1, "has to be at most 150"),
            (2, "has to be a number"),
            (4, "is required"),
            (5, "is not a valid email"),
            (6, "is not one of the choices"),
            (7, "has to be a date like 2026-01-31"),
            (8, "accepts at most 1 of them"),
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn an_invalid_schema_has_no_fields() {
        assert_eq!(Form::new(&json!("nonsense")), Form::default());
        assert_eq!(Form::default().values(&[]), Ok(Map::new()));
    }
}
