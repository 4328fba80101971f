//! Which key a provider is called with.
//!
//! Order: the command line, the credential store, `models.json`, the environment. Nothing here reads the
//! process's environment or starts a process: both are given by the caller, so that a session can be
//! tested and hundreds can run apart. A key is a `Secret` from the moment it is read.

mod source;
mod store;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use thiserror::Error;
use tokio::sync::Mutex;

use super::catalogue::ProviderEntry;
use super::provider::Secret;

pub use source::KeySource;
pub use store::{Store, StoreError};

/// Looks a name up in the environment.
pub type Environment = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Runs a shell command and gives what it printed, or why it failed.
pub type CommandRunner =
    Arc<dyn Fn(String) -> BoxFuture<'static, Result<String, String>> + Send + Sync>;

/// Whether a provider can be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyStatus {
    Present,
    Absent,
    /// A server that asks for none, as local ones do.
    NotNeeded,
}

impl KeyStatus {
    /// Whether a call may succeed.
    pub fn is_usable(self) -> bool {
        self != Self::Absent
    }
}

/// Why there is no key.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum KeyError {
    #[error("no key for `{provider}`")]
    Missing {
        provider: String,
        /// Variables that would give one.
        env_keys: Vec<String>,
    },
    #[error("the key command of `{provider}` failed: {reason}")]
    Command { provider: String, reason: String },
}

impl KeyError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Missing { provider, env_keys } => match env_keys.first() {
                Some(name) => format!("set {name} or run `osier auth login {provider}`"),
                None => format!("run `osier auth login {provider}` or set `apiKey` in models.json"),
            },
            Self::Command { provider, .. } => {
                format!("run the command in `providers.{provider}.apiKey` of models.json by hand")
            }
        }
    }
}

/// Finds keys. One value per session.
pub struct Keys {
    environment: Environment,
    store: Store,
    flag: Option<(String, Secret)>,
    runner: Option<CommandRunner>,
    /// What commands printed, so that each runs once.
    printed: Mutex<HashMap<String, Secret>>,
}

impl Keys {
    /// Keys from `environment` and `store` alone.
    pub fn new(environment: Environment, store: Store) -> Self {
        Self {
            environment,
            store,
            flag: None,
            runner: None,
            printed: Mutex::new(HashMap::new()),
        }
    }

    /// `key` from the command line, for `provider` only: it must not reach another vendor.
    #[must_use]
    pub fn with_flag(mut self, provider: impl Into<String>, key: Secret) -> Self {
        self.flag = Some((provider.into(), key));
        self
    }

    /// Lets `!command` keys run.
    #[must_use]
    pub fn with_runner(mut self, runner: CommandRunner) -> Self {
        self.runner = Some(runner);
        self
    }

    /// Whether `entry` has a key, without running any command.
    pub fn status(&self, entry: &ProviderEntry) -> KeyStatus {
        let found = self.flag_for(&entry.name).is_some()
            || self.sources(entry).any(|source| match source {
                KeySource::Literal(_) => true,
                KeySource::Env(name) => self.variable(name).is_some(),
                KeySource::Command(_) => self.runner.is_some(),
            })
            || self.environment_key(entry).is_some();
        match found {
            true => KeyStatus::Present,
            false if entry.needs_key => KeyStatus::Absent,
            false => KeyStatus::NotNeeded,
        }
    }

    /// The key to call `entry` with; `None` when it needs none.
    pub async fn resolve(&self, entry: &ProviderEntry) -> Result<Option<Secret>, KeyError> {
        if let Some(key) = self.flag_for(&entry.name) {
            return Ok(Some(key.clone()));
        }
        for source in self.sources(entry) {
            let key = match source {
                KeySource::Literal(key) => Some(key.clone()),
                KeySource::Env(name) => self.variable(name),
                KeySource::Command(command) => self.run(command, &entry.name).await?,
            };
            if key.is_some() {
                return Ok(key);
            }
        }
        match self.environment_key(entry) {
            Some(key) => Ok(Some(key)),
            None if entry.needs_key => Err(KeyError::Missing {
                provider: entry.name.clone(),
                env_keys: entry.env_keys.clone(),
            }),
            None => Ok(None),
        }
    }

    fn flag_for(&self, provider: &str) -> Option<&Secret> {
        let (name, key) = self.flag.as_ref()?;
        (name == provider).then_some(key)
    }

    /// The store's source, then the one of `models.json`.
    fn sources<'a>(&'a self, entry: &'a ProviderEntry) -> impl Iterator<Item = &'a KeySource> {
        let stored = self.store.get(&entry.name);
        stored.into_iter().chain(entry.key.as_ref())
    }

    fn environment_key(&self, entry: &ProviderEntry) -> Option<Secret> {
        entry.env_keys.iter().find_map(|name| self.variable(name))
    }

    fn variable(&self, name: &str) -> Option<Secret> {
        let value = (self.environment)(name)?;
        let value = value.trim();
        (!value.is_empty()).then(|| Secret::new(value))
    }

    async fn run(&self, command: &str, provider: &str) -> Result<Option<Secret>, KeyError> {
        let Some(runner) = &self.runner else {
            return Ok(None);
        };
        // Held while the command runs, so that calls at once start it once.
        let mut printed = self.printed.lock().await;
        if let Some(key) = printed.get(command) {
            return Ok(Some(key.clone()));
        }
        let failed = |reason: String| KeyError::Command {
            provider: provider.to_owned(),
            reason,
        };
        let output = runner(command.to_owned()).await.map_err(failed)?;
        let key = output.trim();
        if key.is_empty() {
            return Err(failed("it printed nothing".to_owned()));
        }
        let key = Secret::new(key);
        printed.insert(command.to_owned(), key.clone());
        Ok(Some(key))
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Keys")
            .field("store", &self.store)
            .field("flag", &self.flag)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::catalogue::PROVIDERS;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn environment(variables: &'static [(&'static str, &'static str)]) -> Environment {
        Arc::new(move |name| {
            let found = variables.iter().find(|(have, _)| *have == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    fn anthropic() -> ProviderEntry {
        let row = PROVIDERS.iter().find(|row| row.name == "anthropic");
        ProviderEntry::from(row.unwrap())
    }

    fn store(text: &str) -> Store {
        Store::parse(text).unwrap()
    }

    #[tokio::test]
    async fn the_command_line_wins_then_store_then_file_then_environment() {
        let variables = environment(&[("ANTHROPIC_API_KEY", "env"), ("MY_KEY", "named")]);
        let stored = r#"{"anthropic": {"type": "api_key", "key": "stored"}}"#;
        let mut entry = anthropic();
        let empty = || Keys::new(Arc::clone(&variables), Store::default());
        let get = async |keys: &Keys, entry: &ProviderEntry| {
            let key = keys.resolve(entry).await.unwrap().unwrap();
            key.expose().to_owned()
        };
        assert_eq!(get(&empty(), &entry).await, "env");
        entry.key = Some(KeySource::parse("$MY_KEY"));
        assert_eq!(get(&empty(), &entry).await, "named");
        entry.key = Some(KeySource::parse("$NOT_SET"));
        assert_eq!(get(&empty(), &entry).await, "env");
        entry.key = Some(KeySource::parse("literal"));
        assert_eq!(get(&empty(), &entry).await, "literal");
        let keys = Keys::new(Arc::clone(&variables), store(stored));
        assert_eq!(get(&keys, &entry).await, "stored");
        let keys = keys.with_flag("anthropic", Secret::new("flag"));
        assert_eq!(get(&keys, &entry).await, "flag");
        entry.name = "other".to_owned();
        assert_eq!(get(&keys, &entry).await, "literal");
        assert!(!format!("{keys:?} {entry:?}").contains("literal"));
        assert!(!format!("{keys:?}").contains("stored"));
    }

    #[tokio::test]
    async fn a_missing_key_is_named_with_its_mend() {
        let keys = Keys::new(environment(&[("ANTHROPIC_API_KEY", " ")]), Store::default());
        let mut entry = anthropic();
        assert_eq!(keys.status(&entry), KeyStatus::Absent);
        let error = keys.resolve(&entry).await.unwrap_err();
        assert_eq!(error.to_string(), "no key for `anthropic`");
        assert_eq!(
            error.hint(),
            "set ANTHROPIC_API_KEY or run `osier auth login anthropic`"
        );
        entry.needs_key = false;
        assert_eq!(keys.status(&entry), KeyStatus::NotNeeded);
        assert_eq!(keys.resolve(&entry).await, Ok(None));
    }

    #[tokio::test]
    async fn a_command_runs_at_first_use_and_once() {
        let runs = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&runs);
        let keys =
            Keys::new(environment(&[]), Store::default()).with_runner(Arc::new(move |command| {
                counted.fetch_add(1, Ordering::SeqCst);
                Box::pin(async move {
                    match command.as_str() {
                        "pass show key" => Ok("printed\n".to_owned()),
                        _ => Err("exit code 1".to_owned()),
                    }
                })
            }));
        let mut entry = anthropic();
        entry.key = Some(KeySource::parse("!pass show key"));
        assert_eq!(keys.status(&entry), KeyStatus::Present);
        assert_eq!(runs.load(Ordering::SeqCst), 0);
        for _ in 0..2 {
            let key = keys.resolve(&entry).await;
            assert_eq!(key, Ok(Some(Secret::new("printed"))));
        }
        assert_eq!(runs.load(Ordering::SeqCst), 1);
        entry.key = Some(KeySource::parse("!false"));
        assert_eq!(
            keys.resolve(&entry).await.unwrap_err().to_string(),
            "the key command of `anthropic` failed: exit code 1"
        );
    }
}
