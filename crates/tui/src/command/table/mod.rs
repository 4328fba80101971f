//! Every command with its name and its sentence, grouped as help shows them.

mod program;
mod text;
mod views;

use super::{Command, CommandInfo};

const GROUPS: &[&[CommandInfo]] = &[program::COMMANDS, views::COMMANDS, text::COMMANDS];

/// Every command, grouped as help shows them.
pub fn commands() -> impl Iterator<Item = &'static CommandInfo> {
    GROUPS.iter().copied().flatten()
}

const fn info(
    command: Command,
    name: &'static str,
    description: &'static str,
    in_palette: bool,
) -> CommandInfo {
    CommandInfo {
        command,
        name,
        description,
        in_palette,
    }
}
