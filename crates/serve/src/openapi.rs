//! Generates `docs/openapi.json` from the table of routes and the types.

use std::path::Path;

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::error::CODES;
use super::frames::ClientFrame;
use super::html::{MarkdownBlocks, MarkdownTexts};
use super::routes::{ROUTES, ResponseKind};
use super::server_routes::{Login, NewSession, ServerStatus, Sessions};
use osier_hub::OpenSessionInfo;
use osier_rpc::Response;

fn schemas() -> Value {
    let settings = SchemaSettings::openapi3();
    let mut generator = settings.into_generator();
    generator.subschema_for::<ClientFrame>();
    generator.subschema_for::<Login>();
    generator.subschema_for::<MarkdownBlocks>();
    generator.subschema_for::<MarkdownTexts>();
    generator.subschema_for::<NewSession>();
    generator.subschema_for::<Response>();
    generator.subschema_for::<OpenSessionInfo>();
    generator.subschema_for::<ServerStatus>();
    #[cfg(feature = "proxy")]
    generator.subschema_for::<super::proxy::UserUsage>();
    generator.subschema_for::<Sessions>();
    let mut schemas = Map::new();
    for (name, schema) in generator.take_definitions(true) {
        schemas.insert(name, schema);
    }
    let object = |what: &str| json!({"type": "object", "description": what});
    let others = [
        ("Closed", object("`closed` is the id of the session.")),
        (
            "Command",
            object("A command of rpc.schema.json: `type` and the parameters."),
        ),
        ("Empty", object("No fields.")),
        (
            "Models",
            object(
                "`models`: a list as described in docs/proxy.md, with `reference`, `key` and `inCycle`.",
            ),
        ),
        ("Ok", object("`ok` is true.")),
        (
            "ProxyRequest",
            object("A model call, as described in docs/proxy.md."),
        ),
        (
            "Prompt",
            object(
                "The parameters of the command `prompt`: `message`, and `images` or `attachments`. With `abortOnClose`, closing the \
                 request stops the run.",
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
        "Error".to_owned(),
        json!({"type": "object", "required": ["error"], "properties": {"error": {
            "type": "object", "required": ["code", "message"], "properties": {
                "code": {"type": "string", "enum": names, "description": meanings.join("; ")},
                "message": {"type": "string", "description": "what is wrong and what to do, for users"},
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
        let answer = match route.response {
            ResponseKind::Json(name) => {
                json!({"description": "success", "content": {"application/json": {"schema": reference(name)}}})
            }
            ResponseKind::Events => {
                json!({"description": "events", "content": {"text/event-stream": {"schema": {"type": "string"}}}})
            }
            ResponseKind::Frames => json!({"description": "frames: see docs/serve.md"}),
        };
        let status = match route.response {
            ResponseKind::Frames => "101",
            _ if route.method == "post" && route.path == "/api/sessions" => "201",
            _ => "200",
        };
        let error_response = json!({"description": "an error", "content": {"application/json": {"schema": reference("Error")}}});
        let mut operation = json!({
            "summary": route.summary,
            "responses": {status: answer, "default": error_response},
        });
        if let Some(name) = route.request {
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
            "description": "Sessions of a coding agent over HTTP. See docs/serve.md.",
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
    osier_testing::pages::check_file(&path, &text);
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
