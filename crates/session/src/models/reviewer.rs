//! The choice of the model that judges calls in the permission mode `auto`.

use std::sync::Arc;

use super::{Choice, Models};
use crate::setup::SessionSetup;
use osier_llm::{Api, Model};
use osier_protocol::KeyState;

/// Providers, and a part of the names of their cheap models; the newest is first in the catalogue.
const CHEAP: [(&str, &str); 3] = [
    ("anthropic", "haiku"),
    ("openai", "mini"),
    ("google", "flash"),
];

impl Models {
    /// The model that judges calls in the permission mode `auto`.
    ///
    /// # Errors
    /// What is missing, and what to do.
    pub(crate) fn reviewer(&self, setup: &SessionSetup) -> Result<Choice, String> {
        let choice = match &setup.settings.review_model {
            Some(reference) => self
                .find(reference)
                .map_err(|error| format!("`review_model`: {error}"))?,
            None if self.chosen.api == Api::Scripted => {
                return Err("the model of the session is a script; set `review_model`".to_owned());
            }
            None => (self.cheap(setup).unwrap_or_else(|| self.chosen()), None),
        };
        if self.key_state(&choice.0) == KeyState::Absent {
            return Err(self.missing_key(&choice.0));
        }
        Ok(choice)
    }

    /// A cheap model of the provider of the session's model.
    fn cheap(&self, setup: &SessionSetup) -> Option<Arc<Model>> {
        let provider = &self.chosen.provider;
        let (_, family) = CHEAP.iter().find(|(name, _)| name == provider)?;
        // A URL of the command line is that of the session's model alone.
        let own = setup.base_url.is_some() || self.embedded.is_some();
        let mut models = self.catalogue.models_of(provider).iter();
        let found = models.find(|model| !own && model.id.contains(family));
        found.cloned()
    }
}
