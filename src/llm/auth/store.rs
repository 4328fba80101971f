//! The credential store as read from `auth.json`: `{"PROVIDER": {"type": "api_key", "key": "…"}}`.
//!
//! A value; `CredentialFile` reads and writes it. Entries of kinds that are not known here are kept as
//! they are.

use serde_json::{Map, Value};
use thiserror::Error;

use super::credential::Credential;

/// Credentials by provider name.
#[derive(Clone, Default, PartialEq)]
pub struct Store {
    entries: Map<String, Value>,
}

/// The store's text is not what it must be. Never quotes the text, which holds keys.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum StoreError {
    #[error("the credential store is not valid JSON at line {line}, column {column}")]
    Syntax { line: usize, column: usize },
    #[error("the credential store is not a JSON object")]
    Shape,
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
        match value {
            Value::Object(entries) => Ok(Self { entries }),
            _ => Err(StoreError::Shape),
        }
    }

    /// The text to store.
    pub fn to_text(&self) -> String {
        let mut text = serde_json::to_string_pretty(&self.entries).unwrap_or_default();
        text.push('\n');
        text
    }

    pub fn get(&self, provider: &str) -> Option<Credential> {
        self.entries.get(provider).and_then(Credential::read)
    }

    pub fn put(&mut self, provider: &str, credential: &Credential) {
        self.entries.insert(provider.to_owned(), credential.write());
    }

    /// Whether there was an entry.
    pub fn remove(&mut self, provider: &str) -> bool {
        self.entries.shift_remove(provider).is_some()
    }

    /// Names of the providers that have a credential here.
    pub fn providers(&self) -> impl Iterator<Item = &str> {
        let known = self.entries.iter();
        known
            .filter(|(_, entry)| Credential::read(entry).is_some())
            .map(|(name, _)| name.as_str())
    }

    /// The id of this installation, made when there is none yet; `true` when it was made.
    pub fn installation(&mut self) -> (String, bool) {
        let entry = self.entries.get(INSTALLATION);
        let known = entry.and_then(|entry| entry.get("id")?.as_str());
        if let Some(id) = known {
            return (id.to_owned(), false);
        }
        let id = uuid::Uuid::new_v4().hyphenated().to_string();
        let entry = serde_json::json!({"type": "installation", "id": id});
        self.entries.insert(INSTALLATION.to_owned(), entry);
        (id, true)
    }
}

/// No provider can have this name: it has a space.
const INSTALLATION: &str = "this installation";

/// Names alone: values hold keys.
impl std::fmt::Debug for Store {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_set().entries(self.entries.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::super::source::KeySource;
    use super::*;

    #[test]
    fn one_odd_entry_spoils_no_other_and_errors_quote_nothing() {
        let text = r#"{"a": {"type": "api_key", "key": "k"}, "b": {"type": "later", "refresh": "r"},
                "c": 7, "d": {"type": "api_key", "key": " "}, "e": {"type": "api_key", "key": "$E"}}"#;
        let mut store = Store::parse(text).unwrap();
        assert_eq!(store.providers().collect::<Vec<_>>(), ["a", "e"]);
        let variable = Credential::Key(KeySource::Env("E".to_owned()));
        assert_eq!(store.get("e"), Some(variable));
        assert!(store.remove("a") && !store.remove("a"));
        let kept = Store::parse(&store.to_text()).unwrap();
        assert_eq!(kept, store);
        assert!(store.to_text().contains("\"later\""));
        assert!(!format!("{store:?}").contains('k'));
        assert_eq!(Store::parse(" \n"), Ok(Store::default()));
        let error = Store::parse("{\"a\": {\n \"key\": \"sk-secret\"").unwrap_err();
        assert!(!error.to_string().contains("sk-secret"));
        assert!(matches!(error, StoreError::Syntax { line: 2, .. }));
        assert_eq!(Store::parse("[]"), Err(StoreError::Shape));
    }

    #[test]
    fn the_installation_keeps_its_id() {
        let mut store = Store::default();
        let (id, made) = store.installation();
        assert!(made);
        assert_eq!(store.installation(), (id, false));
        assert_eq!(store.providers().count(), 0);
    }
}
