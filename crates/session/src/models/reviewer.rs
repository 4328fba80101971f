//! The choice of the model that judges calls in the permission mode `auto`.

use super::{Choice, Models};
use crate::setup::SessionSetup;
use osier_llm::Api;
use osier_protocol::KeyState;

impl Models {
    /// The model that judges calls in the permission mode `auto`.
    ///
    /// # Errors
    /// The missing model or key, and the advice for the user.
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
}
