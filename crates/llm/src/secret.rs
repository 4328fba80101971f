//! A key: never printed, logged or serialized, and taken out of what servers say about it.

use std::borrow::Cow;
use std::fmt;

/// Keys below this length in bytes are words that stand for none (`k`, `ollama`, `EMPTY`): they are hidden
/// where they stand alone, since inside other words they would garble paths and names.
const SHORT: usize = 8;

/// A key.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The key itself, for the one place that puts it into a header.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// `told` with `…` in place of the key. Borrowed when it is not there.
    pub fn hide_in<'a>(&self, told: &'a str) -> Cow<'a, str> {
        let mut kept = String::new();
        let mut taken = 0;
        for (at, key) in self.found_in(told) {
            kept.push_str(&told[taken..at]);
            kept.push('…');
            taken = at + key.len();
        }
        match taken {
            0 => Cow::Borrowed(told),
            _ => Cow::Owned(kept + &told[taken..]),
        }
    }

    fn found_in<'a>(&'a self, told: &'a str) -> impl Iterator<Item = (usize, &'a str)> {
        let key = Some(self.0.as_str()).filter(|key| !key.is_empty());
        let found = key.into_iter().flat_map(|key| told.match_indices(key));
        found.filter(|(at, key)| {
            let word = |sign: char| sign.is_alphanumeric();
            let before = told[..*at].chars().next_back().is_some_and(word);
            let after = told[at + key.len()..].chars().next().is_some_and(word);
            key.len() >= SHORT || !(before || after)
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
    fn a_key_is_hidden_and_what_only_holds_a_short_one_stays() {
        for (key, told, hidden) in [
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
            assert_eq!(Secret::new(key).hide_in(told), hidden, "{key}");
        }
    }
}
