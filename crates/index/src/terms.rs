//! Search terms: words and quoted phrases, all of which must match.

use osier_base::text::composed;
use osier_store::Needle;

/// Precedes ideographs in the index; does not occur in text.
pub(super) const MARK: char = '\u{1}';

/// Maximum number of trigrams to look up per term; more of them do not narrow the result.
const GROUPS: usize = 24;

/// A parsed query, for the index and for text.
#[derive(Debug)]
pub(super) struct Terms {
    terms: Vec<(String, Needle)>,
}

impl Terms {
    /// Parses the words of `query`; `"several words"` are one term. `None` if there are none. A word without capitals
    /// ignores case.
    pub(super) fn parse(query: &str) -> Option<Self> {
        let mut terms = Vec::new();
        for (place, part) in query.split('"').enumerate() {
            let quoted = place % 2 == 1;
            let words: Vec<&str> = if quoted {
                vec![part]
            } else {
                part.split_whitespace().collect()
            };
            for word in words.into_iter().filter(|word| !word.trim().is_empty()) {
                if let Some(needle) = Needle::new(word) {
                    terms.push((word.to_owned(), needle));
                }
            }
        }
        (!terms.is_empty()).then_some(Self { terms })
    }

    pub(super) fn needles(&self) -> impl Iterator<Item = &Needle> {
        self.terms.iter().map(|(_, needle)| needle)
    }

    pub(super) fn len(&self) -> usize {
        self.terms.len()
    }

    /// Whether every term is in one of `texts`.
    pub(super) fn all_in(&self, texts: &[&str]) -> bool {
        self.needles()
            .all(|needle| texts.iter().any(|text| needle.find(text).is_some()))
    }

    /// The index expression that finds every span with the terms, and possibly others; `None` if all terms are too
    /// short for the index.
    pub(super) fn expression(&self) -> Option<String> {
        let mut groups: Vec<String> = Vec::new();
        for (text, _) in &self.terms {
            for group in lookup(&composed(text)) {
                if !groups.contains(&group) {
                    groups.push(group);
                }
            }
        }
        if groups.is_empty() {
            return None;
        }
        let quoted = groups
            .iter()
            .map(|group| format!("\"{}\"", group.replace('"', "\"\"")));
        Some(quoted.collect::<Vec<_>>().join(" AND "))
    }
}

/// The trigrams of every text that contains `term`.
fn lookup(term: &str) -> Vec<String> {
    // SQLite ends a text at NUL.
    let characters: Vec<char> = term.chars().filter(|char| *char != '\0').collect();
    if characters.len() < 3 {
        let dense = !characters.is_empty() && characters.iter().all(|char| is_dense(*char));
        let marks = std::iter::repeat_n(MARK, 3 - characters.len().min(3));
        return dense
            .then(|| marks.chain(characters).collect())
            .into_iter()
            .collect();
    }
    let windows = characters.windows(3);
    // Spread evenly over a long term, including its end.
    let step = windows.len().div_ceil(GROUPS);
    let last = windows.len() - 1;
    windows
        .enumerate()
        .filter(|(place, _)| place % step == 0 || *place == last)
        .map(|(_, group)| group.iter().collect())
        .collect()
}

/// Whether a character is a word or a syllable by itself: Chinese, Japanese, Korean.
pub(super) fn is_dense(character: char) -> bool {
    character >= '\u{2e80}' && character.is_alphanumeric()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expression(query: &str) -> Option<String> {
        Terms::parse(query)?.expression()
    }

    #[test]
    fn query_is_split_into_trigrams() {
        assert_eq!(expression("fork"), Some(r#""for" AND "ork""#.into()));
        assert_eq!(expression("say \"a b\""), Some(r#""say" AND "a b""#.into()));
        assert_eq!(expression("漢字"), Some("\"\u{1}漢字\"".into()));
        assert_eq!(expression("字"), Some("\"\u{1}\u{1}字\"".into()));
        assert_eq!(expression("fn 漢字検"), Some("\"漢字検\"".into()));
        assert_eq!(expression("fn"), None);
        assert_eq!(expression(" \"\" "), None);
        let long = expression(&"0123456789".repeat(20)).unwrap();
        assert!(long.matches("AND").count() <= GROUPS, "{long}");
    }

    #[test]
    fn every_term_must_match() {
        let terms = Terms::parse("Parser fix").unwrap();
        assert_eq!(terms.len(), 2);
        assert!(terms.all_in(&["fix it", "the Parser"]));
        assert!(!terms.all_in(&["fix the parser"]));
    }
}
