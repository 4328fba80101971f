//! The terminal toolkit: guard, frames, input, keys, themes, text layout and widgets. Knows nothing of
//! agents, so that it could be lifted into a crate of its own.

pub mod clipboard;
pub mod component;
mod document;
pub mod face;
pub mod frame;
pub mod highlight;
pub mod input;
pub mod keymap;
pub mod layers;
pub mod linear;
pub mod picture;
pub mod row;
pub mod scroll;
pub mod terminal;
pub mod theme;
pub mod widgets;
pub mod wrap;
