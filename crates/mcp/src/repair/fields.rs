//! The fields of an odd value: finds fields that can be read, and their texts.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

pub(super) type Fields = Map<String, Value>;

/// The entries of a value that should be a list.
pub(super) fn list_of(value: Value) -> Vec<Value> {
    match value {
        Value::Array(list) => list,
        Value::Null => Vec::new(),
        other => vec![other],
    }
}

/// Removes the fields of `entry` that cannot be read, and reports them with names after `label`.
/// Returns false if `required` fields cannot be read.
pub(super) fn fits<T: DeserializeOwned>(
    entry: &mut Value,
    required: &[&str],
    label: &str,
    left_out: &mut Vec<String>,
) -> bool {
    if T::deserialize(&*entry).is_ok() {
        return true;
    }
    let Some(fields) = entry.as_object() else {
        return false;
    };
    let is_required = |name: &String| required.contains(&name.as_str());
    let mut kept: Fields = fields
        .iter()
        .filter(|(name, _)| is_required(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    if T::deserialize(&Value::Object(kept.clone())).is_err() {
        return false;
    }
    for (name, value) in fields.iter().filter(|(name, _)| !is_required(name)) {
        if is_read::<T>(&kept, name, value) {
            kept.insert(name.clone(), value.clone());
            continue;
        }
        left_out.push(format!("`{name}` of {label}"));
        // The other fields in the object stay.
        let inner = value.as_object().map(|inner| {
            let fitting = inner
                .iter()
                .filter(|(key, value)| is_read::<T>(&kept, name, &json!({ key.as_str(): value })));
            fitting
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect::<Fields>()
        });
        if let Some(inner) = inner.map(Value::Object)
            && is_read::<T>(&kept, name, &inner)
        {
            kept.insert(name.clone(), inner);
        }
    }
    *entry = Value::Object(kept);
    true
}

/// Whether `fields` can be read together with the field `name`.
fn is_read<T: DeserializeOwned>(fields: &Fields, name: &str, value: &Value) -> bool {
    let mut with = fields.clone();
    with.insert(name.to_owned(), value.clone());
    T::deserialize(&Value::Object(with)).is_ok()
}

/// Whether an entry has the field `key`, which also becomes its name if it has none. An entry that
/// is a text becomes such a field.
pub(super) fn named_by(entry: &mut Value, key: &str) -> bool {
    if let Some(uri) = entry.as_str() {
        *entry = json!({ key: uri });
    }
    let Some(fields) = entry.as_object_mut() else {
        return false;
    };
    if !has_name(fields, key) {
        return false;
    }
    if !has_name(fields, "name") {
        let name = fields[key].clone();
        fields.insert("name".to_owned(), name);
    }
    to_texts(fields, &["title", "description", "mimeType"]);
    true
}

/// Whether the field `key` is a text that is not empty. Numbers become texts.
pub(super) fn has_name(fields: &mut Fields, key: &str) -> bool {
    to_texts(fields, &[key]);
    let name = fields.get(key).and_then(Value::as_str);
    name.is_some_and(|name| !name.trim().is_empty())
}

/// Makes texts of fields that have other types.
pub(super) fn to_texts(fields: &mut Fields, names: &[&str]) {
    for name in names {
        match fields.get_mut(*name) {
            None | Some(Value::String(_)) => {}
            Some(Value::Null) => drop(fields.remove(*name)),
            Some(value) => *value = text_of(value).into(),
        }
    }
}

/// The text in a value.
pub(super) fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(list) if list.iter().all(Value::is_string) => {
            let lines: Vec<&str> = list.iter().filter_map(Value::as_str).collect();
            lines.join("\n")
        }
        Value::Object(map) => match map.get("text") {
            Some(Value::String(text)) => text.clone(),
            _ => value.to_string(),
        },
        other => other.to_string(),
    }
}

pub(super) fn whole_number(value: &Value) -> Option<i64> {
    match value {
        Value::String(text) => text.trim().parse().ok(),
        value => {
            let number = value.as_f64()?;
            (number.fract() == 0.0 && number.abs() < 9e15).then_some(number as i64)
        }
    }
}

pub(super) fn is_true(value: &Value) -> bool {
    match value {
        Value::Bool(is) => *is,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => matches!(text.trim().to_lowercase().as_str(), "true" | "yes" | "1"),
        Value::Object(_) => true,
        Value::Null | Value::Array(_) => false,
    }
}
