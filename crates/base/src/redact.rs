//! Removes keys from text that leaves the machine: everything that looks like a credential, and the keys that osier uses.

use crate::sort;
use std::borrow::Cow;
use std::ops::Range;

use crate::secrets::{self, REMOVED as REDACTED};

/// `text` without keys. Borrowed if there is nothing to remove.
pub fn redact(text: &str) -> Cow<'_, str> {
    let found = secrets::scan(text).into_iter().map(|found| found.range);
    let mut ranges: Vec<Range<usize>> = found.chain(secrets::find_known(text)).collect();
    if ranges.is_empty() {
        return Cow::Borrowed(text);
    }
    sort::by_key(&mut ranges, |range| range.start);
    let mut clean = String::with_capacity(text.len());
    let mut at = 0;
    for range in ranges {
        if range.start >= at {
            clean.push_str(&text[at..range.start]);
            clean.push_str(REDACTED);
        }
        at = at.max(range.end);
    }
    clean.push_str(&text[at..]);
    Cow::Owned(clean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_removed_and_surrounding_text_stays() {
        let body = "aB3dE6gH9jK2mN5pQ8sT1vW4xY7z";
        for (text, expected) in [
            (format!("before \"ghp_{body}{body}\" after"), format!("before \"{REDACTED}\" after")),
            (
                "x -----BEGIN RSA PRIVATE KEY-----\nMIIE/+=\n-----END RSA PRIVATE KEY----- y".to_owned(),
                format!("x {REDACTED} y"),
            ),
            (
                "export MISTRAL_API_KEY=\"abc123def456ghi789\"\nAuthorization: Bearer abcdef1234567890abcd".to_owned(),
                format!("export MISTRAL_API_KEY=\"{REDACTED}\"\nAuthorization: Bearer {REDACTED}"),
            ),
        ] {
            assert_eq!(redact(&text), expected);
        }
    }

    #[test]
    fn own_keys_are_removed_whatever_they_look_like() {
        secrets::add_known(["correct horse battery".to_owned(), "short".to_owned()]);
        assert_eq!(
            redact("my key is correct horse battery, and a short one"),
            format!("my key is {REDACTED}, and a short one")
        );
    }

    #[test]
    fn similar_words_stay() {
        for text in [
            "sk-folding-cube-spinner-container-large",
            "task-0123456789abcdef0123456789",
            "MAX_TOKEN = self.configuration.maximum",
            "the bearer of this letter",
            "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ",
        ] {
            assert!(matches!(redact(text), Cow::Borrowed(_)), "{text}");
        }
    }
}
