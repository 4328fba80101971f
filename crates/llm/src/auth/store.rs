//! The content of the credential store `auth.json`: `{"PROVIDER": {"type": "api_key", "key": "…"}}`.
//!
//! `CredentialFile` reads and writes it. Entries of unknown types are preserved.

use std::sync::Arc;

use serde_json::{Map, Value};
use thiserror::Error;

use super::credential::Credential;
use super::system_keyring::Vault;
use osier_base::secrets;

/// Credentials by provider name.
#[derive(Clone, Default)]
pub struct Store {
    entries: Map<String, Value>,
    /// The keyring with the entries whose content is not in the file.
    vault: Option<Arc<dyn Vault>>,
    /// Whether new entries are stored in the keyring.
    keep_in_vault: bool,
}

impl PartialEq for Store {
    fn eq(&self, other: &Self) -> bool {
        self.entries == other.entries
    }
}

/// The store is invalid. The text is never quoted because it contains keys.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum StoreError {
    #[error("the credential store is not valid JSON at line {line}, column {column}")]
    Syntax { line: usize, column: usize },
    #[error("the credential store is not a JSON object")]
    Shape,
}

impl Store {
    /// Parses the text of `auth.json`. Empty text is an empty store.
    pub fn parse(text: &str) -> Result<Self, StoreError> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        let value: Value = serde_json::from_str(text).map_err(|error| StoreError::Syntax {
            line: error.line(),
            column: error.column(),
        })?;
        secrets::add_known_fields(&value);
        match value {
            Value::Object(entries) => Ok(Self {
                entries,
                ..Self::default()
            }),
            _ => Err(StoreError::Shape),
        }
    }

    /// The text of `auth.json`.
    pub fn to_text(&self) -> String {
        let mut text = serde_json::to_string_pretty(&self.entries).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Reads entries marked as `keyring` from `vault`, and stores new ones there if `keep` is set.
    #[must_use]
    pub(crate) fn with_vault(mut self, vault: Option<Arc<dyn Vault>>, keep: bool) -> Self {
        self.vault = vault;
        self.keep_in_vault = keep;
        self
    }

    /// The credential of `provider`, from the file or the keyring. `Credential::Keyring` when the keyring
    /// does not respond.
    pub fn get(&self, provider: &str) -> Option<Credential> {
        let entry = self.entry(provider)?;
        if entry != Credential::Keyring {
            return Some(entry);
        }
        let text = self.vault.as_ref().and_then(|vault| vault.get(provider));
        let content: Option<Value> = text.and_then(|text| serde_json::from_str(&text).ok());
        content.iter().for_each(secrets::add_known_fields);
        content.as_ref().and_then(Credential::read).or(Some(entry))
    }

    /// The entry of `provider` in the file, without reading the keyring.
    pub fn entry(&self, provider: &str) -> Option<Credential> {
        self.entries.get(provider).and_then(Credential::read)
    }

    pub fn put(&mut self, provider: &str, credential: &Credential) {
        let content = credential.write();
        secrets::add_known_fields(&content);
        let vault = self.vault.as_ref().filter(|_| self.keep_in_vault);
        let is_stored = vault.is_some_and(|vault| vault.put(provider, &content.to_string()));
        let entry = if is_stored {
            Credential::Keyring.write()
        } else {
            content
        };
        self.entries.insert(provider.to_owned(), entry);
    }

    /// Removes the credential of `provider`; returns whether there was one.
    pub fn remove(&mut self, provider: &str) -> bool {
        if let (Some(Credential::Keyring), Some(vault)) = (self.entry(provider), &self.vault) {
            vault.remove(provider);
        }
        self.entries.shift_remove(provider).is_some()
    }

    /// An entry that does not belong to a provider.
    pub fn other(&self, name: &str) -> Option<&Value> {
        self.entries.get(name)
    }

    /// Stores an entry that does not belong to a provider. Its `type` must not be that of a credential.
    pub fn put_other(&mut self, name: &str, entry: Value) {
        secrets::add_known_fields(&entry);
        self.entries.insert(name.to_owned(), entry);
    }

    /// Names of the providers with a credential.
    pub fn providers(&self) -> impl Iterator<Item = &str> {
        let known = self.entries.iter();
        known
            .filter(|(_, entry)| Credential::read(entry).is_some())
            .map(|(name, _)| name.as_str())
    }

    /// The id of this installation, created if there is none; `true` when it was created.
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

/// Contains a space, so that no provider can have this name.
const INSTALLATION: &str = "this installation";

/// Prints only names: values contain keys.
impl std::fmt::Debug for Store {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_set().entries(self.entries.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::Mutex;

    use super::super::source::KeySource;
    use super::*;

    #[test]
    fn invalid_entries_are_isolated_and_never_quoted() {
        let text = r#"{"a": {"type": "api_key", "key": "k"}, "b": {"type": "later", "refresh": "r"},
                "c": 7, "d": {"type": "api_key", "key": " "}, "e": {"type": "api_key", "key": "$E"}}"#;
        let mut store = Store::parse(text).unwrap();
        assert_eq!(store.providers().collect::<Vec<_>>(), ["a", "e"]);
        let variable = Credential::Key(KeySource::Env("E".to_owned()));
        assert_eq!(store.get("e"), Some(variable));
        assert!(store.remove("a") && !store.remove("a"));
        let stored = Store::parse(&store.to_text()).unwrap();
        assert_eq!(stored, store);
        assert!(store.to_text().contains("\"later\""));
        assert!(!format!("{store:?}").contains('k'));
        assert_eq!(Store::parse(" \n"), Ok(Store::default()));
        let error = Store::parse("{\"a\": {\n \"key\": \"sk-secret\"").unwrap_err();
        assert!(!error.to_string().contains("sk-secret"));
        assert!(matches!(error, StoreError::Syntax { line: 2, .. }));
        assert_eq!(Store::parse("[]"), Err(StoreError::Shape));
    }

    /// A keyring in memory.
    #[derive(Debug, Default)]
    struct Drawer {
        texts: Mutex<HashMap<String, String>>,
        broken: bool,
    }

    impl Vault for Drawer {
        fn get(&self, provider: &str) -> Option<String> {
            self.texts.lock().unwrap().get(provider).cloned()
        }

        fn put(&self, provider: &str, text: &str) -> bool {
            let mut texts = self.texts.lock().unwrap();
            !self.broken && texts.insert(provider.into(), text.into()).is_none()
        }

        fn remove(&self, provider: &str) {
            self.texts.lock().unwrap().remove(provider);
        }
    }

    #[test]
    fn keyring_has_the_content_and_the_file_a_reference() {
        let drawer = Arc::new(Drawer::default());
        let vault = || Some(Arc::clone(&drawer) as Arc<dyn Vault>);
        let key = Credential::Key(KeySource::parse("sk-secret"));
        let mut store = Store::default().with_vault(vault(), true);
        store.put("a", &key);
        assert!(!store.to_text().contains("sk-secret"));
        assert_eq!(store.get("a"), Some(key.clone()));
        assert_eq!(store.entry("a"), Some(Credential::Keyring));
        // Another process, and a process without a keyring.
        let text = store.to_text();
        let other = Store::parse(&text).unwrap().with_vault(vault(), false);
        assert_eq!(other.get("a"), Some(key.clone()));
        let without = Store::parse(&text).unwrap();
        assert_eq!(without.get("a"), Some(Credential::Keyring));
        assert!(store.remove("a") && drawer.texts.lock().unwrap().is_empty());
        let broken = Drawer {
            broken: true,
            ..Drawer::default()
        };
        let mut store = Store::default().with_vault(Some(Arc::new(broken)), true);
        store.put("a", &key);
        assert_eq!(store.entry("a"), Some(key));
    }

    #[test]
    fn installation_id_is_stable() {
        let mut store = Store::default();
        let (id, made) = store.installation();
        assert!(made);
        assert_eq!(store.installation(), (id, false));
        assert_eq!(store.providers().count(), 0);
    }
}
