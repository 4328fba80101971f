//! Reads events field by field.
//!
//! An event is first read as the format defines it. If that fails, its table of fields repairs it:
//! numbers become ids, texts become indices, objects become texts. A part that cannot be read is
//! removed and named in a warning; everything around it stays.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::answer::Answer;

/// Keys of the text in an object that is sent instead of a text.
const TEXT_KEYS: [&str; 6] = [
    "text",
    "content",
    "value",
    "thinking",
    "summary",
    "reasoning",
];
/// Keys of the word in an object that is sent instead of a word.
const WORD_KEYS: [&str; 6] = ["id", "type", "reason", "value", "name", "text"];

/// The type of a field.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shape {
    /// Anything.
    Any,
    /// Text, of which an object or a list can have parts.
    Text,
    /// A text, or a list of objects with these fields.
    Parts(&'static [Field]),
    /// An id, a name or a reason.
    Word,
    /// The reason for the end of an answer, in any form.
    Reason,
    /// JSON as text.
    Json,
    /// A count from 0.
    Index,
    Flag,
    Object(&'static [Field]),
    /// An object; a text in its place is the value of this field.
    Carrier(&'static str, &'static [Field]),
    List(&'static Shape),
}

pub(super) type Field = (&'static str, Shape);

/// The event in `data`; `None` if `data` is not an event.
pub(super) fn read<T: DeserializeOwned>(
    data: &str,
    shape: Shape,
    answer: &mut Answer,
) -> Option<T> {
    if let Ok(event) = serde_json::from_str(data) {
        return Some(event);
    }
    let mut value = serde_json::from_str::<Value>(data).ok()?;
    if !value.is_object() {
        return None;
    }
    let mut repair = Repair {
        path: Vec::new(),
        odd: Vec::new(),
    };
    repair.value(&mut value, shape);
    for path in repair.odd {
        answer.leave_out(path);
    }
    // Parsed from text again, because counts are read from their text.
    serde_json::from_str(&value.to_string()).ok()
}

struct Repair {
    path: Vec<String>,
    odd: Vec<String>,
}

impl Repair {
    /// Repairs `value`. Returns false if it cannot be read.
    fn value(&mut self, value: &mut Value, shape: Shape) -> bool {
        if value.is_null() {
            return true;
        }
        match shape {
            Shape::Any => true,
            Shape::Text => replace(value, text(value)),
            Shape::Word => replace(value, word(value)),
            Shape::Reason => replace(value, Some(reason(value))),
            Shape::Json if value.is_string() => true,
            Shape::Json => replace(value, Some(value.to_string().into())),
            Shape::Index => replace(value, index(value)),
            Shape::Flag => replace(value, flag(value)),
            Shape::Parts(fields) => {
                if value.is_array() {
                    self.list(value, Shape::Carrier("text", fields))
                } else {
                    replace(value, text(value))
                }
            }
            Shape::Object(fields) => self.object(value, None, fields),
            Shape::Carrier(key, fields) => self.object(value, Some(key), fields),
            Shape::List(shape) => self.list(value, *shape),
        }
    }

    fn object(&mut self, value: &mut Value, carried: Option<&str>, fields: &[Field]) -> bool {
        match (value.take(), carried) {
            (object @ Value::Object(_), _) => *value = object,
            (Value::String(text), Some(key)) => {
                *value = Map::from_iter([(key.to_owned(), text.into())]).into();
            }
            (Value::Array(mut list), _) if list.len() == 1 && list[0].is_object() => {
                *value = list.remove(0);
            }
            _ => return false,
        }
        let Some(map) = value.as_object_mut() else {
            return false;
        };
        for (name, shape) in fields {
            let Some(field) = map.get_mut(*name) else {
                continue;
            };
            self.path.push((*name).to_owned());
            if !self.value(field, *shape) {
                self.name_odd();
                map.shift_remove(*name);
            }
            self.path.pop();
        }
        true
    }

    fn list(&mut self, value: &mut Value, shape: Shape) -> bool {
        let items = match value.take() {
            Value::Array(items) => items,
            // An object with numeric keys, as some languages write a list.
            Value::Object(map) if map.keys().all(|key| key.parse::<u32>().is_ok()) => {
                map.into_iter().map(|(_, item)| item).collect()
            }
            Value::Object(map) => vec![Value::Object(map)],
            Value::String(text) if matches!(shape, Shape::Carrier(..)) => vec![text.into()],
            _ => return false,
        };
        let mut kept = Vec::with_capacity(items.len());
        for (at, mut item) in items.into_iter().enumerate() {
            if item.is_null() {
                continue;
            }
            self.path.push(at.to_string());
            if self.value(&mut item, shape) {
                kept.push(item);
            } else {
                self.name_odd();
            }
            self.path.pop();
        }
        *value = kept.into();
        true
    }

    fn name_odd(&mut self) {
        self.odd.push(self.path.join("."));
    }
}

fn replace(value: &mut Value, repaired: Option<Value>) -> bool {
    repaired.map(|repaired| *value = repaired).is_some()
}

/// The text of a value.
fn text(value: &Value) -> Option<Value> {
    fn parts(value: &Value) -> Option<String> {
        match value {
            Value::String(text) => Some(text.clone()),
            Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
            Value::Array(list) => Some(list.iter().filter_map(parts).collect()),
            Value::Object(map) if map.is_empty() => Some(String::new()),
            Value::Object(map) => TEXT_KEYS.iter().find_map(|key| parts(map.get(*key)?)),
            Value::Null => None,
        }
    }
    parts(value).map(Value::from)
}

fn word(value: &Value) -> Option<Value> {
    match value {
        Value::String(_) => Some(value.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string().into()),
        Value::Object(map) => WORD_KEYS.iter().find_map(|key| {
            let value = map.get(*key)?;
            (value.is_string() || value.is_number()).then(|| word(value))?
        }),
        Value::Array(list) => list
            .first()
            .filter(|first| !first.is_array())
            .and_then(word),
        Value::Null => None,
    }
}

/// A reason; `null` if there is none.
fn reason(value: &Value) -> Value {
    let is_none = match value {
        Value::Bool(is) => !is,
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    };
    if is_none {
        return Value::Null;
    }
    let key = || Some(value.as_object()?.keys().next()?.clone().into());
    word(value).or_else(key).unwrap_or_else(|| "unknown".into())
}

fn index(value: &Value) -> Option<Value> {
    let number = match value {
        Value::String(text) => text.trim().parse().ok()?,
        value => value.as_f64()?,
    };
    ((0.0..9e15).contains(&number) && number.fract() == 0.0).then(|| (number as u64).into())
}

fn flag(value: &Value) -> Option<Value> {
    match value {
        Value::Bool(_) => Some(value.clone()),
        Value::String(text) => text
            .trim()
            .to_lowercase()
            .parse::<bool>()
            .ok()
            .map(Value::from),
        Value::Number(number) => Some((number.as_f64() != Some(0.0)).into()),
        _ => None,
    }
}
