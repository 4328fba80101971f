//! The context of the model besides the conversation: the system prompt, project instructions and reminders. Also the
//! slash commands that the project defines.

pub(crate) mod attachments;
pub(crate) mod commands;
pub(crate) mod nearby;
pub(crate) mod project;
pub(crate) mod prompt;
pub(crate) mod reminders;
pub(crate) mod workspace;
