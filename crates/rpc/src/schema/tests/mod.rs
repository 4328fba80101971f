//! Generates `docs/rpc.schema.json` from the types, and the lists of `docs/rpc.md`.

mod generator;
mod page;

use std::path::{Path, PathBuf};

use osier_testing::pages;

use super::*;

fn docs(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs")
        .join(name)
}

// recipe: a request of the protocol, 4: `tests/it/rpc/commands.rs`: a call of it
// recipe: a request of the protocol, 3: `docs/rpc.md`: written with `docs/rpc.schema.json` by `UPDATE_DOCS=1 cargo test -p osier-rpc schema`
#[test]
fn the_schema_is_made_from_the_types() {
    let schema = generator::schema();
    let text = serde_json::to_string_pretty(&schema).unwrap();
    pages::check_file(&docs("rpc.schema.json"), &format!("{text}\n"));
    pages::check_part(&docs("rpc.md"), "commands", &page::commands());
    pages::check_part(&docs("rpc.md"), "events", &page::events(&schema));
}

// recipe: a slash command, 4: `docs/commands.md`: written by `UPDATE_DOCS=1 cargo test -p osier-rpc slash`
#[test]
fn the_page_of_slash_commands_is_made_from_their_table() {
    pages::check_file(&docs("commands.md"), &page::slash_commands());
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
