//! The forms of values: what they accept in words, the values to choose from, and their JSON Schema.

use serde_json::{Value, json};

use osier_base::words::Word as _;
use osier_llm::{ToolForm, Verbosity};

use super::values::FooterPart;

/// The form of a setting's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Flag,
    /// One of these words.
    Word(&'static [&'static str]),
    Text,
    /// A whole number from this one on.
    Number(u64),
    /// A number from 0, with or without a fraction.
    Amount,
    Texts,
    /// Each part of the footer at most once.
    Parts,
    FlagOrText,
    FlagOrTexts,
    /// Options by model.
    ModelTables,
    /// Language servers by name.
    ServerTables,
}

impl Form {
    /// All possible values; empty when there are too many.
    pub(super) fn choices(self) -> Vec<String> {
        match self {
            Self::Flag => vec!["true".to_owned(), "false".to_owned()],
            Self::Word(words) => words.iter().map(|word| format!("\"{word}\"")).collect(),
            _ => Vec::new(),
        }
    }

    /// The values in words; empty for forms whose settings describe their values themselves.
    pub(super) fn in_words(self) -> String {
        match self {
            Self::Flag => "true or false".to_owned(),
            Self::Word([words @ .., last]) => format!("{} or {last}", words.join(", ")),
            Self::Parts => format!("a list of {}", FooterPart::NAMES.join(", ")),
            _ => String::new(),
        }
    }

    pub(super) fn schema(self) -> Value {
        let texts = || json!({"type": "array", "items": {"type": "string"}});
        match self {
            Self::Flag => json!({"type": "boolean"}),
            Self::Word(words) => json!({"type": "string", "enum": words}),
            Self::Text => json!({"type": "string"}),
            Self::Number(least) => json!({"type": "integer", "minimum": least}),
            Self::Amount => json!({"type": "number", "minimum": 0}),
            Self::Texts => texts(),
            Self::Parts => {
                let names = FooterPart::NAMES;
                json!({"type": "array", "uniqueItems": true, "items": {"type": "string", "enum": names}})
            }
            Self::FlagOrText => json!({"type": ["boolean", "string"]}),
            Self::FlagOrTexts => json!({"anyOf": [{"type": "boolean"}, texts()]}),
            Self::ModelTables => tables(&json!({
                "tools": {"type": "string", "enum": ToolForm::NAMES},
                "verbosity": {"type": "string", "enum": Verbosity::NAMES},
                "service_tier": {"type": "string"},
                "parallel_calls": {"type": "boolean"},
            })),
            Self::ServerTables => tables(&json!({
                "command": texts(),
                "extensions": texts(),
                "markers": texts(),
                "options": {"type": "object"},
                "disabled": {"type": "boolean"},
            })),
        }
    }
}

/// Tables with these fields, by name.
fn tables(fields: &Value) -> Value {
    json!({"type": "object", "additionalProperties": {
        "type": "object",
        "properties": fields,
        "additionalProperties": false,
    }})
}
