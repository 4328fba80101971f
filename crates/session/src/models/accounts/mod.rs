//! Accounts at providers: stored keys and sign-ins. The command line and sessions share it.

mod key_form;
pub(crate) mod login;

use osier_protocol::{Account, AccountSource};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;

use crate::setup::SessionSetup;
use osier_base::browser;
use osier_base::folders::Folders;
use osier_base::problem::nearest;
use osier_base::regular_file;
use osier_llm::Secret;
use osier_llm::auth::{
    Ambient, Credential, CredentialFile, Environment, FileError, Interaction, KeySource, Method,
    Progress, SignIn, SignInError, SignIns, Store,
};
use osier_llm::catalogue::{Catalogue, ModelsFile, ProviderEntry};
use osier_settings::Settings;

/// The last characters of shorter keys are not shown.
const ENDING_FROM: usize = 16;

/// The credential store and the providers it is for.
#[derive(Debug)]
pub struct Accounts {
    file: CredentialFile,
    sign_ins: SignIns,
    providers: Vec<KnownProvider>,
    environment: BTreeMap<String, String>,
}

#[derive(Debug)]
struct KnownProvider {
    name: String,
    label: String,
    env_keys: Vec<String>,
    key: Option<KeySource>,
    ambient: Option<Ambient>,
}

impl KnownProvider {
    fn of(entry: &ProviderEntry) -> Self {
        Self {
            name: entry.name.clone(),
            label: entry.label.clone(),
            env_keys: entry.env_keys.clone(),
            key: entry.key.clone(),
            ambient: entry.ambient,
        }
    }

    /// A provider of which only the name is known.
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

impl Accounts {
    /// The accounts that a session with this setup can use.
    pub(crate) fn of(setup: &SessionSetup) -> Self {
        Self::load(&setup.folders, &setup.settings, &setup.environment)
    }

    /// Reads which providers there are.
    pub fn load(
        folders: &Folders,
        settings: &Settings,
        environment: &BTreeMap<String, String>,
    ) -> Self {
        let text =
            regular_file::read_text(&folders.models(), regular_file::SMALL).unwrap_or_default();
        let file = ModelsFile::parse(&text, "models.json").unwrap_or_default();
        let (sign_ins, _) = SignIns::read(&text);
        let sign_ins = sign_ins.with_http(&settings.http());
        let catalogue = Catalogue::new(file);
        let entries = catalogue.providers().iter().filter(|entry| entry.needs_key);
        let mut providers: Vec<KnownProvider> = entries.map(KnownProvider::of).collect();
        providers.push(KnownProvider::of(&ProviderEntry::server()));
        let services = ProviderEntry::search_services();
        providers.extend(services.iter().map(KnownProvider::of));
        for (name, sign_in) in sign_ins.iter() {
            match providers.iter_mut().find(|known| known.name == name) {
                // `models.json` has no label: the sign-in has one.
                Some(known) if known.label == known.name => {
                    known.label.clone_from(&sign_in.label);
                }
                Some(_) => {}
                None => providers.push(KnownProvider::named(name, &sign_in.label)),
            }
        }
        Self {
            file: CredentialFile::new(folders.credentials())
                .keep_in_vault(settings.credential_store.is_keyring()),
            sign_ins,
            providers,
            environment: environment.clone(),
        }
    }

    /// Every provider that can have a key, in the order of the catalogue.
    pub fn list(&self) -> Result<Vec<Account>, FileError> {
        let store = self.file.read()?;
        let account = |known: &KnownProvider| self.account(known, store.get(&known.name));
        let mut accounts: Vec<Account> = self.providers.iter().map(account).collect();
        // A provider that is no longer configured still has a stored credential.
        for name in store.providers() {
            if !self.providers.iter().any(|known| known.name == name) {
                let known = KnownProvider::named(name, name);
                accounts.push(self.account(&known, store.get(name)));
            }
        }
        Ok(accounts)
    }

    /// Deletes the stored credentials of all providers.
    ///
    /// # Errors
    /// The store cannot be read or changed, as a line for the user.
    pub async fn remove_all(&self) -> Result<(), String> {
        let remove = |store: &mut Store| {
            let names: Vec<String> = store.providers().map(str::to_owned).collect();
            for name in names {
                store.remove(&name);
            }
        };
        self.file
            .change(remove)
            .await
            .map_err(|error| whole(&error))
    }

    /// The account of `provider`.
    ///
    /// # Errors
    /// There is no such provider, or the store cannot be read.
    pub fn get(&self, provider: &str) -> Result<Account, String> {
        let accounts = self.list().map_err(|error| whole(&error))?;
        let names: Vec<&str> = accounts.iter().map(|one| one.provider.as_str()).collect();
        let unknown = || {
            let suggestion = match nearest(provider, names.iter().copied()) {
                Some(known) => format!("did you mean `{known}`?"),
                None => format!("expected one of {}", names.join(", ")),
            };
            format!("unknown provider `{provider}`; {suggestion}")
        };
        let found = accounts.iter().find(|account| account.provider == provider);
        found.cloned().ok_or_else(unknown)
    }

    fn account(&self, known: &KnownProvider, stored: Option<Credential>) -> Account {
        let sign_in = self.sign_ins.get(&known.name);
        let ready = sign_in.filter(|sign_in| sign_in.is_ready());
        let mut account = Account {
            provider: known.name.clone(),
            label: known.label.clone(),
            source: AccountSource::Nothing,
            ending: None,
            expires: None,
            methods: ready.map(SignIn::methods).unwrap_or_default(),
            subscription: sign_in.is_some_and(|sign_in| sign_in.subscription),
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

    /// Credentials of the vendor's own tools, if there are some.
    fn describe_ambient(&self, account: &mut Account, kind: Ambient) {
        let variables = self.environment.clone();
        let environment: Environment = Arc::new(move |name| variables.get(name).cloned());
        if kind.is_available(&environment) {
            let name = kind.source(&environment);
            account.source = AccountSource::Ambient { name };
        }
    }

    fn variable(&self, name: &str) -> Option<&str> {
        let value = self.environment.get(name)?.trim();
        (!value.is_empty()).then_some(value)
    }

    /// Stores a key: the key itself, `$NAME` or `!command`.
    pub async fn store_key(&self, provider: &str, key: &str) -> Result<(), SignInError> {
        let credential = Credential::Key(KeySource::parse(key));
        let file = &self.file;
        Ok(file
            .change(|store| store.put(provider, &credential))
            .await?)
    }

    /// Signs in and stores the tokens. Dropping the future cancels it.
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
        let mut interaction = Interaction {
            report: tell,
            input: typed,
            installation,
            second: Duration::from_secs(1),
        };
        let tokens = sign_in.run(provider, method, &mut interaction).await?;
        let credential = Credential::Tokens(tokens);
        Ok(self
            .file
            .change(|store| store.put(provider, &credential))
            .await?)
    }

    /// Deletes the credential of `provider`. Whether there was one.
    pub async fn remove(&self, provider: &str) -> Result<bool, SignInError> {
        Ok(self.file.change(|store| store.remove(provider)).await?)
    }

    /// Opens `url` in a browser if there is a display.
    pub async fn open_browser(&self, url: &str) -> bool {
        browser::open(url, |name| self.variable(name).is_some()).await
    }
}

/// The last four characters of a key, if it is long enough to stay secret.
fn ending(key: &Secret) -> Option<String> {
    let chars: Vec<char> = key.expose().chars().collect();
    let shown = chars.len() >= ENDING_FROM;
    shown.then(|| chars[chars.len() - 4..].iter().collect())
}

fn whole(error: &FileError) -> String {
    format!("{error}; {}", error.hint())
}
