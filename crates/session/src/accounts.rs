//! Keys and sign-ins as a person sees them: what is stored, signing in, signing out. The command line
//! and the interface share it.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use osier_base::folders::Folders;
use osier_base::problem::nearest;
use osier_base::{browser, clock};
use osier_llm::Secret;
use osier_llm::auth::{
    Ambient, Credential, CredentialFile, Environment, FileError, KeySource, Method, Progress,
    SignIn, SignInError, SignIns, Talk,
};
use osier_llm::catalogue::{Catalogue, ModelsFile, ProviderEntry};
use osier_settings::Settings;

/// Keys shorter than this show nothing of themselves.
const SHOWN_FROM: usize = 16;

/// The credential store and the providers it is for.
#[derive(Debug)]
pub struct Accounts {
    file: CredentialFile,
    sign_ins: SignIns,
    providers: Vec<Known>,
    environment: BTreeMap<String, String>,
}

#[derive(Debug)]
struct Known {
    name: String,
    label: String,
    env_keys: Vec<String>,
    key: Option<KeySource>,
    ambient: Option<Ambient>,
}

impl Known {
    fn of(entry: &ProviderEntry) -> Self {
        Self {
            name: entry.name.clone(),
            label: entry.label.clone(),
            env_keys: entry.env_keys.clone(),
            key: entry.key.clone(),
            ambient: entry.ambient,
        }
    }

    /// One of which only the name is known.
    fn named(name: &str, label: &str) -> Self {
        Self {
            name: name.to_owned(),
            label: label.to_owned(),
            env_keys: Vec::new(),
            key: None,
            ambient: None,
        }
    }
}

/// One provider and how it is called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Account {
    pub provider: String,
    pub label: String,
    pub source: AccountSource,
    /// The last four characters of the key, when it is long enough to show them.
    pub ending: Option<String>,
    /// Milliseconds since the epoch at which the token has to be renewed.
    pub expires: Option<i64>,
    /// The ways to sign in that work without further configuration.
    pub methods: Vec<Method>,
    /// Whether calls are paid by a subscription.
    pub subscription: bool,
}

/// Where a provider's key comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AccountSource {
    /// A key in the credential store.
    Key,
    /// A command in the credential store or in `models.json`.
    Command,
    /// A sign-in in the credential store.
    SignIn,
    /// The system's keyring.
    Keyring,
    ModelsFile,
    Variable {
        name: String,
    },
    /// Credentials of the vendor's own tools.
    Ambient {
        name: String,
    },
    Nothing,
}

impl Accounts {
    /// Reads which providers there are.
    pub fn load(
        folders: &Folders,
        settings: &Settings,
        environment: &BTreeMap<String, String>,
    ) -> Self {
        let text = fs::read_to_string(folders.models()).unwrap_or_default();
        let file = ModelsFile::parse(&text, "models.json").unwrap_or_default();
        let (sign_ins, _) = SignIns::read(&text);
        let sign_ins = sign_ins.with_http(&settings.http());
        let catalogue = Catalogue::new(file);
        let entries = catalogue.providers().iter().filter(|entry| entry.needs_key);
        let mut providers: Vec<Known> = entries.map(Known::of).collect();
        providers.push(Known::of(&ProviderEntry::server()));
        for (name, sign_in) in sign_ins.iter() {
            match providers.iter_mut().find(|known| known.name == name) {
                // The file has no name for people beside the one in the sign-in.
                Some(known) if known.label == known.name => {
                    known.label.clone_from(&sign_in.label);
                }
                Some(_) => {}
                None => providers.push(Known::named(name, &sign_in.label)),
            }
        }
        Self {
            file: CredentialFile::new(folders.credentials()).keep_in_vault(settings.keyring),
            sign_ins,
            providers,
            environment: environment.clone(),
        }
    }

    /// Every provider that can have a key, in the order of the catalogue.
    pub fn list(&self) -> Result<Vec<Account>, FileError> {
        let store = self.file.read()?;
        let account = |known: &Known| self.account(known, store.get(&known.name));
        let mut accounts: Vec<Account> = self.providers.iter().map(account).collect();
        // A provider that is configured no more still has what was stored.
        for name in store.providers() {
            if !self.providers.iter().any(|known| known.name == name) {
                let known = Known::named(name, name);
                accounts.push(self.account(&known, store.get(name)));
            }
        }
        Ok(accounts)
    }

    /// The account of `provider`.
    ///
    /// # Errors
    /// One sentence: there is no such provider, or the store cannot be read.
    pub fn get(&self, provider: &str) -> Result<Account, String> {
        let accounts = self.list().map_err(|error| whole(&error))?;
        let names: Vec<&str> = accounts.iter().map(|one| one.provider.as_str()).collect();
        let unknown = || {
            let mend = match nearest(provider, names.iter().copied()) {
                Some(known) => format!("did you mean `{known}`?"),
                None => format!("they are {}", names.join(", ")),
            };
            format!("there is no provider `{provider}`: {mend}")
        };
        let found = accounts.iter().find(|account| account.provider == provider);
        found.cloned().ok_or_else(unknown)
    }

    fn account(&self, known: &Known, stored: Option<Credential>) -> Account {
        let sign_in = self.sign_ins.get(&known.name);
        let ready = sign_in.filter(|sign_in| sign_in.is_ready());
        let mut account = Account {
            provider: known.name.clone(),
            label: known.label.clone(),
            source: AccountSource::Nothing,
            ending: None,
            expires: None,
            methods: ready.map(SignIn::methods).unwrap_or_default(),
            subscription: false,
        };
        match stored {
            Some(Credential::Key(source)) => {
                account.source = AccountSource::Key;
                self.describe(&mut account, &source);
            }
            Some(Credential::Tokens(tokens)) => {
                account.source = AccountSource::SignIn;
                account.ending = ending(&tokens.access);
                account.expires = tokens.expires;
                account.subscription = sign_in.is_some_and(|sign_in| sign_in.subscription);
            }
            Some(Credential::Keyring) => account.source = AccountSource::Keyring,
            None => {
                if let Some(source) = &known.key {
                    account.source = AccountSource::ModelsFile;
                    self.describe(&mut account, source);
                }
                if account.source == AccountSource::Nothing {
                    let set = known
                        .env_keys
                        .iter()
                        .find(|name| self.variable(name).is_some());
                    if let Some(name) = set {
                        self.describe(&mut account, &KeySource::Env(name.clone()));
                    } else if let Some(kind) = known.ambient {
                        self.describe_ambient(&mut account, kind);
                    }
                }
            }
        }
        account
    }

    fn describe(&self, account: &mut Account, source: &KeySource) {
        match source {
            KeySource::Literal(key) => account.ending = ending(key),
            KeySource::Command(_) => account.source = AccountSource::Command,
            KeySource::Env(name) => match self.variable(name) {
                Some(value) => {
                    account.ending = ending(&Secret::new(value));
                    account.source = AccountSource::Variable { name: name.clone() };
                }
                None => account.source = AccountSource::Nothing,
            },
        }
    }

    /// Credentials of the vendor's own tools, when there are some.
    fn describe_ambient(&self, account: &mut Account, kind: Ambient) {
        let variables = self.environment.clone();
        let environment: Environment = Arc::new(move |name| variables.get(name).cloned());
        if kind.is_there(&environment) {
            let name = kind.described(&environment);
            account.source = AccountSource::Ambient { name };
        }
    }

    fn variable(&self, name: &str) -> Option<&str> {
        let value = self.environment.get(name)?.trim();
        (!value.is_empty()).then_some(value)
    }

    /// Stores a key as it was typed: itself, `$NAME` or `!command`.
    pub async fn store_key(&self, provider: &str, key: &str) -> Result<(), SignInError> {
        let credential = Credential::Key(KeySource::parse(key));
        let file = &self.file;
        Ok(file
            .change(|store| store.put(provider, &credential))
            .await?)
    }

    /// Signs in and stores the tokens. Dropping the future gives up.
    pub async fn sign_in(
        &self,
        provider: &str,
        method: Option<Method>,
        typed: &mut mpsc::UnboundedReceiver<String>,
        tell: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<(), SignInError> {
        let Some(sign_in) = self.sign_ins.get(provider) else {
            let provider = provider.to_owned();
            return Err(SignInError::NoSignIn { provider });
        };
        let installation = self.file.change(|store| store.installation().0).await?;
        let mut talk = Talk {
            tell,
            typed,
            installation,
            second: Duration::from_secs(1),
        };
        let tokens = sign_in.run(provider, method, &mut talk).await?;
        let credential = Credential::Tokens(tokens);
        Ok(self
            .file
            .change(|store| store.put(provider, &credential))
            .await?)
    }

    /// Forgets what is stored for `provider`; whether there was anything.
    pub async fn remove(&self, provider: &str) -> Result<bool, SignInError> {
        Ok(self.file.change(|store| store.remove(provider)).await?)
    }

    /// Opens `url` in a browser where there is a screen to show one; on a remote machine there is none.
    pub async fn open_browser(&self, url: &str) -> bool {
        browser::open(url, |name| self.variable(name).is_some()).await
    }
}

impl Account {
    /// What there is, in a few words.
    pub fn described(&self) -> String {
        let what = match &self.source {
            AccountSource::Key => "key".to_owned(),
            AccountSource::Command => "key command".to_owned(),
            AccountSource::SignIn if self.subscription => "signed in (subscription)".to_owned(),
            AccountSource::SignIn => "signed in".to_owned(),
            AccountSource::Keyring => "in the keyring".to_owned(),
            AccountSource::ModelsFile => "key of models.json".to_owned(),
            AccountSource::Variable { name } => format!("key of ${name}"),
            AccountSource::Ambient { name } => name.clone(),
            AccountSource::Nothing => "nothing".to_owned(),
        };
        match &self.ending {
            Some(ending) => format!("{what} …{ending}"),
            None => what,
        }
    }

    /// When the token is renewed, for people; `None` when it lasts.
    pub fn renewal(&self, now: i64) -> Option<String> {
        let left = self.expires? - now;
        Some(match u64::try_from(left) {
            Ok(left) => format!("renewed in {}", clock::human_duration(left)),
            Err(_) => "renewed with the next call".to_owned(),
        })
    }
}

/// The last four characters of a key that is long enough to keep its secret.
fn ending(key: &Secret) -> Option<String> {
    let signs: Vec<char> = key.expose().chars().collect();
    let shown = signs.len() >= SHOWN_FROM;
    shown.then(|| signs[signs.len() - 4..].iter().collect())
}

fn whole(error: &FileError) -> String {
    format!("{error}; {}", error.hint())
}
