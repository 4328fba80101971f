//! `osier import`: imports sessions from other programs and from other installations of osier.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use super::export::report_error;
use crate::cli::exit::{Exit, usage_error};
use osier_base::folders::Folders;
use osier_base::{clock, text};
use osier_peers::import::{ForeignSession, ImportOptions, SourceFolders, find, import};
use osier_protocol::ImportSource;

#[derive(Debug, Clone, Args)]
pub(in crate::cli) struct ImportArgs {
    /// Import these session files of osier, pi, Claude Code, Codex or opencode
    #[arg(value_name = "PATH", conflicts_with_all = ["pi", "claude", "codex", "opencode"])]
    pub paths: Vec<PathBuf>,

    /// Import the sessions of pi for this directory
    #[arg(long)]
    pub pi: bool,

    /// Import the sessions of Claude Code for this directory
    #[arg(long)]
    pub claude: bool,

    /// Import the sessions of Codex for this directory
    #[arg(long)]
    pub codex: bool,

    /// Import the sessions of opencode for this directory
    #[arg(long)]
    pub opencode: bool,

    /// Include the sessions of all directories
    #[arg(long, conflicts_with = "paths")]
    pub all: bool,

    /// List the sessions without importing them
    #[arg(long, conflicts_with_all = ["paths", "again"])]
    pub list: bool,

    /// Import sessions again that were imported before
    #[arg(long)]
    pub again: bool,
}

/// Imports or lists sessions. The error is a failed write to `out`.
pub(in crate::cli) fn run(
    args: &ImportArgs,
    folders: &Folders,
    cwd: &Path,
    environment: &BTreeMap<String, String>,
    out: &mut dyn Write,
) -> io::Result<Exit> {
    let chosen = [
        (args.pi, ImportSource::Pi),
        (args.claude, ImportSource::Claude),
        (args.codex, ImportSource::Codex),
        (args.opencode, ImportSource::Opencode),
    ];
    let any = chosen.iter().any(|(wanted, _)| *wanted);
    if !any && !args.list && args.paths.is_empty() {
        return Ok(usage_error(
            "nothing to import; name a file or a source (`--pi`, `--claude`, `--codex`, `--opencode`), or list sessions with `--list`",
        ));
    }
    let mut paths: Vec<PathBuf> = args.paths.iter().map(|path| cwd.join(path)).collect();
    if any || args.list {
        let home = environment
            .get("HOME")
            .map(PathBuf::from)
            .unwrap_or_default();
        let sources = SourceFolders::new(&home, environment);
        let directory = (!args.all).then_some(cwd);
        let wanted = chosen.iter().filter(|(wanted, _)| *wanted || !any);
        let found: Vec<ForeignSession> = wanted
            .flat_map(|(_, source)| find(&sources, *source, directory))
            .collect();
        if found.is_empty() {
            let hint = if args.all {
                ""
            } else {
                "; `--all` searches every directory"
            };
            return Ok(usage_error(&format!("no sessions to import{hint}")));
        }
        if args.list {
            found.iter().try_for_each(|found| list(found, out))?;
            return Ok(Exit::Success);
        }
        paths = found.into_iter().map(|found| found.path).collect();
    }
    let options = ImportOptions { again: args.again };
    let mut exit = Exit::Success;
    for path in &paths {
        match import(&folders.data, cwd, path, options) {
            Ok(imported) => {
                for line in imported.described() {
                    writeln!(out, "{line}")?;
                }
                if !Path::new(&imported.cwd).is_dir() {
                    let (ran_in, id) = (text::single_line(&imported.cwd), &imported.id);
                    writeln!(
                        out,
                        "it ran in `{ran_in}`, which does not exist here: `osier --resume {id}` continues it"
                    )?;
                }
            }
            Err(error) => exit = report_error(&error, error.hint()),
        }
    }
    Ok(exit)
}

fn list(found: &ForeignSession, out: &mut dyn Write) -> io::Result<()> {
    let when = clock::local_minute(found.modified);
    let prompt = text::single_line(found.first_prompt.as_deref().unwrap_or_default());
    writeln!(
        out,
        "{:<11}  {when}  {}  {}\n             {}",
        found.source.name(),
        found.cwd,
        text::truncate(&prompt, 60),
        found.path.display()
    )
}
