//! Finds the JSON objects in the data of an event.
//!
//! Servers send lists of objects, several objects at once, texts that keep the connection open, and
//! JSON that is nearly valid: with trailing commas, `NaN`, or line ends in texts.

use std::fmt::Write as _;

use serde::de::IgnoredAny;
use serde_json::value::RawValue;

/// The mark of the end in formats of OpenAI.
const END: &str = "[DONE]";

/// Words of other languages, and their JSON.
const WORDS: [(&str, &str); 8] = [
    ("NaN", "null"),
    ("Infinity", "null"),
    ("-Infinity", "null"),
    ("-NaN", "null"),
    ("undefined", "null"),
    ("None", "null"),
    ("True", "true"),
    ("False", "false"),
];

/// The parts of the data of an event.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Values {
    /// The text of the objects.
    pub objects: Vec<String>,
    /// Other values, and words that are no JSON.
    pub others: Vec<String>,
    /// Whether a part cannot be read.
    pub is_broken: bool,
}

/// `data` without the mark of the end, and whether it had that mark.
pub(super) fn without_end(data: &str) -> (&str, bool) {
    let data = data.trim();
    let bare = data.trim_matches('"');
    if bare.eq_ignore_ascii_case(END) {
        return ("", true);
    }
    // Without the blank line before the mark, both are one event.
    match data.strip_suffix(END) {
        Some(rest) if rest.trim_end().ends_with(['}', ']']) => (rest.trim_end(), true),
        _ => (data, false),
    }
}

/// Whether `data` is one valid object, which is nearly always the case.
pub(super) fn is_object(data: &str) -> bool {
    data.starts_with('{') && serde_json::from_str::<IgnoredAny>(data).is_ok()
}

/// The values in `data`.
pub(super) fn values(data: &str) -> Values {
    let is_json = match data.as_bytes() {
        [b'{' | b'<', ..] => true,
        // `[PING]` is not a list.
        [b'[', rest @ ..] => rest
            .trim_ascii_start()
            .first()
            .is_none_or(|byte| b"{[\"".contains(byte)),
        _ => false,
    };
    let mut found = Values::default();
    if found.add(data) {
        return found;
    }
    if !is_json {
        found = Values::default();
        found.others.push(data.to_owned());
        return found;
    }
    found = Values::default();
    found.is_broken = !found.add(&repaired(data));
    found
}

impl Values {
    /// Adds the values of `text`. Returns false if a part of it is invalid.
    fn add(&mut self, text: &str) -> bool {
        let values = serde_json::Deserializer::from_str(text).into_iter::<Box<RawValue>>();
        for value in values {
            let Ok(value) = value else { return false };
            self.add_value(value.get());
        }
        true
    }

    fn add_value(&mut self, value: &str) {
        if value.starts_with('{') {
            self.objects.push(value.to_owned());
        } else if let Ok(list) = serde_json::from_str::<Vec<Box<RawValue>>>(value) {
            // Lists in a list contain no part of an answer.
            for item in list {
                match item.get() {
                    object if object.starts_with('{') => self.objects.push(object.to_owned()),
                    "null" => {}
                    other => self.others.push(other.to_owned()),
                }
            }
        } else if value != "null" {
            self.others.push(value.to_owned());
        }
    }
}

/// `text` as valid JSON, if it is nearly valid.
fn repaired(text: &str) -> String {
    let mut repaired = String::with_capacity(text.len());
    let mut rest = text;
    let mut in_text = false;
    while let Some(char) = rest.chars().next() {
        let length = match char {
            '"' => {
                in_text = !in_text;
                repaired.push(char);
                1
            }
            '\\' if in_text => {
                let length = 1 + rest[1..].chars().next().map_or(0, char::len_utf8);
                repaired.push_str(&rest[..length]);
                length
            }
            char if in_text && char < ' ' => {
                // Writing to a text cannot fail.
                let _ = write!(repaired, "\\u{:04x}", u32::from(char));
                1
            }
            ',' if !in_text && rest[1..].trim_start().starts_with([',', '}', ']']) => 1,
            char if !in_text && (char.is_ascii_alphabetic() || char == '-') => {
                let is_end = |char: char| !(char.is_ascii_alphanumeric() || "-+._".contains(char));
                let word = &rest[..rest.find(is_end).unwrap_or(rest.len())];
                let known = WORDS.iter().find(|(name, _)| *name == word);
                repaired.push_str(known.map_or(word, |(_, json)| json));
                word.len()
            }
            char => {
                repaired.push(char);
                char.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    repaired
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Objects, other values, and whether a part is broken.
    fn found(data: &str) -> (Vec<String>, Vec<String>, bool) {
        let found = values(data);
        (found.objects, found.others, found.is_broken)
    }

    #[test]
    fn objects_are_found_in_every_form() {
        for (data, objects, others, is_broken) in [
            ("{\"a\":1}", &["{\"a\":1}"][..], &[][..], false),
            (
                "[{\"a\":1}, null, {\"b\":2}, 3]",
                &["{\"a\":1}", "{\"b\":2}"],
                &["3"],
                false,
            ),
            (
                "{\"a\":1}\n{\"b\":2}",
                &["{\"a\":1}", "{\"b\":2}"],
                &[],
                false,
            ),
            ("[PING]", &[], &["[PING]"], false),
            ("PING", &[], &["PING"], false),
            ("null", &[], &[], false),
            ("7", &[], &["7"], false),
            ("\"x\"", &[], &["\"x\""], false),
            ("{\"a\":NaN}", &["{\"a\":null}"], &[], false),
            (
                "{\"a\":[1,-Infinity,],\"b\":True,}",
                &["{\"a\":[1,null],\"b\":true}"],
                &[],
                false,
            ),
            (
                "{\"a\":\"NaN, ]\nb\\\"\tc\"}",
                &["{\"a\":\"NaN, ]\\u000ab\\\"\\u0009c\"}"],
                &[],
                false,
            ),
            ("{\"a\":1e400}", &["{\"a\":1e400}"], &[], false),
            ("{\"a\":1}{\"b", &["{\"a\":1}"], &[], true),
            ("{", &[], &[], true),
            ("[", &[], &[], true),
            ("<html>", &[], &[], true),
        ] {
            let owned = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
            let expected = (owned(objects), owned(others), is_broken);
            assert_eq!(found(data), expected, "{data}");
        }
    }

    #[test]
    fn the_mark_of_the_end_is_found() {
        for (data, expected) in [
            ("[DONE]", ("", true)),
            (" [done] ", ("", true)),
            ("\"[DONE]\"", ("", true)),
            ("{\"a\":1}\n[DONE]", ("{\"a\":1}", true)),
            ("{\"a\":\"[DONE]\"}", ("{\"a\":\"[DONE]\"}", false)),
            ("not [DONE]", ("not [DONE]", false)),
        ] {
            assert_eq!(without_end(data), expected, "{data}");
        }
    }
}
