//! The catalogue of providers and models.
//!
//! It has four layers; later ones have precedence: the bundled table, data published since (`refresh`), the
//! user's `models.json`, and the models of servers on this machine. If an LLM proxy makes the calls, its list
//! replaces all of them. The catalogue works offline. The models of a provider are built on first use, so
//! that finding one model costs only its provider's part.

mod bundled;
pub mod discovery;
mod find;
mod models_file;
mod providers;
pub mod refresh;
mod related;
mod vendor_list;

use std::fmt;
use std::sync::{Arc, OnceLock};

use super::auth::{Environment, KeyStatus, Keys};
use super::model::{Api, Model};
use super::tuning::ModelOptions;

pub use find::{FindError, Found};
pub use models_file::{ModelsFile, ModelsFileError};
pub use providers::{PROVIDERS, ProviderEntry, ProviderRow, key_variables};
pub use refresh::Published;
pub use vendor_list::VendorList;

/// All known models and their providers.
///
/// ```
/// use osier_llm::Catalogue;
///
/// let catalogue = Catalogue::default();
/// let model = catalogue.get("demo/tour").expect("the model is bundled");
/// assert_eq!(model.reference(), "demo/tour");
/// ```
#[derive(Debug, Default)]
pub struct Catalogue {
    file: ModelsFile,
    published: Published,
    environment: Option<Variables>,
    options: Vec<ModelOptions>,
    local: Vec<Model>,
    /// The models of an LLM proxy. If set, only these and scripts can be called.
    served: Option<Vec<Model>>,
    built: OnceLock<Built>,
}

/// Looks up environment variables.
struct Variables(Environment);

impl fmt::Debug for Variables {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Variables(…)")
    }
}

#[derive(Debug)]
struct Built {
    providers: Arc<[ProviderEntry]>,
    /// The models of each provider.
    models: Vec<OnceLock<Vec<Arc<Model>>>>,
    all: OnceLock<Vec<Arc<Model>>>,
    /// The searchable text of each model: reference and name in lower case.
    texts: OnceLock<Vec<String>>,
}

impl Catalogue {
    /// The bundled table with the changes in `file`.
    pub fn new(file: ModelsFile) -> Self {
        Self {
            file,
            ..Self::default()
        }
    }

    /// Adds data published since the bundled table was generated.
    #[must_use]
    pub fn with_published(mut self, published: Published) -> Self {
        self.set_published(published);
        self
    }

    /// Replaces the published data.
    pub fn set_published(&mut self, published: Published) {
        self.published = published;
        self.built = OnceLock::new();
    }

    /// Lets `environment` set the base URLs of providers and the variables in headers.
    #[must_use]
    pub fn with_environment(mut self, environment: Environment) -> Self {
        self.file.expand_headers(&*environment);
        self.environment = Some(Variables(environment));
        self.built = OnceLock::new();
        self
    }

    /// Changes the tuning of models, after all other layers.
    #[must_use]
    pub fn with_options(mut self, options: Vec<ModelOptions>) -> Self {
        self.options = options;
        self.built = OnceLock::new();
        self
    }

    /// `model` with the options of the settings.
    fn change_options(&self, model: &mut Arc<Model>) {
        for option in &self.options {
            let pattern = option.models.to_lowercase();
            let names = [model.reference().to_lowercase(), model.id.to_lowercase()];
            if names.iter().any(|name| find::is_match(&pattern, name)) {
                option.change.apply(&mut Arc::make_mut(model).tuning);
            }
        }
    }

    /// Replaces the models of local servers.
    pub fn set_local(&mut self, models: Vec<Model>) {
        self.local = models;
        self.built = OnceLock::new();
    }

    /// Replaces all models, except for scripts, by those of an LLM proxy.
    pub fn set_served(&mut self, models: Vec<Model>) {
        self.served = Some(models);
        self.built = OnceLock::new();
    }

    /// Removes and returns the models of the LLM proxy.
    pub fn take_served(&mut self) -> Option<Vec<Model>> {
        self.built = OnceLock::new();
        self.served.take()
    }

    /// The preferred model of the LLM proxy.
    pub fn first_served(&self) -> Option<&Arc<Model>> {
        let first = self.served.as_ref()?.first()?;
        self.get(&first.reference())
    }

    /// All models, in order of preference within each provider.
    pub fn list(&self) -> &[Arc<Model>] {
        let built = self.built();
        built.all.get_or_init(|| {
            let providers = 0..built.providers.len();
            providers
                .flat_map(|index| self.models_at(index))
                .cloned()
                .collect()
        })
    }

    /// Every provider, bundled ones first.
    pub fn providers(&self) -> &[ProviderEntry] {
        &self.built().providers
    }

    /// Shares `providers`.
    pub fn shared_providers(&self) -> Arc<[ProviderEntry]> {
        Arc::clone(&self.built().providers)
    }

    pub fn provider(&self, name: &str) -> Option<&ProviderEntry> {
        self.providers().iter().find(|entry| entry.name == name)
    }

    /// The environment variables with keys: of all providers, and those that `models.json` names.
    pub fn key_variables(&self) -> Vec<String> {
        let mut names = key_variables(self.providers().iter());
        names.extend(self.file.variables.iter().cloned());
        names
    }

    /// The models of the provider `name`, preferred first.
    pub fn models_of(&self, name: &str) -> &[Arc<Model>] {
        let mut entries = self.providers().iter();
        match entries.position(|entry| entry.name == name) {
            Some(index) => self.models_at(index),
            None => &[],
        }
    }

    /// The model with the exact name `PROVIDER/ID`.
    pub fn get(&self, reference: &str) -> Option<&Arc<Model>> {
        let (provider, id) = reference.split_once('/')?;
        self.models_of(provider).iter().find(|model| model.id == id)
    }

    /// Whether `model` can be called with `keys`.
    pub fn key_status(&self, model: &Model, keys: &Keys) -> KeyStatus {
        match self.provider(&model.provider) {
            Some(entry) => keys.status(entry),
            None => KeyStatus::NotNeeded,
        }
    }

    /// The default model: the first usable one of the user's own providers, of the bundled ones with a key,
    /// or of a local server. `None` leaves the choice to the caller.
    pub fn default_model(&self, keys: &Keys) -> Option<Arc<Model>> {
        let own = self.file.provider_names().find_map(|name| {
            let mut models = self.models_of(name).iter();
            models.find(|model| self.key_status(model, keys).is_usable())
        });
        let first = |status| {
            // Scripts are never the default.
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

    /// The searchable texts, in the order of `list`.
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

    fn models_at(&self, index: usize) -> &[Arc<Model>] {
        let built = self.built();
        let (Some(models), Some(entry)) = (built.models.get(index), built.providers.get(index))
        else {
            return &[];
        };
        models.get_or_init(|| {
            if let Some(served) = self.served.as_ref().filter(|_| entry.api != Api::Scripted) {
                let own = served.iter().filter(|model| model.provider == entry.name);
                let mut own: Vec<Arc<Model>> = own.cloned().map(Arc::new).collect();
                for model in &mut own {
                    self.change_options(model);
                }
                return own;
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
            for model in &mut models {
                self.change_options(model);
            }
            models
        })
    }
}

/// The providers of the LLM proxy's models, then those of scripts.
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
    fn default_is_the_first_usable_model() {
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
