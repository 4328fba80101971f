//! The working tree against git's commit, for whoever asks; no session is needed for it.

use super::checkpoint_op::{CheckpointEvent, DiffRange, FileDiff};
use super::checkpoints::tell;
use super::event::Event;
use super::host::{Job, Task};
use osier_checkpoint::working_tree::{Changed, against_head};

impl Task {
    pub(super) fn compare_with_head(&self, request: u64) {
        let (cwd, jobs) = (self.setup.cwd.clone(), self.jobs.clone());
        tokio::spawn(async move {
            let found = match against_head(&cwd).await {
                Ok(found) => found,
                Err(error) => return tell(&jobs, error.to_string()),
            };
            if found.more > 0 {
                let text = format!(
                    "{} more files differ from HEAD and are not shown: commit some, or let \
                     `.gitignore` name what is no source",
                    found.more
                );
                tell(&jobs, text);
            }
            let event = CheckpointEvent::FileDiffs {
                request,
                range: DiffRange::Head,
                known: true,
                files: found.files.into_iter().map(FileDiff::from).collect(),
            };
            let _ = jobs.send(Job::Publish(Box::new(Event::Checkpoint(event))));
        });
    }
}

impl From<Changed> for FileDiff {
    fn from(changed: Changed) -> Self {
        let Changed { change, from, diff } = changed;
        Self { change, from, diff }
    }
}
