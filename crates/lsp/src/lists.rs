//! Lists and texts from a server, of which only a part is stored.

use std::borrow::Cow;
use std::fmt;

use osier_base::text;
use serde::de::{Deserializer as _, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

/// Maximum bytes of an element that is read.
const ELEMENT_LIMIT: usize = 64 * 1024;

/// Calls `visit` with every element of the list `json` that is not too long. Returns how many elements there are;
/// 0 if it is no list.
pub(crate) fn elements(json: &str, visit: &mut dyn FnMut(&Value)) -> usize {
    struct Elements<'v>(&'v mut dyn FnMut(&Value));

    impl<'de> Visitor<'de> for Elements<'_> {
        type Value = usize;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("a list")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<usize, A::Error> {
            let mut count = 0;
            while let Some(element) = list.next_element::<&RawValue>()? {
                count += 1;
                if element.get().len() <= ELEMENT_LIMIT
                    && let Ok(element) = serde_json::from_str(element.get())
                {
                    (self.0)(&element);
                }
            }
            Ok(count)
        }
    }

    let mut json = serde_json::Deserializer::from_str(json);
    json.deserialize_seq(Elements(visit)).unwrap_or(0)
}

/// `json` as a value, unless it is longer than `limit`.
pub(crate) fn value(json: &str, limit: usize) -> Option<Value> {
    (json.len() <= limit)
        .then(|| serde_json::from_str(json).ok())
        .flatten()
}

/// Text of a server: without control characters, and of at most `limit` bytes.
pub(crate) fn clean(given: &str, limit: usize) -> String {
    let given = text::head_bytes(given, limit.saturating_mul(2));
    let clean: Cow<'_, str> = text::sanitize(given);
    let short = text::head_bytes(&clean, limit);
    if short.len() < clean.len() {
        format!("{short}…")
    } else {
        short.to_owned()
    }
}

/// Like `clean`, in one line.
pub(crate) fn line(given: &str, limit: usize) -> String {
    let clean = clean(given.trim(), limit);
    let words: Vec<&str> = clean.split_whitespace().collect();
    words.join(" ")
}

/// A number of the protocol, from 0.
pub(crate) fn number(value: &Value) -> Option<u32> {
    let number = value.as_u64()?;
    Some(u32::try_from(number).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_elements_are_counted_and_skipped() {
        let json = format!("[1, \"{}\", [2]]", "x".repeat(ELEMENT_LIMIT));
        let mut seen = Vec::new();
        let count = elements(&json, &mut |element| seen.push(element.to_string()));
        assert_eq!((count, seen), (3, vec!["1".to_owned(), "[2]".to_owned()]));
        assert_eq!(elements("{}", &mut |_| {}), 0);
    }

    #[test]
    fn text_is_made_harmless_and_short() {
        assert_eq!(clean("a\x1b]0;t\x07b\u{202e}\nc", 10), "ab\nc");
        assert_eq!(line(" a\n\t b\x1b[31m c ", 100), "a b c");
        assert_eq!(clean("éééé", 5), "éé…");
    }
}
