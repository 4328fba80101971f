//! `osier config`: prints the paths, the settings and the errors of the configuration.

use std::io::{self, Write};

use crate::cli::args::ConfigCommand;
use crate::cli::exit::Exit;
use osier_base::folders::Folders;
use osier_base::problem::Problem;
use osier_settings::SETTINGS;

/// Runs an `osier config` command. `problems` are the errors of the configuration files.
pub(in crate::cli) fn run(
    command: ConfigCommand,
    folders: &Folders,
    problems: &[Problem],
    out: &mut dyn Write,
) -> io::Result<Exit> {
    match command {
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
            writeln!(out, "no errors")?;
        }
    }
    Ok(Exit::Success)
}
