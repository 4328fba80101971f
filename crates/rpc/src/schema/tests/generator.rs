//! Generates the schema. Types that the agent reads use the schema for deserialization, and types that it writes use
//! the schema for serialization: a field can be optional in one and always present in the other.

use std::collections::{BTreeMap, BTreeSet};

use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

use osier_base::request::{Kind, Parameter};

use crate::command::{Command, Data, REQUEST, Start};
use crate::parameters::ImageData;
use crate::table::commands as all_commands;
use crate::ui::UiClosed;
use crate::{Greeting, PROTOCOL, Response, UiRequest, UiResponse, answers as shapes};
use osier_agent::{Attachment, CompactionOutcome, ShellRun, StateSnapshot};
use osier_llm::Model;
use osier_protocol::questions::Answer as Reply;
use osier_protocol::{Event, Op, Status};

/// The schemas of types, by their names.
macro_rules! schemas {
    ($generator:ident: $($type:ty),+ $(,)?) => {
        BTreeMap::from([$((
            <$type>::schema_name().into_owned(),
            json!($generator.subschema_for::<$type>()),
        )),+])
    };
}

/// The complete schema.
pub(super) fn schema() -> Value {
    let mut input = input_generator();
    let mut output = output_generator();
    let mut events = variants::<Event>(&mut output);
    name_requests(&mut events);
    for event in events.values_mut() {
        add_time(event);
    }
    let mut shapes = schemas!(
        output: Greeting, shapes::PromptResult, shapes::ClearedQueue, shapes::Messages, shapes::LastText,
        shapes::PromptEntries, shapes::OpenedSession, shapes::SessionStats, shapes::SlashCommands,
        shapes::ThinkingLevels, shapes::CommandText, shapes::SearchHits, shapes::TreeHits, Status, StateSnapshot, ShellRun, CompactionOutcome,
    );
    for name in ["lane_taken", "login_started"] {
        shapes.insert(pascal(name), data_of(&events[name]));
    }
    let ops = variants::<Op>(&mut input);
    let inputs = schemas!(input: Attachment, ImageData, Model, Op, Reply);
    let commands: Map<String, Value> = all_commands()
        .map(|command| {
            let data = match command.data {
                Data::Nothing => Value::Null,
                Data::Event(event) => data_of(&events[event]),
                Data::Shape(name) => shapes[name].clone(),
            };
            let parameters = match command.start {
                Start::Request(name) => parameters_of(&ops[name]),
                _ => parameters(command, &inputs),
            };
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
        "ui_request": timed(with_type(&output.subschema_for::<UiRequest>(), "ui_request")),
        "ui_closed": timed(with_type(&output.subschema_for::<UiClosed>(), "ui_closed")),
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

/// Begins the description of each event with the commands that it answers.
fn name_requests(events: &mut BTreeMap<String, Value>) {
    for (name, event) in events {
        let requests = Op::requests().into_iter();
        let answered = requests.filter(|request| request.replies.contains(&name.as_str()));
        let names =
            answered.map(|request| format!("`{}`", request.command.unwrap_or(request.name)));
        let names: Vec<String> = names.collect();
        if !names.is_empty() {
            let own = event["description"].as_str().unwrap_or_default();
            let description = format!("Answer to {}. {own}", names.join(", "));
            event["description"] = json!(description.trim_end());
        }
    }
}

/// The field of every event with its time.
const TIME: &str = "timestamp";

/// Adds the time, which the dispatcher writes.
fn add_time(event: &mut Value) {
    let own = event["properties"].get(TIME);
    assert!(own.is_none(), "an event has its own `{TIME}`: {event}");
    event["properties"][TIME] = json!({
        "type": "integer",
        "format": "int64",
        "description": "When it happened, in milliseconds since the Unix epoch. A replay gives the same time.",
    });
    event["required"].as_array_mut().unwrap().push(json!(TIME));
}

fn timed(mut frame: Value) -> Value {
    add_time(&mut frame);
    frame
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
    let of_all = ["type", "request", TIME];
    let fields = data["properties"].as_object_mut().unwrap();
    fields.retain(|name, _| !of_all.contains(&name.as_str()));
    if let Some(required) = data["required"].as_array_mut() {
        required.retain(|name| of_all.iter().all(|field| name != field));
    }
    data
}

/// The fields of a request, which is numbered if the client does not do that.
fn parameters_of(op: &Value) -> Value {
    let mut fields = data_of(op);
    if let Some(number) = op["properties"].get(REQUEST.name) {
        let mut number = number.clone();
        number["description"] = json!(REQUEST.doc);
        fields["properties"][REQUEST.name] = number;
    }
    json!({"type": "object", "properties": fields["properties"], "required": fields["required"]})
}

/// The parameters of a command that is more than one request.
fn parameters(command: &Command, inputs: &BTreeMap<String, Value>) -> Value {
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

fn kind(kind: Kind, inputs: &BTreeMap<String, Value>) -> Value {
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
