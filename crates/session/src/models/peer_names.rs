//! Models as files of other agents name them.

use osier_protocol::KeyState;

use super::selection::Choice;
use super::{ModelError, Models};

impl Models {
    /// The model that a file of another agent names; `None` for the one of the session. Names such as `sonnet` stand for
    /// the newest model of their kind.
    pub(crate) fn find_of_peer(&self, name: &str) -> Result<Option<Choice>, ModelError> {
        // `opus[1m]` is a variant with a larger context.
        let plain = name.split('[').next().unwrap_or(name).trim();
        let plain = match plain {
            "" | "inherit" | "default" | "best" => return Ok(None),
            "opusplan" => "opus",
            plain => plain,
        };
        let (model, level) = match self.find(plain) {
            Err(error) => match error.several() {
                Some(several) => (self.find(&several.fits[0])?.0, several.level),
                None => return Err(error),
            },
            Ok(found) => found,
        };
        if !self.may_play(&model.provider, &model.id) {
            let text = format!(
                "only you can select the script `{}`, with `--model`",
                model.reference()
            );
            return Err(ModelError::Script(text));
        }
        if self.key_state(&model) == KeyState::Absent {
            return Err(ModelError::NoKey(self.missing_key(&model)));
        }
        Ok(Some((model, level)))
    }
}
