//! JSON Schemas of configuration files, from which editors complete, describe and check them.

use serde_json::{Map, Value, json};

use super::table::{SETTINGS, Setting};

/// The dialect that editors of TOML read.
pub const DIALECT: &str = "http://json-schema.org/draft-07/schema#";

/// The address of the schema of `settings.toml`.
pub const SETTINGS_SCHEMA: &str =
    "https://raw.githubusercontent.com/osier-dev/osier/main/docs/settings.schema.json";

impl Setting {
    /// The schema of the value.
    fn schema(&self) -> Value {
        let mut schema = self.form.schema();
        schema["description"] = json!(format!("{} Accepts {}.", self.description, self.accepts()));
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
    use crate::form::Form;

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
        for setting in SETTINGS.iter() {
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
        for setting in SETTINGS.iter() {
            let property = &properties[setting.name];
            let has_default = property.get("default").is_some();
            assert_eq!(has_default, !setting.default.is_empty(), "{}", setting.name);
            if let Some(default) = property.get("default") {
                let object = json!({ setting.name: default });
                assert!(validator.is_valid(&object), "{object}");
            }
        }
    }

    #[test]
    fn the_schema_accepts_samples_and_rejects_mistakes() {
        let validator = JsonSchema::new(&settings_schema());
        let faults = |text: &str| {
            let table: toml::Table = text.parse().unwrap();
            let table = json!(table);
            let errors = validator.errors(&table).into_iter();
            let places = errors.filter_map(|error| Some(error.split_once(": ")?.0.to_owned()));
            places.collect::<Vec<_>>()
        };
        let sample = r#"
            #:schema ./settings.schema.json
            model = "anthropic/claude-opus-5:high"
            models = ["anthropic/*", "gpt-5"]
            thinking = "xhigh"
            theme = "nord/light"
            footer_left = ["cwd", "branch"]
            idle_timeout = 60
            refresh_models = "https://example.org/api.json"
            permissions = "ask"
            deny = ["bash(rm *)"]
            sandbox = "read-only"
            sandbox_network = ["example.org"]
        "#;
        assert_eq!(faults(sample), [""; 0]);
        for (mistake, path) in [
            ("permissions = \"askk\"", "/permissions"),
            ("mouse = \"yes\"", "/mouse"),
            ("footer_left = [\"clock\"]", "/footer_left/0"),
            ("footer_left = [\"cwd\", \"cwd\"]", "/footer_left"),
            ("answer_timeout = 0", "/answer_timeout"),
            ("idle_timeout = 0", "/idle_timeout"),
            ("themes = \"nord\"", ""),
            ("colour = true", ""),
        ] {
            assert_eq!(faults(mistake), [path], "{mistake}");
        }
    }

    // recipe: a setting, 4: `docs/settings.schema.json`: written by `UPDATE_DOCS=1 cargo test -p osier-settings schema`
    #[test]
    fn the_schema_in_the_documentation_is_current() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/settings.schema.json");
        let text = serde_json::to_string_pretty(&settings_schema()).unwrap() + "\n";
        osier_testing::pages::check_file(&path, &text);
    }
}
