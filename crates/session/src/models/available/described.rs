//! Models as lists, warnings and notes describe them.

use osier_base::sort;

use super::Models;
use crate::models::placeholder::{NO_MODEL, NONE, scripted_key};
use osier_llm::auth::{KeyError, KeyStatus};
use osier_llm::{Model, Price};
use osier_protocol::{KeyState, ModelInfo};

impl Models {
    /// Every model as pickers show them: favourites first, then those with a key.
    pub fn list(&self) -> Vec<ModelInfo> {
        let cycle: Vec<String> = self
            .cycle_set()
            .iter()
            .map(|model| model.reference())
            .collect();
        let embedded = self.embedded.as_ref().map(|(model, _)| model);
        let all = embedded.into_iter().chain(self.catalogue.list());
        let mut infos: Vec<ModelInfo> = all
            .map(|model| {
                let in_cycle = cycle.contains(&model.reference());
                ModelInfo {
                    in_cycle,
                    ..self.info(model)
                }
            })
            .collect();
        sort::by_key(&mut infos, |info| {
            (!info.favourite, info.key == KeyState::Absent)
        });
        infos
    }

    pub fn info(&self, model: &Model) -> ModelInfo {
        ModelInfo {
            provider: model.provider.clone(),
            id: model.id.clone(),
            name: model.name.clone(),
            context_window: model.context_window,
            max_tokens: model.max_tokens,
            thinking_levels: model.thinking_levels.clone(),
            input: model.input.clone(),
            price: model.price,
            key: self.key_state(model),
            cache_seconds: self.cache_seconds(model),
            in_cycle: false,
            favourite: self.favourites.contains(&model.reference()),
            speed: self.speeds.get(&model.reference()).copied(),
        }
    }

    /// Whether `model` has the key that it needs.
    pub fn key_state(&self, model: &Model) -> KeyState {
        if let Some(state) = scripted_key(model) {
            return state;
        }
        let status = match &self.server {
            Some(server) => server.key_status(),
            None => self.catalogue.key_status(model, &self.keys),
        };
        match status {
            KeyStatus::Present => KeyState::Present,
            KeyStatus::Absent => KeyState::Absent,
            KeyStatus::NotNeeded => KeyState::NotNeeded,
        }
    }

    /// The warning for a model without a key.
    pub(crate) fn missing_key(&self, model: &Model) -> String {
        if model.provider == NONE {
            return match &self.unclear {
                Some(several) => format!(
                    "no model is selected: `{}` fits several; select one with `/model`",
                    several.wanted
                ),
                None => NO_MODEL.to_owned(),
            };
        }
        if self.server.is_some() {
            return "no token for the osier server; enter one with `/login proxy`, \
                    or set OSIER_PROXY_TOKEN"
                .to_owned();
        }
        let provider = self.catalogue.provider(&model.provider);
        // The text is the same as that of a call without a key.
        let error = KeyError::Missing {
            provider: model.provider.clone(),
            env_keys: provider.map_or_else(Vec::new, |provider| provider.env_keys.clone()),
        };
        error.message_with_hint()
    }

    /// The price of the model `PROVIDER/ID`, if it is known.
    pub fn price(&self, reference: &str) -> Option<Price> {
        self.catalogue.get(reference).map(|model| model.price)
    }

    /// How long the provider keeps a cached conversation.
    fn cache_seconds(&self, model: &Model) -> Option<u64> {
        let lifetime = model.cache_lifetime(self.cache_retention);
        lifetime.map(|lifetime| lifetime.as_secs())
    }

    /// A line with the assumptions about `model`, if only its id is known.
    pub(crate) fn assumed_of(&self, model: &Model) -> Option<String> {
        let embedded = self.embedded.as_ref();
        let is_embedded = embedded.is_some_and(|(own, _)| own.reference() == model.reference());
        (!is_embedded).then(|| self.catalogue.assumptions(model))?
    }
}
