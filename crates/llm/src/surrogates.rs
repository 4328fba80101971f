//! Mends JSON text whose string escapes hold half a UTF-16 pair. Servers that cut their text by UTF-16
//! units send the two halves of one character in two events; strict readers refuse both.

use std::borrow::Cow;
use std::fmt::Write;

/// Mends the events of one stream in order. The first half is held back until the second comes; a half
/// that stays alone becomes U+FFFD.
#[derive(Debug, Default)]
pub struct Surrogates {
    /// The first half that the last event ended with.
    held: Option<u16>,
}

impl Surrogates {
    /// The same JSON text with whole characters only. Borrowed when nothing is to be mended.
    pub fn mend<'a>(&mut self, json: &'a str) -> Cow<'a, str> {
        let is_escaped = memchr::memchr(b'\\', json.as_bytes()).is_some();
        if !is_escaped || !json.contains("\\ud") && !json.contains("\\uD") {
            return Cow::Borrowed(json);
        }
        let mut mended = String::with_capacity(json.len() + 8);
        let mut rest = json;
        while let Some(at) = rest.find('\\') {
            let (before, escape) = rest.split_at(at);
            mended.push_str(before);
            let Some(unit) = unit(escape) else {
                let length = escape
                    .char_indices()
                    .nth(2)
                    .map_or(escape.len(), |(end, _)| end);
                mended.push_str(&escape[..length]);
                rest = &escape[length..];
                continue;
            };
            rest = &escape[6..];
            match (unit, unit_at(rest)) {
                (0xd800..=0xdbff, Some(0xdc00..=0xdfff)) => {
                    mended.push_str(&escape[..12]);
                    rest = &rest[6..];
                }
                // At the end of its string: the other half may begin the next event's text.
                (0xd800..=0xdbff, _) if rest.starts_with('"') => self.held = Some(unit),
                (0xdc00..=0xdfff, _) => match self.held.take() {
                    Some(first) => {
                        let _ = write!(mended, "\\u{first:04x}\\u{unit:04x}");
                    }
                    None => mended.push_str("\\ufffd"),
                },
                (0xd800..=0xdbff, _) => mended.push_str("\\ufffd"),
                _ => mended.push_str(&escape[..6]),
            }
        }
        mended.push_str(rest);
        Cow::Owned(mended)
    }
}

fn unit_at(text: &str) -> Option<u16> {
    text.starts_with('\\').then(|| unit(text)).flatten()
}

/// The code unit of a `\uXXXX` that `text` begins with.
fn unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_of_one_character_come_together() {
        let mut surrogates = Surrogates::default();
        let mend = |surrogates: &mut Surrogates, json: &str| surrogates.mend(json).into_owned();
        assert_eq!(mend(&mut surrogates, r#"{"a":"x\ud83d"}"#), r#"{"a":"x"}"#);
        assert_eq!(
            mend(&mut surrogates, r#"{"a":"\ude80y"}"#),
            r#"{"a":"\ud83d\ude80y"}"#
        );
        assert_eq!(
            mend(&mut surrogates, r#"{"a":"\ude80"}"#),
            r#"{"a":"\ufffd"}"#
        );
        assert_eq!(
            mend(&mut surrogates, r#"{"a":"\uD83Dx"}"#),
            r#"{"a":"\ufffdx"}"#
        );
    }

    #[test]
    fn whole_text_stays_as_it_is() {
        let mut surrogates = Surrogates::default();
        for json in [
            r#"{"a":"\ud83d\ude80"}"#,
            r#"{"a":"\\ud83d"}"#,
            r#"{"a":"\u00e4\n\"漢"}"#,
            "\\",
        ] {
            assert_eq!(surrogates.mend(json), json);
        }
    }
}
