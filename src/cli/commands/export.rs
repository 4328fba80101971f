//! `osier export`: a session as a page, a document or a copy.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use crate::cli::exit::{Exit, usage_error};
use osier_base::folders::Folders;
use osier_store::{Reading, SessionDirectory, SessionError};
use osier_transfer::{
    ExchangeError, ExportOptions, ExportSummary, Exported, Format, Look, Scope, export, export_to,
};

#[derive(Debug, Clone, Args)]
pub(in crate::cli) struct ExportArgs {
    /// An id, the start of one, a name or a file; the newest of this directory when not given
    #[arg(value_name = "SESSION")]
    pub session: Option<String>,

    /// Where to write; `-` for standard output
    #[arg(value_name = "PATH")]
    pub path: Option<PathBuf>,

    /// html, markdown or jsonl; by the ending of PATH when not given, else html
    #[arg(long, value_name = "FORMAT", value_parser = format)]
    pub format: Option<Format>,

    /// Only the branch the session stands at
    #[arg(long, conflicts_with = "tree")]
    pub branch: bool,

    /// Every branch; the same as nothing but for markdown
    #[arg(long)]
    pub tree: bool,

    /// The theme a page begins with; otherwise light or dark, as its reader has it
    #[arg(long, value_name = "NAME")]
    pub theme: Option<String>,

    /// Replace a file that is there
    #[arg(long)]
    pub force: bool,
}

fn format(name: &str) -> Result<Format, String> {
    Format::from_name(name).map_err(|error| error.to_string())
}

/// Writes the session and says where. The error is for whoever reads the output and has gone.
pub(in crate::cli) fn run(
    args: &ExportArgs,
    folders: &Folders,
    (cwd, look): (&Path, Arc<dyn Look>),
    out: &mut dyn Write,
) -> io::Result<Exit> {
    let options = ExportOptions {
        format: args.format,
        scope: match (args.branch, args.tree) {
            (true, _) => Some(Scope::Branch),
            (_, true) => Some(Scope::Tree),
            _ => None,
        },
        force: args.force,
        look: Some(look),
        theme: args.theme.clone(),
    };
    let opened = open(args.session.as_deref(), folders, cwd);
    let written = match (opened, args.path.as_deref()) {
        (Err(error), _) => Err(error),
        (Ok(reading), Some(path)) if path == Path::new("-") => {
            match export_to(&reading, &options, out) {
                Err(ExchangeError::Io { source, .. }) => return Err(source),
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
            tell_unreadable(summary);
            Ok(Exit::Success)
        }
        Err(error) => Ok(refused(&error)),
    }
}

fn open(session: Option<&str>, folders: &Folders, cwd: &Path) -> Result<Reading, ExchangeError> {
    let directory = SessionDirectory::new(&folders.data);
    let path = match session {
        Some(query) => directory.find(query)?,
        None => match directory.latest(cwd) {
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
        "{} ({} entries{branches}, {} KB)",
        path.display(),
        summary.entries,
        bytes.div_ceil(1024)
    )
}

fn tell_unreadable(summary: ExportSummary) {
    if summary.unreadable > 0 {
        // A closed standard error leaves nobody to tell.
        let _ = writeln!(
            io::stderr(),
            "[WRN] {} damaged entries were left out",
            summary.unreadable
        );
    }
}

/// One line on standard error.
pub(super) fn refused(error: &ExchangeError) -> Exit {
    let hint = error.hint().map(|hint| format!("; {hint}"));
    usage_error(&format!("{error}{}", hint.unwrap_or_default()))
}
