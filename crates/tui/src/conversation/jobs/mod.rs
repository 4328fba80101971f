//! Background jobs: how many run, and their panel.

mod panel;

use std::time::{Duration, Instant};

use crate::actions::Outbox;
use crate::drawing::Overlays;
use osier_agent::Output;
use osier_protocol::{JobInfo, Op};
use panel::{ID, Jobs};

/// Opens the panel.
pub(crate) fn open(overlays: &mut Overlays, outbox: &mut Outbox, now: Instant) {
    overlays.push(ID, Jobs::new(now));
    outbox.push(Op::ListJobs);
}

/// How many of the jobs run in the background.
pub(crate) fn running(jobs: &[JobInfo]) -> usize {
    let running = jobs.iter().filter(|job| job.running && !job.foreground);
    running.count()
}

/// Shows the jobs in the open panel and requests the output of the selected one.
pub(crate) fn set_jobs(
    jobs: &[JobInfo],
    overlays: &mut Overlays,
    outbox: &mut Outbox,
    now: Instant,
) {
    let request = panel(overlays).and_then(|panel| panel.set_jobs(jobs, now));
    if let Some(op) = request {
        outbox.push(op);
    }
}

pub(crate) fn append_output(overlays: &mut Overlays, id: &str, output: &Output) {
    if let Some(panel) = panel(overlays) {
        panel.append(id, output);
    }
}

/// When a duration in the panel changes.
pub(crate) fn next_change(overlays: &Overlays, running: usize, now: Instant) -> Option<Instant> {
    (running > 0 && overlays.contains(ID)).then(|| now + Duration::from_secs(1))
}

fn panel(overlays: &mut Overlays) -> Option<&mut Jobs> {
    overlays.find(ID)
}
