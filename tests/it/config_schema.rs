//! `osier config schema --json`: the schemas accept real files and reject mistakes.

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
    serde_json::from_str(&ended.stdout).unwrap()
}

/// The mistakes in a TOML text.
fn faults(schema: &Value, text: &str) -> Vec<String> {
    let table: toml::Table = text.parse().unwrap();
    JsonSchema::new(schema).errors(&json!(table))
}

#[test]
fn the_schema_of_the_settings_is_printed() {
    let expected = osier_settings::schema::settings_schema();
    assert_eq!(
        (schema(""), schema("settings")),
        (expected.clone(), expected)
    );
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
