//! `osier migrate`: shows which files of other agents osier uses, and writes what it cannot read in place into osier's
//! own files. Nothing is overwritten.

mod claude;
mod codex;
mod files;
mod opencode;
mod others;
mod plan;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::exit::{Exit, usage_error};
use osier_base::folders::Folders;
use osier_base::path;
use osier_base::peers::PeerFolders;
use plan::{Action, Plan};

#[derive(Debug, Clone, Args)]
pub(in crate::cli) struct MigrateArgs {
    /// Write the files; without it, osier only shows what it would write
    #[arg(long)]
    pub write: bool,

    /// Only Claude Code
    #[arg(long)]
    pub claude: bool,

    /// Only Codex
    #[arg(long)]
    pub codex: bool,

    /// Only pi
    #[arg(long)]
    pub pi: bool,

    /// Only opencode
    #[arg(long)]
    pub opencode: bool,

    /// Only Gemini CLI
    #[arg(long)]
    pub gemini: bool,

    /// Only GitHub Copilot
    #[arg(long)]
    pub copilot: bool,
}

/// What a migration reads and where it writes.
pub(super) struct Sources<'a> {
    pub folders: &'a Folders,
    pub peers: &'a PeerFolders,
    pub cwd: &'a Path,
    pub environment: &'a BTreeMap<String, String>,
    /// The folder whose files are found. osier writes what it finds there into the folder's own `.osier`, where it needs
    /// trust like every file of a project.
    pub project: Option<&'a Path>,
}

impl Sources<'_> {
    /// The folder of agents, prompts and skills.
    pub(super) fn config(&self) -> PathBuf {
        match self.project {
            Some(root) => root.join(".osier"),
            None => self.folders.config.clone(),
        }
    }

    pub(super) fn servers(&self) -> PathBuf {
        match self.project {
            Some(_) => self.config().join("mcp.json"),
            None => self.folders.servers(),
        }
    }

    pub(super) fn settings(&self) -> PathBuf {
        match self.project {
            Some(_) => self.config().join("settings.toml"),
            None => self.folders.settings(),
        }
    }

    /// Whether `path` is no way out of the project by a link. Only its existing part can be one.
    pub(super) fn is_inside(&self, path: &Path) -> bool {
        let Some(root) = self.project else {
            return true;
        };
        let existing = path
            .ancestors()
            .find(|path| path.symlink_metadata().is_ok());
        let real = existing.and_then(|path| path.canonicalize().ok());
        real.zip(root.canonicalize().ok())
            .is_some_and(|(real, root)| real.starts_with(root))
    }
}

/// Finds what one program has.
type Find = fn(&Sources<'_>, &mut Plan);

/// Shows or writes what other agents have. The error is a failed write to `out`.
pub(in crate::cli) fn run(
    args: &MigrateArgs,
    folders: &Folders,
    cwd: &Path,
    environment: &BTreeMap<String, String>,
    out: &mut dyn Write,
) -> io::Result<Exit> {
    let Some(peers) = &folders.peers else {
        return Ok(usage_error("unknown home directory; set `HOME`"));
    };
    let sources = Sources {
        folders,
        peers,
        cwd,
        environment,
        project: None,
    };
    let programs: [(bool, &str, Find); 6] = [
        (args.claude, "Claude Code", claude::find),
        (args.codex, "Codex", codex::find),
        (args.pi, "pi", others::pi),
        (args.opencode, "opencode", opencode::find),
        (args.gemini, "Gemini CLI", others::gemini),
        (args.copilot, "GitHub Copilot", others::copilot),
    ];
    let all = programs.iter().all(|(wanted, ..)| !wanted);
    let mut plan = Plan::default();
    let (mut found, mut pending, mut failed) = (false, 0, false);
    for (wanted, name, find) in programs {
        if !(all || wanted) {
            continue;
        }
        find(&sources, &mut plan);
        let items = std::mem::take(&mut plan.items);
        if items.is_empty() {
            continue;
        }
        found = true;
        writeln!(out, "{name}")?;
        for item in &items {
            let (state, note) = match &item.action {
                Action::InPlace => ("used in place", String::new()),
                Action::Unused(why) => ("not used", format!(": {why}")),
                Action::Exists(place) => ("exists", format!(" in {}", path::below_home(place))),
                Action::Write(change) if !args.write => {
                    pending += 1;
                    (
                        "to write",
                        format!(" → {}", path::below_home(change.target())),
                    )
                }
                Action::Write(change) => match change.apply() {
                    Ok(()) => (
                        "written",
                        format!(" → {}", path::below_home(change.target())),
                    ),
                    Err(error) => {
                        failed = true;
                        ("failed", format!(": {error}"))
                    }
                },
            };
            writeln!(out, "  {state:<13}  {}{note}", item.what)?;
        }
    }
    if !found {
        writeln!(out, "no files of other agents found")?;
    } else if pending > 0 {
        writeln!(
            out,
            "\nnothing was written; `osier migrate --write` writes what is new"
        )?;
    }
    Ok(if failed { Exit::Failure } else { Exit::Success })
}
