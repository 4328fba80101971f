//! The project context for the model: instructions (`AGENTS.md`), skills and prompt templates.
//!
//! Start at [`ContextSources`], where to search; [`ProjectContext`], everything that was found, with the text
//! for the system prompt; and `osier_protocol::AddedCommand`, a slash command of a skill or template.
//!
//! The context is read after the first paint and with `/reload`. Between two reads the prompt does not change,
//! so that the provider's prompt cache hits. An invalid file is one line for the user; all other files are used.
//!
//! The crate does not know models, sessions or the screen.
//!
//! ```
//! use osier_context::slash_parts;
//!
//! assert_eq!(slash_parts("/review src/lib.rs"), Some(("review", "src/lib.rs")));
//! assert_eq!(slash_parts("/etc/hosts looks odd"), None);
//! ```

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

/// The name and arguments of a possible slash command: `/name arguments`.
pub fn slash_parts(text: &str) -> Option<(&str, &str)> {
    let body = text.strip_prefix('/')?;
    let (name, arguments) = body.split_once(char::is_whitespace).unwrap_or((body, ""));
    // A path is a prompt: `/etc/hosts looks odd`.
    (!name.is_empty() && !name.contains('/')).then_some((name, arguments))
}

#[cfg(test)]
mod tests;
