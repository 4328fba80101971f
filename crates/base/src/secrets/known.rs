//! Values that are secret whatever their format: the keys that osier itself uses. The code that reads such a value adds it here:
//! the environment, `auth.json`, `models.json`, the entries of MCP servers, a token of the server.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};
use parking_lot::RwLock;
use serde::Serialize;
use serde_json::Value;

use super::names::is_secret_name;

/// Replaces a removed key. ASCII without quotes or backslashes, so that a JSON line stays valid.
pub const REMOVED: &str = "[key removed]";

/// Shorter values are placeholders (`k`, `ollama`, `EMPTY`), which would match words.
const SHORTEST: usize = 8;

/// Headers that name a program, a site or a version. The values of all others can be keys.
#[rustfmt::skip]
const PUBLIC_HEADERS: [&str; 11] = [
    "accept", "anthropic-beta", "anthropic-version", "content-type", "http-referer", "openai-beta", "openai-organization",
    "openai-project", "referer", "user-agent", "x-title",
];

#[derive(Debug)]
struct Known {
    values: Vec<String>,
    /// Finds all values; created when it is needed.
    finder: Option<AhoCorasick>,
}

static KNOWN: RwLock<Known> = RwLock::new(Known {
    values: Vec::new(),
    finder: None,
});

/// Adds values that must not be in any text that leaves the program. They stay in memory only. The
/// name of a variable, as in `${TOKEN}`, is no value.
pub fn add_known(values: impl IntoIterator<Item = String>) {
    let mut new: Vec<String> = values.into_iter().flat_map(|value| forms(&value)).collect();
    {
        // Usually all are known: `auth.json` is read before every request.
        let known = KNOWN.read();
        new.retain(|value| !known.values.contains(value));
    }
    if !new.is_empty() {
        let mut known = KNOWN.write();
        known.values.append(&mut new);
        known.values.sort_unstable();
        known.values.dedup();
        known.finder = None;
    }
}

/// Adds the texts of fields with a secret name, and those of headers, in the content of a configuration file.
pub fn add_known_fields(file: &Value) {
    let mut values = Vec::new();
    collect(file, false, &mut values);
    add_known(values);
}

/// Adds the value of a header. Headers that name a program or a version are not secret.
pub fn add_known_header(name: &str, value: &str) {
    if !is_public_header(name) {
        add_known([value.to_owned()]);
    }
}

fn is_public_header(name: &str) -> bool {
    PUBLIC_HEADERS
        .iter()
        .any(|public| name.eq_ignore_ascii_case(public))
}

/// The texts of fields with a secret name, of headers, and of everything in such fields.
fn collect(value: &Value, is_secret: bool, values: &mut Vec<String>) {
    match value {
        // `$NAME` and `!command` name a source.
        Value::String(text) if is_secret && !text.starts_with(['$', '!']) => {
            values.push(text.clone());
        }
        Value::Array(parts) => parts
            .iter()
            .for_each(|part| collect(part, is_secret, values)),
        Value::Object(fields) => {
            for (name, value) in fields {
                let names_secret = is_secret_name(name)
                    || ["access", "refresh"].contains(&name.as_str())
                    || name.eq_ignore_ascii_case("headers");
                let is_public = is_public_header(name);
                collect(value, (is_secret || names_secret) && !is_public, values);
            }
        }
        _ => {}
    }
}

/// The forms of a value: with and without the scheme of a header, and as JSON and URLs write it.
fn forms(value: &str) -> Vec<String> {
    let value = value.trim();
    let mut forms = vec![value.to_owned()];
    // `Bearer KEY`: a server can quote the key alone.
    if let Some((scheme, key)) = value.split_once(' ')
        && scheme.bytes().all(|byte| byte.is_ascii_alphabetic())
        && !key.contains(' ')
    {
        forms.push(key.to_owned());
    }
    for at in 0..forms.len() {
        let json = Value::from(forms[at].as_str()).to_string();
        forms.push(json[1..json.len() - 1].to_owned());
        forms.push(in_url(&forms[at]));
    }
    let is_name = |form: &str| form.starts_with("${") && form.ends_with('}');
    forms.retain(|form| form.len() >= SHORTEST && !is_name(form));
    forms.sort_unstable();
    forms.dedup();
    forms
}

/// The text in a query: all but unreserved characters are escaped.
fn in_url(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'-' | b'.' | b'_' | b'~' => escaped.push(char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => escaped.push(char::from(byte)),
            _ => {
                // Writing to a string cannot fail.
                let _ = write!(escaped, "%{byte:02X}");
            }
        }
    }
    escaped
}

/// The positions of known values in `text`.
pub fn find_known(text: &str) -> Vec<Range<usize>> {
    let found = |known: &Known| {
        let finder = known.finder.iter();
        let found = finder.flat_map(|finder| finder.find_iter(text));
        found.map(|found| found.range()).collect()
    };
    {
        let known = KNOWN.read();
        if known.values.is_empty() || known.finder.is_some() {
            return found(&known);
        }
    }
    let mut known = KNOWN.write();
    if known.finder.is_none() {
        known.finder = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(&known.values)
            .ok();
    }
    found(&known)
}

/// The bytes at the end of `text` that can be the start of a known value.
pub fn started_known(text: &str) -> usize {
    let known = KNOWN.read();
    let is_start = |end: &str| {
        let after = known.values.partition_point(|value| value.as_str() <= end);
        let value = known.values.get(after);
        value.is_some_and(|value| value.starts_with(end))
    };
    let longest = known.values.iter().map(String::len).max().unwrap_or(0);
    let earliest = text.ceil_char_boundary(text.len().saturating_sub(longest));
    let mut ends = text[earliest..].char_indices();
    let start = ends.find(|(at, _)| is_start(&text[earliest + at..]));
    start.map_or(0, |(at, _)| text.len() - earliest - at)
}

/// `text` without known values; borrowed if it has none.
///
/// For texts that people need to read, such as errors and events: what only looks like a key stays.
pub fn hide_known(text: &str) -> Cow<'_, str> {
    let ranges = find_known(text);
    if ranges.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len());
    let mut at = 0;
    for range in ranges {
        clean.push_str(&text[at..range.start]);
        clean.push_str(REMOVED);
        at = range.end;
    }
    clean.push_str(&text[at..]);
    Cow::Owned(clean)
}

/// Appends `value` as JSON without known values: every line that osier writes for a program.
/// Returns false and appends nothing if it cannot be encoded. A replaced value leaves valid JSON.
pub fn write_json(value: &impl Serialize, output: &mut Vec<u8>) -> bool {
    let start = output.len();
    if serde_json::to_writer(&mut *output, value).is_err() {
        output.truncate(start);
        return false;
    }
    let Ok(Cow::Owned(clean)) = str::from_utf8(&output[start..]).map(hide_known) else {
        return true;
    };
    output.truncate(start);
    output.extend_from_slice(clean.as_bytes());
    true
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_of_secret_fields_and_headers_are_collected() {
        let file = json!({
            "openai": {"type": "api_key", "key": "one"},
            "anthropic": {"type": "oauth", "access": "two", "refresh": "three", "baseUrl": "no"},
            "mistral": {"type": "api_key", "key": "$MISTRAL"},
            "mcp:x": {"credentials": {"token_response": {"access_token": "four", "token_type": "five"}}},
            "lab": {"headers": {"cf-aig-authorization": "six", "Helicone-Auth": "seven", "X-Custom": "eight", "X-Title": "no"}},
        });
        let mut values = Vec::new();
        collect(&file, false, &mut values);
        let expected = [
            "one", "two", "three", "four", "five", "six", "seven", "eight",
        ];
        assert_eq!(values, expected);
    }

    #[test]
    fn a_value_is_hidden_in_every_form() {
        add_known([
            "Bearer quite/plain \"words\"".to_owned(),
            "Token plain+words-9".to_owned(),
        ]);
        for (text, expected) in [
            ("got `plain+words-9`", "got `[key removed]`"),
            ("?key=plain%2Bwords-9&x", "?key=[key removed]&x"),
            (
                r#"{"x":"Bearer quite/plain \"words\""}"#,
                r#"{"x":"[key removed]"}"#,
            ),
            ("plain words", "plain words"),
        ] {
            assert_eq!(hide_known(text), expected);
        }
    }

    #[test]
    fn the_start_of_a_value_at_the_end_is_found() {
        add_known(["öst-key-12345".to_owned(), "öst-kex-1".to_owned()]);
        for (text, expected) in [
            ("is öst-k", "öst-k"),
            ("is öst-key-1234", "öst-key-1234"),
            ("is öst-kex-1", ""),
            ("öst-key-12345", ""),
            ("öst-kö", "ö"),
            ("a quiet end of a line!", ""),
            ("", ""),
        ] {
            assert_eq!(
                &text[text.len() - started_known(text)..],
                expected,
                "{text}"
            );
        }
    }

    #[test]
    fn a_line_for_a_program_has_no_value_and_stays_json() {
        add_known(["known \"of\" lines".to_owned()]);
        let mut output = b"before ".to_vec();
        assert!(write_json(
            &json!({"a": "x known \"of\" lines y"}),
            &mut output
        ));
        assert_eq!(output, br#"before {"a":"x [key removed] y"}"#);
    }
}
