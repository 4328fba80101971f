//! `osier config schema --json` prints the schemas.

use serde_json::Value;

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

#[test]
fn the_schema_of_the_settings_is_printed() {
    let expected = osier_settings::schema::settings_schema();
    assert_eq!(
        (schema(""), schema("settings")),
        (expected.clone(), expected)
    );
}

#[test]
fn the_schemas_of_keymaps_and_themes_are_printed() {
    assert_eq!(schema("keymap"), osier_tui::keymap_schema());
    assert_eq!(schema("theme"), osier_tui::theme_schema());
}
