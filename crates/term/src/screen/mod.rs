//! Parts of the screen, and the stack of overlays above the main one.

pub mod component;
pub mod layers;
