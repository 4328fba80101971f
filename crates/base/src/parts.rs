//! A text in parts that are shared: a copy costs a pointer a part, and so does finding two copies the same.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The text is its parts one behind the other; to serde it is one string.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parts(Vec<Part>);

/// One part, never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    pub text: Arc<str>,
    /// It was pasted, and is one thing where it is edited.
    pub is_paste: bool,
}

impl Parts {
    /// `text` with what was pasted at `pastes`, each a first byte and a number of bytes, in their order. What cannot
    /// be cut out is text like any other.
    pub fn with_pastes(text: &str, pastes: &[(usize, usize)]) -> Self {
        let mut parts = Self::default();
        let mut from = 0;
        for (start, length) in pastes {
            let end = start.saturating_add(*length);
            if let (Some(before), Some(paste)) = (text.get(from..*start), text.get(*start..end)) {
                parts.push(before.into(), false);
                parts.push(paste.into(), true);
                from = end;
            }
        }
        parts.push(text[from..].into(), false);
        parts
    }

    /// Appends a part.
    pub fn push(&mut self, text: Arc<str>, is_paste: bool) {
        if !text.is_empty() {
            self.0.push(Part { text, is_paste });
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = &Part> {
        self.0.iter()
    }

    /// Where the pastes are: the first byte of each, and its bytes.
    pub fn pastes(&self) -> Vec<(usize, usize)> {
        let mut start = 0;
        let mut pastes = Vec::new();
        for part in &self.0 {
            if part.is_paste {
                pastes.push((start, part.text.len()));
            }
            start += part.text.len();
        }
        pastes
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Bytes of the whole text.
    pub fn len(&self) -> usize {
        self.0.iter().map(|part| part.text.len()).sum()
    }
}

impl FromIterator<Arc<str>> for Parts {
    fn from_iter<I: IntoIterator<Item = Arc<str>>>(parts: I) -> Self {
        let mut all = Self::default();
        for text in parts {
            all.push(text, false);
        }
        all
    }
}

impl From<&str> for Parts {
    fn from(text: &str) -> Self {
        std::iter::once(Arc::from(text)).collect()
    }
}

impl fmt::Display for Parts {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|part| out.write_str(&part.text))
    }
}

impl Serialize for Parts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &*self.0 {
            [] => serializer.serialize_str(""),
            [only] => serializer.serialize_str(&only.text),
            _ => serializer.serialize_str(&self.to_string()),
        }
    }
}

impl<'de> Deserialize<'de> for Parts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::from(&*String::deserialize(deserializer)?))
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Parts {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        String::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        String::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn to_serde_it_is_one_string() {
        let parts: Parts = ["a", "", "b\n"].into_iter().map(Arc::from).collect();
        assert_eq!(serde_json::to_string(&parts).unwrap(), r#""ab\n""#);
        assert_eq!(
            serde_json::from_str::<Parts>(r#""ab\n""#).unwrap(),
            Parts::from("ab\n")
        );
        assert_eq!((parts.to_string(), parts.len()), ("ab\n".to_owned(), 3));
        assert!(Parts::default().is_empty() && Parts::from("").is_empty());
    }

    #[test]
    fn pastes_are_found_again_by_their_places() {
        let mut parts = Parts::default();
        for (text, is_paste) in [
            ("é", false),
            ("pasted", true),
            ("", false),
            ("more", true),
            (".", false),
        ] {
            parts.push(text.into(), is_paste);
        }
        let text = parts.to_string();
        assert_eq!(parts.pastes(), [(2, 6), (8, 4)]);
        assert_eq!(Parts::with_pastes(&text, &parts.pastes()), parts);
        // What a broken file says of places inside of a letter, before the last or behind the end.
        let plain = Parts::from(&*text);
        assert_eq!(
            Parts::with_pastes(&text, &[(1, 3), (13, 1), (2, usize::MAX)]),
            plain
        );
        let mut first = Parts::from("é");
        first.push("pasted".into(), true);
        first.push("more.".into(), false);
        assert_eq!(Parts::with_pastes(&text, &[(2, 6), (3, 2)]), first);
    }
}
