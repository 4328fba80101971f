//! `osier man`: clap generates the manual pages from the definition of the command line.

use std::io::{self, Write};
use std::path::Path;

use clap::{Command, CommandFactory as _};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use crate::cli::args::Args;
use crate::cli::exit::Exit;
use osier_base::leftovers::{FolderKind, TemporaryFolder};
use osier_base::problem::nearest;
use osier_base::{atomic_file, foreground};

/// Shows the manual page of the command that `words` name, by default of `osier`: formatted by `man` on a terminal, else as
/// roff. With `dir`, writes the pages of all commands to this directory. The inner error is a failed write.
///
/// # Errors
/// There is no such command.
pub(in crate::cli) fn run(
    words: &[String],
    dir: Option<&Path>,
    is_terminal: bool,
    out: &mut dyn Write,
) -> Result<io::Result<Exit>, String> {
    let mut command = Args::command().disable_help_subcommand(true);
    command.build();
    if let Some(dir) = dir {
        return Ok(write_pages(&command, dir).map(|()| Exit::Success));
    }
    let found = find(&command, words)?;
    let page = page(&command, found).map_err(|error| error.to_string())?;
    if is_terminal {
        return Ok(show(found, &page, out).map(|()| Exit::Success));
    }
    Ok(out.write_all(&page).map(|()| Exit::Success))
}

/// The command that `words` name: `sessions list`, `sessions-list` or `osier-sessions-list`.
fn find<'a>(command: &'a Command, words: &[String]) -> Result<&'a Command, String> {
    let mut found = command;
    let mut names: Vec<&str> = words.iter().flat_map(|word| word.split('-')).collect();
    if names.first() == Some(&"osier") {
        names.remove(0);
    }
    for name in names {
        let Some(next) = found.find_subcommand(name) else {
            let path = found.get_bin_name().unwrap_or("osier");
            let known = found.get_subcommands().filter(|known| !known.is_hide_set());
            let known: Vec<&str> = known.map(Command::get_name).collect();
            let advice = match nearest(name, known.iter().copied()) {
                Some(nearest) => format!("did you mean `{nearest}`?"),
                None if known.is_empty() => format!("`{path}` has no commands"),
                None => format!("expected one of {}", known.join(", ")),
            };
            return Err(format!("no manual page for `{path} {name}`; {advice}"));
        };
        found = next;
    }
    Ok(found)
}

/// The page of `command`, a part of `main`.
fn page(main: &Command, command: &Command) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    if std::ptr::eq(main, command) {
        write_main_page(main, &mut page)?;
    } else {
        let man = Man::new(command.clone()).source(source(main));
        man.render(&mut page)?;
    }
    Ok(page)
}

/// Shows the page with `man`. Where it is not installed, prints the help of the command.
fn show(command: &Command, page: &[u8], out: &mut dyn Write) -> io::Result<()> {
    let folder = TemporaryFolder::new(FolderKind::Editor)?;
    let name = command
        .get_display_name()
        .unwrap_or_else(|| command.get_name());
    let path = folder.path().join(format!("{name}.1"));
    let written = atomic_file::write_with(&path, page, atomic_file::Options::PRIVATE);
    written.map_err(io::Error::other)?;
    match foreground::run("man", [&path]) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let help = command.clone().render_long_help();
            writeln!(
                out,
                "{help}\n`man` is not installed; this is the help of the command."
            )
        }
        // The pager was left with a signal, or the reader is gone.
        _ => Ok(()),
    }
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
