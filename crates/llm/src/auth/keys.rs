//! Which credential a provider is called with, in order: the command line, the credential store,
//! `models.json`, the environment.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex as Lock};
use std::time::Duration;

use futures_util::future::BoxFuture;
use thiserror::Error;
use tokio::sync::Mutex;

use super::access::Access;
use super::ambient::{Means, Minted};
use super::credential::{Credential, Tokens};
use super::error::SignInError;
use super::file::CredentialFile;
use super::renewal::{Renewals, current};
use super::sign_in::SignIns;
use super::source::KeySource;
use super::store::Store;
use crate::catalogue::ProviderEntry;
use crate::http::HttpOptions;
use crate::provider::Secret;
use crate::status::TurnStatus;
use osier_base::clock;

/// Longest wait for a renewal while the old token still works.
const EARLY_PATIENCE: Duration = Duration::from_secs(5);

/// Tokens of a vendor's own credentials are asked for anew this long before they end.
const AMBIENT_EARLY_MS: i64 = 5 * 60 * 1000;

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
    #[error("the sign-in of `{provider}` has expired: {reason}")]
    SignedOut { provider: String, reason: String },
    #[error("cannot refresh the sign-in of `{provider}`: {reason}")]
    Renewal { provider: String, reason: String },
    #[error("the credentials for `{provider}` cannot be used: {reason}")]
    Ambient { provider: String, reason: String },
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
                format!("run the key command of `{provider}` in a shell")
            }
            Self::SignedOut { provider, .. } => format!("run `osier auth login {provider}`"),
            Self::Renewal { .. } => "try again when the network is back".to_owned(),
            Self::Ambient { provider, .. } => {
                format!("fix them, or run `osier auth login {provider}`")
            }
        }
    }

    /// What the agent is told. Only what a person has to mend ends the provider for the session.
    pub fn status(&self) -> TurnStatus {
        let message = format!("{self}: {}", self.hint());
        match self {
            Self::Renewal { .. } => TurnStatus::NetworkError {
                message,
                retryable: true,
            },
            _ => TurnStatus::AuthError { message },
        }
    }
}

/// Finds keys. One value per session.
pub struct Keys {
    environment: Environment,
    /// The store as it was read last.
    store: Lock<Store>,
    file: Option<CredentialFile>,
    sign_ins: SignIns,
    renewals: Renewals,
    flag: Option<(String, Secret)>,
    runner: Option<CommandRunner>,
    /// What commands printed, so that each runs once.
    printed: Mutex<HashMap<String, Secret>>,
    /// Ways in that were made of a vendor's own credentials, by provider.
    minted: Mutex<HashMap<String, Minted>>,
    /// How requests of its own go out.
    http: HttpOptions,
}

impl Keys {
    /// Keys from `environment` and `store` alone.
    pub fn new(environment: Environment, store: Store) -> Self {
        Self {
            environment,
            store: Lock::new(store),
            file: None,
            sign_ins: SignIns::default(),
            renewals: Renewals::default(),
            flag: None,
            runner: None,
            printed: Mutex::new(HashMap::new()),
            minted: Mutex::new(HashMap::new()),
            http: HttpOptions::default(),
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

    /// Reads `file` again before every call, and renews the tokens in it as `sign_ins` say.
    #[must_use]
    pub fn with_file(mut self, file: CredentialFile, sign_ins: SignIns) -> Self {
        self.file = Some(file);
        self.sign_ins = sign_ins;
        self
    }

    /// Sends requests of its own as `http` says.
    #[must_use]
    pub fn with_http(mut self, http: HttpOptions) -> Self {
        self.http = http;
        self
    }

    pub fn renewals(&self) -> &Renewals {
        &self.renewals
    }

    pub fn sign_ins(&self) -> &SignIns {
        &self.sign_ins
    }

    /// Whether `entry` has a key, without running any command.
    pub fn status(&self, entry: &ProviderEntry) -> KeyStatus {
        let usable = |source: &KeySource| match source {
            KeySource::Literal(_) => true,
            KeySource::Env(name) => self.variable(name).is_some(),
            KeySource::Command(_) => self.runner.is_some(),
        };
        let stored = match self.last_stored(&entry.name) {
            Some(Credential::Key(source)) => usable(&source),
            Some(Credential::Tokens(_) | Credential::Keyring) => true,
            None => false,
        };
        let found = stored
            || self.flag_for(&entry.name).is_some()
            || entry.key.as_ref().is_some_and(usable)
            || self.environment_key(entry).is_some()
            || entry
                .ambient
                .is_some_and(|kind| kind.is_there(&self.environment));
        match found {
            true => KeyStatus::Present,
            false if entry.needs_key => KeyStatus::Absent,
            false => KeyStatus::NotNeeded,
        }
    }

    /// What to call `entry` with. Renews a sign-in whose token is about to expire.
    pub async fn access(&self, entry: &ProviderEntry) -> Result<Access, KeyError> {
        if let Some(key) = self.flag_for(&entry.name) {
            return Ok(Access::key(key.clone()));
        }
        match self.stored(&entry.name) {
            Some(Credential::Tokens(tokens)) => return self.with_tokens(entry, tokens).await,
            Some(Credential::Key(source)) => {
                if let Some(access) = self.take_source(&source, entry).await? {
                    return Ok(access);
                }
            }
            Some(Credential::Keyring) | None => {}
        }
        if let Some(source) = &entry.key
            && let Some(access) = self.take_source(source, entry).await?
        {
            return Ok(access);
        }
        match self.environment_key(entry) {
            Some(key) => Ok(Access::key(key)),
            None if entry
                .ambient
                .is_some_and(|kind| kind.is_there(&self.environment)) =>
            {
                self.ambient(entry).await
            }
            None if entry.needs_key => Err(KeyError::Missing {
                provider: entry.name.clone(),
                env_keys: entry.env_keys.clone(),
            }),
            None => Ok(Access::default()),
        }
    }

    /// The provider refused `refused`: what else there is to call it with. `None` when there is nothing
    /// newer.
    pub async fn renewed(
        &self,
        entry: &ProviderEntry,
        refused: &Access,
    ) -> Result<Option<Access>, KeyError> {
        if !refused.renewable {
            return Ok(None);
        }
        {
            let mut printed = self.printed.lock().await;
            printed.retain(|_, key| Some(&*key) != refused.key.as_ref());
        }
        {
            let mut minted = self.minted.lock().await;
            minted.retain(|_, minted| minted.access != *refused);
        }
        let access = match self.stored(&entry.name) {
            Some(Credential::Tokens(tokens)) if refused.key.as_ref() == Some(&tokens.access) => {
                self.renew(&entry.name, tokens).await?
            }
            _ => self.access(entry).await?,
        };
        let is_new = (&access.key, &access.signing) != (&refused.key, &refused.signing);
        Ok(is_new.then_some(access))
    }

    /// A way in made of the credentials of the vendor's own tools, kept while it holds.
    async fn ambient(&self, entry: &ProviderEntry) -> Result<Access, KeyError> {
        let Some(kind) = entry.ambient else {
            return Ok(Access::default());
        };
        // Held while a token is asked for, so that calls at once ask once.
        let mut minted = self.minted.lock().await;
        if let Some(known) = minted.get(&entry.name)
            && known
                .until
                .is_some_and(|until| until - AMBIENT_EARLY_MS > clock::now_ms())
        {
            return Ok(known.access.clone());
        }
        let fresh = kind.mint(self.means()).await.map_err(|error| {
            let (provider, reason) = (entry.name.clone(), error.to_string());
            if error.ends_sign_in() {
                KeyError::Ambient { provider, reason }
            } else {
                KeyError::Renewal { provider, reason }
            }
        })?;
        let access = fresh.access.clone();
        minted.insert(entry.name.clone(), fresh);
        Ok(access)
    }

    fn means(&self) -> Means<'_> {
        Means {
            environment: &self.environment,
            runner: self.runner.as_ref(),
            http: &self.http,
        }
    }

    async fn with_tokens(&self, entry: &ProviderEntry, tokens: Tokens) -> Result<Access, KeyError> {
        let now = clock::now_ms();
        if !tokens.is_stale(now) {
            return Ok(Access::tokens(&tokens, self.sign_ins.get(&entry.name)));
        }
        if tokens.is_expired(now) {
            return self.renew(&entry.name, tokens).await;
        }
        let good = Access::tokens(&tokens, self.sign_ins.get(&entry.name));
        if tokens.refresh.is_none() {
            return Ok(good);
        }
        // It is early: a call does not wait long for a server that does not answer. The renewal itself
        // goes on, and the next call finds what it brings.
        let renewal = self.renew(&entry.name, tokens);
        match tokio::time::timeout(EARLY_PATIENCE, renewal).await {
            Ok(Ok(renewed)) => Ok(renewed),
            _ => Ok(good),
        }
    }

    async fn renew(&self, provider: &str, tokens: Tokens) -> Result<Access, KeyError> {
        let failed = |error: &SignInError| {
            let (provider, reason) = (provider.to_owned(), error.to_string());
            if error.ends_sign_in() || matches!(error, SignInError::Expired) {
                KeyError::SignedOut { provider, reason }
            } else {
                KeyError::Renewal { provider, reason }
            }
        };
        let (Some(file), Some(sign_in)) = (&self.file, self.sign_ins.get(provider)) else {
            let provider = provider.to_owned();
            return Err(failed(&SignInError::NoSignIn { provider }));
        };
        let renewed = self.renewals.renew(file, sign_in, provider, tokens).await;
        renewed
            .map(|tokens| Access::tokens(&tokens, Some(sign_in)))
            .map_err(|error| failed(&error))
    }

    async fn take_source(
        &self,
        source: &KeySource,
        entry: &ProviderEntry,
    ) -> Result<Option<Access>, KeyError> {
        let key = match source {
            KeySource::Literal(key) => Some(key.clone()),
            KeySource::Env(name) => self.variable(name),
            KeySource::Command(command) => self.run(command, &entry.name).await?,
        };
        Ok(key.map(|key| Access {
            renewable: matches!(source, KeySource::Command(_)),
            ..Access::key(key)
        }))
    }

    /// What the store has for `provider` now.
    fn stored(&self, provider: &str) -> Option<Credential> {
        let store = current(self.file.as_ref(), &self.store);
        self.renewals.newest(provider, store.get(provider))
    }

    /// What it had when it was read last: cheap enough for lists.
    fn last_stored(&self, provider: &str) -> Option<Credential> {
        current(None, &self.store).entry(provider)
    }

    /// Takes over what the store holds now.
    pub fn reload(&self) {
        drop(current(self.file.as_ref(), &self.store));
    }

    fn flag_for(&self, provider: &str) -> Option<&Secret> {
        let (name, key) = self.flag.as_ref()?;
        (name == provider).then_some(key)
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
            return Err(failed("it printed no output".to_owned()));
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
            .field("file", &self.file)
            .field("flag", &self.flag)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::PROVIDERS;
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
            let key = keys.access(entry).await.unwrap().key.unwrap();
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
        entry
            .headers
            .insert("x-team".to_owned(), "header-secret".to_owned());
        let shown = format!("{entry:?}");
        assert!(
            shown.contains("x-team") && !shown.contains("header-secret"),
            "{shown}"
        );
    }

    #[tokio::test]
    async fn a_missing_key_is_named_with_its_mend() {
        let keys = Keys::new(environment(&[("ANTHROPIC_API_KEY", " ")]), Store::default());
        let mut entry = anthropic();
        assert_eq!(keys.status(&entry), KeyStatus::Absent);
        let error = keys.access(&entry).await.unwrap_err();
        assert_eq!(error.to_string(), "no key for `anthropic`");
        assert_eq!(
            error.hint(),
            "set ANTHROPIC_API_KEY or run `osier auth login anthropic`"
        );
        entry.needs_key = false;
        assert_eq!(keys.status(&entry), KeyStatus::NotNeeded);
        assert_eq!(keys.access(&entry).await, Ok(Access::default()));
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
            let access = keys.access(&entry).await.unwrap();
            assert_eq!(access.key, Some(Secret::new("printed")));
        }
        assert_eq!(runs.load(Ordering::SeqCst), 1);
        // It may print another one when the provider refuses this one, but it does not.
        let refused = keys.access(&entry).await.unwrap();
        assert_eq!(keys.renewed(&entry, &refused).await, Ok(None));
        assert_eq!(runs.load(Ordering::SeqCst), 2);
        entry.key = Some(KeySource::parse("!false"));
        assert_eq!(
            keys.access(&entry).await.unwrap_err().to_string(),
            "the key command of `anthropic` failed: exit code 1"
        );
    }
}
