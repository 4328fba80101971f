//! What somebody looks for: words and quoted phrases, all of which have to be there.

use osier_store::Needle;

/// Stands before ideographs in the index; no text has it.
pub(super) const MARK: char = '\u{1}';

/// Groups of three letters that are looked up of one term: more of them say nothing new.
const GROUPS: usize = 24;

/// A query, ready to be looked up and to be found in text.
#[derive(Debug)]
pub(super) struct Terms {
    terms: Vec<(String, Needle)>,
}

impl Terms {
    /// The words of `query`; `"several words"` are one. `None` when there are none. A word without capitals
    /// finds them too.
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

    /// The expression that finds every span with the terms, and some others; `None` when all terms are too
    /// short for the index.
    pub(super) fn expression(&self) -> Option<String> {
        let mut groups: Vec<String> = Vec::new();
        for (text, _) in &self.terms {
            for group in lookup(text) {
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

/// The groups of three characters that stand in every text with `term`.
fn lookup(term: &str) -> Vec<String> {
    // The end of a text for SQLite.
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
    // Evenly over a long term, its end included.
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
    fn a_query_becomes_groups_of_three() {
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
    fn every_term_has_to_be_there() {
        let terms = Terms::parse("Parser fix").unwrap();
        assert_eq!(terms.len(), 2);
        assert!(terms.all_in(&["fix it", "the Parser"]));
        assert!(!terms.all_in(&["fix the parser"]));
    }
}
