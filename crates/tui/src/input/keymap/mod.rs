//! Keyboard shortcuts: their list, the dialog that binds keys, and the keys that can follow a prefix.

mod capture;
pub(crate) mod hints;
mod list;

use crate::actions::{Command, Effect, NewBinding, Outbox};
use crate::drawing::{Overlays, overlays};
use capture::Capture;
use osier_protocol::PluginKey;
use osier_term::Keymap;
use osier_term::keymap::parse_sequence;

/// Lists the keyboard shortcuts.
pub(crate) fn open(
    keymap: &Keymap<Command>,
    plugin_keys: &[PluginKey],
    used: &str,
    overlays: &mut Overlays,
) {
    overlays.push(list::ID, list::picker(keymap, plugin_keys, used));
}

/// Waits for new keys of a command.
pub(crate) fn capture_keys(context: String, command: Command, overlays: &mut Overlays) {
    overlays.push(capture::ID, Capture::new(context, command));
}

/// Updates the open list after the bindings have changed.
pub(crate) fn refresh(
    keymap: &Keymap<Command>,
    plugin_keys: &[PluginKey],
    used: &str,
    overlays: &mut Overlays,
) {
    let picker = list::picker(keymap, plugin_keys, used);
    overlays::refresh(overlays, list::ID, picker);
}

/// Removes the keys of a command, one line of the user's file each.
pub(crate) fn unbind(
    keymap: &Keymap<Command>,
    context: &str,
    command: Command,
    outbox: &mut Outbox,
) {
    for keys in keymap.keys_for(context, command) {
        if let Ok(keys) = parse_sequence(&keys, None) {
            let (context, action) = (context.to_owned(), String::new());
            outbox.push(Effect::Bind(NewBinding {
                context,
                keys,
                action,
            }));
        }
    }
}
