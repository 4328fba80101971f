//! What is shown, before it has colours: faces, spans and rows of text, wrapping and highlighting.

pub mod face;
pub mod highlight;
pub(crate) mod image;
pub mod row;
pub mod wrap;
