//! Help: the keys of the moment or of the view in front, and the command palette. Both are made from the live bindings.

mod keys;
mod palette;

pub(crate) use keys::{AfterPage, Moment, after_page, keys};

use crate::actions::Command;
use crate::drawing::Overlays;
use osier_protocol::AddedCommand;
use osier_term::Keymap;

/// Opens the palette.
pub(crate) fn open_palette(
    keymap: &Keymap<Command>,
    added: &[AddedCommand],
    is_idle: bool,
    overlays: &mut Overlays,
) {
    overlays.push(palette::ID, palette::picker(keymap, added, is_idle));
}
