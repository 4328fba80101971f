//! The overlays above the main screen.

use super::picker::{Choice, Picker};
use crate::actions::{Action, Command};
use osier_term::Layers;

/// The overlays above the main screen.
pub(crate) type Overlays = Layers<Command, Action>;

/// Replaces the contents of a picker if it is open; its query and selection stay.
pub(crate) fn refresh<T: Choice>(overlays: &mut Overlays, id: &'static str, mut picker: Picker<T>) {
    if let Some(open) = overlays.find::<Picker<T>>(id) {
        picker.resume(open);
        *open = picker;
    }
}
