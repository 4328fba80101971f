//! The files of the project: checkpoints, language servers and formatters, and the map of its symbols.

pub(crate) mod checkpoints;
pub(crate) mod code;
pub(crate) mod formatting;
pub(crate) mod project_map;
mod requests;
pub(crate) mod sweeping;

pub(crate) use requests::Project;
