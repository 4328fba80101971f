//! Makes the schema. What the agent reads is described as it may be written, what it writes as it is
//! written: a field that may be left out of the one always stands in the other.

use std::collections::{BTreeMap, BTreeSet};

use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

use osier_base::request::{Kind, Parameter};

use crate::command::{Begin, Command, Data};
use crate::parameters::ImageData;
use crate::table::all;
use crate::{Greeting, PROTOCOL, Response, UiRequest, UiResponse, answers as shapes};
use osier_agent::{AgentMessage, Attachment, CompactionOutcome, ShellRun, StateSnapshot};
use osier_llm::Model;
use osier_protocol::questions::{Answer as Reply, Grant};
use osier_protocol::{
    DiffRange, Event, FilesAt, Op, PageAt, PromptPart, Reviewed, SessionQuery, Status,
};

/// Everything.
pub(super) fn schema() -> Value {
    let mut reads = reading();
    let mut writes = writing();
    let events = variants::<Event>(&mut writes);
    let mut shapes = BTreeMap::new();
    shape::<Greeting>(&mut shapes, &mut writes, "Greeting");
    shape::<shapes::Prompted>(&mut shapes, &mut writes, "Prompted");
    shape::<shapes::Cleared>(&mut shapes, &mut writes, "Cleared");
    shape::<shapes::Messages>(&mut shapes, &mut writes, "Messages");
    shape::<shapes::LastText>(&mut shapes, &mut writes, "LastText");
    shape::<shapes::Prompts>(&mut shapes, &mut writes, "Prompts");
    shape::<shapes::Opened>(&mut shapes, &mut writes, "Opened");
    shape::<shapes::SessionStats>(&mut shapes, &mut writes, "SessionStats");
    shape::<shapes::Commands>(&mut shapes, &mut writes, "Commands");
    shape::<shapes::Levels>(&mut shapes, &mut writes, "Levels");
    shape::<shapes::Hits>(&mut shapes, &mut writes, "Hits");
    shape::<shapes::TreeHits>(&mut shapes, &mut writes, "TreeHits");
    shape::<Status>(&mut shapes, &mut writes, "Status");
    shape::<StateSnapshot>(&mut shapes, &mut writes, "StateSnapshot");
    shape::<ShellRun>(&mut shapes, &mut writes, "ShellRun");
    shape::<CompactionOutcome>(&mut shapes, &mut writes, "CompactionOutcome");
    for name in ["lane_taken", "login_started"] {
        shapes.insert(pascal(name), data_of(&events[name]));
    }
    let inputs = inputs(&mut reads);
    let commands: Map<String, Value> = all()
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
        "response": framed(&writes.subschema_for::<Response>(), "response"),
        "ui_request": framed(&writes.subschema_for::<UiRequest>(), "ui_request"),
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
        "ui_response": framed(&reads.subschema_for::<UiResponse>(), "ui_response"),
    });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The protocol of `osier rpc`",
        "version": PROTOCOL,
        "frames": frames,
        "commands": commands,
        "events": events,
        "$defs": writes.take_definitions(true),
        "input": reads.take_definitions(true),
    })
}

/// Every op has a command, and a command that is an op takes what the op takes.
pub(super) fn check_ops() {
    let mut reads = reading();
    let ops = variants::<Op>(&mut reads);
    let mut done = BTreeSet::new();
    for command in all() {
        for name in command.names() {
            done.insert(name.to_owned());
        }
        let Begin::Request(name) = command.begin else {
            continue;
        };
        done.insert(name.to_owned());
        let op = &ops[name];
        let properties = op["properties"].as_object().unwrap();
        let known: BTreeSet<&str> = properties
            .keys()
            .map(String::as_str)
            .filter(|name| *name != "type")
            .collect();
        let taken: BTreeSet<&str> = command.parameters.iter().map(|field| field.name).collect();
        assert_eq!(taken, known, "`{}`", command.name);
        let required = op["required"].as_array().unwrap().iter();
        let required: BTreeSet<&str> = required
            .filter_map(Value::as_str)
            .filter(|name| !["type", "request"].contains(name))
            .collect();
        let needed = command.parameters.iter().filter(|field| field.required);
        let needed: BTreeSet<&str> = needed.map(|field| field.name).collect();
        assert_eq!(needed, required, "`{}`", command.name);
    }
    let missing: Vec<&String> = ops.keys().filter(|op| !done.contains(*op)).collect();
    assert_eq!(missing, Vec::<&String>::new(), "ops without a command");
}

fn reading() -> SchemaGenerator {
    let mut settings = SchemaSettings::draft2020_12().for_deserialize();
    settings.definitions_path = "/input".into();
    settings.into_generator()
}

fn writing() -> SchemaGenerator {
    SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator()
}

fn shape<T: JsonSchema>(
    shapes: &mut BTreeMap<String, Value>,
    generator: &mut SchemaGenerator,
    name: &str,
) {
    shapes.insert(name.to_owned(), json!(generator.subschema_for::<T>()));
}

/// The variants of an enum by their `type`, those of the enums inside of it among them.
fn variants<T: JsonSchema>(generator: &mut SchemaGenerator) -> BTreeMap<String, Value> {
    let root = json!(generator.subschema_for::<T>());
    let mut found = BTreeMap::new();
    collect(&root, generator.definitions(), &mut found);
    found
}

fn collect(schema: &Value, known: &Map<String, Value>, found: &mut BTreeMap<String, Value>) {
    if let Some(kind) = schema.pointer("/properties/type/const") {
        let kind = kind.as_str().unwrap().to_owned();
        let before = found.insert(kind.clone(), schema.clone());
        assert!(before.is_none(), "`{kind}` is there twice");
        return;
    }
    for list in ["oneOf", "anyOf"] {
        for variant in schema[list].as_array().into_iter().flatten() {
            collect(variant, known, found);
        }
    }
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.rsplit('/').next().unwrap();
        collect(&known[name], known, found);
    }
}

/// An event without what every event has.
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

/// What parameters are made of.
fn inputs(reads: &mut SchemaGenerator) -> BTreeMap<&'static str, Value> {
    BTreeMap::from([
        ("AgentMessage", json!(reads.subschema_for::<AgentMessage>())),
        ("Answer", json!(reads.subschema_for::<Reply>())),
        ("Attachment", json!(reads.subschema_for::<Attachment>())),
        ("DiffRange", json!(reads.subschema_for::<DiffRange>())),
        ("FilesAt", json!(reads.subschema_for::<FilesAt>())),
        ("Reviewed", json!(reads.subschema_for::<Reviewed>())),
        ("Grant", json!(reads.subschema_for::<Grant>())),
        ("ImageData", json!(reads.subschema_for::<ImageData>())),
        ("Model", json!(reads.subschema_for::<Model>())),
        ("Op", json!(reads.subschema_for::<Op>())),
        ("PromptPart", json!(reads.subschema_for::<PromptPart>())),
        ("PageAt", json!(reads.subschema_for::<PageAt>())),
        ("SessionQuery", json!(reads.subschema_for::<SessionQuery>())),
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
    let needed = command.parameters.iter().filter(|field| field.required);
    let needed: Vec<&str> = needed.map(|field| field.name).collect();
    json!({"type": "object", "properties": properties, "required": needed})
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

fn framed(schema: &Schema, kind: &str) -> Value {
    json!({"allOf": [schema], "properties": {"type": {"const": kind}}, "required": ["type"]})
}

fn pascal(name: &str) -> String {
    let parts = name.split('_').map(|part| {
        let (first, rest) = part.split_at(1);
        first.to_uppercase() + rest
    });
    parts.collect()
}
