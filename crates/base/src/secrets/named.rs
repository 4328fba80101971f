//! Values after a name: `API_KEY=…`, `"apiKey": "…"`, `aws_secret_access_key = …`, `--password …`,
//! `<password>…`.

use std::ops::Range;

use super::signs::{Value, end, is_credential, is_placeholder, is_random};
use super::table::{ENDINGS, POSITIONS, TYPED, USUAL};
use crate::text;

/// Bytes before a name that are searched for the object that the name belongs to.
const BEFORE: usize = 200;
/// The shortest password that counts.
const SHORTEST_TYPED: usize = 6;
/// The shortest header that counts.
const SHORTEST_HEADER: usize = 8;
/// A value of so many bytes is a key also when other words follow it.
const LONG: usize = 20;

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Quoted,
    /// After `:` or `=`, with blanks around it.
    Spaced,
    /// After `=` without blanks.
    Close,
    /// Until a blank: an argument, or a word of `.netrc`.
    Word,
    /// Until a tag.
    Element,
}

/// The value after `name`, one of [`NAMES`], which is at `word`.
pub(super) fn read(text: &str, name: &str, word: Range<usize>) -> Option<Value> {
    let bytes = text.as_bytes();
    let before = text::tail_bytes(&text[..word.start], BEFORE);
    let is_position = POSITIONS
        .iter()
        .any(|position| ends_with(before.trim_end_matches(['_', '-']), position));
    if name == "token" && is_position {
        return None;
    }
    let is_loud = bytes[word.clone()]
        .iter()
        .all(|byte| !byte.is_ascii_lowercase());
    let (start, form) = start_of_value(text, before, word.end)?;
    if name.ends_with("authorization") {
        return header(text, start);
    }
    if name == "cookie" {
        return cookie(text, start, form);
    }
    let end = match form {
        Form::Quoted => end(text, start, |byte| {
            byte > b' ' && !matches!(byte, b'"' | b'\'' | b'\\' | b'`')
        }),
        Form::Word => end(text, start, |byte| {
            byte > b' ' && !b"\"'`\\<>|;".contains(&byte)
        }),
        Form::Element => end(text, start, |byte| byte > b' ' && byte != b'<'),
        Form::Spaced | Form::Close => end(text, start, is_credential),
    };
    let value = &text[start..end];
    let range = start..end;
    let is_typed = TYPED.contains(&name);
    let is_secret = if is_typed && is_password(value) && is_complete(bytes, end, form) {
        true
    } else {
        let least = if is_loud && form != Form::Quoted {
            16
        } else {
            12
        };
        let is_code = !is_loud && matches!(form, Form::Spaced | Form::Close) && value.contains('.');
        // More words can follow a long value in a log or a message.
        let is_in_text = value.len() >= LONG && bytes.get(end) == Some(&b' ');
        let ends = is_loud || form == Form::Quoted || is_in_text || is_complete(bytes, end, form);
        value.len() >= least && !is_code && ends && is_random(value)
    };
    (end > start).then_some(Value {
        name: "key or password",
        range,
        is_secret,
    })
}

fn ends_with(text: &str, end: &str) -> bool {
    let at = text.len().checked_sub(end.len());
    let last = at.and_then(|at| text.get(at..));
    last.is_some_and(|last| last.eq_ignore_ascii_case(end))
}

/// The start and the form of the value whose name ends at `at`.
fn start_of_value(text: &str, before: &str, mut at: usize) -> Option<(usize, Form)> {
    let bytes = text.as_bytes();
    let ending = |at: usize| {
        let rest = &bytes[at..];
        let is_next = |ending: &&&str| {
            rest.get(..ending.len())
                .is_some_and(|next| next.eq_ignore_ascii_case(ending.as_bytes()))
        };
        ENDINGS.iter().find(is_next).map(|ending| ending.len())
    };
    while let Some(length) = ending(at) {
        at += length;
    }
    while bytes.get(at).is_some_and(u8::is_ascii_digit) {
        at += 1;
    }
    let after_quote = skip_quote(bytes, at).0;
    let separator = skip_blanks(bytes, after_quote);
    let next = bytes.get(separator).copied();
    let has_sign = matches!(next, Some(b':' | b'='));
    let name_start = before
        .trim_end_matches(|sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '-' | '_'));
    let name = &before[name_start.len()..];
    if !has_sign {
        if next == Some(b'>') && name_start.ends_with('<') {
            return Some((separator + 1, Form::Element));
        }
        // `--password WORD`, and `login NAME password WORD` of `.netrc`.
        let is_argument =
            name.starts_with("--") || before.ends_with("login ") || before.contains("login ");
        let is_apart = separator > at && after_quote == at;
        let (start, quoted) = skip_quote(bytes, separator);
        let form = if quoted { Form::Quoted } else { Form::Word };
        return (is_argument && is_apart).then_some((start, form));
    }
    let mut start = separator + 1;
    // `:=`, `=>`.
    if matches!(bytes.get(start), Some(b'>' | b'=')) && next != bytes.get(start).copied() {
        start += 1;
    }
    let value = skip_blanks(bytes, start);
    let (value, quoted) = match skip_quote(bytes, value) {
        (at, true) => (at, true),
        _ => (value, false),
    };
    let is_close = next == Some(b'=') && separator == after_quote && value == separator + 1;
    let form = match (quoted, is_close) {
        (true, _) => Form::Quoted,
        (false, true) => Form::Close,
        (false, false) => Form::Spaced,
    };
    Some((value, form))
}

/// Whether the value ends where it may end: other values are parts of code.
fn is_complete(bytes: &[u8], end: usize, form: Form) -> bool {
    let next = bytes.get(end);
    match form {
        Form::Quoted => matches!(next, Some(b'"' | b'\'' | b'`' | b'\\')),
        Form::Word | Form::Element => true,
        Form::Close => matches!(
            next,
            None | Some(b'\n' | b'\r' | b'\\' | b'"' | b'\'' | b',' | b';' | b'&' | b' ')
        ),
        Form::Spaced => matches!(
            next,
            None | Some(b'\n' | b'\r' | b'\\' | b'"' | b'\'' | b',' | b';')
        ),
    }
}

/// Whether the value looks like a password that a person made up: digits or other signs among
/// letters.
fn is_password(value: &str) -> bool {
    let has = |kind: fn(u8) -> bool| value.bytes().any(kind);
    let has_letter = has(|byte| byte.is_ascii_alphabetic());
    let has_other = has(|byte| byte.is_ascii_digit() || b"!#%^*+~?@$&".contains(&byte));
    let lower = value.to_ascii_lowercase();
    let is_word = USUAL.contains(&lower.trim_end_matches(|sign: char| sign.is_ascii_digit()))
        || lower.contains("pass")
        || lower.contains("secret");
    let is_reference = value.contains(['(', '[', '{', '<'])
        || value.starts_with(['$', '%', '@', '/', '#'])
        || value.contains("://")
        || value.starts_with("./");
    value.len() >= SHORTEST_TYPED
        && has_letter
        && has_other
        && !is_word
        && !is_reference
        && !is_placeholder(value)
}

/// The credentials of `Authorization: SCHEME VALUE`, or the value alone.
fn header(text: &str, start: usize) -> Option<Value> {
    let first = end(text, start, is_credential);
    let is_scheme = text.as_bytes().get(first) == Some(&b' ')
        && text[start..first]
            .bytes()
            .all(|byte| byte.is_ascii_alphabetic() || byte == b'-');
    let start = if is_scheme { first + 1 } else { start };
    let end = end(text, start, is_credential);
    let value = &text[start..end];
    let is_short = value.len() < 16;
    let is_secret = value.len() >= SHORTEST_HEADER
        && (is_random(value) || (is_scheme && is_short && is_password(value)));
    (end > start).then_some(Value {
        name: "credentials of an HTTP header",
        range: start..end,
        is_secret,
    })
}

/// The values of `Cookie: NAME=VALUE; …`.
fn cookie(text: &str, start: usize, form: Form) -> Option<Value> {
    let end = end(text, start, |byte| {
        byte >= b' ' && !b"\"'`\\<>{}()".contains(&byte)
    });
    let value = &text[start..end];
    let is_header = matches!(form, Form::Spaced | Form::Quoted) && value.contains('=');
    let is_secret = is_header
        && value
            .split([';', '='])
            .any(|part| part.len() >= 16 && is_random(part));
    (end > start && is_secret).then_some(Value {
        name: "cookies",
        range: start..end,
        is_secret,
    })
}

fn skip_blanks(bytes: &[u8], at: usize) -> usize {
    let blanks = bytes[at..]
        .iter()
        .take(3)
        .take_while(|byte| matches!(byte, b' ' | b'\t'));
    at + blanks.count()
}

/// Skips a quote, which JSON escapes inside of a string.
fn skip_quote(bytes: &[u8], mut at: usize) -> (usize, bool) {
    if bytes.get(at) == Some(&b'\\') {
        at += 1;
    }
    match bytes.get(at) {
        Some(b'"' | b'\'' | b'`') => (at + 1, true),
        _ => (at, false),
    }
}
