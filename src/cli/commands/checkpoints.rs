//! `osier checkpoints`: looks after the recorded states of files.

use std::io::{self, Write};
use std::path::Path;

use clap::Subcommand;

use crate::cli::exit::{Exit, usage_error};
use osier_checkpoint::{PruneOptions, Pruned, prune};

#[derive(Debug, Clone, Copy, Subcommand)]
pub(in crate::cli) enum CheckpointsCommand {
    /// Remove the states that no session of this data directory needs any more
    Prune {
        /// MB that may stay: the states of the sessions used longest ago go until it fits
        #[arg(long, value_name = "MB")]
        limit: Option<u64>,
        /// Say what would go and remove nothing
        #[arg(long)]
        dry_run: bool,
    },
}

/// Prunes and says what that came to. The error is for whoever reads the output and has gone.
pub(in crate::cli) fn run(
    what: &CheckpointsCommand,
    data: &Path,
    usual: Option<u64>,
    out: &mut dyn Write,
) -> io::Result<Exit> {
    let CheckpointsCommand::Prune { limit, dry_run } = *what;
    let limit = limit
        .or(usual)
        .map(|megabytes| megabytes.saturating_mul(1_000_000));
    let options = PruneOptions {
        limit,
        dry: dry_run,
    };
    let pruned = match prune(data, options) {
        Ok(pruned) => pruned,
        Err(error) => return Ok(usage_error(&error.to_string())),
    };
    let Pruned {
        sessions,
        forgotten,
        kept,
        kept_bytes,
        removed,
        removed_bytes,
    } = pruned;
    let verb = if dry_run {
        "would be removed"
    } else {
        "removed"
    };
    writeln!(
        out,
        "{verb}: {removed} objects, {}; kept: {kept} objects, {}, for {sessions} sessions",
        size(removed_bytes),
        size(kept_bytes)
    )?;
    if forgotten > 0 {
        writeln!(
            out,
            "the limit left no room for the states of {forgotten} sessions"
        )?;
    }
    Ok(Exit::Success)
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1000 => format!("{bytes} bytes"),
        1000..1_000_000 => format!("{:.1} KB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}
