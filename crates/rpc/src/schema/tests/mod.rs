//! Generates `docs/rpc.schema.json` from the types, and the lists of `docs/rpc.md`.

mod generator;
mod page;

use std::path::Path;

use super::*;

/// Compares a generated file with its expected content, or writes it with `UPDATE_DOCS`.
fn check_file(name: &str, expected: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(name);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        osier_base::atomic_file::write(&path, expected.as_bytes()).unwrap();
        return;
    }
    let found = std::fs::read_to_string(&path).unwrap();
    assert!(
        found == expected,
        "{name} is out of date; run the test with UPDATE_DOCS=1"
    );
}

#[test]
fn the_schema_is_made_from_the_types() {
    let schema = generator::schema();
    let text = serde_json::to_string_pretty(&schema).unwrap();
    check_file("docs/rpc.schema.json", &format!("{text}\n"));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rpc.md");
    let page = std::fs::read_to_string(path).unwrap();
    let (before, rest) = page.split_once("<!-- commands -->\n").unwrap();
    let (_, after) = rest.split_once("<!-- /commands -->\n").unwrap();
    let (between, rest) = after.split_once("<!-- events -->\n").unwrap();
    let (_, after) = rest.split_once("<!-- /events -->\n").unwrap();
    let (commands, events) = (page::commands(), page::events(&schema));
    let expected = format!(
        "{before}<!-- commands -->\n{commands}<!-- /commands -->\n{between}<!-- events -->\n{events}<!-- /events -->\n{after}"
    );
    check_file("docs/rpc.md", &expected);
}

#[test]
fn the_page_of_slash_commands_is_made_from_their_table() {
    check_file("docs/commands.md", &page::slash_commands());
}

#[test]
fn the_written_schema_is_the_file() {
    let mut written = Vec::new();
    write(&mut written).unwrap();
    let file = include_bytes!("../../../../../docs/rpc.schema.json");
    assert!(written == file, "the build script compressed another file");
}

#[test]
fn every_op_has_a_command_with_its_parameters() {
    generator::check_ops();
}
