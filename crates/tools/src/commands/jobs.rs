//! Background jobs: commands that run while the conversation continues. Each is a task that owns its process
//! and ends with its session at the latest.

use osier_protocol::JobInfo;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::{fmt, io};

use tokio::sync::watch;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::full_screen;
use super::live_output::Live;
use super::outcome::{BashDetails, JobDetails, ShellEnd, describe, details};
use super::output::{Capture, Shown};
use super::output_file::StoredOutput;
use super::recorder::{Recorder, Started, drive};
use super::shell::Shell;
use osier_agent::UpdateSink;
use osier_base::clock::{human_duration, now_ms};
use osier_base::process::{Exit, signal_name, spawn};
use osier_sandbox::Report;

/// Maximum number of jobs, running or ended; the oldest ended job is removed first.
const MAX_JOBS: usize = 32;

/// Bytes of earlier output that a new follower receives.
const FOLLOWED: u64 = 16 * 1024;
/// Bytes of an incomplete line that are read again.
const INCOMPLETE_LINE: usize = 4096;
/// Interval between two reads of growing output.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The jobs of one session, oldest first.
#[derive(Default)]
pub(crate) struct Jobs {
    list: Mutex<List>,
    observer: Option<JobObserver>,
}

/// Called when a job starts or ends.
pub type JobObserver = Arc<dyn Fn() + Send + Sync>;

#[derive(Debug, Default)]
struct List {
    jobs: Vec<Arc<Job>>,
    started: usize,
}

/// A background command. Dropping the last handle kills it.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) id: String,
    command: String,
    started: Instant,
    started_at: i64,
    grown: watch::Receiver<u64>,
    capture: Arc<Mutex<Capture>>,
    progress: watch::Receiver<Progress>,
    cancel: CancellationToken,
    /// Bytes of output that the model has already received.
    given: Mutex<u64>,
    report: Report,
    /// Reports of the sandbox that the model knows.
    noted: Mutex<Vec<String>>,
    _task: AbortOnDropHandle<()>,
}

/// The state that a job's task publishes.
#[derive(Debug, Clone, Default)]
struct Progress {
    kept: StoredOutput,
    ended: Option<(Exit, Duration)>,
}

impl fmt::Debug for Jobs {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Jobs").field(&self.list).finish()
    }
}

impl Jobs {
    pub(crate) fn observe(&mut self, observer: JobObserver) {
        self.observer = Some(observer);
    }

    fn changed(&self) {
        if let Some(observer) = &self.observer {
            observer();
        }
    }

    /// Starts `command`. The error kind `QuotaExceeded` means too many jobs.
    pub(crate) fn start(&self, shell: &Shell, command: &str) -> io::Result<Arc<Job>> {
        let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        if !list.make_room() {
            return Err(io::ErrorKind::QuotaExceeded.into());
        }
        full_screen::check(command, false)?;
        let (invocation, report) = shell.invocation(command)?;
        let started = Started {
            command: command.to_owned(),
            running: spawn(&invocation)?,
            recorder: Recorder::new(&shell.outputs, UpdateSink::discard()),
            report,
            at: Instant::now(),
        };
        let job = list.add(shell, self.observer.clone(), started);
        drop(list);
        self.changed();
        Ok(job)
    }

    /// Makes a job of a command that runs in the foreground, or returns the command if there are
    /// too many jobs.
    pub(crate) fn adopt(
        &self,
        shell: &Shell,
        mut command: Started,
    ) -> Result<Arc<Job>, Box<Started>> {
        let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        if !list.make_room() {
            return Err(Box::new(command));
        }
        command.recorder.detach();
        let job = list.add(shell, self.observer.clone(), command);
        drop(list);
        self.changed();
        Ok(job)
    }

    /// Whether a job was ever started.
    pub(crate) fn has_started(&self) -> bool {
        let list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        list.started > 0
    }

    pub(crate) fn find(&self, id: &str) -> Option<Arc<Job>> {
        self.all().into_iter().find(|job| job.id == id)
    }

    pub(crate) fn all(&self) -> Vec<Arc<Job>> {
        self.list
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .jobs
            .clone()
    }
}

impl List {
    /// Removes the oldest ended job if there are too many; false if all of them run.
    fn make_room(&mut self) -> bool {
        if self.jobs.len() < MAX_JOBS {
            return true;
        }
        let ended = self.jobs.iter().position(|job| !job.is_running());
        ended.map(|ended| self.jobs.remove(ended)).is_some()
    }

    fn add(&mut self, shell: &Shell, observer: Option<JobObserver>, command: Started) -> Arc<Job> {
        self.started += 1;
        let job = Arc::new(Job::new(
            shell,
            observer,
            command,
            format!("job{}", self.started),
        ));
        self.jobs.push(Arc::clone(&job));
        job
    }
}

impl Job {
    fn new(shell: &Shell, observer: Option<JobObserver>, command: Started, id: String) -> Self {
        let Started {
            command,
            mut running,
            mut recorder,
            report,
            at: started,
        } = command;
        let running_for = now_ms() - i64::try_from(started.elapsed().as_millis()).unwrap_or(0);
        let capture = Arc::clone(&recorder.capture);
        let grown = recorder.growth();
        let survivors = Arc::clone(&shell.survivors);
        let cancel = CancellationToken::new();
        let stopped = cancel.clone();
        let (sender, progress) = watch::channel(Progress::default());
        let task = osier_base::task::spawn(async move {
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
            if let Some(changed) = observer {
                changed();
            }
        });
        Self {
            id,
            command,
            started,
            started_at: running_for,
            grown,
            capture,
            progress,
            cancel,
            given: Mutex::default(),
            report,
            noted: Mutex::default(),
            _task: AbortOnDropHandle::new(task),
        }
    }

    pub(crate) fn is_running(&self) -> bool {
        self.progress.borrow().ended.is_none()
    }

    /// Waits until the job has ended.
    pub(crate) async fn ended(&self) {
        let mut progress = self.progress.clone();
        // An error means that the task is gone, so the job has ended too.
        let _ = progress.wait_for(|progress| progress.ended.is_some()).await;
    }

    /// Kills all processes of the job, and waits until they are gone.
    pub(crate) async fn kill(&self) {
        self.cancel.cancel();
        self.ended().await;
    }

    /// Sends the output to `updates` until the job has ended: first the last part of the existing output,
    /// then new output. Output that arrives too fast is skipped.
    pub(crate) async fn follow(&self, updates: UpdateSink) {
        let mut live = Live::new(updates);
        let mut grown = self.grown.clone();
        let mut from = None;
        loop {
            let total = *grown.borrow_and_update();
            let start = from.unwrap_or_else(|| total.saturating_sub(FOLLOWED));
            let excerpt = {
                let capture = self.capture.lock().unwrap_or_else(PoisonError::into_inner);
                from = Some(capture.total());
                capture.since(start)
            };
            let (lost, bytes) = excerpt.end();
            if lost > 0 {
                live.note_skipped(lost);
            }
            live.push(&bytes);
            sleep(POLL_INTERVAL).await;
            live.flush();
            // An error means that no more output will come; output that arrived meanwhile is still sent.
            if grown.changed().await.is_err() {
                let capture = self.capture.lock().unwrap_or_else(PoisonError::into_inner);
                let (lost, bytes) = capture.since(from.unwrap_or_default()).end();
                drop(capture);
                if lost > 0 {
                    live.note_skipped(lost);
                }
                live.push(&bytes);
                return live.end();
            }
        }
    }

    /// The output since the last call, limited for a model.
    pub(crate) fn new_output(&self) -> Shown {
        let excerpt = {
            let capture = self.capture.lock().unwrap_or_else(PoisonError::into_inner);
            let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
            let excerpt = capture.since(*given);
            *given = capture.total();
            excerpt
        };
        excerpt.for_model(&self.progress.borrow().kept.full_output())
    }

    /// The output from byte `from` on, by default what comes next, and where the next output begins: at the start of an
    /// incomplete line.
    pub(crate) fn text_since(&self, from: Option<u64>) -> (String, u64) {
        let capture = self.capture.lock().unwrap_or_else(PoisonError::into_inner);
        let total = capture.total();
        let (_, bytes) = capture.since(from.unwrap_or(total)).end();
        let rest = match bytes.iter().rposition(|byte| *byte == b'\n') {
            Some(newline) => bytes.len() - newline - 1,
            None => bytes.len(),
        };
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let next = if rest > INCOMPLETE_LINE {
            total
        } else {
            total - rest as u64
        };
        (text, next)
    }

    /// Waits for more output or the end.
    pub(crate) async fn grown_or_ended(&self) {
        let mut grown = self.grown.clone();
        grown.mark_unchanged();
        tokio::select! {
            _ = grown.changed() => {}
            () = self.ended() => {}
        }
    }

    /// The reports of the sandbox since the last call.
    pub(crate) fn new_notes(&self) -> Vec<String> {
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        let mut notes = self.report.notes();
        notes.retain(|note| !noted.contains(note));
        noted.extend(notes.iter().cloned());
        notes
    }

    /// `job1 running for 3.0s`, `job1 exit code 1, after 3.0s`.
    pub(crate) fn status(&self) -> String {
        let time = |duration: Duration| human_duration(duration.as_millis() as u64);
        match self.progress.borrow().ended {
            None => format!("{} running for {}", self.id, time(self.started.elapsed())),
            Some((exit, duration)) => {
                format!("{} {}, after {}", self.id, describe(exit), time(duration))
            }
        }
    }

    pub(crate) fn command(&self) -> &str {
        &self.command
    }

    pub(crate) fn info(&self) -> JobInfo {
        let progress = self.progress.borrow().clone();
        let exit = progress.ended.map(|(exit, _)| exit);
        let ended = progress.ended.map(|(_, time)| time);
        let duration = ended.unwrap_or_else(|| self.started.elapsed());
        JobInfo {
            id: self.id.clone(),
            command: self.command.clone(),
            running: exit.is_none(),
            exit_code: exit.and_then(|exit| exit.code),
            signal: exit.and_then(|exit| exit.signal).map(signal_name),
            started_at: self.started_at,
            duration: duration.as_millis() as u64,
            output_bytes: *self.grown.borrow(),
            full_output_path: progress.kept.path().map(|path| path.display().to_string()),
            ..JobInfo::default()
        }
    }

    pub(crate) fn details(&self) -> BashDetails {
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
            sandbox_notes: self.report.notes(),
            ..details(&self.command, exit, duration)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::testing::Bench;
    use osier_agent::{Output, ToolUpdate};

    /// Waits until `condition` is true.
    async fn until(condition: impl Fn() -> bool) {
        while !condition() {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn the_workspace_lists_kills_and_reports_jobs() {
        let changes = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&changes);
        let bench = Bench::with(|workspace| {
            workspace.with_job_observer(Arc::new(move || {
                counter.fetch_add(1, Ordering::SeqCst);
            }))
        });
        let workspace = &bench.workspace;
        workspace.commands.start_job("echo hi; sleep 600").unwrap();
        until(|| workspace.background_jobs()[0].output_bytes == 3).await;
        let job = workspace.background_jobs().remove(0);
        let expected = JobInfo {
            id: "job1".to_owned(),
            command: "echo hi; sleep 600".to_owned(),
            running: true,
            started_at: job.started_at,
            duration: job.duration,
            output_bytes: 3,
            ..JobInfo::default()
        };
        assert_eq!(job, expected);
        assert!(workspace.kill_job("job1").await);
        assert!(!workspace.kill_job("job2").await);
        let job = workspace.background_jobs().remove(0);
        assert_eq!(
            (job.running, job.signal.as_deref()),
            (false, Some("SIGTERM"))
        );
        until(|| changes.load(Ordering::SeqCst) == 2).await;
    }

    #[tokio::test]
    async fn a_job_is_followed_from_its_latest_output_to_its_end() {
        let bench = Bench::new();
        let workspace = &bench.workspace;
        let command = "seq 100000; echo ready; until [ -e go ]; do sleep 0.01; done; echo more";
        workspace.commands.start_job(command).unwrap();
        let seen: Arc<Mutex<(String, u64)>> = Arc::default();
        let sink = Arc::clone(&seen);
        let updates = UpdateSink::new(move |update| {
            let ToolUpdate::Output(Output { text, skipped, .. }) = update else {
                panic!("{update:?}");
            };
            let mut seen = sink.lock().unwrap();
            seen.0.push_str(&text);
            seen.1 += skipped;
        });
        until(|| workspace.background_jobs()[0].output_bytes == 588_895 + 6).await;
        let follow = workspace.follow_job("job1", updates).unwrap();
        let go_on = async {
            until(|| seen.lock().unwrap().0.ends_with("100000\nready\n")).await;
            std::fs::File::create(bench.path("go")).unwrap();
        };
        tokio::join!(follow, go_on);
        let seen = seen.lock().unwrap();
        assert!(seen.0.ends_with("\n99999\n100000\nready\nmore\n"));
        assert!(seen.0.len() as u64 <= FOLLOWED + 5);
        assert!(
            workspace
                .follow_job("job7", UpdateSink::discard())
                .is_none()
        );
    }
}
