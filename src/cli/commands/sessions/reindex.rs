//! `osier sessions reindex`: rebuilds the session index.

use tokio_util::sync::CancellationToken;

use super::context::{CommandResult, ProgressMeter, SessionsContext};
use crate::cli::exit::Exit;
use osier_base::text::counted;
use osier_index::Outcome;

#[derive(Debug, Clone, Copy, clap::Args)]
pub(in crate::cli) struct Options {}

pub(super) fn run(_options: Options, context: &mut SessionsContext<'_>) -> CommandResult {
    let mut meter = ProgressMeter::default();
    let cancel = CancellationToken::new();
    let outcome = context
        .library
        .rebuild(&cancel, &mut |progress| meter.update(progress))?;
    meter.end();
    match outcome {
        Outcome::Done { read } => {
            let sessions = counted(read, "session", "sessions");
            context.print(&format!("indexed {sessions}"))?;
            Ok(Exit::Success)
        }
        Outcome::Busy => Err(
            "another osier process is indexing; wait until it finishes, then try again"
                .to_owned()
                .into(),
        ),
    }
}
