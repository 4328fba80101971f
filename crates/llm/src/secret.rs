//! Keys that are never printed, logged or serialized, and removed from error texts.

use std::borrow::Cow;
use std::fmt;

/// Keys shorter than this are placeholders (`k`, `ollama`, `EMPTY`). Placeholders are hidden only as
/// separate words: inside of words, that would garble paths and names.
const PLACEHOLDER_LENGTH: usize = 8;

/// A key.
///
/// ```
/// use osier_llm::Secret;
///
/// let key = Secret::new("sk-0123456789");
/// assert_eq!(key.hide_in("invalid key: sk-0123456789"), "invalid key: …");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The key itself, to be sent in a header.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Replaces the key in `text` by `…`. Borrowed when it does not occur.
    pub fn hide_in<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut hidden = String::new();
        let mut end = 0;
        for (at, key) in self.found_in(text) {
            hidden.push_str(&text[end..at]);
            hidden.push('…');
            end = at + key.len();
        }
        match end {
            0 => Cow::Borrowed(text),
            _ => Cow::Owned(hidden + &text[end..]),
        }
    }

    fn found_in<'a>(&'a self, text: &'a str) -> impl Iterator<Item = (usize, &'a str)> {
        let key = Some(self.0.as_str()).filter(|key| !key.is_empty());
        let found = key.into_iter().flat_map(|key| text.match_indices(key));
        found.filter(|(at, key)| {
            let word = |sign: char| sign.is_alphanumeric();
            let before = text[..*at].chars().next_back().is_some_and(word);
            let after = text[at + key.len()..].chars().next().is_some_and(word);
            key.len() >= PLACEHOLDER_LENGTH || !(before || after)
        })
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_hidden_but_words_with_short_keys_are_not() {
        for (key, text, hidden) in [
            ("sk-0123456789", "bad key sk-0123456789.", "bad key …."),
            ("sk-0123456789", "xsk-0123456789x, sk-0123456789", "x…x, …"),
            (
                "k",
                "cannot read /tmp/.tmpkq/look, key `k`",
                "cannot read /tmp/.tmpkq/look, key `…`",
            ),
            (
                "ollama",
                "ollama_x: myollama and ollama2",
                "…_x: myollama and ollama2",
            ),
            ("", "nothing", "nothing"),
        ] {
            assert_eq!(Secret::new(key).hide_in(text), hidden, "{key}");
        }
    }
}
