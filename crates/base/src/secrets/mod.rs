//! Finds keys, tokens and passwords in text.
//!
//! Two tables name what a secret is: formats with a prefix (`ghp_…`), and names that announce one (`"apiKey": "…"`). One
//! pass finds every prefix and name; only there the text is read further, so the cost is that of the pass. Values that only
//! show where a key belongs (`sk-xxxx`, `<your-key>`, `AKIA…EXAMPLE`) are no secrets.

mod bot_token;
mod known;
mod named;
mod names;
mod paths;
mod signs;
mod table;

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};

use crate::sort;

pub use known::{
    REMOVED, add_known, add_known_fields, add_known_header, find_known, hide_known, started_known,
    write_json,
};
pub use names::is_secret_name;
pub use paths::is_secret_path;
use signs::{
    Value, end, entropy, is_credential, is_inside_word, is_mixed, is_placeholder, is_random,
};
use table::{
    AUTHORITY, BASIC, BEARER, Characters, FORMATS, Format, INFIXES, Infix, NAMES, PEM, USUAL,
    WEB_TOKEN,
};

/// Bytes of a private key at most.
const LONGEST_PEM: usize = 16 * 1024;

/// A secret in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The kind of secret: `AWS access key`.
    pub name: &'static str,
    pub range: Range<usize>,
}

/// The prefixes of `FORMATS`, the `NAMES`, the marks of `INFIXES`, and the rest, in this order.
static PREFIXES: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let prefixes = FORMATS.iter().map(|format| format.prefix);
    let marks = INFIXES.iter().map(|infix| infix.mark);
    let others = [BEARER, BASIC, AUTHORITY, PEM, WEB_TOKEN];
    AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .match_kind(MatchKind::LeftmostLongest)
        .build(
            prefixes
                .chain(NAMES.iter().copied())
                .chain(marks)
                .chain(others),
        )
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
        if value.range.start < done {
            continue;
        }
        done = value.range.end;
        if value.is_secret {
            found.push(Found {
                name: value.name,
                range: value.range,
            });
        }
    }
    let tokens = bot_token::find(text);
    if !tokens.is_empty() {
        let name = bot_token::NAME;
        found.extend(tokens.into_iter().map(|range| Found { name, range }));
        sort::by_key(&mut found, |found| found.range.start);
        // A value after a name was found before.
        found.dedup_by(|later, earlier| later.range.start < earlier.range.end);
    }
    found
}

fn read(text: &str, pattern: usize, prefix: Range<usize>) -> Option<Value> {
    if let Some(format) = FORMATS.get(pattern) {
        // `secret_` begins a key, and `secret` is a name.
        let name = || NAMES.iter().find(|name| format.prefix.starts_with(**name));
        let named = |name: &&str| named::read(text, name, prefix.start..prefix.start + name.len());
        return formatted(text, format, prefix.clone()).or_else(|| name().and_then(named));
    }
    let after = prefix.end;
    if pattern < FORMATS.len() + NAMES.len() {
        return named::read(text, NAMES[pattern - FORMATS.len()], prefix);
    }
    let pattern = pattern - FORMATS.len() - NAMES.len();
    if let Some(infix) = INFIXES.get(pattern) {
        return around(text, infix, prefix);
    }
    match pattern - INFIXES.len() {
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

/// A key with a prefix.
fn formatted(text: &str, format: &Format, prefix: Range<usize>) -> Option<Value> {
    if text[prefix.clone()] != *format.prefix || is_inside_word(text, prefix.start) {
        return None;
    }
    let end = end(text, prefix.end, |byte| format.characters.contain(byte));
    // A dot after a key ends a sentence.
    let body = text[prefix.end..end].trim_end_matches('.');
    let end = prefix.end + body.len();
    if body.len() < format.least {
        return None;
    }
    // A key of a fixed alphabet is not a part of a longer word.
    let follows = text
        .as_bytes()
        .get(end)
        .is_some_and(u8::is_ascii_alphanumeric);
    // Capital letters alone are a key too.
    let is_capital = format.characters == Characters::Capital;
    let is_key = is_random(body) || is_capital && entropy(body) >= 2.7 && !is_placeholder(body);
    let is_secret = !follows && is_key;
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

/// A key with a mark inside.
fn around(text: &str, infix: &Infix, mark: Range<usize>) -> Option<Value> {
    if text[mark.clone()] != *infix.mark {
        return None;
    }
    let (characters, least, most) = infix.before;
    let before = text.as_bytes()[..mark.start].iter().rev();
    let before = before.take(most + 1);
    let before = before.take_while(|byte| characters.contain(**byte)).count();
    let (characters, least_after) = infix.after;
    let end = end(text, mark.end, |byte| characters.contain(byte));
    if !(least..=most).contains(&before) || end - mark.end < least_after {
        return None;
    }
    let range = mark.start - before..end;
    let is_secret = !is_inside_word(text, range.start) && is_random(&text[range.clone()]);
    Some(Value {
        name: infix.name,
        range,
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

#[cfg(test)]
mod tests;
#[cfg(test)]
mod vendor_tests;
