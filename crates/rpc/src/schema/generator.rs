//! Generates the schema. Types that the agent reads use the schema for deserialization, types that it writes the one
//! for serialization: a field can be optional in one and always present in the other.

use std::collections::{BTreeMap, BTreeSet};

use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

use osier_base::request::{Kind, Parameter};

use crate::command::{Command, Data, Start};
use crate::parameters::ImageData;
use crate::table::commands as all_commands;
use crate::{Greeting, PROTOCOL, Response, UiRequest, UiResponse, answers as shapes};
use osier_agent::{AgentMessage, Attachment, CompactionOutcome, ShellRun, StateSnapshot};
use osier_llm::Model;
use osier_protocol::questions::{Answer as Reply, Grant};
use osier_protocol::{
    DiffRange, Event, FilesAt, Op, PageAt, PromptPart, Reviewed, SessionQuery, Status,
};

/// The complete schema.
pub(super) fn schema() -> Value {
    let mut input = input_generator();
    let mut output = output_generator();
    let events = variants::<Event>(&mut output);
    let mut shapes = BTreeMap::new();
    add_shape::<Greeting>(&mut shapes, &mut output, "Greeting");
    add_shape::<shapes::PromptResult>(&mut shapes, &mut output, "PromptResult");
    add_shape::<shapes::ClearedQueue>(&mut shapes, &mut output, "ClearedQueue");
    add_shape::<shapes::Messages>(&mut shapes, &mut output, "Messages");
    add_shape::<shapes::LastText>(&mut shapes, &mut output, "LastText");
    add_shape::<shapes::PromptEntries>(&mut shapes, &mut output, "PromptEntries");
    add_shape::<shapes::OpenedSession>(&mut shapes, &mut output, "OpenedSession");
    add_shape::<shapes::SessionStats>(&mut shapes, &mut output, "SessionStats");
    add_shape::<shapes::SlashCommands>(&mut shapes, &mut output, "SlashCommands");
    add_shape::<shapes::ThinkingLevels>(&mut shapes, &mut output, "ThinkingLevels");
    add_shape::<shapes::SearchHits>(&mut shapes, &mut output, "SearchHits");
    add_shape::<shapes::TreeHits>(&mut shapes, &mut output, "TreeHits");
    add_shape::<Status>(&mut shapes, &mut output, "Status");
    add_shape::<StateSnapshot>(&mut shapes, &mut output, "StateSnapshot");
    add_shape::<ShellRun>(&mut shapes, &mut output, "ShellRun");
    add_shape::<CompactionOutcome>(&mut shapes, &mut output, "CompactionOutcome");
    for name in ["lane_taken", "login_started"] {
        shapes.insert(pascal(name), data_of(&events[name]));
    }
    let inputs = inputs(&mut input);
    let commands: Map<String, Value> = all_commands()
        .map(|command| {
            let data = match command.data {
                Data::Nothing => Value::Null,
                Data::Event(event) => data_of(&events[event]),
                Data::Shape(name) => shapes[name].clone(),
            };
            let parameters = parameters(command, &inputs);
            let mut entry = json!({"description": command.doc, "parameters": parameters});
            if !command.aliases.is_empty() {
                entry["aliases"] = json!(command.aliases);
            }
            if !data.is_null() {
                entry["data"] = data;
            }
            (command.name.to_owned(), entry)
        })
        .collect();
    let frames = json!({
        "response": with_type(&output.subschema_for::<Response>(), "response"),
        "ui_request": with_type(&output.subschema_for::<UiRequest>(), "ui_request"),
        "ui_closed": {
            "description": "A request needs no answer any more: `answered`, `withdrawn` or `timeout`.",
            "type": "object",
            "properties": {
                "type": {"const": "ui_closed"},
                "id": {"type": "string"},
                "reason": {"enum": ["answered", "withdrawn", "timeout"]},
            },
            "required": ["type", "id", "reason"],
        },
        "ui_response": with_type(&input.subschema_for::<UiResponse>(), "ui_response"),
    });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The protocol of `osier rpc`",
        "version": PROTOCOL,
        "frames": frames,
        "commands": commands,
        "events": events,
        "$defs": output.take_definitions(true),
        "input": input.take_definitions(true),
    })
}

/// Checks that every op has a command, and that a command has the parameters of its op.
pub(super) fn check_ops() {
    let mut input = input_generator();
    let ops = variants::<Op>(&mut input);
    let mut covered = BTreeSet::new();
    for command in all_commands() {
        for name in command.names() {
            covered.insert(name.to_owned());
        }
        let Start::Request(name) = command.start else {
            continue;
        };
        covered.insert(name.to_owned());
        let op = &ops[name];
        let properties = op["properties"].as_object().unwrap();
        let definitions: BTreeSet<&str> = properties
            .keys()
            .map(String::as_str)
            .filter(|name| *name != "type")
            .collect();
        let names: BTreeSet<&str> = command.parameters.iter().map(|field| field.name).collect();
        assert_eq!(names, definitions, "`{}`", command.name);
        let required = op["required"].as_array().unwrap().iter();
        let required: BTreeSet<&str> = required
            .filter_map(Value::as_str)
            .filter(|name| !["type", "request"].contains(name))
            .collect();
        let required_names = command.parameters.iter().filter(|field| field.required);
        let required_names: BTreeSet<&str> = required_names.map(|field| field.name).collect();
        assert_eq!(required_names, required, "`{}`", command.name);
    }
    let missing: Vec<&String> = ops.keys().filter(|op| !covered.contains(*op)).collect();
    assert_eq!(missing, Vec::<&String>::new(), "ops without a command");
}

fn input_generator() -> SchemaGenerator {
    let mut settings = SchemaSettings::draft2020_12().for_deserialize();
    settings.definitions_path = "/input".into();
    settings.into_generator()
}

fn output_generator() -> SchemaGenerator {
    SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator()
}

fn add_shape<T: JsonSchema>(
    shapes: &mut BTreeMap<String, Value>,
    generator: &mut SchemaGenerator,
    name: &str,
) {
    shapes.insert(name.to_owned(), json!(generator.subschema_for::<T>()));
}

/// The variants of an enum and of its nested enums, by `type`.
fn variants<T: JsonSchema>(generator: &mut SchemaGenerator) -> BTreeMap<String, Value> {
    let root = json!(generator.subschema_for::<T>());
    let mut found = BTreeMap::new();
    collect(&root, generator.definitions(), &mut found);
    found
}

fn collect(schema: &Value, definitions: &Map<String, Value>, found: &mut BTreeMap<String, Value>) {
    if let Some(kind) = schema.pointer("/properties/type/const") {
        let kind = kind.as_str().unwrap().to_owned();
        let before = found.insert(kind.clone(), schema.clone());
        assert!(before.is_none(), "`{kind}` is defined twice");
        return;
    }
    for list in ["oneOf", "anyOf"] {
        for variant in schema[list].as_array().into_iter().flatten() {
            collect(variant, definitions, found);
        }
    }
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.rsplit('/').next().unwrap();
        collect(&definitions[name], definitions, found);
    }
}

/// An event without the fields of all events.
fn data_of(event: &Value) -> Value {
    let mut data = event.clone();
    let fields = data["properties"].as_object_mut().unwrap();
    fields.shift_remove("type");
    fields.shift_remove("request");
    if let Some(required) = data["required"].as_array_mut() {
        required.retain(|name| name != "type" && name != "request");
    }
    data
}

/// The types of parameters.
fn inputs(input: &mut SchemaGenerator) -> BTreeMap<&'static str, Value> {
    BTreeMap::from([
        ("AgentMessage", json!(input.subschema_for::<AgentMessage>())),
        ("Answer", json!(input.subschema_for::<Reply>())),
        ("Attachment", json!(input.subschema_for::<Attachment>())),
        (
            "Budget",
            json!(input.subschema_for::<osier_protocol::Budget>()),
        ),
        ("DiffRange", json!(input.subschema_for::<DiffRange>())),
        ("FilesAt", json!(input.subschema_for::<FilesAt>())),
        ("Reviewed", json!(input.subschema_for::<Reviewed>())),
        ("Grant", json!(input.subschema_for::<Grant>())),
        ("ImageData", json!(input.subschema_for::<ImageData>())),
        ("Model", json!(input.subschema_for::<Model>())),
        ("Op", json!(input.subschema_for::<Op>())),
        ("PromptPart", json!(input.subschema_for::<PromptPart>())),
        ("PageAt", json!(input.subschema_for::<PageAt>())),
        ("SessionQuery", json!(input.subschema_for::<SessionQuery>())),
    ])
}

fn parameters(command: &Command, inputs: &BTreeMap<&str, Value>) -> Value {
    let described = |field: &Parameter, name: &'static str| {
        let mut schema = kind(field.kind, inputs);
        schema["description"] = json!(field.doc);
        (name.to_owned(), schema)
    };
    let properties: Map<String, Value> = command
        .parameters
        .iter()
        .map(|field| described(field, field.name))
        .collect();
    let required_names = command.parameters.iter().filter(|field| field.required);
    let required_names: Vec<&str> = required_names.map(|field| field.name).collect();
    json!({"type": "object", "properties": properties, "required": required_names})
}

fn kind(kind: Kind, inputs: &BTreeMap<&str, Value>) -> Value {
    match kind {
        Kind::Text => json!({"type": "string"}),
        Kind::Number => json!({"type": "integer", "minimum": 0}),
        Kind::Flag => json!({"type": "boolean"}),
        Kind::Word(words) => json!({"enum": words}),
        Kind::Texts => json!({"type": "array", "items": {"type": "string"}}),
        Kind::List(name) => json!({"type": "array", "items": inputs[name]}),
        Kind::Object(name) => inputs[name].clone(),
        Kind::Any => json!({}),
    }
}

fn with_type(schema: &Schema, kind: &str) -> Value {
    json!({"allOf": [schema], "properties": {"type": {"const": kind}}, "required": ["type"]})
}

fn pascal(name: &str) -> String {
    let parts = name.split('_').map(|part| {
        let (first, rest) = part.split_at(1);
        first.to_uppercase() + rest
    });
    parts.collect()
}
