//! The description of the interface, `docs/openapi.json`, made from the table of paths and the types.

use std::path::Path;

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::fault::CODES;
use super::frames::ClientFrame;
use super::html::{MarkdownBlocks, MarkdownTexts};
use super::routes::{Gives, ROUTES};
use super::sessions::{Login, NewSession, ServerStatus, Sessions};
use osier_hub::RoomInfo;
use osier_rpc::Response;

fn schemas() -> Value {
    let settings = SchemaSettings::openapi3();
    let mut made = settings.into_generator();
    made.subschema_for::<ClientFrame>();
    made.subschema_for::<Login>();
    made.subschema_for::<MarkdownBlocks>();
    made.subschema_for::<MarkdownTexts>();
    made.subschema_for::<NewSession>();
    made.subschema_for::<Response>();
    made.subschema_for::<RoomInfo>();
    made.subschema_for::<ServerStatus>();
    made.subschema_for::<Sessions>();
    let mut schemas = Map::new();
    for (name, schema) in made.take_definitions(true) {
        schemas.insert(name, schema);
    }
    let object = |what: &str| json!({"type": "object", "description": what});
    let others = [
        ("Closed", object("`closed` is the id of the session.")),
        (
            "Command",
            object("A command of rpc.schema.json: `type` and its parameters."),
        ),
        ("Empty", object("No fields.")),
        (
            "Models",
            object(
                "`models`: a list as docs/proxy.md has it, with `reference`, `key` and `inCycle`.",
            ),
        ),
        ("Ok", object("`ok` is true.")),
        ("ProxyRequest", object("A call, as docs/proxy.md has it.")),
        (
            "Prompt",
            object(
                "The parameters of the command `prompt`: `message`, and `images` or `attachments`.",
            ),
        ),
    ];
    for (name, schema) in others {
        schemas.insert(name.to_owned(), schema);
    }
    let names: Vec<&str> = CODES.iter().map(|(_, name, ..)| *name).collect();
    let meanings = CODES
        .iter()
        .map(|(_, name, status, what)| format!("{name} ({}): {what}", status.as_u16()));
    let meanings: Vec<String> = meanings.collect();
    schemas.insert(
        "Fault".to_owned(),
        json!({"type": "object", "required": ["error"], "properties": {"error": {
            "type": "object", "required": ["code", "message"], "properties": {
                "code": {"type": "string", "enum": names, "description": meanings.join("; ")},
                "message": {"type": "string", "description": "one sentence for a person"},
            },
        }}}),
    );
    Value::Object(schemas)
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

fn paths() -> Value {
    let mut paths = Map::new();
    for route in ROUTES {
        let answer = match route.gives {
            Gives::Json(name) => {
                json!({"description": "done", "content": {"application/json": {"schema": reference(name)}}})
            }
            Gives::Events => {
                json!({"description": "events", "content": {"text/event-stream": {"schema": {"type": "string"}}}})
            }
            Gives::Frames => json!({"description": "frames: see docs/serve.md"}),
        };
        let status = match route.gives {
            Gives::Frames => "101",
            _ if route.method == "post" && route.path == "/api/sessions" => "201",
            _ => "200",
        };
        let fault = json!({"description": "it was not done", "content": {"application/json": {"schema": reference("Fault")}}});
        let mut operation = json!({
            "summary": route.does,
            "responses": {status: answer, "default": fault},
        });
        if let Some(name) = route.takes {
            operation["requestBody"] = json!({"required": true, "content": {"application/json": {"schema": reference(name)}}});
        }
        if route.path.contains("{id}") {
            operation["parameters"] = json!([{"name": "id", "in": "path", "required": true, "schema": {"type": "string"}}]);
        }
        if route.path == "/api/login" {
            operation["security"] = json!([]);
        }
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method] = operation;
    }
    Value::Object(paths)
}

fn description() -> Value {
    json!({
        "openapi": "3.0.3",
        "info": {
            "title": "osier serve",
            "version": "1",
            "description": "Sessions of a coding agent over HTTP. docs/serve.md tells how it goes together.",
        },
        "security": [{"token": []}, {"cookie": []}],
        "paths": paths(),
        "components": {
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "cookie": {"type": "apiKey", "in": "cookie", "name": "osier"},
            },
            "schemas": schemas(),
        },
    })
}

#[test]
fn the_description_is_made_from_the_table() {
    let text = serde_json::to_string_pretty(&description()).unwrap();
    let text = format!("{text}\n");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        osier_base::atomic_file::write(&path, text.as_bytes()).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap();
    assert!(
        found == text,
        "docs/openapi.json is old: run the test with UPDATE_DOCS=1"
    );
}

#[test]
fn every_reference_of_the_description_leads_somewhere() {
    fn walk(value: &Value, root: &Value) {
        if let Some(place) = value.get("$ref").and_then(Value::as_str) {
            let place = place.trim_start_matches('#');
            assert!(root.pointer(place).is_some(), "{place}");
        }
        match value {
            Value::Object(fields) => fields.values().for_each(|field| walk(field, root)),
            Value::Array(items) => items.iter().for_each(|item| walk(item, root)),
            _ => {}
        }
    }
    let root = description();
    walk(&root, &root);
}
