//! `osier checkpoints`: manages the recorded states of files.

use std::io::{self, Write};
use std::path::Path;

use clap::Subcommand;

use crate::cli::exit::{Exit, usage_error};
use osier_base::text::counted;
use osier_checkpoint::{PruneOptions, Pruned, prune};
use osier_session::prune_options;
use osier_settings::Settings;

#[derive(Debug, Clone, Copy, Subcommand)]
pub(in crate::cli) enum CheckpointsCommand {
    /// Remove the checkpoints that no session needs
    Prune {
        /// Keep at most this many MB: remove the checkpoints of the least recently used sessions first
        #[arg(long, value_name = "MB")]
        limit: Option<u64>,
        /// Print what would be removed, without removing it
        #[arg(long)]
        dry_run: bool,
    },
}

/// Prunes the checkpoints and prints the result. The error is a failed write to `out`.
pub(in crate::cli) fn run(
    command: &CheckpointsCommand,
    data: &Path,
    settings: &Settings,
    out: &mut dyn Write,
) -> io::Result<Exit> {
    let CheckpointsCommand::Prune { limit, dry_run } = *command;
    let options = prune_options(settings);
    let options = PruneOptions {
        limit: limit.map_or(options.limit, |megabytes| {
            Some(megabytes.saturating_mul(1_000_000))
        }),
        dry: dry_run,
        ..options
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
        "{verb}: {}, {}; remaining: {}, {}, for {}",
        counted(removed, "object", "objects"),
        size(removed_bytes),
        counted(kept, "object", "objects"),
        size(kept_bytes),
        counted(sessions, "session", "sessions")
    )?;
    if forgotten > 0 {
        writeln!(
            out,
            "the limits exclude the checkpoints of {}",
            counted(forgotten, "session", "sessions")
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
