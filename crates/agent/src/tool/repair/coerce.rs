//! Values of another type than the schema asks for, where they have one meaning: `"true"`, `"3"`, a list as text, one
//! element in place of a list. A value that the schema allows is never changed.

use serde_json::{Map, Value};

use super::json_text;

/// Levels of a value, and of alternatives and references in a schema, that are followed.
const DEPTH: usize = 32;
const ALTERNATIVES: usize = 64;

/// Types for which an empty text is not a value.
const NOT_TEXT: [&str; 4] = ["boolean", "integer", "null", "number"];

/// Converts `value` to the types of `schema`.
pub(super) fn to_schema(value: &mut Value, schema: &Value) {
    coerce(value, schema, schema, DEPTH);
}

fn coerce(value: &mut Value, schema: &Value, root: &Value, depth: usize) {
    let Some(depth) = depth.checked_sub(1) else {
        return;
    };
    let mut alternatives = Vec::new();
    expand(schema, root, DEPTH, &mut alternatives);
    if let Some(new) = converted(value, &alternatives) {
        *value = new;
    }
    match value {
        Value::Object(map) => {
            let schemas = of_type(&alternatives, "object");
            for schema in &schemas {
                drop_nulls(map, schema, root);
            }
            // With several schemas, it is unknown which one is meant.
            if let [schema] = schemas[..] {
                let properties = schema.get("properties").and_then(Value::as_object);
                let additional = schema.get("additionalProperties");
                for (name, value) in map.iter_mut() {
                    let known = properties.and_then(|known| known.get(name)).or(additional);
                    if let Some(schema) = known {
                        coerce(value, schema, root, depth);
                    }
                }
            }
        }
        Value::Array(list) => {
            if let [schema] = of_type(&alternatives, "array")[..]
                && let Some(items) = schema.get("items")
            {
                for value in list {
                    coerce(value, items, root, depth);
                }
            }
        }
        _ => {}
    }
}

/// `schema`, or what it refers to and its alternatives.
fn expand<'s>(schema: &'s Value, root: &'s Value, depth: usize, found: &mut Vec<&'s Value>) {
    let Some(depth) = depth.checked_sub(1) else {
        return;
    };
    if found.len() >= ALTERNATIVES {
        return;
    }
    if let Some(pointer) = schema.get("$ref").and_then(Value::as_str) {
        let target = pointer
            .strip_prefix('#')
            .and_then(|path| root.pointer(path));
        if let Some(target) = target {
            expand(target, root, depth, found);
        }
        return;
    }
    let lists = ["anyOf", "oneOf"]
        .iter()
        .filter_map(|key| schema.get(key)?.as_array());
    let mut alternatives = lists.flatten().peekable();
    if alternatives.peek().is_none() {
        found.push(schema);
    }
    for schema in alternatives {
        expand(schema, root, depth, found);
    }
}

/// The alternatives of this type or without a type.
fn of_type<'s>(alternatives: &[&'s Value], name: &str) -> Vec<&'s Value> {
    let fits = |schema: &&&Value| types(schema).is_none_or(|types| types.contains(&name));
    alternatives.iter().filter(fits).copied().collect()
}

/// The types that a schema names; `None` when it allows every type.
fn types(schema: &Value) -> Option<Vec<&str>> {
    match schema.get("type") {
        Some(Value::String(name)) => Some(vec![name]),
        Some(Value::Array(names)) => Some(names.iter().filter_map(Value::as_str).collect()),
        _ => {
            let values = schema.get("enum").and_then(Value::as_array);
            values.map(|values| values.iter().map(type_of).collect())
        }
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if is_whole(number) => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn is_whole(number: &serde_json::Number) -> bool {
    number.is_i64()
        || number.is_u64()
        || number.as_f64().is_some_and(|number| number.fract() == 0.0)
}

/// `value` as the only type that the alternatives allow; `None` if it is allowed as it is, or can have several meanings.
fn converted(value: &Value, alternatives: &[&Value]) -> Option<Value> {
    let mut wanted: Vec<&str> = Vec::new();
    for schema in alternatives {
        for name in types(schema)? {
            if !wanted.contains(&name) {
                wanted.push(name);
            }
        }
    }
    let own = type_of(value);
    if wanted.contains(&own) || (own == "integer" && wanted.contains(&"number")) {
        return in_enum(value, alternatives).or_else(|| whole(value, &wanted));
    }
    wanted.retain(|name| *name != "null");
    let [wanted] = wanted[..] else { return None };
    match (wanted, value) {
        ("boolean", Value::String(text)) => match text.trim().to_lowercase().as_str() {
            "true" => Some(Value::Bool(true)),
            "false" => Some(Value::Bool(false)),
            _ => None,
        },
        ("boolean", Value::Number(number)) => match number.as_u64() {
            Some(0) => Some(Value::Bool(false)),
            Some(1) => Some(Value::Bool(true)),
            _ => None,
        },
        ("integer" | "number", Value::String(text)) => number(text, wanted == "integer"),
        ("string", Value::Number(_) | Value::Bool(_)) => Some(Value::from(value.to_string())),
        ("object", Value::String(text)) => json_text::repaired_object(text).map(Value::Object),
        ("array", value) => list(value, alternatives),
        _ => None,
    }
}

/// `3.0` as `3`, which some readers of whole numbers need.
fn whole(value: &Value, wanted: &[&str]) -> Option<Value> {
    let float = value.as_f64().filter(|_| value.is_f64())?;
    let is_exact = float.fract() == 0.0 && float.abs() < 9_007_199_254_740_992.0;
    (is_exact && wanted.contains(&"integer") && !wanted.contains(&"number"))
        .then(|| Value::from(float as i64))
}

fn number(text: &str, is_integer: bool) -> Option<Value> {
    let text = text.trim();
    let is_number = !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    let number: Value = is_number
        .then(|| serde_json::from_str(text).ok())
        .flatten()?;
    if !is_integer || number.is_i64() || number.is_u64() {
        return Some(number);
    }
    whole(&number, &["integer"])
}

/// A list as text, or its only element.
fn list(value: &Value, alternatives: &[&Value]) -> Option<Value> {
    if let Value::String(text) = value
        && let Some(parsed) = json_text::repaired_value(text)
    {
        match parsed {
            Value::Array(_) => return Some(parsed),
            Value::Object(_) => return list(&parsed, alternatives),
            _ => {}
        }
    }
    let [schema] = of_type(alternatives, "array")[..] else {
        return None;
    };
    let wanted = schema.get("items").and_then(types)?;
    let fits = wanted.contains(&type_of(value))
        || (wanted.contains(&"number") && type_of(value) == "integer");
    fits.then(|| Value::Array(vec![value.clone()]))
}

/// The value of an enumeration that differs only in case.
fn in_enum(value: &Value, alternatives: &[&Value]) -> Option<Value> {
    let [schema] = alternatives else { return None };
    let given = value.as_str()?;
    let known = schema.get("enum")?.as_array()?;
    if known.contains(value) {
        return None;
    }
    let same = |known: &&Value| {
        known
            .as_str()
            .is_some_and(|known| known.to_lowercase() == given.trim().to_lowercase())
    };
    let mut found = known.iter().filter(same);
    found.next().filter(|_| found.next().is_none()).cloned()
}

/// Removes arguments that are null, or empty in place of a number or a boolean, where the schema does not allow it: models
/// write them for "not set".
fn drop_nulls(map: &mut Map<String, Value>, schema: &Value, root: &Value) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return;
    };
    map.retain(|name, value| {
        let is_empty = value.as_str().is_some_and(|text| text.trim().is_empty());
        if !value.is_null() && !is_empty {
            return true;
        }
        let Some(schema) = properties.get(name) else {
            return true;
        };
        let mut alternatives = Vec::new();
        expand(schema, root, DEPTH, &mut alternatives);
        alternatives.iter().any(|schema| {
            types(schema).is_none_or(|types| {
                if is_empty {
                    types.iter().any(|name| !NOT_TEXT.contains(name))
                } else {
                    types.contains(&"null")
                }
            })
        })
    });
}
