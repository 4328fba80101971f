//! Makes a valid schema: every keyword has the type that the standard requires.

use serde_json::{Map, Value, json};

use super::{Dialect, target};

/// Maximum depth. Deeper schemas accept anything.
const DEPTH: usize = 16;
/// Maximum number of subschemas: replacing references can multiply them.
const SUBSCHEMAS: usize = 5000;

/// Names of types in other languages.
const TYPE_NAMES: &[(&str, &str)] = &[
    ("str", "string"),
    ("text", "string"),
    ("char", "string"),
    ("date", "string"),
    ("datetime", "string"),
    ("uuid", "string"),
    ("url", "string"),
    ("int", "integer"),
    ("long", "integer"),
    ("float", "number"),
    ("double", "number"),
    ("decimal", "number"),
    ("bool", "boolean"),
    ("dict", "object"),
    ("map", "object"),
    ("struct", "object"),
    ("list", "array"),
    ("tuple", "array"),
    ("set", "array"),
    ("none", "null"),
    ("nil", "null"),
];

pub(super) const TYPES: [&str; 7] = [
    "string", "integer", "number", "boolean", "object", "array", "null",
];

/// The type of the value of a keyword. Other keywords are removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Number,
    Count,
    Flag,
    Any,
    List,
    Schema,
    SchemaOrFlag,
    Choices,
    Schemas,
}

const KEYWORDS: &[(&str, Kind)] = &[
    ("title", Kind::Text),
    ("description", Kind::Text),
    ("default", Kind::Any),
    ("examples", Kind::List),
    ("const", Kind::Any),
    ("format", Kind::Text),
    ("pattern", Kind::Text),
    ("minimum", Kind::Number),
    ("maximum", Kind::Number),
    ("exclusiveMinimum", Kind::Number),
    ("exclusiveMaximum", Kind::Number),
    ("multipleOf", Kind::Number),
    ("minLength", Kind::Count),
    ("maxLength", Kind::Count),
    ("minItems", Kind::Count),
    ("maxItems", Kind::Count),
    ("minProperties", Kind::Count),
    ("maxProperties", Kind::Count),
    ("uniqueItems", Kind::Flag),
    ("readOnly", Kind::Flag),
    ("writeOnly", Kind::Flag),
    ("deprecated", Kind::Flag),
    ("contentEncoding", Kind::Text),
    ("contentMediaType", Kind::Text),
    ("not", Kind::Schema),
    ("propertyNames", Kind::Schema),
    ("contains", Kind::Schema),
    ("additionalProperties", Kind::SchemaOrFlag),
    ("anyOf", Kind::Choices),
    ("oneOf", Kind::Choices),
    ("allOf", Kind::Choices),
    ("patternProperties", Kind::Schemas),
    ("$defs", Kind::Schemas),
    ("definitions", Kind::Schemas),
];

/// The valid schema.
pub(super) fn fix(schema: &Value, dialect: Dialect) -> Map<String, Value> {
    let root = bare_properties(schema);
    let root = root.as_ref().unwrap_or(schema);
    let mut fixer = Fixer {
        root,
        dialect,
        subschemas: 0,
    };
    let mut fixed = fixer.schema(root, 0);
    if !dialect.references {
        fixed.shift_remove("$defs");
        fixed.shift_remove("definitions");
    }
    fixed
}

/// The schema of an object whose properties are written without `properties`.
fn bare_properties(schema: &Value) -> Option<Value> {
    let map = schema.as_object().filter(|map| !map.is_empty())?;
    let is_keyword = |name: &String| {
        name.starts_with('$')
            || ["type", "properties", "required", "items", "enum"].contains(&name.as_str())
            || KEYWORDS.iter().any(|(keyword, _)| keyword == name)
    };
    let is_schema = |value: &Value| value.get("type").is_some_and(Value::is_string);
    let is_bare = !map.keys().any(is_keyword) && map.values().all(is_schema);
    is_bare.then(|| json!({"type": "object", "properties": map}))
}

struct Fixer<'a> {
    root: &'a Value,
    dialect: Dialect,
    subschemas: usize,
}

impl Fixer<'_> {
    fn schema(&mut self, schema: &Value, depth: usize) -> Map<String, Value> {
        self.subschemas += 1;
        let schema = match schema {
            Value::Object(map) => map,
            // A type instead of a schema.
            Value::String(_) => return self.schema(&json!({ "type": schema }), depth),
            _ => return Map::new(),
        };
        let inlined = self.without_reference(schema);
        let schema = inlined.as_ref().unwrap_or(schema);
        if depth > DEPTH || self.subschemas > SUBSCHEMAS {
            let name = schema.get("type").and_then(known_type);
            let name = name.or_else(|| schema.get("properties").map(|_| "object".into()));
            return name
                .map(|name| ("type".to_owned(), name))
                .into_iter()
                .collect();
        }
        let mut fixed = Map::new();
        let mut required = Vec::new();
        for (keyword, value) in schema {
            match keyword.as_str() {
                "type" => drop(known_type(value).map(|it| fixed.insert("type".into(), it))),
                "nullable" if self.dialect.openapi && *value == Value::Bool(true) => {
                    fixed.insert("nullable".into(), true.into());
                }
                "enum" => drop(values(value).map(|it| fixed.insert("enum".into(), it))),
                "$ref" if self.dialect.references && value.is_string() => {
                    fixed.insert("$ref".into(), value.clone());
                }
                "properties" => {
                    let properties = self.properties(value, &mut required, depth);
                    fixed.insert("properties".into(), properties.into());
                }
                // A placeholder keeps the position of the keyword until the properties are known.
                "required" => {
                    fixed.insert("required".into(), Value::Null);
                }
                "items" | "prefixItems" => self.items(keyword, value, &mut fixed, depth),
                _ => self.keyword(keyword, value, &mut fixed, depth),
            }
        }
        bounds(schema, &mut fixed);
        finish(schema, &mut fixed, required);
        fixed
    }

    fn keyword(
        &mut self,
        keyword: &str,
        value: &Value,
        fixed: &mut Map<String, Value>,
        depth: usize,
    ) {
        let Some((_, kind)) = KEYWORDS.iter().find(|(known, _)| *known == keyword) else {
            return;
        };
        let value = match kind {
            Kind::Any => Some(value.clone()),
            Kind::Text => text(value),
            Kind::Number => Some(value.clone()).filter(Value::is_number),
            Kind::Count => count(value),
            Kind::Flag => Some(value.clone()).filter(Value::is_boolean),
            Kind::List => Some(value.clone()).filter(Value::is_array),
            Kind::SchemaOrFlag if value.is_boolean() => Some(value.clone()),
            Kind::Schema | Kind::SchemaOrFlag => value
                .is_object()
                .then(|| self.schema(value, depth + 1).into()),
            Kind::Choices => self.choices(value, depth),
            Kind::Schemas => value.as_object().map(|schemas| {
                let fixed = schemas.iter();
                let fixed = fixed.map(|(name, schema)| {
                    (name.clone(), Value::Object(self.schema(schema, depth + 1)))
                });
                fixed.collect::<Map<_, _>>().into()
            }),
        };
        if let Some(value) = value {
            fixed.insert(keyword.to_owned(), value);
        }
    }

    /// Fixes properties, also if they are a list of names or of schemas with names.
    fn properties(
        &mut self,
        value: &Value,
        required: &mut Vec<String>,
        depth: usize,
    ) -> Map<String, Value> {
        let mut add = |name: &str, schema: &Value, fixed: &mut Map<String, Value>| {
            // Old drafts have a flag in the property.
            if schema.get("required") == Some(&Value::Bool(true)) {
                required.push(name.to_owned());
            }
            fixed.insert(name.to_owned(), self.schema(schema, depth + 1).into());
        };
        let mut fixed = Map::new();
        match value {
            Value::Object(map) => {
                for (name, schema) in map {
                    add(name, schema, &mut fixed);
                }
            }
            Value::Array(list) => {
                for schema in list {
                    let name = schema.as_str().or_else(|| schema.get("name")?.as_str());
                    let empty = Value::Object(Map::new());
                    let schema = if schema.is_string() { &empty } else { schema };
                    if let Some(name) = name {
                        add(name, schema, &mut fixed);
                    }
                }
            }
            _ => {}
        }
        fixed
    }

    /// Fixes the schema of all items. The schema of a tuple becomes one that accepts each of its
    /// items at every position.
    fn items(
        &mut self,
        keyword: &str,
        value: &Value,
        fixed: &mut Map<String, Value>,
        depth: usize,
    ) {
        let mut kinds: Vec<Value> = Vec::new();
        match value {
            // The schema of the items after a tuple is dropped.
            _ if keyword == "items" && fixed.contains_key("items") => return,
            Value::Array(tuple) => {
                for item in tuple {
                    let kind = Value::Object(self.schema(item, depth + 1));
                    if !kinds.contains(&kind) {
                        kinds.push(kind);
                    }
                }
            }
            _ => kinds.push(self.schema(value, depth + 1).into()),
        }
        let items = match kinds.len() {
            0 => json!({}),
            1 => kinds.remove(0),
            _ => json!({ "anyOf": kinds }),
        };
        fixed.insert("items".into(), items);
    }

    fn choices(&mut self, value: &Value, depth: usize) -> Option<Value> {
        let list = match value {
            Value::Array(list) => list.as_slice(),
            Value::Object(_) => std::slice::from_ref(value),
            _ => return None,
        };
        let schemas = list.iter().filter(|choice| choice.is_object());
        let fixed: Vec<Value> = schemas
            .map(|schema| self.schema(schema, depth + 1).into())
            .collect();
        (!fixed.is_empty()).then(|| fixed.into())
    }

    /// The schema with its reference replaced by the target, for formats without references.
    fn without_reference(&self, schema: &Map<String, Value>) -> Option<Map<String, Value>> {
        let path = schema.get("$ref").filter(|_| !self.dialect.references)?;
        let mut merged = schema.clone();
        merged.shift_remove("$ref");
        let mut next = path.as_str().and_then(|path| target(self.root, path));
        // The target can be a reference, too.
        for _ in 0..=DEPTH {
            let Some(found) = next else { break };
            for (keyword, value) in found {
                if keyword != "$ref" {
                    merged.entry(keyword).or_insert_with(|| value.clone());
                }
            }
            let path = found.get("$ref").and_then(Value::as_str);
            next = path.and_then(|path| target(self.root, path));
        }
        Some(merged)
    }
}

/// Adds the keywords that the type requires, and the names of required properties.
fn finish(schema: &Map<String, Value>, fixed: &mut Map<String, Value>, lifted: Vec<String>) {
    if fixed.contains_key("properties") && !fixed.contains_key("type") {
        fixed.shift_insert(0, "type".into(), "object".into());
    }
    if fixed.get("type") == Some(&"array".into()) && !fixed.contains_key("items") {
        fixed.insert("items".into(), json!({}));
    }
    let listed = schema.get("required").and_then(Value::as_array);
    let listed = listed.into_iter().flatten().filter_map(Value::as_str);
    let properties = fixed.get("properties").and_then(Value::as_object);
    let mut required: Vec<String> = Vec::new();
    for name in listed.map(str::to_owned).chain(lifted) {
        let is_known = properties.is_none_or(|properties| properties.contains_key(&name));
        if is_known && !required.contains(&name) {
            required.push(name);
        }
    }
    if required.is_empty() {
        fixed.shift_remove("required");
    } else {
        fixed.insert("required".into(), required.into());
    }
}

/// Types, with the names of other languages translated.
fn known_type(value: &Value) -> Option<Value> {
    let name = |value: &Value| {
        let name = value.as_str()?.to_lowercase();
        let known = TYPE_NAMES.iter().find(|(other, _)| *other == name);
        let name = known.map_or(name.as_str(), |(_, known)| *known);
        TYPES.iter().copied().find(|known| *known == name)
    };
    let Value::Array(list) = value else {
        return name(value).map(Value::from);
    };
    let mut names: Vec<&str> = Vec::new();
    for name in list.iter().filter_map(name) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    match names.as_slice() {
        [] => None,
        [only] => Some(Value::from(*only)),
        _ => Some(names.into()),
    }
}

fn text(value: &Value) -> Option<Value> {
    match value {
        Value::String(_) => Some(value.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string().into()),
        _ => None,
    }
}

fn count(value: &Value) -> Option<Value> {
    let number = value.as_f64()?;
    (number >= 0.0 && number.fract() == 0.0 && number < 9e15).then(|| (number as u64).into())
}

/// The values of an enumeration, without duplicates.
fn values(value: &Value) -> Option<Value> {
    let list = match value {
        Value::Array(list) => list.as_slice(),
        Value::Null | Value::Object(_) => return None,
        one => std::slice::from_ref(one),
    };
    let mut values: Vec<Value> = Vec::new();
    for value in list {
        if !values.contains(value) {
            values.push(value.clone());
        }
    }
    (!values.is_empty()).then(|| values.into())
}

/// Converts the flags for exclusive bounds of old drafts.
fn bounds(schema: &Map<String, Value>, fixed: &mut Map<String, Value>) {
    for (exclusive, bound) in [
        ("exclusiveMinimum", "minimum"),
        ("exclusiveMaximum", "maximum"),
    ] {
        if schema.get(exclusive) == Some(&Value::Bool(true))
            && let Some(value) = fixed.shift_remove(bound)
        {
            fixed.insert(exclusive.to_owned(), value);
        }
    }
}

/// Removes references that lead nowhere.
pub(super) fn remove_dangling(schema: &mut Map<String, Value>) {
    let root = Value::Object(schema.clone());
    remove_dangling_of(schema, &root);
}

fn remove_dangling_of(schema: &mut Map<String, Value>, root: &Value) {
    if let Some(path) = schema.get("$ref").and_then(Value::as_str)
        && target(root, path).is_none()
    {
        schema.shift_remove("$ref");
    }
    for_each_subschema(schema, &mut |schema| remove_dangling_of(schema, root));
}

/// Calls `change` for the schemas directly in a valid one.
pub(super) fn for_each_subschema(
    schema: &mut Map<String, Value>,
    change: &mut dyn FnMut(&mut Map<String, Value>),
) {
    for (keyword, value) in schema {
        let kind = match keyword.as_str() {
            "properties" => Kind::Schemas,
            "items" => Kind::Schema,
            keyword => KEYWORDS
                .iter()
                .find(|(known, _)| *known == keyword)
                .map_or(Kind::Any, |(_, kind)| *kind),
        };
        match (kind, value) {
            (Kind::Schemas, Value::Object(schemas)) => schemas
                .values_mut()
                .filter_map(Value::as_object_mut)
                .for_each(&mut *change),
            (Kind::Choices, Value::Array(list)) => list
                .iter_mut()
                .filter_map(Value::as_object_mut)
                .for_each(&mut *change),
            (Kind::Schema | Kind::SchemaOrFlag, Value::Object(schema)) => change(schema),
            _ => {}
        }
    }
}
