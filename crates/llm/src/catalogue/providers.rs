//! The providers that need no configuration: `providers.json` has one row each.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::LazyLock;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::auth::{Ambient, KeySource};
use crate::model::{Api, Compat, Model, Names};
use crate::url_template;

/// The name of the entry with the token for an LLM proxy.
const SERVER: &str = "proxy";

/// The bundled providers, in the order in which the default model is selected.
pub static PROVIDERS: LazyLock<Vec<ProviderRow>> =
    LazyLock::new(|| serde_json::from_str(TABLE).unwrap_or_default());

// recipe: a provider, 1: `crates/llm/src/catalogue/providers.json`: its row (the fields are those of `ProviderRow`, a model has those of `docs/models.md`, custom providers), at the end, as the order is that of default models, with the models that the npm package `@earendil-works/pi-ai` lacks
// recipe: a provider, 3: `tests/fixtures/llm/`: an answer, if it differs from others with the same wire format
const TABLE: &str = include_str!("providers.json");

/// A bundled provider.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProviderRow {
    pub name: &'static str,
    /// The display name.
    pub label: &'static str,
    /// The base URL. It can contain variables, such as `{NAME}`, that depend on the account.
    #[serde(default)]
    pub base_url: &'static str,
    /// Environment variable that can contain another base URL.
    pub base_url_env: Option<&'static str>,
    pub api: Api,
    /// Environment variables that can contain the key, in order of precedence. Empty: the provider needs no
    /// key.
    #[serde(default)]
    pub keys: Vec<&'static str>,
    /// Credentials of the vendor's own tools that the provider accepts.
    pub ambient: Option<Ambient>,
    /// Extra headers of every request. `{VERSION}` is the version of osier.
    #[serde(default)]
    pub headers: BTreeMap<&'static str, &'static str>,
    #[serde(default)]
    pub compat: Compat,
    /// The name of the provider at models.dev, the source of updates.
    pub published: Option<&'static str>,
    /// Read by `scripts/bundle-models.mjs`: the provider's file in the source of the table of
    /// models, the ids that come first, and a regular expression for the ids that the provider does
    /// not have.
    #[serde(default, rename = "source")]
    _source: IgnoredAny,
    /// Models that the source lacks, as in `models.json`.
    #[serde(default)]
    pub(super) models: Vec<Value>,
}

/// A provider: bundled, configured, or both.
#[derive(Clone, PartialEq)]
pub struct ProviderEntry {
    pub name: String,
    pub label: String,
    pub base_url: String,
    pub api: Api,
    pub env_keys: Vec<String>,
    pub needs_key: bool,
    /// Credentials of the vendor's own tools that the provider accepts.
    pub ambient: Option<Ambient>,
    /// The key in `models.json`.
    pub key: Option<KeySource>,
    /// Extra headers of every request.
    pub headers: BTreeMap<String, String>,
    pub compat: Compat,
}

/// Prints only the names of headers: their values can be keys.
impl fmt::Debug for ProviderEntry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ProviderEntry")
            .field("name", &self.name)
            .field("base_url", &self.base_url)
            .field("api", &self.api)
            .field("key", &self.key)
            .field("headers", &Names(&self.headers))
            .finish_non_exhaustive()
    }
}

impl From<&ProviderRow> for ProviderEntry {
    fn from(row: &ProviderRow) -> Self {
        let version = env!("CARGO_PKG_VERSION");
        let header = |(name, value): (&&str, &&str)| {
            ((*name).to_owned(), value.replace("{VERSION}", version))
        };
        Self {
            name: row.name.to_owned(),
            label: row.label.to_owned(),
            base_url: row.base_url.to_owned(),
            api: row.api,
            env_keys: row.keys.iter().map(|name| (*name).to_owned()).collect(),
            needs_key: !row.keys.is_empty(),
            ambient: row.ambient,
            key: None,
            headers: row.headers.iter().map(header).collect(),
            compat: row.compat.clone(),
        }
    }
}

/// The environment variables with keys: those of the providers `more` and of every bundled one, and
/// the tokens of osier itself. Children inherit neither these variables nor others whose name is
/// that of a key.
pub fn key_variables<'a>(more: impl IntoIterator<Item = &'a ProviderEntry>) -> Vec<String> {
    let bundled = PROVIDERS.iter().flat_map(|row| row.keys.iter().copied());
    let own = ["OSIER_SERVE_TOKEN", "OSIER_PROXY_TOKEN"];
    let own = own.into_iter();
    let services = SEARCH_SERVICES.iter().map(|(.., variable)| *variable);
    let names = bundled.chain(own).chain(services);
    let mut names: Vec<String> = names.map(str::to_owned).collect();
    for entry in more {
        names.extend(entry.env_keys.iter().cloned());
        if let Some(KeySource::Env(name)) = &entry.key {
            names.push(name.clone());
        }
    }
    names.sort_unstable();
    names.dedup();
    names
}

impl ProviderEntry {
    /// The entry of the user's token for an LLM proxy.
    pub fn server() -> Self {
        Self::of_name(SERVER, "osier server (`proxy`)", Api::OpenaiChatCompletions)
            .with_key_of("OSIER_PROXY_TOKEN")
    }

    /// The entries of the keys of search services: names, labels and variables.
    pub fn search_services() -> Vec<Self> {
        let entry = |(name, label, variable): &(&str, &str, &str)| {
            Self::of_name(name, label, Api::OpenaiChatCompletions).with_key_of(variable)
        };
        SEARCH_SERVICES.iter().map(entry).collect()
    }

    /// Whether the models of both providers are called in the same way.
    pub(super) fn has_same_connection(&self, other: &Self) -> bool {
        self.api == other.api
            && self.base_url == other.base_url
            && self.headers == other.headers
            && self.compat == other.compat
    }

    /// The provider entry for a model of an LLM proxy.
    pub(super) fn served(model: &Model, bundled: Option<&Self>) -> Self {
        let label = bundled.map_or(&model.provider, |entry| &entry.label);
        Self {
            base_url: model.base_url.clone(),
            ..Self::of_name(&model.provider, label, model.api)
        }
    }

    fn of_name(name: &str, label: &str, api: Api) -> Self {
        Self {
            name: name.to_owned(),
            label: label.to_owned(),
            base_url: String::new(),
            api,
            env_keys: Vec::new(),
            needs_key: false,
            ambient: None,
            key: None,
            headers: BTreeMap::new(),
            compat: Compat::default(),
        }
    }

    fn with_key_of(mut self, variable: &str) -> Self {
        self.env_keys.push(variable.to_owned());
        self.needs_key = true;
        self
    }
}

impl ProviderRow {
    /// The entry with the base URL that the environment sets, if any.
    pub(super) fn entry(&self, variable: &dyn Fn(&str) -> Option<String>) -> ProviderEntry {
        let mut entry = ProviderEntry::from(self);
        let set = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        if let Some(url) = self.base_url_env.and_then(set) {
            entry.base_url = address(&url);
        } else if entry.base_url.contains('{') {
            entry.base_url = url_template::expand(&entry.base_url, &set);
        }
        entry
    }
}

/// The base URL in a variable. A host without a scheme is accepted, and the wildcard address that a server
/// listens on becomes the loopback address.
fn address(value: &str) -> String {
    let value = value.trim().trim_end_matches('/');
    let url = if value.contains("://") {
        value.to_owned()
    } else {
        format!("http://{value}")
    };
    url.replace("://0.0.0.0", "://127.0.0.1")
}

// recipe: a search service, 2: the environment variable of its key
/// Search services with a key: name, label and environment variable.
const SEARCH_SERVICES: &[(&str, &str, &str)] = &[
    ("brave", "Brave Search", "BRAVE_API_KEY"),
    ("tavily", "Tavily Search", "TAVILY_API_KEY"),
    ("exa", "Exa Search", "EXA_API_KEY"),
];

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::path::Path;

    use super::*;

    fn entry(name: &str, variables: &[(&str, &str)]) -> ProviderEntry {
        let row = PROVIDERS.iter().find(|row| row.name == name).unwrap();
        row.entry(&|wanted| {
            let set = variables.iter().find(|(name, _)| *name == wanted);
            set.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn environment_sets_the_base_url() {
        let url = |name, variables| entry(name, variables).base_url;
        assert_eq!(url("anthropic", &[]), "https://api.anthropic.com");
        assert_eq!(
            url(
                "anthropic",
                &[("ANTHROPIC_BASE_URL", "https://proxy.example/")]
            ),
            "https://proxy.example"
        );
        assert_eq!(
            url("azure", &[("AZURE_OPENAI_RESOURCE_NAME", "mine")]),
            "https://mine.openai.azure.com/openai/v1"
        );
        assert_eq!(
            url("azure", &[("AZURE_OPENAI_RESOURCE_NAME", " ")]),
            "https://{AZURE_OPENAI_RESOURCE_NAME}.openai.azure.com/openai/v1"
        );
        let vertex = [
            ("GOOGLE_CLOUD_PROJECT", "p"),
            ("GOOGLE_CLOUD_LOCATION", "europe-west4"),
        ];
        assert_eq!(
            url("google-vertex", &vertex),
            "https://europe-west4-aiplatform.googleapis.com/v1/projects/p/locations/europe-west4/publishers/google"
        );
        assert_eq!(
            url("ollama", &[("OLLAMA_HOST", "0.0.0.0:11500")]),
            "http://127.0.0.1:11500"
        );
    }

    #[test]
    fn provider_names_are_unique_and_remote_ones_need_a_key() {
        let mut names: Vec<&str> = PROVIDERS.iter().map(|row| row.name).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
        for row in PROVIDERS.iter() {
            let local = row.base_url.starts_with("http://127.0.0.1") || row.api == Api::Scripted;
            assert_eq!(row.keys.is_empty(), local, "{}", row.name);
            assert!(!row.base_url.ends_with('/'), "{}", row.name);
        }
    }

    #[test]
    fn every_row_is_valid() {
        let rows = serde_json::from_str::<Vec<ProviderRow>>(TABLE);
        assert!(rows.unwrap().len() > 30);
    }

    /// The variables in the address: each part in braces names one variable, or several of which
    /// the first that is set is used.
    fn variables_of_address(address: &str) -> Vec<&str> {
        let parts = address.split('{').skip(1);
        let mut names: Vec<&str> = parts.filter_map(|part| part.split('}').next()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    // recipe: a provider, 4: `docs/models.md`: written by `UPDATE_DOCS=1 cargo test -p osier-llm documentation`
    #[test]
    fn documentation_lists_every_provider() {
        let code = |names: &[&str]| {
            let each = names.iter().flat_map(|names| names.split('|'));
            each.map(|name| format!("`{name}`")).collect::<Vec<_>>()
        };
        let mut table = String::from(
            "| provider | name | variables of the key | variables of the address |\n|---|---|---|---|\n",
        );
        let is_vendor = |row: &&ProviderRow| row.api != Api::Scripted;
        for row in PROVIDERS.iter().filter(is_vendor) {
            let ProviderRow { name, label, .. } = row;
            let keys = match code(&row.keys).join(", ") {
                keys if keys.is_empty() => "no key".to_owned(),
                keys => keys,
            };
            let mut address = variables_of_address(row.base_url);
            address.extend(row.base_url_env);
            let address = code(&address).join(", ");
            let _ = writeln!(table, "| `{name}` | {label} | {keys} | {address} |");
        }
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/models.md");
        osier_testing::pages::check_part(&page, "providers", &table);
    }
}
