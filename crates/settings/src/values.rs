//! Types that only settings have.

use serde::Deserialize;

use osier_tools::ServiceKind;

osier_base::words! {
    /// Where API keys and sign-ins are stored.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub enum CredentialStore {
        #[default]
        File = "file",
        Keyring = "keyring",
    }
}

impl CredentialStore {
    pub fn is_keyring(self) -> bool {
        self == Self::Keyring
    }
}

/// How the tool `web_search` searches.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum WebSearch {
    /// With the provider of the model, or a service that has a key.
    #[default]
    Auto,
    Provider,
    Service(ServiceKind),
    /// The address of a SearXNG server.
    Searxng(String),
    Off,
}

/// A change of a language server, or a further one.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LanguageServer {
    #[serde(skip)]
    pub name: String,
    /// The program and its arguments.
    pub command: Option<Vec<String>>,
    /// Ends of file names.
    pub extensions: Option<Vec<String>>,
    /// Files that mark the root of a project.
    pub markers: Option<Vec<String>>,
    /// Options for the server.
    pub options: Option<serde_json::Map<String, serde_json::Value>>,
    pub disabled: bool,
}
