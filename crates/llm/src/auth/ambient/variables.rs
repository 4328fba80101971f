//! The environment variables that name credentials.

use std::path::PathBuf;
use std::sync::Arc;

use crate::auth::environment::Environment;

/// The environment variables; empty values count as not set.
#[derive(Clone)]
pub(super) struct Variables(Environment);

impl Variables {
    pub(super) fn new(environment: &Environment) -> Self {
        Self(Arc::clone(environment))
    }

    pub(super) fn get(&self, name: &str) -> Option<String> {
        let value = (self.0)(name)?;
        let value = value.trim();
        (!value.is_empty()).then(|| value.to_owned())
    }

    pub(super) fn home(&self) -> PathBuf {
        // Without a home directory, no file is found.
        self.get("HOME")
            .map_or_else(|| "/nonexistent".into(), PathBuf::from)
    }

    #[cfg(test)]
    pub(super) fn of(set: Vec<(String, String)>) -> Self {
        Self(Arc::new(move |name| {
            let found = set.iter().find(|(have, _)| have == name);
            found.map(|(_, value)| value.clone())
        }))
    }
}
