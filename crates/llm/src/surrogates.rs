//! Repairs JSON strings with unpaired UTF-16 surrogates. Servers that split their text by UTF-16 units send
//! the two surrogates of a character in two events, which strict parsers reject.

use std::borrow::Cow;
use std::fmt::Write;

/// Repairs the events of one stream in order. A high surrogate at the end of an event is kept for the next
/// one; an unpaired surrogate becomes U+FFFD.
#[derive(Debug, Default)]
pub(crate) struct Surrogates {
    /// The high surrogate at the end of the last event.
    pending: Option<u16>,
}

impl Surrogates {
    /// The JSON text with complete characters only. Borrowed when it is unchanged.
    pub(crate) fn repair<'a>(&mut self, json: &'a str) -> Cow<'a, str> {
        let is_escaped = memchr::memchr(b'\\', json.as_bytes()).is_some();
        if !is_escaped || !json.contains("\\ud") && !json.contains("\\uD") {
            return Cow::Borrowed(json);
        }
        let mut repaired = String::with_capacity(json.len() + 8);
        let mut rest = json;
        while let Some(at) = rest.find('\\') {
            let (before, escape) = rest.split_at(at);
            repaired.push_str(before);
            let Some(unit) = unit(escape) else {
                let length = escape
                    .char_indices()
                    .nth(2)
                    .map_or(escape.len(), |(end, _)| end);
                repaired.push_str(&escape[..length]);
                rest = &escape[length..];
                continue;
            };
            rest = &escape[6..];
            match (unit, unit_at(rest)) {
                (0xd800..=0xdbff, Some(0xdc00..=0xdfff)) => {
                    repaired.push_str(&escape[..12]);
                    rest = &rest[6..];
                }
                // At the end of its string: the low surrogate can start the next event's text.
                (0xd800..=0xdbff, _) if rest.starts_with('"') => self.pending = Some(unit),
                (0xdc00..=0xdfff, _) => match self.pending.take() {
                    Some(first) => {
                        let _ = write!(repaired, "\\u{first:04x}\\u{unit:04x}");
                    }
                    None => repaired.push_str("\\ufffd"),
                },
                (0xd800..=0xdbff, _) => repaired.push_str("\\ufffd"),
                _ => repaired.push_str(&escape[..6]),
            }
        }
        repaired.push_str(rest);
        Cow::Owned(repaired)
    }
}

fn unit_at(text: &str) -> Option<u16> {
    text.starts_with('\\').then(|| unit(text)).flatten()
}

/// The code unit of the `\uXXXX` at the start of `text`.
fn unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_surrogate_pairs_are_joined() {
        let mut surrogates = Surrogates::default();
        let repair = |surrogates: &mut Surrogates, json: &str| surrogates.repair(json).into_owned();
        assert_eq!(
            repair(&mut surrogates, r#"{"a":"x\ud83d"}"#),
            r#"{"a":"x"}"#
        );
        assert_eq!(
            repair(&mut surrogates, r#"{"a":"\ude80y"}"#),
            r#"{"a":"\ud83d\ude80y"}"#
        );
        assert_eq!(
            repair(&mut surrogates, r#"{"a":"\ude80"}"#),
            r#"{"a":"\ufffd"}"#
        );
        assert_eq!(
            repair(&mut surrogates, r#"{"a":"\uD83Dx"}"#),
            r#"{"a":"\ufffdx"}"#
        );
    }

    #[test]
    fn valid_text_is_unchanged() {
        let mut surrogates = Surrogates::default();
        for json in [
            r#"{"a":"\ud83d\ude80"}"#,
            r#"{"a":"\\ud83d"}"#,
            r#"{"a":"\u00e4\n\"漢"}"#,
            "\\",
        ] {
            assert_eq!(surrogates.repair(json), json);
        }
    }
}
