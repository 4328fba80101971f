//! The overlays above the main screen.

use super::picker::{Choice, Picker};
use crate::actions::{Action, Command};
use osier_term::Layers;

// recipe: an overlay, 1: `crates/tui/src/ROOM/FEATURE/NAME.rs`: the overlay, in the folder of its feature
// recipe: an overlay, 3: `tests/it/tui/`: a snapshot
/// The overlays above the main screen.
pub(crate) type Overlays = Layers<Command, Action>;

/// Replaces the contents of a picker if it is open; its query and selection stay.
pub(crate) fn refresh<T: Choice>(overlays: &mut Overlays, id: &'static str, mut picker: Picker<T>) {
    if let Some(open) = overlays.find::<Picker<T>>(id) {
        picker.resume(open);
        *open = picker;
    }
}
