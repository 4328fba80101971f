//! Selects the credentials of a call, in order of precedence: command line, credential store, `models.json`,
//! environment, credentials of the vendor's own tools.

use std::collections::HashMap;
use std::fmt;
use std::sync::Mutex as Lock;
use std::time::Duration;

use thiserror::Error;
use tokio::sync::Mutex;

use super::access::{Access, ExpiringAccess};
use super::ambient::AmbientContext;
use super::credential::{Credential, Tokens};
use super::environment::{CommandRunner, Environment};
use super::error::SignInError;
use super::file::CredentialFile;
use super::renewal::{Renewals, current};
use super::sign_in::SignIns;
use super::source::KeySource;
use super::store::Store;
use crate::catalogue::ProviderEntry;
use crate::http::HttpOptions;
use crate::secret::Secret;
use crate::status::TurnStatus;
use osier_base::clock;

/// Maximum wait for a renewal while the old token is still valid.
const EARLY_RENEWAL_TIMEOUT: Duration = Duration::from_secs(5);

/// How long before their expiry tokens of a vendor's own credentials are replaced.
const AMBIENT_EARLY_MS: i64 = 5 * 60 * 1000;

/// Whether a provider can be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyStatus {
    Present,
    Absent,
    /// The server needs no key, as local ones do.
    NotNeeded,
}

impl KeyStatus {
    /// Whether a call can succeed.
    pub fn is_usable(self) -> bool {
        self != Self::Absent
    }
}

/// Why no credentials are available.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum KeyError {
    #[error("no key for `{provider}`")]
    Missing {
        provider: String,
        /// Environment variables that can contain the key.
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
    #[error(
        "the key of `anthropic` is a token of a Claude subscription, which the API does not accept as a key"
    )]
    SubscriptionToken,
}

impl KeyError {
    /// A suggestion for the user.
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
            Self::SubscriptionToken => {
                "create an API key (`sk-ant-api…`) at https://console.anthropic.com, or sign in with a client id of your \
                 own in models.json"
                    .to_owned()
            }
        }
    }

    /// The error with its suggestion, for the user.
    pub fn message_with_hint(&self) -> String {
        format!("{self}: {}", self.hint())
    }

    /// The status for the agent. An error that only the user can fix disables the provider for the session.
    pub fn status(&self) -> TurnStatus {
        let message = self.message_with_hint();
        match self {
            Self::Renewal { .. } => TurnStatus::NetworkError {
                message,
                retryable: true,
            },
            _ => TurnStatus::AuthError { message },
        }
    }
}

/// The start of a token of `claude setup-token`.
const SUBSCRIPTION_TOKEN: &str = "sk-ant-oat";

/// The credentials of a session.
pub struct Keys {
    environment: Environment,
    /// The last version of the store that was read.
    store: Lock<Store>,
    file: Option<CredentialFile>,
    sign_ins: SignIns,
    renewals: Renewals,
    flag: Option<(String, Secret)>,
    runner: Option<CommandRunner>,
    /// Output of key commands; each command runs once.
    command_output: Mutex<HashMap<String, Secret>>,
    /// Credentials obtained from a vendor's own tools, by provider.
    ambient_access: Mutex<HashMap<String, ExpiringAccess>>,
    /// Options of token requests.
    http: HttpOptions,
}

impl Keys {
    /// Uses only `environment` and `store`.
    pub fn new(environment: Environment, store: Store) -> Self {
        Self {
            environment,
            store: Lock::new(store),
            file: None,
            sign_ins: SignIns::default(),
            renewals: Renewals::default(),
            flag: None,
            runner: None,
            command_output: Mutex::new(HashMap::new()),
            ambient_access: Mutex::new(HashMap::new()),
            http: HttpOptions::default(),
        }
    }

    /// Sets the key from the command line. It is used only for `provider`: it must not be sent to another
    /// vendor.
    #[must_use]
    pub fn with_flag(mut self, provider: impl Into<String>, key: Secret) -> Self {
        self.flag = Some((provider.into(), key));
        self
    }

    /// Enables `!command` keys.
    #[must_use]
    pub fn with_runner(mut self, runner: CommandRunner) -> Self {
        self.runner = Some(runner);
        self
    }

    /// Reads `file` before every call, and renews its tokens with `sign_ins`.
    #[must_use]
    pub fn with_file(mut self, file: CredentialFile, sign_ins: SignIns) -> Self {
        self.file = Some(file);
        self.sign_ins = sign_ins;
        self
    }

    /// Sets the options of token requests.
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
                .is_some_and(|kind| kind.is_available(&self.environment));
        match found {
            true => KeyStatus::Present,
            false if entry.needs_key => KeyStatus::Absent,
            false => KeyStatus::NotNeeded,
        }
    }

    /// The credentials for `entry`. Renews a token that is about to expire.
    pub async fn access(&self, entry: &ProviderEntry) -> Result<Access, KeyError> {
        let access = self.found(entry).await?;
        let key = access.key.as_ref().filter(|_| access.signed_in.is_none());
        let is_token = key.is_some_and(|key| key.expose().starts_with(SUBSCRIPTION_TOKEN));
        if entry.name == "anthropic" && is_token {
            return Err(KeyError::SubscriptionToken);
        }
        Ok(access)
    }

    async fn found(&self, entry: &ProviderEntry) -> Result<Access, KeyError> {
        if let Some(key) = self.flag_for(&entry.name) {
            return Ok(Access::key(key.clone()));
        }
        match self.stored(&entry.name) {
            Some(Credential::Tokens(tokens)) => return self.with_tokens(entry, tokens).await,
            Some(Credential::Key(source)) => {
                if let Some(access) = self.resolve_source(&source, entry).await? {
                    return Ok(access);
                }
            }
            Some(Credential::Keyring) | None => {}
        }
        if let Some(source) = &entry.key
            && let Some(access) = self.resolve_source(source, entry).await?
        {
            return Ok(access);
        }
        match self.environment_key(entry) {
            Some(key) => Ok(Access::key(key)),
            None if entry
                .ambient
                .is_some_and(|kind| kind.is_available(&self.environment)) =>
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

    /// New credentials after the provider rejected `refused`; `None` if there are no others.
    pub async fn renewed(
        &self,
        entry: &ProviderEntry,
        refused: &Access,
    ) -> Result<Option<Access>, KeyError> {
        if !refused.renewable {
            return Ok(None);
        }
        {
            let mut command_output = self.command_output.lock().await;
            command_output.retain(|_, key| Some(&*key) != refused.key.as_ref());
        }
        {
            let mut ambient_access = self.ambient_access.lock().await;
            ambient_access.retain(|_, known| known.access != *refused);
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

    /// Credentials obtained from the vendor's own tools, cached until they expire.
    async fn ambient(&self, entry: &ProviderEntry) -> Result<Access, KeyError> {
        let Some(kind) = entry.ambient else {
            return Ok(Access::default());
        };
        // Locked during the request, so that concurrent calls request one token.
        let mut ambient_access = self.ambient_access.lock().await;
        if let Some(known) = ambient_access.get(&entry.name)
            && known
                .expires
                .is_some_and(|expires| expires - AMBIENT_EARLY_MS > clock::now_ms())
        {
            return Ok(known.access.clone());
        }
        let fresh = kind.obtain(self.ambient_context()).await.map_err(|error| {
            let (provider, reason) = (entry.name.clone(), error.to_string());
            if error.ends_sign_in() {
                KeyError::Ambient { provider, reason }
            } else {
                KeyError::Renewal { provider, reason }
            }
        })?;
        let access = fresh.access.clone();
        ambient_access.insert(entry.name.clone(), fresh);
        Ok(access)
    }

    fn ambient_context(&self) -> AmbientContext<'_> {
        AmbientContext {
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
        // The token is still valid, so the call does not wait long for a slow server. The renewal continues,
        // and the next call uses its result.
        let renewal = self.renew(&entry.name, tokens);
        match tokio::time::timeout(EARLY_RENEWAL_TIMEOUT, renewal).await {
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

    async fn resolve_source(
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

    /// The current credential of `provider` in the store.
    fn stored(&self, provider: &str) -> Option<Credential> {
        let store = current(self.file.as_ref(), &self.store);
        self.renewals.newest(provider, store.get(provider))
    }

    /// The credential of the last version that was read; fast enough for lists.
    fn last_stored(&self, provider: &str) -> Option<Credential> {
        current(None, &self.store).entry(provider)
    }

    /// Reads the store again.
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
        // Locked while the command runs, so that concurrent calls run it once.
        let mut command_output = self.command_output.lock().await;
        if let Some(key) = command_output.get(command) {
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
        command_output.insert(command.to_owned(), key.clone());
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
    use std::sync::Arc;

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
    async fn credential_sources_have_an_order_of_precedence() {
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
    async fn missing_key_error_has_a_suggestion() {
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
    async fn token_of_a_subscription_is_no_key() {
        let variables = environment(&[("ANTHROPIC_API_KEY", "sk-ant-oat01-secret")]);
        let keys = Keys::new(variables, Store::default());
        let mut entry = anthropic();
        let error = keys.access(&entry).await.unwrap_err();
        assert_eq!(error, KeyError::SubscriptionToken);
        let text = error.message_with_hint();
        assert!(
            text.contains("create an API key") && !text.contains("secret"),
            "{text}"
        );
        entry.name = "gateway".to_owned();
        assert!(keys.access(&entry).await.is_ok());
    }

    #[tokio::test]
    async fn key_command_runs_once_on_first_use() {
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
        // The command runs again after the provider rejects its key; here it prints the same key.
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
