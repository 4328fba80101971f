//! The cost of checking a value with a schema that has references. A few lines that refer to each
//! other twice make a number of checks that doubles with every line.

use std::collections::HashMap;
use std::ptr;

use serde_json::{Map, Value};

/// Maximum checks of a subschema with a part of a value, for one value.
pub(super) const LIMIT: u64 = 1_000_000;

/// Keywords whose schemas are checked with the value itself.
const SAME: [&str; 9] = [
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "dependentSchemas",
    "dependencies",
];
/// Keywords with a table of schemas, not one schema.
const TABLES: [&str; 3] = ["dependentSchemas", "dependencies", "patternProperties"];
/// Keywords whose schemas may be checked with each part of a list or an object. `properties` is not
/// among them, because it names its parts.
const PARTS: [&str; 9] = [
    "items",
    "prefixItems",
    "additionalItems",
    "contains",
    "unevaluatedItems",
    "patternProperties",
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
];

/// Whether the check of `value` with `schema` takes at most `LIMIT` steps.
pub(super) fn is_affordable(schema: &Value, value: &Value) -> bool {
    let mut resources = Vec::new();
    collect_resources(schema, &mut resources);
    resources.push(schema);
    let mut cost = Cost {
        resources,
        known: HashMap::new(),
    };
    cost.of(schema, value) <= LIMIT && cost.is_bounded()
}

/// The objects with an own `$id` or anchor, to which a reference may be relative.
fn collect_resources<'s>(schema: &'s Value, found: &mut Vec<&'s Value>) {
    match schema {
        Value::Array(list) => list
            .iter()
            .for_each(|schema| collect_resources(schema, found)),
        Value::Object(map) => {
            if ["$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor"]
                .iter()
                .any(|key| map.contains_key(*key))
            {
                found.push(schema);
            }
            map.values()
                .for_each(|schema| collect_resources(schema, found));
        }
        _ => {}
    }
}

struct Cost<'s> {
    resources: Vec<&'s Value>,
    /// The steps for a schema and a value, by their addresses.
    known: HashMap<(*const Value, *const Value), u64>,
}

impl<'s> Cost<'s> {
    /// Whether counting itself stayed within the limit.
    fn is_bounded(&self) -> bool {
        self.known.len() as u64 <= LIMIT
    }

    /// The most steps that the check of `value` with `schema` can take.
    fn of(&mut self, schema: &'s Value, value: &Value) -> u64 {
        let Value::Object(map) = schema else { return 1 };
        let key = (ptr::from_ref(schema), ptr::from_ref(value));
        if let Some(cost) = self.known.get(&key) {
            return *cost;
        }
        if !self.is_bounded() {
            return LIMIT;
        }
        // A cycle is found by the check itself.
        self.known.insert(key, 0);
        let mut cost = 1_u64;
        for (keyword, child) in map {
            let steps = match keyword.as_str() {
                "$ref" | "$dynamicRef" | "$recursiveRef" => self.of_reference(child, value),
                "properties" => self.of_properties(child, value),
                keyword if SAME.contains(&keyword) => self.of_all(keyword, child, value),
                keyword if PARTS.contains(&keyword) => {
                    let steps = parts(value).map(|part| self.of_all(keyword, child, part));
                    steps.fold(0, u64::saturating_add)
                }
                _ => 0,
            };
            cost = cost.saturating_add(steps);
        }
        self.known.insert(key, cost);
        cost
    }

    /// All schemas of `keyword`: one, a list or a table.
    fn of_all(&mut self, keyword: &str, schemas: &'s Value, value: &Value) -> u64 {
        let mut sum = |schemas: &mut dyn Iterator<Item = &'s Value>| {
            let costs = schemas.map(|schema| self.of(schema, value));
            costs.fold(0, u64::saturating_add)
        };
        match schemas {
            Value::Array(list) => sum(&mut list.iter()),
            Value::Object(table) if TABLES.contains(&keyword) => sum(&mut table.values()),
            schema => self.of(schema, value),
        }
    }

    fn of_properties(&mut self, schemas: &'s Value, value: &Value) -> u64 {
        let (Value::Object(schemas), Value::Object(values)) = (schemas, value) else {
            return 0;
        };
        let both = values
            .iter()
            .filter_map(|(name, part)| Some((schemas.get(name)?, part)));
        both.map(|(schema, part)| self.of(schema, part))
            .fold(0, u64::saturating_add)
    }

    /// All schemas that the reference may mean.
    fn of_reference(&mut self, reference: &Value, value: &Value) -> u64 {
        let reference = reference.as_str().unwrap_or("#");
        let (file, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let pointer = percent_decoded(fragment);
        let names = |map: &Map<String, Value>| {
            let is = |key: &str, name: &str| {
                map.get(key)
                    .and_then(Value::as_str)
                    .is_some_and(|it| it.ends_with(name))
            };
            (!file.is_empty() && (is("$id", file) || is("id", file)))
                || (!pointer.is_empty()
                    && (is("$anchor", &pointer) || is("$dynamicAnchor", &pointer)))
        };
        let mut cost = 1_u64;
        for resource in self.resources.clone() {
            let named = resource.as_object().is_some_and(names);
            let target = if pointer.starts_with('/') {
                resource.pointer(&pointer)
            } else {
                None
            };
            let whole = (named || (pointer.is_empty() && file.is_empty())).then_some(resource);
            for schema in [target, whole].into_iter().flatten() {
                cost = cost.saturating_add(self.of(schema, value));
            }
        }
        cost
    }
}

/// The elements of a list, or the values of an object.
fn parts(value: &Value) -> Box<dyn Iterator<Item = &Value> + '_> {
    match value {
        Value::Array(list) => Box::new(list.iter()),
        Value::Object(map) => Box::new(map.values()),
        _ => Box::new(std::iter::empty()),
    }
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        let code = code
            .and_then(|hex| u8::from_str_radix(hex, 16).ok())
            .filter(|_| *first == b'%');
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Definitions that each refer twice to the previous one, by `reference`.
    fn doubling(reference: impl Fn(usize) -> String) -> Map<String, Value> {
        let both = |number: usize| json!({"anyOf": [{"$ref": reference(number)}, {"$ref": reference(number)}]});
        let mut definitions: Map<String, Value> = (1..60)
            .map(|number| (format!("x{number}"), both(number - 1)))
            .collect();
        definitions.insert("x0".to_owned(), json!({"type": "string"}));
        definitions
    }

    #[test]
    fn references_that_double_are_too_much_work() {
        let plain = |number: usize| format!("#/$defs/x{number}");
        let escaped = |number: usize| format!("#/%24defs/x{number}");
        let relative = |number: usize| format!("item#/$defs/x{number}");
        for schema in [
            json!({"$ref": "#/$defs/x59", "$defs": doubling(plain)}),
            json!({"$ref": "#/%24defs/x59", "$defs": doubling(escaped)}),
            json!({"properties": {"a": {"items": {"$ref": "#/$defs/x59"}}}, "$defs": doubling(plain)}),
            // The definitions are in a separate resource.
            json!({"$ref": "item", "$defs": {"i": {"$id": "item", "$ref": "#/$defs/x59", "$defs": doubling(plain)}}}),
            json!({"$ref": "item#/$defs/x59", "$defs": {"i": {"$id": "item", "$defs": doubling(relative)}}}),
        ] {
            assert!(!is_affordable(&schema, &json!({"a": [1]})), "{schema}");
        }
        // The value is nested.
        let list = json!({"properties": {"a": {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}}});
        let value = (0..60).fold(json!(1), |value, _| json!({"a": value}));
        assert!(!is_affordable(&list, &value));
        assert!(is_affordable(&list, &json!({"a": {"a": {"a": 1}}})));
    }

    #[test]
    fn common_schemas_are_affordable() {
        let tree = json!({
            "$ref": "#/$defs/node",
            "$defs": {"node": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
                },
                "additionalProperties": false,
            }},
        });
        let nested = (0..40).fold(
            json!({"name": "a"}),
            |node, _| json!({"name": "a", "children": [node]}),
        );
        assert!(is_affordable(&tree, &nested));
        let leaves: Vec<Value> = (0..10_000)
            .map(|number| json!({"name": number.to_string()}))
            .collect();
        assert!(is_affordable(
            &tree,
            &json!({"name": "a", "children": leaves})
        ));
        assert!(is_affordable(&json!({"$ref": "#"}), &json!({})));
    }
}
