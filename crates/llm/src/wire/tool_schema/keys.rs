//! Names of properties that vendors accept: `^[a-zA-Z0-9_.-]{1,64}$`.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Map, Value};

use super::fix::for_each_subschema;
use super::lowered;
use crate::model::Api;

const LENGTH: usize = 64;

/// Renamed properties of a tool, and their original names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct OriginalKeys(BTreeMap<String, String>);

impl OriginalKeys {
    /// Gives the properties in the arguments of a call their original names.
    pub(crate) fn restore(&self, arguments: &mut Value) {
        match arguments {
            Value::Object(map) => {
                let renamed = map.keys().any(|name| self.0.contains_key(name));
                if renamed {
                    let entries = std::mem::take(map).into_iter();
                    let original = |name: String| self.0.get(&name).cloned().unwrap_or(name);
                    *map = entries
                        .map(|(name, value)| (original(name), value))
                        .collect();
                }
                map.values_mut().for_each(|value| self.restore(value));
            }
            Value::Array(list) => list.iter_mut().for_each(|value| self.restore(value)),
            _ => {}
        }
    }
}

/// The renamed properties of a tool with this `schema`, if there are any.
pub(crate) fn original_keys(schema: &Value, api: Api) -> Option<OriginalKeys> {
    has_odd_key(schema).then(|| lowered(schema, api).1)
}

fn is_accepted(name: &str) -> bool {
    let accepts = |char: char| char.is_ascii_alphanumeric() || "_.-".contains(char);
    (1..=LENGTH).contains(&name.len()) && name.chars().all(accepts)
}

fn has_odd_key(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => map.iter().any(|(name, value)| {
            let properties = (name == "properties").then(|| value.as_object()).flatten();
            properties.is_some_and(|map| !map.keys().all(|name| is_accepted(name)))
                // A list of properties becomes an object.
                || (name == "name" && value.as_str().is_some_and(|name| !is_accepted(name)))
                || has_odd_key(value)
        }),
        Value::Array(list) => list.iter().any(has_odd_key),
        _ => false,
    }
}

/// Renames the properties of a valid schema.
pub(super) fn rename(schema: &mut Map<String, Value>) -> OriginalKeys {
    let mut names = Vec::new();
    collect(&mut schema.clone(), &mut names);
    let mut used: HashSet<String> = names
        .iter()
        .filter(|name| is_accepted(name))
        .cloned()
        .collect();
    let mut renamed: BTreeMap<String, String> = BTreeMap::new();
    for name in names {
        if !is_accepted(&name) && !renamed.contains_key(&name) {
            let new = new_name(&name, &mut used);
            renamed.insert(name, new);
        }
    }
    if renamed.is_empty() {
        return OriginalKeys::default();
    }
    apply(schema, &renamed);
    OriginalKeys(renamed.into_iter().map(|(name, new)| (new, name)).collect())
}

fn new_name(name: &str, used: &mut HashSet<String>) -> String {
    let accepted = |char: char| match char {
        char if char.is_ascii_alphanumeric() || "_.-".contains(char) => char,
        _ => '_',
    };
    let base: String = name.chars().map(accepted).take(LENGTH - 4).collect();
    let base = if base.is_empty() {
        "_".to_owned()
    } else {
        base
    };
    let mut new = base.clone();
    let mut count = 1;
    while !used.insert(new.clone()) {
        count += 1;
        new = format!("{base}_{count}");
    }
    new
}

/// Adds the names of all properties.
fn collect(schema: &mut Map<String, Value>, names: &mut Vec<String>) {
    if let Some(Value::Object(properties)) = schema.get("properties") {
        names.extend(properties.keys().cloned());
    }
    for_each_subschema(schema, &mut |schema| collect(schema, names));
}

fn apply(schema: &mut Map<String, Value>, renamed: &BTreeMap<String, String>) {
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        let entries = std::mem::take(properties).into_iter();
        let new = |name: String| renamed.get(&name).cloned().unwrap_or(name);
        *properties = entries.map(|(name, schema)| (new(name), schema)).collect();
    }
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        for name in required {
            if let Some(new) = name.as_str().and_then(|name| renamed.get(name)) {
                *name = new.clone().into();
            }
        }
    }
    for_each_subschema(schema, &mut |schema| apply(schema, renamed));
}
