//! Removes files that killed processes left, while the session waits for its user.

use parking_lot::Mutex;
use std::path::Path;
use std::time::Duration;

use osier_base::folders::Folders;
use osier_base::leftovers::{Places, sweep};
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

/// Time after the start, which nothing may slow down.
const FIRST: Duration = Duration::from_secs(5);
const INTERVAL: Duration = Duration::from_hours(1);

/// One sweep at a time in this process.
static SWEEPING: Mutex<()> = Mutex::new(());

/// The next sweep of a session.
#[derive(Debug)]
pub(crate) struct Sweeping {
    places: Places,
    first: Instant,
    task: Option<AbortOnDropHandle<()>>,
}

impl Sweeping {
    pub(crate) fn new(folders: &Folders, cwd: &Path) -> Self {
        let places = Places {
            temporary: std::env::temp_dir(),
            data: folders.data.clone(),
            config: folders.config.clone(),
            workspace: Some(cwd.to_owned()),
        };
        Self {
            places,
            first: Instant::now() + FIRST,
            task: None,
        }
    }

    /// The session is idle from now on.
    pub(crate) fn start(&mut self) {
        self.stop();
        let (places, first) = (self.places.clone(), self.first.max(Instant::now()));
        let task = osier_base::task::spawn(async move {
            let mut next = first;
            loop {
                tokio::time::sleep_until(next).await;
                let places = places.clone();
                // A thread, because the end of the process does not wait for it.
                let thread = std::thread::Builder::new().name("osier-sweep".to_owned());
                let _ = thread.spawn(move || {
                    let _one = SWEEPING.lock();
                    sweep(&places)
                });
                next += INTERVAL;
            }
        });
        self.task = Some(AbortOnDropHandle::new(task));
    }

    /// The agent works.
    pub(crate) fn stop(&mut self) {
        // After a sweep the next one is due later.
        if self.task.take().is_some() && self.first <= Instant::now() {
            self.first = Instant::now() + INTERVAL;
        }
    }
}
