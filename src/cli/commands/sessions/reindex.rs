//! `osier sessions reindex`.

use tokio_util::sync::CancellationToken;

use super::{Answer, Desk, Meter};
use crate::cli::exit::Exit;
use osier_index::Outcome;

#[derive(Debug, Clone, Copy, clap::Args)]
pub(in crate::cli) struct Options {}

pub(super) fn run(_options: Options, desk: &mut Desk<'_>) -> Answer {
    let mut meter = Meter::default();
    let cancel = CancellationToken::new();
    let outcome = desk
        .library
        .rebuild(&cancel, &mut |progress| meter.tell(progress))?;
    meter.end();
    match outcome {
        Outcome::Done { read } => {
            desk.line(&format!("{read} sessions are indexed"))?;
            Ok(Exit::Success)
        }
        Outcome::Busy => Err(
            "another osier is indexing: wait for it, then say this again"
                .to_owned()
                .into(),
        ),
    }
}
