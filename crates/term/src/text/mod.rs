//! Text before it has colours: faces, spans and rows, wrapping and highlighting.

pub mod face;
pub mod highlight;
pub(crate) mod image;
pub mod row;
pub mod wrap;
