//! The walk on several threads.

use parking_lot::{Condvar, Mutex};
use std::ops::ControlFlow;
use std::path::Path;
use std::thread;

use crate::entry::{Entry, WalkError};
use crate::rules::Rules;
use crate::walk::{Folder, Plan};

/// Passes the entries below `root` to `visit` on `threads` threads, until a call returns `Break`.
/// Each thread has its own state, which begins as `S::default()`. Returns the states.
pub fn visit<S: Default + Send>(
    root: &Path,
    rules: Rules,
    threads: usize,
    visit: impl Fn(&mut S, Result<Entry, WalkError>) -> ControlFlow<()> + Sync,
) -> Vec<S> {
    let (plan, first, errors) = Plan::new(root, rules);
    let mut own = S::default();
    for error in errors {
        if visit(&mut own, Err(error)).is_break() {
            return vec![own];
        }
    }
    let queue = Queue::new(first);
    let work = |mut state: S| {
        while let Some(mut taken) = queue.next() {
            let folder = &mut taken.folder;
            let mut errors = Vec::new();
            let entries = plan.list(folder, &mut errors);
            let folders = entries.iter().filter(|entry| entry.kind.is_dir());
            queue.add(folders.map(|entry| folder.below(entry)).collect());
            let found = entries.into_iter().map(Ok);
            let mut found = errors.into_iter().map(Err).chain(found);
            if found.any(|found| visit(&mut state, found).is_break()) {
                queue.stop();
            }
        }
        state
    };
    let work = &work;
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads)
            .map(|_| scope.spawn(|| work(S::default())))
            .collect();
        let mut states = vec![work(own)];
        states.extend(others.into_iter().filter_map(|other| other.join().ok()));
        states
    })
}

/// The folders that are not listed yet.
struct Queue {
    state: Mutex<Waiting>,
    changed: Condvar,
}

struct Waiting {
    folders: Vec<Folder>,
    /// Folders that are being listed.
    busy: usize,
    is_stopped: bool,
}

/// A folder that is being listed, until it is dropped.
struct Taken<'a> {
    folder: Folder,
    queue: &'a Queue,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        let mut waiting = self.queue.state.lock();
        waiting.busy -= 1;
        if waiting.busy == 0 {
            self.queue.changed.notify_all();
        }
    }
}

impl Queue {
    fn new(first: Folder) -> Self {
        Self {
            state: Mutex::new(Waiting {
                folders: vec![first],
                busy: 0,
                is_stopped: false,
            }),
            changed: Condvar::new(),
        }
    }

    /// Waits for the next folder; `None` at the end of the walk.
    fn next(&self) -> Option<Taken<'_>> {
        let mut waiting = self.state.lock();
        loop {
            if waiting.is_stopped {
                return None;
            }
            if let Some(folder) = waiting.folders.pop() {
                waiting.busy += 1;
                return Some(Taken {
                    folder,
                    queue: self,
                });
            }
            if waiting.busy == 0 {
                return None;
            }
            self.changed.wait(&mut waiting);
        }
    }

    fn add(&self, folders: Vec<Folder>) {
        if !folders.is_empty() {
            self.state.lock().folders.extend(folders);
            self.changed.notify_all();
        }
    }

    fn stop(&self) {
        self.state.lock().is_stopped = true;
        self.changed.notify_all();
    }
}
