//! Checks arguments against a tool's JSON Schema (2020-12, with the words of older drafts), so that a model
//! learns at once what is wrong with a call, and where.
//!
//! A word of the table in `words` is held to the letter. One that is not there allows everything, and so do
//! references to other documents: who runs the call has the last say. Nothing here can fail or loop, whatever
//! a server sends as a schema.

mod shape;
mod words;

use std::cell::Cell;

use regex::Regex;
use serde_json::Value;

use self::words::WORDS;

/// How deep schemas may be nested, references counted; what is deeper is allowed.
const DEPTH: usize = 64;
/// How many schemas a value is held against; what is left then is allowed.
const CHECKS: u32 = 200_000;
/// Characters of a value in a message.
const SHOWN: usize = 120;

/// A schema that says something sensible.
#[derive(Debug, Clone)]
pub(super) struct Schema {
    root: Value,
}

/// What is wrong with a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    /// JSON pointers into the value and into the schema.
    pub(super) place: String,
    pub(super) schema_path: String,
    pub(super) message: String,
}

impl Schema {
    /// # Errors
    /// What is wrong with the schema itself.
    pub(super) fn new(schema: &Value) -> Result<Self, String> {
        shape::check(schema, "", 0)?;
        Ok(Self {
            root: schema.clone(),
        })
    }

    /// Everything that is wrong with `value`.
    pub(super) fn faults(&self, value: &Value) -> Vec<Fault> {
        let mut faults = Vec::new();
        let left = Cell::new(CHECKS);
        let check = Check {
            root: &self.root,
            left: &left,
            depth: 0,
            place: String::new(),
            path: String::new(),
        };
        check.value(&self.root, value, &mut faults);
        faults
    }
}

/// Where a check is.
struct Check<'a> {
    root: &'a Value,
    /// Checks that may still be made.
    left: &'a Cell<u32>,
    depth: usize,
    place: String,
    path: String,
}

impl Check<'_> {
    fn value(&self, schema: &Value, value: &Value, faults: &mut Vec<Fault>) {
        let left = self.left.get();
        if self.depth > DEPTH || left == 0 {
            return;
        }
        self.left.set(left - 1);
        match schema {
            Value::Bool(false) => {
                let message = format!("nothing is allowed here, not {}", shown(value));
                self.fault(message, faults);
            }
            Value::Object(words) => {
                for (name, hold) in WORDS {
                    if let Some(word) = words.get(*name) {
                        hold(&self.word(name), (words, word), value, faults);
                    }
                }
            }
            _ => {}
        }
    }

    fn is_valid(&self, schema: &Value, value: &Value) -> bool {
        let mut faults = Vec::new();
        self.value(schema, value, &mut faults);
        faults.is_empty()
    }

    fn fault(&self, message: String, faults: &mut Vec<Fault>) {
        faults.push(Fault {
            place: self.place.clone(),
            schema_path: self.path.clone(),
            message,
        });
    }

    /// One step down in the schema.
    fn word(&self, name: impl std::fmt::Display) -> Self {
        Self {
            root: self.root,
            left: self.left,
            depth: self.depth + 1,
            place: self.place.clone(),
            path: format!("{}/{}", self.path, escaped(&name.to_string())),
        }
    }

    /// One step down in the value.
    fn part(&self, name: impl std::fmt::Display) -> Self {
        Self {
            root: self.root,
            left: self.left,
            depth: self.depth,
            place: format!("{}/{}", self.place, escaped(&name.to_string())),
            path: self.path.clone(),
        }
    }

    /// What a reference within the document points to.
    fn target(&self, reference: &str) -> Option<&Value> {
        let pointer = reference.strip_prefix('#')?;
        self.root.pointer(pointer)
    }
}

fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// A value as a message shows it.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Whether two values are the same by the rules of JSON Schema: 1 is 1.0.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            let same_field = |(name, a): (&String, &Value)| b.get(name).is_some_and(|b| same(a, b));
            a.len() == b.len() && a.iter().all(same_field)
        }
        _ => a == b,
    }
}

/// Whether `text` has a match; a pattern that is none of ours is one with everything.
fn matches(pattern: &str, text: &str) -> bool {
    Regex::new(pattern).map_or(true, |pattern| pattern.is_match(text))
}

#[cfg(test)]
mod tests;
