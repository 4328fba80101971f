//! JSON Schemas of configuration files, from which editors complete, describe and check them.

use serde_json::{Map, Value, json};

use super::screen::FooterPart;
use super::{SETTINGS, Setting};

/// The dialect that editors of TOML read.
pub const DIALECT: &str = "http://json-schema.org/draft-07/schema#";

/// The address of the schema of `settings.toml`.
pub const SETTINGS_SCHEMA: &str =
    "https://raw.githubusercontent.com/osier-dev/osier/main/docs/settings.schema.json";

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
    fn schema(self) -> Value {
        let texts = || json!({"type": "array", "items": {"type": "string"}});
        match self {
            Self::Flag => json!({"type": "boolean"}),
            Self::Word(words) => json!({"type": "string", "enum": words}),
            Self::Text => json!({"type": "string"}),
            Self::Number(least) => json!({"type": "integer", "minimum": least}),
            Self::Amount => json!({"type": "number", "minimum": 0}),
            Self::Texts => texts(),
            Self::Parts => {
                let names = FooterPart::ALL.map(|(name, _)| name);
                json!({"type": "array", "uniqueItems": true, "items": {"type": "string", "enum": names}})
            }
            Self::FlagOrText => json!({"type": ["boolean", "string"]}),
            Self::FlagOrTexts => json!({"anyOf": [{"type": "boolean"}, texts()]}),
            Self::ModelTables => json!({"type": "object", "additionalProperties": {
                "type": "object",
                "properties": {
                    "tools": {"type": "string", "enum": ["edit", "patch", "gemini"]},
                    "verbosity": {"type": "string", "enum": ["low", "medium", "high"]},
                    "service_tier": {"type": "string"},
                    "parallel_calls": {"type": "boolean"},
                },
                "additionalProperties": false,
            }}),
            Self::ServerTables => json!({"type": "object", "additionalProperties": {
                "type": "object",
                "properties": {
                    "command": texts(),
                    "extensions": texts(),
                    "markers": texts(),
                    "options": {"type": "object"},
                    "disabled": {"type": "boolean"},
                },
                "additionalProperties": false,
            }}),
        }
    }
}

impl Setting {
    /// The schema of the value.
    fn schema(&self) -> Value {
        let mut schema = self.form.schema();
        schema["description"] = json!(format!("{} Accepts {}.", self.description, self.accepts));
        let default = format!("value = {}", self.default).parse::<toml::Table>();
        if let Some(default) = default.ok().and_then(|mut table| table.remove("value")) {
            schema["default"] = json!(default);
        }
        schema
    }
}

/// The schema of `settings.toml`.
pub fn settings_schema() -> Value {
    let properties = SETTINGS
        .iter()
        .map(|setting| (setting.name.to_owned(), setting.schema()));
    let properties: Map<String, Value> = properties.collect();
    json!({
        "$schema": DIALECT,
        "$id": SETTINGS_SCHEMA,
        "title": "settings.toml of osier",
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use osier_testing::json_schema::JsonSchema;
    use toml::Value as Toml;

    use super::*;
    use crate::Settings;

    /// Whether osier accepts a value.
    fn accepts(setting: &Setting, value: &Toml) -> bool {
        let text = format!("{} = {value}\n", setting.name);
        Settings::parse(Path::new(""), &text).1.is_empty()
    }

    /// The forms and the functions that read the values agree: what the schema excludes is invalid.
    #[test]
    fn forms_agree_with_how_values_are_read() {
        let samples = [
            Toml::Boolean(true),
            Toml::Integer(0),
            Toml::Integer(7),
            Toml::Integer(-1),
            Toml::Float(1.5),
            Toml::String("no such word".to_owned()),
            Toml::String("https://example.org".to_owned()),
            Toml::Array(Vec::new()),
            Toml::Array(vec![Toml::String("bash(ls)".to_owned())]),
            Toml::Array(vec![Toml::Integer(1)]),
            Toml::Table(toml::Table::new()),
        ];
        for setting in SETTINGS {
            let validator = JsonSchema::new(&setting.schema());
            for sample in &samples {
                let in_schema = validator.is_valid(&json!(sample));
                if accepts(setting, sample) {
                    assert!(in_schema, "{} = {sample}", setting.name);
                }
                // A text can be invalid for other reasons.
                if in_schema && !matches!(sample, Toml::String(_) | Toml::Array(_)) {
                    assert!(accepts(setting, sample), "{} = {sample}", setting.name);
                }
            }
            if let Form::Word(words) = setting.form {
                for word in words {
                    let word = Toml::String((*word).to_owned());
                    assert!(accepts(setting, &word), "{} = {word}", setting.name);
                }
                let (last, first) = words.split_last().unwrap();
                let listed = format!("{} or {last}", first.join(", "));
                if !first.is_empty() {
                    assert_eq!(setting.accepts, listed, "{}", setting.name);
                }
            }
        }
    }

    #[test]
    fn every_setting_is_in_the_schema_with_its_default() {
        let schema = settings_schema();
        let validator = JsonSchema::new(&schema);
        let properties = schema["properties"].as_object().unwrap();
        let names: Vec<&str> = SETTINGS.iter().map(|setting| setting.name).collect();
        assert_eq!(properties.keys().collect::<Vec<_>>(), names);
        for setting in SETTINGS {
            let property = &properties[setting.name];
            let has_default = property.get("default").is_some();
            assert_eq!(has_default, !setting.default.is_empty(), "{}", setting.name);
            if let Some(default) = property.get("default") {
                let object = json!({ setting.name: default });
                assert!(validator.is_valid(&object), "{object}");
            }
        }
        for (sample, is_valid) in [
            (
                "theme = \"nord\"\nmodels = [\"a\"]\nsandbox_network = [\"example.org\"]\n",
                true,
            ),
            ("permissions = \"askk\"\n", false),
            ("footer_left = [\"cwd\", \"cwd\"]\n", false),
            ("colour = true\n", false),
            ("idle_timeout = 0\n", false),
        ] {
            let table: toml::Table = sample.parse().unwrap();
            assert_eq!(validator.is_valid(&json!(table)), is_valid, "{sample}");
        }
    }
}
