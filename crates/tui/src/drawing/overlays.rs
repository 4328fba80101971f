//! The overlays above the main screen.

use super::picker::Picker;
use crate::actions::{Action, Command};
use osier_term::layers::Layers;

/// The overlays above the main screen.
pub(crate) type Overlays = Layers<Command, Action>;

/// Replaces the contents of a picker if it is open; its query and selection stay.
pub(crate) fn refresh(overlays: &mut Overlays, id: &'static str, picker: Picker) {
    if let Some(open) = overlays.get_mut(id) {
        let mut picker = picker.with_query(open.typed().unwrap_or_default());
        if let Some(marked) = open.marked() {
            picker = picker.with_selected(marked);
        }
        overlays.replace(id, picker);
    }
}
