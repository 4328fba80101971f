//! JSON as models write it: with raw line breaks in strings, trailing commas, wrong escapes, in a code fence. A text that
//! is not complete stays invalid, because a truncated command is another command.

use std::fmt::Write as _;

use serde_json::{Map, Value};

/// The object in `raw`, also if it is written as a JSON string.
pub(super) fn repaired_object(raw: &str) -> Option<Map<String, Value>> {
    match repaired_value(raw)? {
        Value::Object(map) => Some(map),
        Value::String(text) => match repaired_value(&text)? {
            Value::Object(map) => Some(map),
            _ => None,
        },
        _ => None,
    }
}

/// The value in `raw`.
pub(super) fn repaired_value(raw: &str) -> Option<Value> {
    let text = without_fence(raw.trim());
    // Some servers send an empty object before the arguments.
    let text = match text.strip_prefix("{}").map(str::trim_start) {
        Some(rest) if rest.starts_with('{') => rest,
        _ => text,
    };
    let parse = |text: &str| serde_json::from_str(text).ok();
    parse(text).or_else(|| parse(&repaired(text)))
}

fn without_fence(text: &str) -> &str {
    let inner = text
        .strip_prefix("```")
        .and_then(|text| text.strip_suffix("```"));
    let Some((_, inner)) = inner.and_then(|inner| inner.split_once('\n')) else {
        return text;
    };
    inner.trim()
}

/// Words of Python and JavaScript for the values of JSON.
const WORDS: [(&str, &str); 4] = [
    ("True", "true"),
    ("False", "false"),
    ("None", "null"),
    ("undefined", "null"),
];

fn repaired(text: &str) -> String {
    let mut result = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(char) = rest.chars().next() {
        if char == '"' {
            rest = string(rest, &mut result);
            continue;
        }
        if char == ',' {
            let after = rest[1..].trim_start();
            if after.starts_with(['}', ']']) {
                rest = after;
                continue;
            }
        }
        let ends_word = |text: &str| !text.starts_with(|next: char| next.is_alphanumeric());
        let word = WORDS.iter().find_map(|(other, value)| {
            let after = rest.strip_prefix(other).filter(|after| ends_word(after))?;
            Some((after, value))
        });
        if let Some((after, value)) = word {
            result.push_str(value);
            rest = after;
            continue;
        }
        result.push(char);
        rest = &rest[char.len_utf8()..];
    }
    result
}

/// Copies the string at the start of `text`, and returns what follows it.
fn string<'t>(text: &'t str, result: &mut String) -> &'t str {
    result.push('"');
    let mut rest = &text[1..];
    while let Some(char) = rest.chars().next() {
        rest = &rest[char.len_utf8()..];
        match char {
            '"' => {
                result.push('"');
                return rest;
            }
            '\\' => rest = escape(rest, result),
            '\n' => result.push_str("\\n"),
            '\r' => result.push_str("\\r"),
            '\t' => result.push_str("\\t"),
            char if u32::from(char) < 0x20 => {
                // Writing to a string cannot fail.
                let _ = write!(result, "\\u{:04x}", u32::from(char));
            }
            char => result.push(char),
        }
    }
    rest
}

/// Copies the escape after a backslash. A backslash that escapes nothing stands for itself.
fn escape<'t>(text: &'t str, result: &mut String) -> &'t str {
    let Some(char) = text.chars().next() else {
        return text;
    };
    let rest = &text[char.len_utf8()..];
    match char {
        '"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't' => {
            result.push('\\');
            result.push(char);
            rest
        }
        'u' if rest.len() >= 4 && rest.bytes().take(4).all(|byte| byte.is_ascii_hexdigit()) => {
            result.push_str("\\u");
            rest
        }
        '\'' => {
            result.push('\'');
            rest
        }
        // A line break that continues the line of a shell stays one.
        _ => {
            result.push_str("\\\\");
            text
        }
    }
}
