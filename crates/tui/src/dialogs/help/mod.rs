//! Help: the page of keys and commands, and the command palette. Both are made from the live bindings.

mod page;
mod palette;

use crate::actions::Command;
use crate::drawing::Overlays;
use osier_protocol::{AddedCommand, PluginKey};
use osier_term::Keymap;

/// Opens the page.
pub(crate) fn open(
    keymap: &Keymap<Command>,
    added: &[AddedCommand],
    plugin_keys: &[PluginKey],
    overlays: &mut Overlays,
) {
    overlays.push(page::ID, page::page(keymap, added, plugin_keys));
}

/// Opens the palette.
pub(crate) fn open_palette(
    keymap: &Keymap<Command>,
    added: &[AddedCommand],
    overlays: &mut Overlays,
) {
    overlays.push(palette::ID, palette::picker(keymap, added));
}
