//! The user's input: the prompt with its editor, keys, the mouse, stashed prompts and keys of plugins.

pub(crate) mod keymap;
pub(crate) mod mouse;
pub(crate) mod plugins;
pub(crate) mod prompt;
pub(crate) mod stash;

pub(crate) use mouse::{MouseTarget, Pointer};
pub(crate) use plugins::PluginView;
pub(crate) use prompt::{Editor, POINTS, Prompt};
pub(crate) use stash::Stash;
