//! `osier config`: prints the paths, the settings and the errors of the configuration.

use std::io::{self, Write};

use crate::cli::args::{ConfigCommand, SchemaFile};
use crate::cli::exit::Exit;
use osier_base::folders::Folders;
use osier_base::problem::Problem;
use osier_settings::SETTINGS;
use osier_settings::schema::settings_schema;

/// Runs an `osier config` command, with the problems of the configuration files, and notes about them.
pub(in crate::cli) fn run(
    command: ConfigCommand,
    folders: &Folders,
    (problems, notes): &(Vec<Problem>, Vec<String>),
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
        ConfigCommand::Schema { json: true, file } => {
            let schema = match file {
                SchemaFile::Settings => settings_schema(),
                SchemaFile::Keymap => osier_tui::keymap_schema(),
                SchemaFile::Theme => osier_tui::theme_schema(),
            };
            serde_json::to_writer_pretty(&mut *out, &schema)?;
            writeln!(out)?;
        }
        ConfigCommand::Schema { .. } => {
            for setting in SETTINGS.iter() {
                writeln!(
                    out,
                    "{}\n    {}\n    accepts {}",
                    setting.name,
                    setting.description,
                    setting.accepts()
                )?;
            }
        }
        ConfigCommand::Check => {
            for problem in problems {
                writeln!(out, "{problem}")?;
            }
            for note in notes {
                writeln!(out, "note: {note}")?;
            }
            if !problems.is_empty() {
                return Ok(Exit::Failure);
            }
            writeln!(out, "no errors")?;
        }
    }
    Ok(Exit::Success)
}
