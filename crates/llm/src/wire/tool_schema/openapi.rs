//! Converts valid schemas to the subset of Google.
//!
//! The subset is that of OpenAPI: one type per schema, no references, `nullable` instead of a null type,
//! enumerations only of strings, and a type for the items of every array.

use serde_json::{Map, Value, json};

/// Keywords that are copied.
const COPIED_KEYWORDS: &[&str] = &[
    "title",
    "description",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "minLength",
    "maxLength",
    "pattern",
    "minimum",
    "maximum",
];

/// Supported formats by type.
const FORMATS: &[(&str, &[&str])] = &[
    ("string", &["date-time", "enum"]),
    ("number", &["float", "double"]),
    ("integer", &["int32", "int64"]),
];

/// The schema in the subset. `schema` is valid and without references.
pub(super) fn convert(schema: &Value) -> Value {
    let merged = merged(schema);
    let mut converted = Map::new();
    for key in COPIED_KEYWORDS {
        if let Some(value) = merged.get(*key) {
            converted.insert((*key).to_owned(), value.clone());
        }
    }
    add_bounds(&merged, &mut converted);
    let (types, nullable) = types(&merged);
    if nullable {
        converted.insert("nullable".to_owned(), true.into());
    }
    let mut choices = choices(&merged, &mut converted);
    match (types.as_slice(), choices.len()) {
        ([], 0) => add_type(&merged, guessed(&merged), &mut converted),
        ([], 1) => {
            // A single choice, as for optional values.
            if let Some(Value::Object(only)) = choices.pop() {
                for (key, value) in only {
                    converted.entry(key).or_insert(value);
                }
            }
        }
        ([], _) => {
            converted.insert("anyOf".to_owned(), choices.into());
        }
        ([one], _) => add_type(&merged, one, &mut converted),
        (several, _) => {
            let each = several.iter().map(|name| {
                let mut choice = Map::new();
                add_type(&merged, name, &mut choice);
                Value::Object(choice)
            });
            converted.insert("anyOf".to_owned(), each.collect());
        }
    }
    Value::Object(converted)
}

/// Merges `allOf`.
fn merged(schema: &Value) -> Map<String, Value> {
    let mut all = schema.as_object().cloned().unwrap_or_default();
    let parts = all.get("allOf").and_then(Value::as_array).cloned();
    for part in parts.into_iter().flatten() {
        for (key, value) in merged(&part) {
            merge_keyword(&mut all, key, value);
        }
    }
    all
}

/// The choices of `anyOf` and `oneOf`, without null.
fn choices(merged: &Map<String, Value>, converted: &mut Map<String, Value>) -> Vec<Value> {
    let lists = ["anyOf", "oneOf"]
        .iter()
        .filter_map(|key| merged.get(*key)?.as_array());
    let (nulls, others): (Vec<&Value>, Vec<&Value>) =
        lists.flatten().partition(|choice| choice["type"] == "null");
    if !nulls.is_empty() {
        converted.insert("nullable".to_owned(), true.into());
    }
    others.into_iter().map(convert).collect()
}

fn add_type(merged: &Map<String, Value>, name: &str, converted: &mut Map<String, Value>) {
    converted.insert("type".to_owned(), name.to_uppercase().into());
    let format = merged.get("format").and_then(Value::as_str);
    let known = FORMATS.iter().find(|(of, _)| *of == name);
    if let (Some(format), Some((_, formats))) = (format, known)
        && formats.contains(&format)
    {
        converted.insert("format".to_owned(), format.into());
    }
    match name {
        "object" => add_properties(merged, converted),
        "array" => {
            let items = merged
                .get("items")
                .map_or_else(|| json!({"type": "STRING"}), convert);
            converted.insert("items".to_owned(), items);
        }
        _ => add_values(merged, name, converted),
    }
}

fn add_properties(merged: &Map<String, Value>, converted: &mut Map<String, Value>) {
    let Some(Value::Object(properties)) = merged.get("properties") else {
        return;
    };
    let names: Vec<Value> = properties.keys().map(|name| name.as_str().into()).collect();
    let each = properties.iter();
    let sent: Map<String, Value> = each
        .map(|(name, schema)| (name.clone(), convert(schema)))
        .collect();
    let required = merged.get("required").and_then(Value::as_array);
    let required: Vec<Value> = required
        .into_iter()
        .flatten()
        .filter(|name| names.contains(name))
        .cloned()
        .collect();
    converted.insert("properties".to_owned(), sent.into());
    if !required.is_empty() {
        converted.insert("required".to_owned(), required.into());
    }
    // Preserves the order of the original schema.
    if names.len() > 1 {
        converted.insert("propertyOrdering".to_owned(), names.into());
    }
}

/// Adds exclusive bounds.
fn add_bounds(merged: &Map<String, Value>, converted: &mut Map<String, Value>) {
    for (exclusive, bound) in [
        ("exclusiveMinimum", "minimum"),
        ("exclusiveMaximum", "maximum"),
    ] {
        if let Some(value) = merged.get(exclusive).filter(|value| value.is_number()) {
            converted.entry(bound).or_insert_with(|| value.clone());
        }
    }
}

/// Merges a keyword: properties and required names are added, other existing keywords have precedence.
fn merge_keyword(merged: &mut Map<String, Value>, key: String, value: Value) {
    match (merged.get_mut(&key), value) {
        (Some(Value::Object(have)), Value::Object(more)) if key == "properties" => {
            for (name, schema) in more {
                have.entry(name).or_insert(schema);
            }
        }
        (Some(Value::Array(have)), Value::Array(more)) if key == "required" => {
            have.extend(more);
        }
        (Some(_), _) => {}
        (None, value) => {
            merged.insert(key, value);
        }
    }
}

/// The types of a schema except for null, and whether it is nullable.
fn types(merged: &Map<String, Value>) -> (Vec<&str>, bool) {
    let names: Vec<&str> = match merged.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let nullable = names.contains(&"null") || merged.get("nullable") == Some(&Value::Bool(true));
    let types = names.into_iter().filter(|name| *name != "null").collect();
    (types, nullable)
}

/// The type of a schema without `type`.
fn guessed(merged: &Map<String, Value>) -> &'static str {
    let values = merged.get("enum").and_then(Value::as_array);
    let sample = merged.get("const").or_else(|| values?.first());
    match sample {
        _ if merged.contains_key("properties") => "object",
        _ if merged.contains_key("items") => "array",
        Some(Value::Bool(_)) => "boolean",
        Some(Value::Number(number)) if number.is_f64() => "number",
        Some(Value::Number(_)) => "integer",
        _ => "string",
    }
}

/// Adds the enumerated values. Values that are not strings are listed in the description.
fn add_values(merged: &Map<String, Value>, name: &str, converted: &mut Map<String, Value>) {
    let values: Vec<&Value> = match (merged.get("enum"), merged.get("const")) {
        (Some(Value::Array(values)), _) => values.iter().filter(|value| !value.is_null()).collect(),
        (_, Some(value)) => vec![value],
        _ => return,
    };
    if values.is_empty() {
        return;
    }
    if name == "string" && values.iter().all(|value| value.is_string()) {
        converted.insert("enum".to_owned(), values.into_iter().cloned().collect());
        return;
    }
    let list: Vec<String> = values.iter().map(ToString::to_string).collect();
    let list = format!("One of: {}", list.join(", "));
    let text = match converted.get("description").and_then(Value::as_str) {
        Some(text) => format!("{text} {list}"),
        None => list,
    };
    converted.insert("description".to_owned(), text.into());
}

#[cfg(test)]
mod tests {
    use super::super::openapi_parameters as parameters;
    use super::*;

    #[test]
    fn keywords_are_converted() {
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "additionalProperties": false,
            "required": ["path", "gone"],
            "properties": {
                "path": {"type": "string", "description": "Where", "minLength": 1, "format": "uri"},
                "when": {"type": ["string", "null"], "format": "date-time"},
                "mode": {"enum": ["r", "w", null]},
                "level": {"type": "integer", "enum": [1, 2], "description": "How loud."},
                "kind": {"const": "file"},
                "count": {"type": "integer", "exclusiveMinimum": 0, "maximum": 9, "default": 3},
                "either": {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "number"}}]},
                "maybe": {"anyOf": [{"type": "boolean"}, {"type": "null"}], "description": "Perhaps"},
                "mixed": {"type": ["string", "integer"]},
                "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]},
                "list": {"type": "array"},
                "any": true,
                "edit": {"$ref": "#/$defs/edit"},
                "both": {"allOf": [{"$ref": "#/$defs/edit"}, {"properties": {"new": {"type": "string"}}, "required": ["new"]}]},
            },
            "$defs": {"edit": {"type": "object", "properties": {"old": {"type": "string"}}, "required": ["old"]}},
        });
        let expected = json!({
            "type": "OBJECT",
            "properties": {
                "path": {"description": "Where", "minLength": 1, "type": "STRING"},
                "when": {"nullable": true, "type": "STRING", "format": "date-time"},
                "mode": {"type": "STRING", "enum": ["r", "w"]},
                "level": {"description": "How loud. One of: 1, 2", "type": "INTEGER"},
                "kind": {"type": "STRING", "enum": ["file"]},
                "count": {"maximum": 9, "minimum": 0, "type": "INTEGER"},
                "either": {"anyOf": [{"type": "STRING"}, {"type": "ARRAY", "items": {"type": "NUMBER"}}]},
                "maybe": {"description": "Perhaps", "nullable": true, "type": "BOOLEAN"},
                "mixed": {"anyOf": [{"type": "STRING"}, {"type": "INTEGER"}]},
                "pair": {"type": "ARRAY", "items": {"anyOf": [{"type": "STRING"}, {"type": "INTEGER"}]}},
                "list": {"type": "ARRAY", "items": {"type": "STRING"}},
                "any": {"type": "STRING"},
                "edit": {"type": "OBJECT", "properties": {"old": {"type": "STRING"}}, "required": ["old"]},
                "both": {"type": "OBJECT", "properties": {"new": {"type": "STRING"}, "old": {"type": "STRING"}},
                         "required": ["old", "new"], "propertyOrdering": ["old", "new"]},
            },
            "required": ["path"],
            "propertyOrdering": ["path", "when", "mode", "level", "kind", "count", "either", "maybe", "mixed",
                                 "pair", "list", "any", "edit", "both"],
        });
        assert_eq!(parameters(&schema), Some(expected));
    }

    #[test]
    fn tool_without_parameters_has_none() {
        for schema in [
            json!({"type": "object"}),
            json!({"type": "object", "properties": {}}),
            json!({}),
        ] {
            assert_eq!(parameters(&schema), None);
        }
    }

    #[test]
    fn recursive_schema_is_truncated() {
        let schema = json!({
            "type": "object",
            "properties": {"tree": {"$ref": "#/$defs/tree"}, "self": {"$ref": "#/$defs/loop"}},
            "$defs": {
                "tree": {"type": "object", "properties": {"child": {"$ref": "#/$defs/tree"}}},
                "loop": {"$ref": "#/$defs/loop"},
            },
        });
        let mut at = &parameters(&schema).unwrap()["properties"]["tree"];
        let mut depth = 0;
        while let Some(child) = at.pointer("/properties/child") {
            assert_eq!(child["type"], "OBJECT");
            (at, depth) = (child, depth + 1);
        }
        assert!((1..=20).contains(&depth));
    }
}
