//! The entry for the registry of ACP agents has the registry's format
//! (<https://github.com/agentclientprotocol/registry/blob/main/FORMAT.md>), and names this version of the program.

use std::path::Path;

use osier_testing::json_schema::JsonSchema;
use serde_json::{Value, json};

/// The format, as the registry documents it.
fn format() -> Value {
    let text = json!({"type": "string", "minLength": 1});
    let address = json!({"type": "string", "pattern": "^https://"});
    let target = json!({
        "type": "object",
        "required": ["archive", "cmd"],
        "properties": {
            "archive": {"type": "string", "pattern": "^https://.*\\.(zip|tar\\.gz|tgz|tar\\.bz2|tbz2)$"},
            "cmd": text,
            "args": {"type": "array", "items": text},
            "env": {"type": "object", "additionalProperties": text},
        },
        "additionalProperties": false,
    });
    let systems = "^(darwin|linux|windows)-(aarch64|x86_64)$";
    json!({
        "type": "object",
        "required": ["id", "name", "version", "description", "distribution"],
        "properties": {
            "id": {"type": "string", "pattern": "^[a-z][a-z0-9-]*$"},
            "name": text,
            "version": {"type": "string", "pattern": "^[0-9]+\\.[0-9]+\\.[0-9]+"},
            "description": text,
            "repository": address,
            "website": address,
            "authors": {"type": "array", "items": text},
            "license": text,
            "distribution": {
                "type": "object",
                "required": ["binary"],
                "properties": {"binary": {
                    "type": "object",
                    "minProperties": 1,
                    "patternProperties": {systems: target},
                    "additionalProperties": false,
                }},
                "additionalProperties": false,
            },
        },
        "additionalProperties": false,
    })
}

#[test]
fn entry_has_the_format_of_the_registry_and_the_version_of_the_program() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("integrations/acp-registry/osier");
    let text = std::fs::read_to_string(folder.join("agent.json")).unwrap();
    let entry: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(JsonSchema::new(&format()).errors(&entry), [""; 0]);
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(
        (&entry["id"], &entry["version"], &entry["license"]),
        (
            &json!("osier"),
            &json!(version),
            &json!(env!("CARGO_PKG_LICENSE"))
        )
    );
    for (system, target) in entry["distribution"]["binary"].as_object().unwrap() {
        let archive = target["archive"].as_str().unwrap();
        assert!(
            archive.contains(&format!("/v{version}/")),
            "{system}: {archive}"
        );
        assert_eq!(target["args"][0], "acp", "{system}");
    }
    let icon = std::fs::read_to_string(folder.join("icon.svg")).unwrap();
    for part in ["viewBox=\"0 0 16 16\"", "currentColor"] {
        assert!(icon.contains(part), "{part}");
    }
}
