//! A text in shared parts: cloning it, or comparing equal clones, costs one pointer per part.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The concatenation of its parts; serialized as one string.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parts(Vec<Part>);

/// One part, never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    pub text: Arc<str>,
    /// The part was pasted; the editor treats it as one unit.
    pub is_paste: bool,
}

impl Parts {
    /// `text` with pastes at `pastes`, each a byte offset and a length, in order. Invalid ranges become normal text.
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

    /// The byte offset and length of each paste.
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

    /// Bytes of the complete text.
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
    fn parts_are_serialized_as_one_string() {
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
    fn pastes_are_restored_from_their_ranges() {
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
        // Ranges of a damaged file: inside a character, out of order, or past the end.
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
