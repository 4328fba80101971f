//! Commands that run on while the conversation does: each is a task that owns its process, and ends
//! with its session at the latest.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::details::{BashDetails, JobDetails};
use super::output::{Capture, Shown};
use super::shell::{Recorder, ShellEnd, describe, details, drive};
use super::spill::Kept;
use super::workspace::Workspace;
use crate::agent::UpdateSink;
use crate::base::clock::human_duration;
use crate::base::process::{Exit, spawn};

/// Jobs kept, running or ended; beyond it the oldest that ended is forgotten.
const MAX_JOBS: usize = 32;

/// The jobs of one session, oldest first.
#[derive(Debug, Default)]
pub(super) struct Jobs(Mutex<List>);

#[derive(Debug, Default)]
struct List {
    jobs: Vec<Arc<Job>>,
    started: usize,
}

/// One command in the background. Dropping the last handle kills it.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) id: String,
    command: String,
    started: Instant,
    capture: Arc<Mutex<Capture>>,
    progress: watch::Receiver<Progress>,
    cancel: CancellationToken,
    /// Bytes of the output already given to the model.
    given: Mutex<u64>,
    _task: AbortOnDropHandle<()>,
}

/// What a job's task tells.
#[derive(Debug, Clone, Default)]
struct Progress {
    kept: Kept,
    ended: Option<(Exit, Duration)>,
}

impl Jobs {
    /// Starts `command` in `workspace`. An error of kind `QuotaExceeded` means too many jobs.
    pub(super) fn start(&self, workspace: &Workspace, command: &str) -> io::Result<Arc<Job>> {
        let mut list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if list.jobs.len() >= MAX_JOBS {
            let ended = list.jobs.iter().position(|job| !job.is_running());
            let ended = ended.ok_or(io::ErrorKind::QuotaExceeded)?;
            list.jobs.remove(ended);
        }
        list.started += 1;
        let job = Arc::new(Job::start(
            workspace,
            command,
            format!("job{}", list.started),
        )?);
        list.jobs.push(Arc::clone(&job));
        Ok(job)
    }

    pub(super) fn find(&self, id: &str) -> Option<Arc<Job>> {
        self.all().into_iter().find(|job| job.id == id)
    }

    pub(super) fn all(&self) -> Vec<Arc<Job>> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .jobs
            .clone()
    }
}

impl Job {
    fn start(workspace: &Workspace, command: &str, id: String) -> io::Result<Self> {
        let mut running = spawn(&workspace.shell().invocation(command)?)?;
        let mut recorder = Recorder::new(workspace, UpdateSink::discard());
        let capture = Arc::clone(&recorder.capture);
        let survivors = Arc::clone(workspace.survivors());
        let started = Instant::now();
        let cancel = CancellationToken::new();
        let stopped = cancel.clone();
        let (sender, progress) = watch::channel(Progress::default());
        let task = tokio::spawn(async move {
            let stop = async {
                stopped.cancelled().await;
                ShellEnd::Aborted
            };
            drive(&mut running, &mut recorder, stop).await;
            let ended = running.finish();
            survivors.keep(ended.left_running);
            sender.send_replace(Progress {
                kept: recorder.spill.kept().clone(),
                ended: Some((ended.exit, started.elapsed())),
            });
        });
        Ok(Self {
            id,
            command: command.to_owned(),
            started,
            capture,
            progress,
            cancel,
            given: Mutex::default(),
            _task: AbortOnDropHandle::new(task),
        })
    }

    pub(super) fn is_running(&self) -> bool {
        self.progress.borrow().ended.is_none()
    }

    /// Waits for the end.
    pub(super) async fn ended(&self) {
        let mut progress = self.progress.clone();
        // An error means that the task is gone, which is an end too.
        let _ = progress.wait_for(|progress| progress.ended.is_some()).await;
    }

    /// Kills all the job started, and waits until it is so.
    pub(super) async fn kill(&self) {
        self.cancel.cancel();
        self.ended().await;
    }

    /// The output since the last call, as a model gets it.
    pub(super) fn new_output(&self) -> Shown {
        let excerpt = {
            let capture = self.capture.lock().unwrap_or_else(PoisonError::into_inner);
            let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
            let excerpt = capture.since(*given);
            *given = capture.total();
            excerpt
        };
        excerpt.for_model(&self.progress.borrow().kept.full_output())
    }

    /// `job1 running for 3.0s`, `job1 exit code 1, after 3.0s`.
    pub(super) fn status(&self) -> String {
        let time = |duration: Duration| human_duration(duration.as_millis() as u64);
        match self.progress.borrow().ended {
            None => format!("{} running for {}", self.id, time(self.started.elapsed())),
            Some((exit, duration)) => {
                format!("{} {}, after {}", self.id, describe(exit), time(duration))
            }
        }
    }

    pub(super) fn command(&self) -> &str {
        &self.command
    }

    pub(super) fn details(&self) -> BashDetails {
        let progress = self.progress.borrow().clone();
        let exit = progress.ended.map(|(exit, _)| exit);
        let duration = progress
            .ended
            .map_or_else(|| self.started.elapsed(), |(_, time)| time);
        BashDetails {
            full_output_path: progress.kept.path().map(|path| path.display().to_string()),
            job: Some(JobDetails {
                id: self.id.clone(),
                running: progress.ended.is_none(),
            }),
            ..details(&self.command, exit, duration)
        }
    }
}
