//! `osier config`: where the files are, what can be set, what is wrong with them.

use std::io::{self, Write};

use crate::cli::args::ConfigCommand;
use crate::cli::exit::Exit;
use osier_base::folders::Folders;
use osier_base::problem::Problem;
use osier_settings::SETTINGS;

/// Answers one `osier config` command. `problems` are all that loading found.
pub(in crate::cli) fn run(
    what: ConfigCommand,
    folders: &Folders,
    problems: &[Problem],
    out: &mut dyn Write,
) -> io::Result<Exit> {
    match what {
        ConfigCommand::Path => {
            let rows = [
                ("settings", folders.settings()),
                ("models", folders.models()),
                ("servers", folders.servers()),
                ("themes", folders.themes()),
                ("keymaps", folders.keymaps()),
                ("credentials", folders.credentials()),
                ("sessions", folders.sessions()),
                ("history", folders.history()),
            ];
            for (name, path) in rows {
                writeln!(out, "{name:<12} {}", path.display())?;
            }
        }
        ConfigCommand::Schema => {
            for setting in SETTINGS {
                writeln!(
                    out,
                    "{}\n    {}\n    accepts {}",
                    setting.name, setting.description, setting.accepts
                )?;
            }
        }
        ConfigCommand::Check => {
            for problem in problems {
                writeln!(out, "{problem}")?;
            }
            if !problems.is_empty() {
                return Ok(Exit::Failure);
            }
            writeln!(out, "nothing is wrong")?;
        }
    }
    Ok(Exit::Success)
}
