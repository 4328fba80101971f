//! A call of a tool: its arguments, how other programs spell them, and the details of its result.

pub(crate) mod arguments;
pub mod details;
pub(crate) mod spellings;
