//! `osier export`: writes a session as HTML, Markdown or JSONL.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::cli::exit::{Exit, usage_error};
use osier_base::folders::Folders;
use osier_base::terminal_output;
use osier_base::text::counted;
use osier_protocol::{ExportFormat, ExportScope, ExportSummary, Exported};
use osier_session::{known_secrets, run_log};
use osier_store::{Reading, SessionDirectory, SessionError};
use osier_transfer::{ExportOptions, HtmlThemes, TransferError, export, export_to};

#[derive(Debug, Clone, Args)]
pub(in crate::cli) struct ExportArgs {
    /// Export the session of this id, id prefix, name or file; by default the newest of this directory
    #[arg(value_name = "SESSION")]
    pub session: Option<String>,

    /// Write to this file; `-` is standard output
    #[arg(value_name = "PATH")]
    pub path: Option<PathBuf>,

    /// Set the format; by default the extension of PATH decides, then html
    #[arg(long, value_name = "FORMAT", value_parser = format())]
    pub format: Option<ExportFormat>,

    /// Export only the current branch
    #[arg(long, conflicts_with = "tree")]
    pub branch: bool,

    /// Export every branch; the default for html and jsonl
    #[arg(long)]
    pub tree: bool,

    /// Set the initial theme of the page; by default it follows the reader's browser
    #[arg(long, value_name = "NAME")]
    pub theme: Option<String>,

    /// Add the log of the session: warnings, retries and failed calls
    #[arg(long)]
    pub log: bool,

    /// Replace an existing file
    #[arg(long)]
    pub force: bool,
}

fn format() -> impl TypedValueParser<Value = ExportFormat> {
    let names = PossibleValuesParser::new(ExportFormat::ALL.map(ExportFormat::name));
    names.try_map(|name| osier_transfer::format_named(&name))
}

/// Writes the session and prints the path. The error is a failed write to `out`.
pub(in crate::cli) fn run(
    args: &ExportArgs,
    folders: &Folders,
    cwd: &Path,
    environment: &BTreeMap<String, String>,
    themes: Arc<dyn HtmlThemes>,
    out: &mut dyn Write,
) -> io::Result<Exit> {
    known_secrets::remember(folders, environment);
    let opened = open(args.session.as_deref(), folders, cwd);
    let log = opened.as_ref().ok().filter(|_| args.log);
    let options = ExportOptions {
        format: args.format,
        scope: match (args.branch, args.tree) {
            (true, _) => Some(ExportScope::Branch),
            (_, true) => Some(ExportScope::Tree),
            _ => None,
        },
        force: args.force,
        themes: Some(themes),
        theme: args.theme.clone(),
        log: log.map(|reading| run_log::read(&folders.outputs().join(&reading.header().id))),
    };
    let written = match (opened, args.path.as_deref()) {
        (Err(error), _) => Err(error),
        (Ok(reading), Some(path)) if path == Path::new("-") => {
            match export_to(&reading, &options, out) {
                Err(TransferError::Io { source, .. }) => return Err(source),
                written => written.map(|summary| (None, summary)),
            }
        }
        (Ok(reading), path) => {
            let path = path.map(|path| cwd.join(path));
            export(&reading, cwd, path.as_deref(), &options)
                .map(|exported| (Some(exported.clone()), exported.summary))
        }
    };
    match written {
        Ok((exported, summary)) => {
            if let Some(exported) = exported {
                writeln!(out, "{}", described(&exported))?;
            }
            warn_about_damage(summary);
            Ok(Exit::Success)
        }
        Err(error) => Ok(report_error(&error, error.hint())),
    }
}

fn open(session: Option<&str>, folders: &Folders, cwd: &Path) -> Result<Reading, TransferError> {
    let directory = SessionDirectory::new(&folders.data);
    let path = match session {
        Some(query) => directory.find(query)?,
        None => match directory.latest(cwd)? {
            Some(session) => session.path,
            None => {
                return Err(SessionError::NotFound {
                    query: cwd.to_string_lossy().into_owned(),
                    near: Vec::new(),
                }
                .into());
            }
        },
    };
    Ok(Reading::open(&path)?)
}

fn described(exported: &Exported) -> String {
    let Exported {
        path,
        bytes,
        summary,
        ..
    } = exported;
    let branches = match summary.branches {
        0 | 1 => String::new(),
        branches => format!(", {branches} branches"),
    };
    format!(
        "{} ({}{branches}, {} KB)",
        path.display(),
        counted(summary.entries, "entry", "entries"),
        bytes.div_ceil(1024)
    )
}

fn warn_about_damage(summary: ExportSummary) {
    if summary.unreadable > 0 {
        // A failed write to standard error cannot be reported.
        let _ = writeln!(
            terminal_output::stderr(),
            "[WRN] skipped {} damaged entries",
            summary.unreadable
        );
    }
}

/// Prints the error and its hint on standard error.
pub(super) fn report_error(error: &impl Display, hint: Option<&str>) -> Exit {
    let hint = hint.map(|hint| format!("; {hint}"));
    usage_error(&format!("{error}{}", hint.unwrap_or_default()))
}
