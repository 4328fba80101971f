//! Prunes the checkpoints of all sessions when this session has been idle for a while.

use std::path::Path;
use std::time::Duration;

use osier_checkpoint::{PruneOptions, prune_when_idle};
use osier_settings::Settings;
use tokio_util::task::AbortOnDropHandle;

/// How long the session must be idle.
const IDLE: Duration = Duration::from_mins(10);

/// The next pruning.
#[derive(Debug, Default)]
pub(crate) struct Pruning(Option<AbortOnDropHandle<()>>);

impl Pruning {
    /// The agent has settled: the session may be idle from now on.
    pub(crate) fn restart(&mut self, data: &Path, settings: &Settings) {
        let (data, options) = (data.to_owned(), prune_options(settings));
        let task = osier_base::task::spawn(async move {
            tokio::time::sleep(IDLE).await;
            // A thread, because the end of the process does not wait for it. What cannot be pruned stays.
            let pruning = std::thread::Builder::new().name("osier-prune".to_owned());
            let _ = pruning.spawn(move || prune_when_idle(&data, options));
        });
        self.0 = Some(AbortOnDropHandle::new(task));
    }

    /// The agent works: cancels the next pruning.
    pub(crate) fn stop(&mut self) {
        self.0 = None;
    }
}

/// The limits of checkpoints.
pub fn prune_options(settings: &Settings) -> PruneOptions {
    const DAY: u64 = 24 * 60 * 60;
    PruneOptions {
        limit: Some(settings.checkpoints_limit.saturating_mul(1_000_000)),
        age: Some(Duration::from_secs(
            settings.checkpoints_days.saturating_mul(DAY),
        )),
        dry: false,
    }
}
