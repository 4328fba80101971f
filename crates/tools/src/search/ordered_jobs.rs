//! Runs jobs on several threads and delivers the results in job order. A slow job delays the others within a
//! window of fixed size, so memory is bounded.

use std::num::NonZero;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Jobs per chunk. The first chunks have one job, so that the first result arrives quickly.
const MAX_CHUNK: usize = 32;
/// Maximum number of chunks in flight.
const WINDOW: usize = 128;
const MAX_THREADS: usize = 8;
/// Interval of the calls of `take` while it waits.
const TICK: Duration = Duration::from_millis(100);

type Task<J, R> = (Vec<J>, SyncSender<Vec<R>>);

/// Passes each of `jobs` to a worker and the results to `take`, in order; `take` gets `None` when there is no
/// result for a moment. Stops when `take` returns false; workers finish the jobs that they have begun, so
/// they should be cancelled too. `jobs` and workers are created on the threads that use them.
pub(crate) fn in_order<I, J, R, W>(
    jobs: impl FnOnce() -> I + Send,
    worker: impl Fn() -> W + Sync,
    mut take: impl FnMut(Option<R>) -> bool,
) where
    I: Iterator<Item = J>,
    J: Send,
    R: Send,
    W: FnMut(J) -> R,
{
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let threads = threads.clamp(1, MAX_THREADS);
    let (give, tasks) = sync_channel::<Task<J, R>>(threads * 2);
    let (promise, promised) = sync_channel::<Receiver<Vec<R>>>(WINDOW);
    let tasks = Mutex::new(tasks);
    thread::scope(|scope| {
        scope.spawn(move || hand_out(jobs(), &give, &promise));
        for _ in 0..threads {
            scope.spawn(|| work_off(&tasks, worker()));
        }
        collect(&promised, &mut take);
        // The distributing thread ends with its next chunk.
        drop(promised);
    });
}

fn hand_out<J, R>(
    mut jobs: impl Iterator<Item = J>,
    give: &SyncSender<Task<J, R>>,
    promise: &SyncSender<Receiver<Vec<R>>>,
) {
    let mut size = 1;
    loop {
        let chunk: Vec<J> = jobs.by_ref().take(size).collect();
        let (sender, receiver) = sync_channel(1);
        if chunk.is_empty()
            || promise.send(receiver).is_err()
            || give.send((chunk, sender)).is_err()
        {
            return;
        }
        size = (size * 2).min(MAX_CHUNK);
    }
}

fn work_off<J, R>(tasks: &Mutex<Receiver<Task<J, R>>>, worker: impl FnMut(J) -> R) {
    let mut worker = worker;
    loop {
        let task = tasks.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((chunk, sender)) = task else { return };
        // An error means that the receiver is gone.
        let _ = sender.send(chunk.into_iter().map(&mut worker).collect());
    }
}

fn collect<R>(promised: &Receiver<Receiver<Vec<R>>>, take: &mut impl FnMut(Option<R>) -> bool) {
    while let Some(chunk) = wait(promised, take) {
        let Some(results) = wait(&chunk, take) else {
            return;
        };
        for result in results {
            if !take(Some(result)) {
                return;
            }
        }
    }
}

/// The next item, or `None` at the end or when `take` stops.
fn wait<T, R>(source: &Receiver<T>, take: &mut impl FnMut(Option<R>) -> bool) -> Option<T> {
    loop {
        match source.recv_timeout(TICK) {
            Ok(value) => return Some(value),
            Err(RecvTimeoutError::Timeout) if take(None) => {}
            Err(_) => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn results_arrive_in_job_order() {
        // With two threads, the first job ends after the second has begun.
        let mut results = Vec::new();
        in_order(
            || 0..10_000,
            || |job: i32| job * 2,
            |result| {
                results.extend(result);
                true
            },
        );
        assert_eq!(results, (0..20_000).step_by(2).collect::<Vec<_>>());
    }

    #[test]
    fn at_most_one_window_runs_after_stopping() {
        let done = AtomicUsize::new(0);
        let worker = || {
            |job: usize| {
                done.fetch_add(1, Ordering::Relaxed);
                job
            }
        };
        let mut taken = 0;
        in_order(
            || 0..usize::MAX,
            worker,
            |result| {
                taken += usize::from(result.is_some());
                taken < 3
            },
        );
        assert_eq!(taken, 3);
        assert!(done.into_inner() <= (WINDOW + 3 * MAX_THREADS + 2) * MAX_CHUNK);
    }

    #[test]
    fn no_jobs_is_fine() {
        in_order(|| [0; 0].into_iter(), || |job: i32| job, |_| true);
    }
}
