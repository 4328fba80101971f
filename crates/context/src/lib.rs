//! The project context for the model: instructions (`AGENTS.md`), skills and prompt templates.
//!
//! Start at [`ContextSources`], where to search; [`ProjectContext`], everything that was found, with the text
//! for the system prompt; and `osier_protocol::AddedCommand`, a slash command of a skill or template.
//!
//! The context is read after the first paint and with `/reload`. Between two reads the prompt does not change,
//! so that the provider's prompt cache hits. An invalid file is one line for the user; all other files are used.
//!
//! The crate does not know models, sessions or the screen.

mod area;
pub mod files;
mod imports;
mod nearby;
mod path_rules;
mod project;
pub mod skill;
mod sources;
pub mod template;
pub mod tokens;

pub use nearby::PathInstructions;
pub use path_rules::PathRule;
pub use project::ProjectContext;
pub use sources::ContextSources;

#[cfg(test)]
mod tests;
