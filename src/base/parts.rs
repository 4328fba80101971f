//! A text in parts that are shared: a copy costs a pointer a part, and so does finding two copies the same.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The text is its parts one behind the other; to serde it is one string.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parts(Vec<Arc<str>>);

impl Parts {
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|part| part.is_empty())
    }

    /// Bytes of the whole text.
    pub fn len(&self) -> usize {
        self.0.iter().map(|part| part.len()).sum()
    }
}

impl FromIterator<Arc<str>> for Parts {
    fn from_iter<I: IntoIterator<Item = Arc<str>>>(parts: I) -> Self {
        Self(parts.into_iter().filter(|part| !part.is_empty()).collect())
    }
}

impl From<&str> for Parts {
    fn from(text: &str) -> Self {
        std::iter::once(Arc::from(text)).collect()
    }
}

impl fmt::Display for Parts {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|part| out.write_str(part))
    }
}

impl Serialize for Parts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &*self.0 {
            [] => serializer.serialize_str(""),
            [only] => serializer.serialize_str(only),
            parts => serializer.serialize_str(&parts.concat()),
        }
    }
}

impl<'de> Deserialize<'de> for Parts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::from(&*String::deserialize(deserializer)?))
    }
}

#[cfg(test)]
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
}
