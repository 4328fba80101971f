//! `osier man`: clap generates the manual pages from the definition of the command line.

use std::io::{self, Write};
use std::path::Path;

use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use crate::cli::exit::Exit;

/// Prints the manual page of `osier`, or writes the pages of all commands to `dir`.
pub(in crate::cli) fn man(
    command: Command,
    dir: Option<&Path>,
    out: &mut dyn Write,
) -> io::Result<Exit> {
    let mut command = command.disable_help_subcommand(true);
    command.build();
    match dir {
        Some(dir) => write_pages(&command, dir)?,
        None => write_main_page(&command, out)?,
    }
    Ok(Exit::Success)
}

fn write_pages(command: &Command, dir: &Path) -> io::Result<()> {
    std::fs::create_dir_all(dir)?;
    let mut page = std::fs::File::create(dir.join("osier.1"))?;
    write_main_page(command, &mut page)?;
    command
        .get_subcommands()
        .try_for_each(|subcommand| write_page(subcommand, &source(command), dir))
}

fn write_page(command: &Command, source: &str, dir: &Path) -> io::Result<()> {
    let page = Man::new(command.clone()).source(source);
    page.generate_to(dir)?;
    command
        .get_subcommands()
        .try_for_each(|subcommand| write_page(subcommand, source, dir))
}

/// The program and its version, in the footer of every page.
fn source(command: &Command) -> String {
    format!("osier {}", command.get_version().unwrap_or_default())
}

fn write_main_page(command: &Command, out: &mut dyn Write) -> io::Result<()> {
    let usage = "osier [OPTIONS] [@FILE|PROMPT]...\nosier [OPTIONS] COMMAND";
    Man::new(command.clone().override_usage(usage)).render(out)?;
    let mut page = Roff::new();
    page.control("SH", ["ENVIRONMENT"]);
    for (name, text) in [
        (
            "OSIER_HOME",
            "One directory for settings, sessions and logs.",
        ),
        ("NO_COLOR", "Disables colours."),
        ("VISUAL, EDITOR", "The editor for prompts."),
    ] {
        page.control("TP", [])
            .text([bold(name)])
            .text([roman(text)]);
    }
    page.control("SH", ["FILES"]);
    page.text([
        bold("osier config path"),
        roman(" lists the directories and files in use."),
    ]);
    page.control("SH", ["EXIT STATUS"]);
    for (code, text) in [
        ("0", "Success."),
        ("1", "The run failed."),
        ("2", "Usage error."),
        ("130", "Interrupted."),
        (
            "128 + n",
            "Ended by signal n: 143 after SIGTERM, 129 after SIGHUP.",
        ),
    ] {
        page.control("TP", [])
            .text([bold(code)])
            .text([roman(text)]);
    }
    page.to_writer(out)
}
