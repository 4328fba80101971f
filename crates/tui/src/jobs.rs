//! The background jobs as the interface knows them: how many run, and the panel when it is open.

use std::time::{Duration, Instant};

use super::app::App;
use super::overlays::jobs::{ID, Jobs};
use osier_agent::Output;
use osier_session::host::Op;
use osier_tools::JobInfo;

impl App {
    pub(super) fn open_jobs(&mut self, now: Instant) {
        self.layers.push(ID, Jobs::new(now));
        self.ops.push(Op::ListJobs);
    }

    pub(super) fn jobs_told(&mut self, jobs: &[JobInfo], now: Instant) {
        self.footer.jobs = jobs.iter().filter(|job| job.running).count();
        if let Some(op) = self
            .jobs_panel()
            .and_then(|panel| panel.set_jobs(jobs, now))
        {
            self.ops.push(op);
        }
    }

    pub(super) fn job_said(&mut self, id: &str, output: &Output) {
        if let Some(panel) = self.jobs_panel() {
            panel.append(id, output);
        }
    }

    /// When a time in the panel changes.
    pub(super) fn next_job_tick(&self, now: Instant) -> Option<Instant> {
        (self.footer.jobs > 0 && self.layers.contains(ID)).then(|| now + Duration::from_secs(1))
    }

    fn jobs_panel(&mut self) -> Option<&mut Jobs> {
        self.layers.get_mut(ID)?.as_any()?.downcast_mut()
    }
}
