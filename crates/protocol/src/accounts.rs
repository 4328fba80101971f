//! Accounts of providers.

use osier_base::clock;
use osier_llm::auth::Method;
use serde::{Deserialize, Serialize};

/// One provider and its credentials.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Account {
    pub provider: String,
    pub label: String,
    pub source: AccountSource,
    /// The last four characters of the key, when the key is long enough to show them.
    pub ending: Option<String>,
    /// When the token is renewed, in milliseconds since the Unix epoch.
    pub expires: Option<i64>,
    /// The ways to sign in that work without further configuration.
    pub methods: Vec<Method>,
    /// Whether a subscription pays for calls.
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

impl Account {
    /// A short description of the credentials.
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

    /// When the token is renewed, for display; `None` when it does not expire.
    pub fn renewal(&self, now: i64) -> Option<String> {
        let left = self.expires? - now;
        Some(match u64::try_from(left) {
            Ok(left) => format!("renewed in {}", clock::human_duration(left)),
            Err(_) => "renewed with the next call".to_owned(),
        })
    }
}
