//! What models there are.
//!
//! Four layers, later ones win: the bundled table, what was published since (`refresh`), the user's
//! `models.json`, and what servers on this machine list. Where an osier server makes the calls, its list
//! takes the place of all of them. Everything works offline. A provider's models are made when they are first asked for, so
//! that naming one model costs its provider's part alone.

mod bundled;
pub mod discovery;
mod find;
mod models_file;
mod providers;
pub mod refresh;

use std::fmt;
use std::sync::{Arc, OnceLock};

use super::auth::{Environment, KeyStatus, Keys};
use super::model::{Api, Model};

pub use find::{FindError, Found};
pub use models_file::{ModelsFile, ModelsFileError};
pub(crate) use providers::filled;
pub use providers::{PROVIDERS, ProviderEntry, ProviderRow};
pub use refresh::Published;

/// Every model that can be named, and the providers they belong to.
#[derive(Debug, Default)]
pub struct Catalogue {
    file: ModelsFile,
    published: Published,
    environment: Option<Variables>,
    local: Vec<Model>,
    /// What an osier server has: nothing else can be called then, but scripts.
    served: Option<Vec<Model>>,
    built: OnceLock<Built>,
}

/// Looks a name up in the environment.
struct Variables(Environment);

impl fmt::Debug for Variables {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Variables(…)")
    }
}

#[derive(Debug)]
struct Built {
    providers: Arc<[ProviderEntry]>,
    /// Of each provider.
    models: Vec<OnceLock<Vec<Arc<Model>>>>,
    all: OnceLock<Vec<Arc<Model>>>,
    /// Reference and name of each model in lower case, for searching.
    texts: OnceLock<Vec<String>>,
}

impl Catalogue {
    /// The bundled table with `file` over it.
    pub fn new(file: ModelsFile) -> Self {
        Self {
            file,
            ..Self::default()
        }
    }

    /// The same with what was published since the bundled table was made.
    #[must_use]
    pub fn with_published(mut self, published: Published) -> Self {
        self.set_published(published);
        self
    }

    /// Takes over what was published, in place of what was before.
    pub fn set_published(&mut self, published: Published) {
        self.published = published;
        self.built = OnceLock::new();
    }

    /// The same where `environment` may say at which addresses providers are.
    #[must_use]
    pub fn with_environment(mut self, environment: Environment) -> Self {
        self.environment = Some(Variables(environment));
        self.built = OnceLock::new();
        self
    }

    /// Takes over what local servers list, in place of what they listed before.
    pub fn set_local(&mut self, models: Vec<Model>) {
        self.local = models;
        self.built = OnceLock::new();
    }

    /// Takes over what an osier server has, in place of everything but scripts.
    pub fn set_served(&mut self, models: Vec<Model>) {
        self.served = Some(models);
        self.built = OnceLock::new();
    }

    /// What an osier server has, as it was taken over.
    pub fn take_served(&mut self) -> Option<Vec<Model>> {
        self.built = OnceLock::new();
        self.served.take()
    }

    /// The model that the osier server names first.
    pub fn first_served(&self) -> Option<&Arc<Model>> {
        let first = self.served.as_ref()?.first()?;
        self.get(&first.reference())
    }

    /// Every model, in order of preference inside each provider.
    pub fn list(&self) -> &[Arc<Model>] {
        let built = self.built();
        built.all.get_or_init(|| {
            let places = 0..built.providers.len();
            places
                .flat_map(|place| self.models_at(place))
                .cloned()
                .collect()
        })
    }

    /// Every provider, bundled ones first.
    pub fn providers(&self) -> &[ProviderEntry] {
        &self.built().providers
    }

    /// The same, for whoever keeps them.
    pub fn shared_providers(&self) -> Arc<[ProviderEntry]> {
        Arc::clone(&self.built().providers)
    }

    pub fn provider(&self, name: &str) -> Option<&ProviderEntry> {
        self.providers().iter().find(|entry| entry.name == name)
    }

    /// The models of the provider called `name`, best first.
    pub fn models_of(&self, name: &str) -> &[Arc<Model>] {
        let mut entries = self.providers().iter();
        match entries.position(|entry| entry.name == name) {
            Some(place) => self.models_at(place),
            None => &[],
        }
    }

    /// The model named exactly `PROVIDER/ID`.
    pub fn get(&self, reference: &str) -> Option<&Arc<Model>> {
        let (provider, id) = reference.split_once('/')?;
        self.models_of(provider).iter().find(|model| model.id == id)
    }

    /// Whether `model` can be called with the keys there are.
    pub fn key_status(&self, model: &Model, keys: &Keys) -> KeyStatus {
        match self.provider(&model.provider) {
            Some(entry) => keys.status(entry),
            None => KeyStatus::NotNeeded,
        }
    }

    /// The model to start with when none was named: the first of the user's own providers, then of the
    /// bundled ones with a key, then of a local server. `None` leaves the choice to the caller.
    pub fn default_model(&self, keys: &Keys) -> Option<Arc<Model>> {
        let own = self.file.provider_names().find_map(|name| {
            let mut models = self.models_of(name).iter();
            models.find(|model| self.key_status(model, keys).is_usable())
        });
        let first = |status| {
            // Scripts are named, never chosen.
            let vendors = self
                .providers()
                .iter()
                .filter(|entry| entry.api != Api::Scripted);
            let mut usable = vendors.filter(move |entry| keys.status(entry) == status);
            usable.find_map(|entry| self.models_of(&entry.name).first())
        };
        own.or_else(|| first(KeyStatus::Present))
            .or_else(|| first(KeyStatus::NotNeeded))
            .cloned()
    }

    /// What a search looks at, in the order of `list`.
    fn texts(&self) -> &[String] {
        self.built().texts.get_or_init(|| {
            let text = |model: &Arc<Model>| {
                format!("{}/{} {}", model.provider, model.id, model.name).to_lowercase()
            };
            self.list().iter().map(text).collect()
        })
    }

    fn built(&self) -> &Built {
        self.built.get_or_init(|| {
            let variable = |name: &str| self.environment.as_ref().and_then(|known| known.0(name));
            let mut providers: Vec<ProviderEntry> =
                PROVIDERS.iter().map(|row| row.entry(&variable)).collect();
            match &self.served {
                Some(served) => providers = served_providers(served, providers),
                None => self.file.change_entries(&mut providers),
            }
            Built {
                models: providers.iter().map(|_| OnceLock::new()).collect(),
                providers: providers.into(),
                all: OnceLock::new(),
                texts: OnceLock::new(),
            }
        })
    }

    fn models_at(&self, place: usize) -> &[Arc<Model>] {
        let built = self.built();
        let (Some(models), Some(entry)) = (built.models.get(place), built.providers.get(place))
        else {
            return &[];
        };
        models.get_or_init(|| {
            if let Some(served) = self.served.as_ref().filter(|_| entry.api != Api::Scripted) {
                let own = served.iter().filter(|model| model.provider == entry.name);
                return own.cloned().map(Arc::new).collect();
            }
            let mut models = bundled::models(entry);
            self.published.change_models(entry, &mut models);
            self.file.change_models(entry, &mut models);
            for model in self
                .local
                .iter()
                .filter(|model| model.provider == entry.name)
            {
                if !models.iter().any(|have| have.id == model.id) {
                    models.push(Arc::new(model.clone()));
                }
            }
            models
        })
    }
}

/// The providers of what a server has, then those of scripts.
fn served_providers(served: &[Model], mut known: Vec<ProviderEntry>) -> Vec<ProviderEntry> {
    let mut providers: Vec<ProviderEntry> = Vec::new();
    for model in served {
        if providers.iter().all(|entry| entry.name != model.provider) {
            let bundled = known.iter().find(|entry| entry.name == model.provider);
            providers.push(ProviderEntry::served(model, bundled));
        }
    }
    known.retain(|entry| entry.api == Api::Scripted);
    providers.extend(known);
    providers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::Store;

    pub(super) fn keys(variables: &'static [&'static str]) -> Keys {
        let environment = move |name: &str| variables.contains(&name).then(|| "key".to_owned());
        Keys::new(Arc::new(environment), Store::default())
    }

    #[test]
    fn the_default_is_the_first_model_that_can_be_called() {
        let default = |catalogue: &Catalogue, variables| {
            let model = catalogue.default_model(&keys(variables));
            model.map(|model| model.reference())
        };
        let mut catalogue = Catalogue::default();
        assert_eq!(default(&catalogue, &[]), None);
        assert_eq!(
            default(&catalogue, &["GROQ_API_KEY", "ANTHROPIC_API_KEY"]),
            Some("anthropic/claude-opus-5-5".to_owned())
        );
        let local = Model {
            provider: "ollama".to_owned(),
            id: "qwen3:8b".to_owned(),
            ..Model::clone(&catalogue.list()[0])
        };
        catalogue.set_local(vec![local]);
        assert_eq!(default(&catalogue, &[]), Some("ollama/qwen3:8b".to_owned()));
        let file = r#"{"providers": {"mine": {"baseUrl": "http://127.0.0.1:1/v1", "models": [{"id": "m"}]}}}"#;
        let catalogue = Catalogue::new(ModelsFile::parse(file, "models.json").unwrap());
        assert_eq!(
            default(&catalogue, &["ANTHROPIC_API_KEY"]),
            Some("mine/m".to_owned())
        );
    }
}
