//! `osier config schema --json`: the schemas accept real files and reject mistakes.

#![expect(clippy::disallowed_methods, reason = "tests create their files")]

use std::path::Path;

use osier_testing::json_schema::JsonSchema;
use serde_json::{Value, json};

use crate::support::cli::Home;

fn schema(file: &str) -> Value {
    let home = Home::new();
    let mut cli = home.cli().args(["config", "schema", "--json"]);
    if !file.is_empty() {
        cli = cli.arg(file);
    }
    let ended = cli.run();
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    let schema = serde_json::from_str(&ended.stdout).unwrap();
    schema
}

/// What is wrong with a TOML text.
fn faults(schema: &Value, text: &str) -> Vec<String> {
    let table: toml::Table = text.parse().unwrap();
    JsonSchema::new(schema).errors(&json!(table))
}

#[test]
fn settings_schema_in_the_documentation_is_current() {
    let schema = schema("");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/settings.schema.json");
    let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(written, text, "run with UPDATE_DOCS=1");
}

#[test]
fn settings_schema_accepts_samples_and_rejects_mistakes() {
    let schema = schema("settings");
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
    assert_eq!(faults(&schema, sample), [""; 0]);
    for (mistake, path) in [
        ("permissions = \"askk\"", "/permissions"),
        ("mouse = \"yes\"", "/mouse"),
        ("footer_left = [\"clock\"]", "/footer_left/0"),
        ("answer_timeout = 0", "/answer_timeout"),
        ("themes = \"nord\"", ""),
    ] {
        let found = faults(&schema, mistake);
        let is_there = found.len() == 1 && found[0].starts_with(&format!("{path}: "));
        assert!(is_there, "{mistake}: {found:?}");
    }
}

#[test]
fn built_in_keymaps_and_themes_fit_their_schemas() {
    for (kind, folder, mistake) in [
        (
            "keymap",
            "keymaps",
            "[global]\n\"ctrl+x\" = \"no_such_action\"\n",
        ),
        ("theme", "themes", "[tokens]\nno_such_token = \"red\"\n"),
    ] {
        let schema = schema(kind);
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        let mut count = 0;
        for file in std::fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            assert_eq!(faults(&schema, &text), [""; 0], "{}", path.display());
            count += 1;
        }
        assert!(count >= 3, "{kind}");
        assert_eq!(faults(&schema, mistake).len(), 1, "{mistake}");
    }
}

#[test]
fn a_new_settings_file_names_its_schema() {
    let home = Home::new();
    let url = "https://raw.githubusercontent.com/osier-dev/osier/main/docs/settings.schema.json";
    let path = home.work().join("new/settings.toml");
    osier_settings::write(&path, "theme", Some("\"nord\"")).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text, format!("#:schema {url}\ntheme = \"nord\"\n"));
}
