//! Whether a schema is one: a wrong word in it would let every call pass, or none.

use serde_json::{Map, Value};

use super::{DEPTH, shown};

/// Words whose value is a schema, a list of schemas, or schemas by name.
const SCHEMAS: &[&str] = &[
    "additionalItems",
    "additionalProperties",
    "contains",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
];
const LISTS: &[&str] = &["allOf", "anyOf", "items", "oneOf", "prefixItems"];
const NAMED: &[&str] = &[
    "$defs",
    "definitions",
    "dependentSchemas",
    "patternProperties",
    "properties",
];
/// Words whose value is a number.
const NUMBERS: &[&str] = &[
    "exclusiveMaximum",
    "exclusiveMinimum",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
];
const TYPES: &[&str] = &[
    "array", "boolean", "integer", "null", "number", "object", "string",
];

/// Says what is wrong with `schema`, which stands at `path`.
pub(super) fn check(schema: &Value, path: &str, depth: usize) -> Result<(), String> {
    let words = match schema {
        Value::Object(words) if depth <= DEPTH => words,
        Value::Bool(_) | Value::Object(_) => return Ok(()),
        other => return Err(format!("{} at `{path}` is no schema", shown(other))),
    };
    words_of(words, path)?;
    let below = |name: &str, schema: &Value| check(schema, &format!("{path}/{name}"), depth + 1);
    for (name, word) in words {
        let name = name.as_str();
        match word {
            Value::Array(schemas) if LISTS.contains(&name) => {
                schemas.iter().try_for_each(|schema| below(name, schema))?;
            }
            Value::Object(schemas) if NAMED.contains(&name) => {
                let named = |(key, schema)| below(&format!("{name}/{key}"), schema);
                schemas.iter().try_for_each(named)?;
            }
            word if SCHEMAS.contains(&name) => below(name, word)?,
            word if LISTS.contains(&name) || NAMED.contains(&name) => {
                return Err(format!(
                    "{} at `{path}/{name}` holds no schemas",
                    shown(word)
                ));
            }
            _ => {}
        }
    }
    Ok(())
}

fn words_of(words: &Map<String, Value>, path: &str) -> Result<(), String> {
    for (name, word) in words {
        let wanted = match name.as_str() {
            "type" if !names_types(word) => "type",
            "required" if !is_required(word) => "list of names",
            "enum" if !word.is_array() => "list",
            "pattern" if !word.is_string() => "pattern",
            // The fourth draft had booleans beside `minimum` and `maximum`.
            number if NUMBERS.contains(&number) && !word.is_number() && !word.is_boolean() => {
                "number"
            }
            _ => continue,
        };
        return Err(format!("{} at `{path}/{name}` is no {wanted}", shown(word)));
    }
    Ok(())
}

fn names_types(word: &Value) -> bool {
    let is_type = |word: &Value| word.as_str().is_some_and(|word| TYPES.contains(&word));
    match word {
        Value::Array(types) => types.iter().all(is_type),
        word => is_type(word),
    }
}

/// The third draft had a boolean beside the property.
fn is_required(word: &Value) -> bool {
    match word {
        Value::Array(names) => names.iter().all(Value::is_string),
        word => word.is_boolean(),
    }
}
