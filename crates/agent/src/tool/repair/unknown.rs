//! Arguments that a tool does not have. They are never ignored without telling the model.

use osier_base::text::head_bytes;
use serde_json::Value;

use super::super::interface::Tool;
use super::names::is_spelled;

/// Maximum number of unknown arguments that are named.
const NAMED: usize = 8;
/// Maximum bytes of the name of an unknown argument.
const NAME_BYTES: usize = 60;

/// The note about the arguments that `tool` does not have.
pub(super) fn note(tool: &dyn Tool, arguments: &Value) -> Option<String> {
    let spec = tool.spec();
    let mut unknown = Vec::new();
    collect(arguments, &spec.parameters, "", &mut unknown);
    let ignored = tool.spellings().without_effect;
    unknown.retain(|path| {
        let name = without_indexes(path);
        !ignored.iter().any(|other| is_spelled(&name, other))
    });
    let more = unknown.len().saturating_sub(NAMED);
    unknown.truncate(NAMED);
    let names = quoted(unknown.iter().map(|name| head_bytes(name, NAME_BYTES)));
    let (noun, verb) = match unknown.len() {
        0 => return None,
        1 => ("argument", "was"),
        _ => ("arguments", "were"),
    };
    let more = match more {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let properties = spec.parameters.get("properties").and_then(Value::as_object);
    let known = quoted(
        properties
            .into_iter()
            .flat_map(|known| known.keys().map(String::as_str)),
    );
    Some(format!(
        "unknown {noun} {names}{more} {verb} ignored; `{}` takes {known}",
        spec.name
    ))
}

/// Adds the paths of the properties in `value` that `schema` does not have. Properties that the schema refuses are
/// reported elsewhere.
fn collect(value: &Value, schema: &Value, path: &str, unknown: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
                return;
            };
            for (name, value) in map.iter().filter(|(_, value)| !value.is_null()) {
                let path = if path.is_empty() {
                    name.clone()
                } else {
                    format!("{path}.{name}")
                };
                match properties.get(name) {
                    Some(schema) => collect(value, schema, &path, unknown),
                    None if schema.get("additionalProperties").is_some() => {}
                    None => unknown.push(path),
                }
            }
        }
        Value::Array(list) => {
            let Some(items) = schema.get("items") else {
                return;
            };
            for (index, value) in list.iter().enumerate() {
                collect(value, items, &format!("{path}[{index}]"), unknown);
            }
        }
        _ => {}
    }
}

/// `items[0].text` as `items.text`.
fn without_indexes(path: &str) -> String {
    let mut name = String::new();
    for part in path.split('[') {
        let part = match part.split_once(']') {
            Some((index, rest)) if index.parse::<usize>().is_ok() => rest,
            _ => part,
        };
        name.push_str(part);
    }
    name
}

fn quoted<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    names.join(", ")
}
