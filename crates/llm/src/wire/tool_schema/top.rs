//! Makes the schema of an object without choices: no vendor accepts anything else at the top level.

use serde_json::{Map, Value, json};

use super::target;

/// Maximum depth of choices within choices.
const DEPTH: usize = 8;

/// Keywords that vendors refuse at the top level.
const REFUSED: [&str; 11] = [
    "$ref",
    "anyOf",
    "oneOf",
    "allOf",
    "not",
    "enum",
    "const",
    "items",
    "nullable",
    "contains",
    "propertyNames",
];

/// The valid schema `fixed` as that of an object.
pub(super) fn object(mut fixed: Map<String, Value>) -> Map<String, Value> {
    let root = Value::Object(fixed.clone());
    let shape = Shape::of(&fixed, &root, 0);
    for keyword in REFUSED {
        fixed.shift_remove(keyword);
    }
    fixed.insert("type".into(), "object".into());
    fixed.insert("properties".into(), shape.properties.into());
    if shape.required.is_empty() {
        fixed.shift_remove("required");
    } else {
        fixed.insert("required".into(), shape.required.into());
    }
    fixed
}

/// The properties of an object.
#[derive(Debug, Default)]
struct Shape {
    properties: Map<String, Value>,
    required: Vec<String>,
}

impl Shape {
    /// The properties of a schema: its own, and those of all schemas that it combines or chooses
    /// from.
    fn of(schema: &Map<String, Value>, root: &Value, depth: usize) -> Self {
        let mut shape = Self::default();
        if depth > DEPTH {
            return shape;
        }
        if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
            shape.properties.clone_from(properties);
        }
        let required = schema.get("required").and_then(Value::as_array);
        for name in required.into_iter().flatten().filter_map(Value::as_str) {
            shape.require(name);
        }
        let list = |keyword: &str| -> Vec<Self> {
            let list = schema.get(keyword).and_then(Value::as_array);
            let schemas = list.into_iter().flatten().filter_map(Value::as_object);
            schemas
                .map(|part| Self::of(part, root, depth + 1))
                .collect()
        };
        let referred = schema.get("$ref").and_then(Value::as_str);
        let referred = referred.and_then(|path| target(root, path));
        let referred = referred.map(|schema| Self::of(schema, root, depth + 1));
        for part in referred.into_iter().chain(list("allOf")) {
            for name in &part.required {
                shape.require(name);
            }
            shape.add(part.properties);
        }
        for keyword in ["anyOf", "oneOf"] {
            let choices = list(keyword);
            // A name is required if every choice requires it.
            if let Some((first, others)) = choices.split_first() {
                for name in &first.required {
                    if others.iter().all(|other| other.required.contains(name)) {
                        shape.require(name);
                    }
                }
            }
            for choice in choices {
                shape.add(choice.properties);
            }
        }
        if depth == 0 {
            let Self {
                properties,
                required,
            } = &mut shape;
            required.retain(|name| properties.contains_key(name));
        }
        shape
    }

    fn require(&mut self, name: &str) {
        if !self.required.iter().any(|have| have == name) {
            self.required.push(name.to_owned());
        }
    }

    /// Adds properties. A property with two different schemas accepts both.
    fn add(&mut self, properties: Map<String, Value>) {
        for (name, schema) in properties {
            match self.properties.get_mut(&name) {
                None => {
                    self.properties.insert(name, schema);
                }
                Some(have) if *have == schema => {}
                Some(have) => {
                    let mut choices = match have.get("anyOf") {
                        Some(Value::Array(choices))
                            if have.as_object().is_some_and(|it| it.len() == 1) =>
                        {
                            choices.clone()
                        }
                        _ => vec![have.clone()],
                    };
                    if !choices.contains(&schema) {
                        choices.push(schema);
                    }
                    *have = json!({ "anyOf": choices });
                }
            }
        }
    }
}
