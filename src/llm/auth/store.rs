//! The credential store as read from `auth.json`: `{"PROVIDER": {"type": "api_key", "key": "…"}}`.
//!
//! Reading only; entries of other types belong to sign-ins and are left alone.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;

use super::source::KeySource;

/// Keys by provider name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Store {
    keys: BTreeMap<String, KeySource>,
}

/// The store's text is not what it must be. Never quotes the text, which holds keys.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum StoreError {
    #[error("the credential store is not valid JSON at line {line}, column {column}")]
    Syntax { line: usize, column: usize },
    #[error("the credential store is not a JSON object")]
    Shape,
}

#[derive(Deserialize)]
struct Entry {
    r#type: String,
    key: String,
}

impl Store {
    /// Reads the text of `auth.json`. Empty text is an empty store.
    pub fn parse(text: &str) -> Result<Self, StoreError> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        let value: Value = serde_json::from_str(text).map_err(|error| StoreError::Syntax {
            line: error.line(),
            column: error.column(),
        })?;
        let Value::Object(entries) = value else {
            return Err(StoreError::Shape);
        };
        let keys = entries.into_iter().filter_map(|(provider, entry)| {
            let entry: Entry = serde_json::from_value(entry).ok()?;
            let usable = entry.r#type == "api_key" && !entry.key.trim().is_empty();
            usable.then(|| (provider, KeySource::parse(&entry.key)))
        });
        Ok(Self {
            keys: keys.collect(),
        })
    }

    pub fn get(&self, provider: &str) -> Option<&KeySource> {
        self.keys.get(provider)
    }

    /// Names of the providers that have a key here.
    pub fn providers(&self) -> impl Iterator<Item = &str> {
        self.keys.keys().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_odd_entry_spoils_no_other_and_errors_quote_nothing() {
        let store = Store::parse(
            r#"{"a": {"type": "api_key", "key": "k"}, "b": {"type": "oauth", "refresh": "r"},
                "c": 7, "d": {"type": "api_key", "key": " "}, "e": {"type": "api_key", "key": "$E"}}"#,
        )
        .unwrap();
        assert_eq!(store.providers().collect::<Vec<_>>(), ["a", "e"]);
        assert_eq!(store.get("e"), Some(&KeySource::Env("E".to_owned())));
        assert_eq!(Store::parse(" \n"), Ok(Store::default()));
        let error = Store::parse("{\"a\": {\n \"key\": \"sk-secret\"").unwrap_err();
        assert!(!error.to_string().contains("sk-secret"));
        assert!(matches!(error, StoreError::Syntax { line: 2, .. }));
        assert_eq!(Store::parse("[]"), Err(StoreError::Shape));
    }
}
