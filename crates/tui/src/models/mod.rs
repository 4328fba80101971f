//! Model lists: switch the model, or retry the last prompt with another one.

mod picker;

use crate::footer::Footer;
use crate::outbox::Outbox;
use crate::overlays::{self, Overlays};
use crate::prompt::Editor;
use osier_protocol::{ModelInfo, Op};

/// The models that the host reported last.
#[derive(Debug, Default)]
pub(crate) struct Models {
    models: Vec<ModelInfo>,
}

impl Models {
    /// Lists the models to switch to.
    pub(crate) fn open(&self, footer: &Footer, overlays: &mut Overlays, outbox: &mut Outbox) {
        overlays.push(picker::ID, picker::picker(&self.models, footer));
        outbox.send(Op::ListModels);
    }

    /// Lists the models to retry the last prompt with.
    pub(crate) fn open_retry(&self, overlays: &mut Overlays, outbox: &mut Outbox) {
        overlays.push(picker::RETRY_ID, picker::retry_picker(&self.models));
        outbox.send(Op::ListModels);
    }

    /// Takes the models and updates the open lists and the completion.
    pub(crate) fn set(
        &mut self,
        models: &[ModelInfo],
        footer: &Footer,
        editor: &mut Editor,
        overlays: &mut Overlays,
    ) {
        self.models = models.to_vec();
        editor.set_models(models.iter().map(ModelInfo::reference).collect());
        overlays::refresh(overlays, picker::ID, picker::picker(models, footer));
        overlays::refresh(overlays, picker::RETRY_ID, picker::retry_picker(models));
    }
}
