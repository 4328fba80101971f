//! `osier migrate`: shows which files of other agents osier uses, and writes what it cannot read in place into osier's
//! own files. Nothing is overwritten.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use clap::Args;

use crate::cli::exit::{Exit, usage_error};
use osier_base::folders::Folders;
use osier_base::path;
use osier_mcp::NewServer;
use osier_peers::PeerFolders;
use osier_peers::migrate::{Action, Change, PROGRAMS, Plan, Sources};
use osier_permissions::Rule;
use osier_permissions::trust::project_root;

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

/// Shows or writes what other agents have. The error is a failed write to `out`.
pub(in crate::cli) fn run(
    args: &MigrateArgs,
    folders: &Folders,
    cwd: &Path,
    environment: &BTreeMap<String, String>,
    out: &mut dyn Write,
) -> io::Result<Exit> {
    let Some(peers) = &PeerFolders::of(environment) else {
        return Ok(usage_error("unknown home directory; set `HOME`"));
    };
    let servers_of = |file: &Path| {
        let known = osier_mcp::load(&[file.to_owned().into()], environment);
        known.servers.into_keys().collect()
    };
    let sources = Sources {
        folders,
        peers,
        cwd,
        root: &project_root(cwd),
        is_rule: |text| Rule::parse(text).is_some(),
        servers_of: &servers_of,
        project: None,
    };
    let wanted = [
        args.claude,
        args.codex,
        args.pi,
        args.opencode,
        args.gemini,
        args.copilot,
    ];
    let all = !wanted.contains(&true);
    let mut plan = Plan::default();
    let (mut found, mut pending, mut failed) = (false, 0, false);
    for ((name, find), wanted) in PROGRAMS.into_iter().zip(wanted) {
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
                Action::Write(change) => match apply(change) {
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

fn apply(change: &Change) -> Result<(), String> {
    match change {
        Change::Server { file, server } => {
            let server = NewServer {
                name: server.name.clone(),
                command: server.command.clone(),
                url: server.url.clone(),
                is_sse: server.is_sse,
                env: server.env.clone(),
                headers: server.headers.clone(),
            };
            osier_mcp::add(file, &server, false).map_err(|error| error.to_string())
        }
        Change::Setting { file, name, value } => osier_settings::write(file, name, Some(value)),
        Change::File { .. } | Change::Folder { .. } => change.write_files(),
    }
}
