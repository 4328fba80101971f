//! Finds keys, tokens and passwords in text.
//!
//! Two tables name what a secret is: formats with a prefix (`ghp_…`), and names that announce one (`"apiKey": "…"`). One
//! pass finds every prefix and name; only there the text is read further, so the cost is that of the pass. Values that only
//! show where a key belongs (`sk-xxxx`, `<your-key>`, `AKIA…EXAMPLE`) are no secrets.

mod known;
mod paths;
mod table;

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};

pub use known::{add_known, find_known};
pub use paths::is_secret_path;
use table::{
    AUTHORITY, BASIC, BEARER, Characters, ENDINGS, FORMATS, Format, NAMES, PEM, PLACEHOLDERS,
    USUAL, WEB_TOKEN,
};

/// Bytes of a value at most.
const LONGEST: usize = 1024;
/// Bytes of a private key at most.
const LONGEST_PEM: usize = 16 * 1024;

/// A secret in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The kind of secret: `AWS access key`.
    pub name: &'static str,
    pub range: Range<usize>,
}

/// The prefixes of `FORMATS`, the `NAMES`, and the rest, in this order.
static PREFIXES: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let prefixes = FORMATS.iter().map(|format| format.prefix);
    let others = [BEARER, BASIC, AUTHORITY, PEM, WEB_TOKEN];
    AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .match_kind(MatchKind::LeftmostLongest)
        .build(prefixes.chain(NAMES.iter().copied()).chain(others))
        .ok()
});

/// The secrets in `text`, in order. Linear in its length.
pub fn scan(text: &str) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    // The end of the text that was scanned: no byte is read twice.
    let mut done = 0;
    for hit in PREFIXES
        .iter()
        .flat_map(|prefixes| prefixes.find_iter(text))
    {
        if hit.start() < done {
            continue;
        }
        let Some(value) = read(text, hit.pattern().as_usize(), hit.range()) else {
            continue;
        };
        done = value.range.end;
        if value.is_secret {
            found.push(Found {
                name: value.name,
                range: value.range,
            });
        }
    }
    found
}

/// A value where a secret can be.
struct Value {
    name: &'static str,
    range: Range<usize>,
    is_secret: bool,
}

fn read(text: &str, pattern: usize, prefix: Range<usize>) -> Option<Value> {
    if let Some(format) = FORMATS.get(pattern) {
        return formatted(text, format, prefix);
    }
    let after = prefix.end;
    if pattern < FORMATS.len() + NAMES.len() {
        return named(text, prefix);
    }
    match pattern - FORMATS.len() - NAMES.len() {
        0 => {
            let range = after..end(text, after, is_credential);
            let is_secret = range.len() >= 16 && is_random(&text[range.clone()]);
            Some(Value {
                name: "bearer token",
                range,
                is_secret,
            })
        }
        1 => {
            let range = after..end(text, after, |byte| Characters::Base64.contain(byte));
            let value = &text[range.clone()];
            let is_secret = value.len() >= 12 && value.len().is_multiple_of(4) && is_mixed(value);
            Some(Value {
                name: "password of an HTTP header",
                range,
                is_secret,
            })
        }
        2 => password(text, after),
        3 => pem(text, prefix),
        _ => web_token(text, prefix),
    }
}

impl Characters {
    fn contain(self, byte: u8) -> bool {
        byte.is_ascii_alphanumeric() && self != Self::Capital && self != Self::Hexadecimal
            || match self {
                Self::Word => false,
                Self::Capital => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
                Self::Hexadecimal => byte.is_ascii_hexdigit(),
                Self::Url => matches!(byte, b'-' | b'_'),
                Self::Dotted => matches!(byte, b'-' | b'_' | b'.'),
                Self::Base64 => matches!(byte, b'+' | b'/' | b'='),
            }
    }
}

/// A key with a prefix.
fn formatted(text: &str, format: &Format, prefix: Range<usize>) -> Option<Value> {
    if text[prefix.clone()] != *format.prefix || is_inside_word(text, prefix.start) {
        return None;
    }
    let end = end(text, prefix.end, |byte| format.characters.contain(byte));
    let body = &text[prefix.end..end];
    if body.len() < format.least {
        return None;
    }
    // A key of a fixed alphabet is not a part of a longer word.
    let follows = text
        .as_bytes()
        .get(end)
        .is_some_and(u8::is_ascii_alphanumeric);
    let is_secret = !follows && is_random(body);
    // `AccountKey=` stays: it is a name.
    let start = if format.prefix.ends_with('=') {
        prefix.end
    } else {
        prefix.start
    };
    Some(Value {
        name: format.name,
        range: start..end,
        is_secret,
    })
}

/// A value behind a name: `API_KEY=…`, `"apiKey": "…"`, `aws_secret_access_key = …`.
fn named(text: &str, word: Range<usize>) -> Option<Value> {
    let bytes = text.as_bytes();
    let mut at = word.end;
    let rest = &bytes[at..];
    let ending = ENDINGS.iter().find(|ending| {
        rest.len() >= ending.len() && rest[..ending.len()].eq_ignore_ascii_case(ending.as_bytes())
    });
    at += ending.map_or(0, |ending| ending.len());
    while bytes.get(at).is_some_and(u8::is_ascii_digit) {
        at += 1;
    }
    let is_loud = bytes[word.clone()]
        .iter()
        .all(|byte| !byte.is_ascii_lowercase());
    at = skip_quote(bytes, at).0;
    at = skip_blanks(bytes, at);
    match bytes.get(at)? {
        b':' | b'=' => at += 1,
        _ => return None,
    }
    if bytes.get(at) == Some(&b'>') {
        at += 1;
    }
    at = skip_blanks(bytes, at);
    let (start, quoted) = skip_quote(bytes, at);
    let end = if quoted {
        end(text, start, |byte| {
            byte > b' ' && !matches!(byte, b'"' | b'\'' | b'\\' | b'`')
        })
    } else {
        end(text, start, is_credential)
    };
    let value = &text[start..end];
    let ends_line = matches!(
        bytes.get(end),
        None | Some(b'\n' | b'\r' | b'\\' | b'"' | b'\'' | b',' | b';')
    );
    let is_secret = if quoted {
        value.len() >= 12 && is_random(value)
    } else if is_loud {
        value.len() >= 16 && is_random(value)
    } else {
        ends_line && value.len() >= 12 && !value.contains('.') && is_random(value)
    };
    (end > start).then_some(Value {
        name: "key or password",
        range: start..end,
        is_secret,
    })
}

/// The password of a URL: `postgres://user:…@host`.
fn password(text: &str, start: usize) -> Option<Value> {
    let end = end(text, start, |byte| {
        byte > b' ' && !b"\"'`\\/<>|".contains(&byte)
    });
    let authority = &text[start..end];
    let (account, _) = authority.rsplit_once('@')?;
    let (user, password) = account.split_once(':')?;
    let from = start + user.len() + 1;
    let is_usual = password == user
        || USUAL
            .iter()
            .any(|usual| usual.eq_ignore_ascii_case(password));
    let is_variable = password.starts_with(['$', '%', '{', '*', '[']);
    let is_secret = password.len() >= 3 && !is_usual && !is_variable && !is_placeholder(password);
    Some(Value {
        name: "password of a URL",
        range: from..from + password.len(),
        is_secret,
    })
}

/// A private key, with real or escaped line ends; also one that was cut.
fn pem(text: &str, prefix: Range<usize>) -> Option<Value> {
    let window = crate::text::head_bytes(&text[prefix.start..], LONGEST_PEM);
    let (head, _) = window[PEM.len()..].split_once("-----")?;
    if !head.ends_with("PRIVATE KEY") && !head.ends_with("PRIVATE KEY BLOCK") || head.len() > 40 {
        return None;
    }
    let body = PEM.len() + head.len() + 5;
    let is_body = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=\\:, \t\r\n.()".contains(byte);
    let mut length = body;
    let mut is_complete = false;
    loop {
        let rest = &window.as_bytes()[length..];
        length += rest.iter().take_while(|byte| is_body(byte)).count();
        let rest = &window[length..];
        if let Some(after) = rest.strip_prefix("-----END ") {
            let mark = after.find("-----").filter(|mark| *mark <= 40);
            is_complete = mark.is_some();
            length += mark.map_or(0, |mark| "-----END -----".len() + mark);
            break;
        }
        // A hyphen of a header: `DEK-Info: AES-128-CBC`.
        if !rest.starts_with('-') || rest.starts_with("--") {
            break;
        }
        length += 1;
    }
    let is_secret = is_complete || length - body >= 64;
    let end = prefix.start + length;
    Some(Value {
        name: "private key",
        range: prefix.start..end,
        is_secret,
    })
}

/// A JSON web token: three parts between dots.
fn web_token(text: &str, prefix: Range<usize>) -> Option<Value> {
    if text[prefix.clone()] != *WEB_TOKEN || is_inside_word(text, prefix.start) {
        return None;
    }
    let end = end(text, prefix.start, |byte| Characters::Dotted.contain(byte));
    let value = &text[prefix.start..end];
    let parts = value.split('.').filter(|part| part.len() >= 10).count();
    Some(Value {
        name: "JSON web token",
        range: prefix.start..end,
        is_secret: parts >= 3 && is_random(value),
    })
}

/// The end of the characters from `start` on.
fn end(text: &str, start: usize, belongs: impl Fn(u8) -> bool) -> usize {
    let bytes = text.as_bytes()[start..].iter().take(LONGEST);
    let length = bytes.take_while(|byte| belongs(**byte)).count();
    text.floor_char_boundary(start + length)
}

fn is_credential(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_~+/.=-".contains(&byte)
}

fn is_inside_word(text: &str, at: usize) -> bool {
    let before = at.checked_sub(1).map(|before| text.as_bytes()[before]);
    before.is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
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

/// A key has digits and letters and little repetition, unlike words, paths and placeholders.
fn is_random(value: &str) -> bool {
    let has = |kind: fn(&u8) -> bool| value.bytes().any(|byte| kind(&byte));
    has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
        && entropy(value) >= 2.7
        && !is_placeholder(value)
}

/// Base64 has capital letters within, or digits; a word has none.
fn is_mixed(value: &str) -> bool {
    let within = value.bytes().skip(1);
    within.clone().any(|byte| byte.is_ascii_lowercase())
        && within
            .clone()
            .any(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
}

fn is_placeholder(value: &str) -> bool {
    let value = value.to_ascii_lowercase();
    value.starts_with(['<', '$', '{']) || PLACEHOLDERS.iter().any(|part| value.contains(part))
}

/// Shannon entropy in bits per byte.
fn entropy(value: &str) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in value.bytes() {
        counts[usize::from(byte)] += 1;
    }
    let length = value.len() as f64;
    let shares = counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| f64::from(*count) / length);
    -shares.map(|share| share * share.log2()).sum::<f64>()
}

#[cfg(test)]
mod tests;
