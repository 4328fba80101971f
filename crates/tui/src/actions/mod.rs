//! Everything that the user and features can do: commands of keys and slash commands, actions of features, effects of
//! the program, and the outbox that collects them.

pub(crate) mod action;
pub(crate) mod command;
pub(crate) mod effect;
pub(crate) mod outbox;
pub(crate) mod shell_commands;

pub use action::Toast;
pub(crate) use action::{Action, ExpectedEntry, FilesAfter, SubagentDraft};
pub use command::Command;
pub use effect::{Effect, NewBinding, StoredSession, TabRequest, Viewer};
pub(crate) use outbox::Outbox;
