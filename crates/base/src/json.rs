//! JSON as it is found: with a byte order mark, with half of a surrogate pair, and, in files that people write, with comments
//! and trailing commas.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::unique_json;

const MARK: &[u8] = b"\xef\xbb\xbf";

/// Parses a record that another program wrote: a byte order mark is skipped, and a lone surrogate becomes U+FFFD.
///
/// # Errors
/// A syntax error, or a value of another type.
pub fn from_record<T: DeserializeOwned>(record: &[u8]) -> serde_json::Result<T> {
    let record = record.strip_prefix(MARK).unwrap_or(record);
    serde_json::from_slice(record).or_else(|error| match with_whole_characters(record, None) {
        Cow::Borrowed(_) => Err(error),
        Cow::Owned(repaired) => serde_json::from_slice(&repaired),
    })
}

/// Replaces every `\uD800` to `\uDFFF` that is not half of a pair by U+FFFD. In a stream, a text
/// can end with the first half of a character, and a later text has the second half: `split` stores
/// the first half until then.
pub fn with_whole_characters<'a>(
    json: &'a [u8],
    mut split: Option<&mut Option<u16>>,
) -> Cow<'a, [u8]> {
    let mut repaired: Option<Vec<u8>> = None;
    let mut copied = 0;
    let mut at = 0;
    while let Some(found) = json.get(at..).and_then(|rest| memchr::memchr(b'\\', rest)) {
        let escape = at + found;
        at = escape + 2;
        let Some(unit) = unit(json, escape) else {
            continue;
        };
        at = escape + 6;
        let split = split.as_deref_mut();
        let whole = match (unit, self::unit(json, at), split) {
            (0xd800..=0xdbff, Some(0xdc00..=0xdfff), _) => {
                at += 6;
                continue;
            }
            (0xd800..=0xdbff, _, Some(split)) if json.get(at) == Some(&b'"') => {
                *split = Some(unit);
                String::new()
            }
            (0xdc00..=0xdfff, _, Some(split)) if split.is_some() => {
                let first = split.take().unwrap_or_default();
                format!("\\u{first:04x}\\u{unit:04x}")
            }
            (0xd800..=0xdfff, ..) => "\\ufffd".to_owned(),
            _ => continue,
        };
        let out = repaired.get_or_insert_with(Vec::new);
        out.extend_from_slice(&json[copied..escape]);
        out.extend_from_slice(whole.as_bytes());
        copied = at;
    }
    match repaired {
        None => Cow::Borrowed(json),
        Some(mut repaired) => {
            repaired.extend_from_slice(&json[copied..]);
            Cow::Owned(repaired)
        }
    }
}

/// The code unit of the `\uXXXX` at `at`.
fn unit(json: &[u8], at: usize) -> Option<u16> {
    let digits = json.get(at..at + 6)?.strip_prefix(b"\\u")?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// Calls `see` with every text in `value`, but not with the keys of objects.
pub fn each_text(value: &Value, see: &mut dyn FnMut(&str)) {
    match value {
        Value::String(text) => see(text),
        Value::Array(values) => values.iter().for_each(|value| each_text(value, see)),
        Value::Object(fields) => fields.values().for_each(|value| each_text(value, see)),
        _ => {}
    }
}

/// Parses a file that people write. It may have comments, trailing commas and a byte order mark; a key that an object has twice
/// is an error.
///
/// # Errors
/// A syntax error or a double key, with its line and column in `text`.
pub fn from_people(text: &str) -> serde_json::Result<Value> {
    unique_json::parse(&plain(text))
}

/// The text with spaces for comments, trailing commas and the byte order mark, so that lines and columns stay.
///
/// ```
/// let text = osier_base::json::plain("{\"a\": [1,], // one\n}");
/// assert_eq!(text, "{\"a\": [1 ]        \n}");
/// ```
pub fn plain(text: &str) -> Cow<'_, str> {
    let has_mark = text.starts_with('\u{feff}');
    if !has_mark && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok() {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    // The position of the last comma, if only whitespace follows it.
    let mut comma = None;
    // The last character that was not whitespace.
    let mut last = '[';
    let mut rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    while let Some(char) = rest.chars().next() {
        let length = match char {
            '"' => string(rest),
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => match rest[2..].find("*/") {
                Some(end) => end + 4,
                None => 1,
            },
            other => other.len_utf8(),
        };
        let (part, behind) = rest.split_at(length);
        rest = behind;
        if char == '/' && length > 1 {
            let blank = |char: char| if char == '\n' { '\n' } else { ' ' };
            plain.extend(part.chars().map(blank));
            continue;
        }
        match char {
            ',' => comma = Some(plain.len()).filter(|_| !matches!(last, '[' | '{' | ',')),
            '}' | ']' => {
                if let Some(at) = comma.take() {
                    plain.replace_range(at..=at, " ");
                }
            }
            other if other.is_whitespace() => {}
            _ => comma = None,
        }
        if !char.is_whitespace() {
            last = char;
        }
        plain.push_str(part);
    }
    Cow::Owned(plain)
}

/// Bytes of the string at the start of the text.
fn string(text: &str) -> usize {
    let mut is_escaped = false;
    let end = text.bytes().skip(1).position(|byte| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    });
    end.map_or(text.len(), |end| end + 2)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lone_surrogates_become_replacement_characters() {
        for (record, expected) in [
            (r#"{"a":"x\ud83dy"}"#, "x\u{fffd}y"),
            (r#"{"a":"\ud83d\ude80 \uDE80"}"#, "🚀 \u{fffd}"),
            (r#"{"a":"\ud83d"}"#, "\u{fffd}"),
            (r#"{"a":"\ud83d\ud83d\ude80"}"#, "\u{fffd}🚀"),
            (r#"{"a":"\\ud83d \ud83d"}"#, "\\ud83d \u{fffd}"),
            ("\u{feff}{\"a\":\"b\"}", "b"),
        ] {
            let value: Value = from_record(record.as_bytes()).unwrap();
            assert_eq!(value, json!({"a": expected}), "{record}");
        }
        assert!(from_record::<Value>(br#"{"a":"\ud83d"#).is_err());
        assert!(from_record::<Value>(br#"{"a":"\ud8"#).is_err());
    }

    #[test]
    fn halves_in_two_texts_of_a_stream_are_joined() {
        let mut split = None;
        for (text, expected) in [
            (r#"{"a":"x\ud83d"}"#, r#"{"a":"x"}"#),
            (r#"{"a":"\ude80y"}"#, r#"{"a":"\ud83d\ude80y"}"#),
            (r#"{"a":"\ude80"}"#, r#"{"a":"\ufffd"}"#),
            (r#"{"a":"\uD83Dx"}"#, r#"{"a":"\ufffdx"}"#),
            (r#"{"a":"\ud83d\ude80"}"#, r#"{"a":"\ud83d\ude80"}"#),
            (r#"{"a":"\\ud83d"}"#, r#"{"a":"\\ud83d"}"#),
            (r#"{"a":"\u00e4\n\"漢"}"#, r#"{"a":"\u00e4\n\"漢"}"#),
            ("\\", "\\"),
        ] {
            let whole = with_whole_characters(text.as_bytes(), Some(&mut split));
            assert_eq!(std::str::from_utf8(&whole), Ok(expected));
        }
        assert_eq!(split, None);
    }

    #[test]
    fn files_of_people_have_comments_and_trailing_commas() {
        for (text, expected) in [
            ("{\"a\": 1, // one\n}", json!({"a": 1})),
            (
                "\u{feff}/* a */ {\"a\": [1, 2, /* , */ ], }",
                json!({"a": [1, 2]}),
            ),
            (
                r#"{"url": "http://a//b /* c */", "b": ",]"}"#,
                json!({"url": "http://a//b /* c */", "b": ",]"}),
            ),
            (r#"{"a\",}": 1,}"#, json!({"a\",}": 1})),
            ("[] // end", json!([])),
        ] {
            assert_eq!(from_people(text).unwrap(), expected, "{text}");
        }
        for (text, expected) in [
            (
                "{\"a\": 1,\n /* x */ \"a\": 2}",
                "duplicate key `a` at line 2 column 12",
            ),
            ("[,]", "expected value at line 1 column 2"),
            ("{} /* open", "trailing characters at line 1 column 4"),
            ("[1,, 2]", "expected value at line 1 column 4"),
        ] {
            assert_eq!(
                from_people(text).unwrap_err().to_string(),
                expected,
                "{text}"
            );
        }
    }
}
