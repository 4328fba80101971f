//! Model lists: switch the model, or retry the last prompt with another one.

mod picker;

use crate::footer::Footer;
use crate::overlays::{self, Overlays};
use osier_protocol::{ModelInfo, Op};

/// Lists the models to switch to.
pub(crate) fn open(
    models: &[ModelInfo],
    footer: &Footer,
    overlays: &mut Overlays,
    ops: &mut Vec<Op>,
) {
    overlays.push(picker::ID, picker::picker(models, footer));
    ops.push(Op::ListModels);
}

/// Lists the models to retry the last prompt with.
pub(crate) fn open_retry(models: &[ModelInfo], overlays: &mut Overlays, ops: &mut Vec<Op>) {
    overlays.push(picker::RETRY_ID, picker::retry_picker(models));
    ops.push(Op::ListModels);
}

/// Updates the open lists.
pub(crate) fn refresh(models: &[ModelInfo], footer: &Footer, overlays: &mut Overlays) {
    overlays::refresh(overlays, picker::ID, picker::picker(models, footer));
    overlays::refresh(overlays, picker::RETRY_ID, picker::retry_picker(models));
}
