//! What models there are.
//!
//! Three layers, later ones win: the bundled table, the user's `models.json`, and what servers on this
//! machine list. Everything works offline; the bundled table is read at first use only, so that it costs
//! nothing on the way to the first paint.

mod bundled;
pub mod discovery;
mod find;
mod models_file;
mod providers;

use std::sync::{Arc, OnceLock};

use super::auth::{KeyStatus, Keys};
use super::model::Model;

pub use find::{FindError, Found};
pub use models_file::{ModelsFile, ModelsFileError};
pub use providers::{PROVIDERS, ProviderEntry, ProviderRow};

/// Every model that can be named, and the providers they belong to.
#[derive(Debug, Default)]
pub struct Catalogue {
    file: ModelsFile,
    local: Vec<Model>,
    built: OnceLock<Built>,
}

#[derive(Debug)]
struct Built {
    providers: Vec<ProviderEntry>,
    models: Vec<Arc<Model>>,
}

impl Catalogue {
    /// The bundled table with `file` over it.
    pub fn new(file: ModelsFile) -> Self {
        Self {
            file,
            ..Self::default()
        }
    }

    /// Takes over what local servers list, in place of what they listed before.
    pub fn set_local(&mut self, models: Vec<Model>) {
        self.local = models;
        self.built = OnceLock::new();
    }

    /// Every model, in order of preference inside each provider.
    pub fn list(&self) -> &[Arc<Model>] {
        &self.built().models
    }

    /// Every provider, bundled ones first.
    pub fn providers(&self) -> &[ProviderEntry] {
        &self.built().providers
    }

    pub fn provider(&self, name: &str) -> Option<&ProviderEntry> {
        self.providers().iter().find(|entry| entry.name == name)
    }

    /// The model named exactly `PROVIDER/ID`.
    pub fn get(&self, reference: &str) -> Option<&Arc<Model>> {
        self.list()
            .iter()
            .find(|model| model.reference() == reference)
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
        let usable = |status| {
            self.list()
                .iter()
                .find(move |model| is_vendor(model) && self.key_status(model, keys) == status)
        };
        let own = self.file.provider_names().find_map(|name| {
            let mut models = self.list().iter();
            models.find(|model| model.provider == name && self.key_status(model, keys).is_usable())
        });
        own.or_else(|| usable(KeyStatus::Present))
            .or_else(|| usable(KeyStatus::NotNeeded))
            .cloned()
    }

    fn built(&self) -> &Built {
        self.built.get_or_init(|| {
            let mut providers: Vec<ProviderEntry> =
                PROVIDERS.iter().map(ProviderEntry::from).collect();
            let mut models = bundled::models();
            self.file.overlay(&mut providers, &mut models);
            for model in &self.local {
                if !models.iter().any(|have| same(have, model)) {
                    models.push(model.clone());
                }
            }
            Built {
                providers,
                models: models.into_iter().map(Arc::new).collect(),
            }
        })
    }
}

fn same(one: &Model, other: &Model) -> bool {
    one.provider == other.provider && one.id == other.id
}

/// Scripts are named, never chosen.
fn is_vendor(model: &Model) -> bool {
    model.api != super::model::Api::Scripted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::auth::Store;

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
