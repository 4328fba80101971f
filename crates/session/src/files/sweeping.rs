//! Removes files that killed processes left, while the session waits for its user.

use parking_lot::Mutex;
use std::path::Path;
use std::time::Duration;

use osier_base::folders::Folders;
use osier_base::leftovers::{Places, sweep};
use osier_base::regular_file;
use osier_tools::OWNER;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

/// The delay of the first sweep, because nothing may slow the start down for a user. A
/// non-interactive run may be over by then.
const FIRST: Duration = Duration::from_secs(5);
const INTERVAL: Duration = Duration::from_hours(1);

/// One sweep at a time in this process.
static SWEEPING: Mutex<()> = Mutex::new(());

/// A directory that changed within this time may be of a session that is not stored yet.
const NEW: Duration = Duration::from_hours(1);
/// Maximum length of the path of a session.
const PATH_LIMIT: u64 = 64 * 1024;

/// Removes the outputs of sessions that exist neither in their folder nor in the trash. Blocks.
fn sweep_outputs(data: &Path) {
    let folders = std::fs::read_dir(data.join("outputs"));
    for folder in folders.into_iter().flatten().flatten() {
        let (path, changed) = (folder.path(), folder.metadata());
        let changed = changed.and_then(|metadata| metadata.modified());
        let is_new = !changed.is_ok_and(|at| at.elapsed().is_ok_and(|age| age > NEW));
        let owner = regular_file::read_text(&path.join(OWNER), PATH_LIMIT);
        let exists = owner.is_ok_and(|owner| is_stored(data, Path::new(&owner)));
        if !is_new && !exists {
            // A folder that cannot be removed now is removed later.
            let _ = std::fs::remove_dir_all(&path);
        }
    }
}

fn is_stored(data: &Path, session: &Path) -> bool {
    let below = session.strip_prefix(data.join("sessions"));
    let trashed = below.map(|below| data.join("trash").join(below));
    session.exists() || trashed.is_ok_and(|trashed| trashed.exists())
}

/// The next sweep of a session.
#[derive(Debug)]
pub(crate) struct Sweeping {
    places: Places,
    first: Instant,
    task: Option<AbortOnDropHandle<()>>,
}

impl Sweeping {
    pub(crate) fn new(folders: &Folders, cwd: &Path, has_user: bool) -> Self {
        let first = if has_user { FIRST } else { Duration::ZERO };
        let places = Places {
            temporary: std::env::temp_dir(),
            data: folders.data.clone(),
            config: folders.config.clone(),
            workspace: Some(cwd.to_owned()),
        };
        Self {
            places,
            first: Instant::now() + first,
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
                    sweep(&places);
                    sweep_outputs(&places.data);
                });
                next += INTERVAL;
            }
        });
        self.task = Some(AbortOnDropHandle::new(task));
    }

    /// The agent works: cancels the sweep.
    pub(crate) fn stop(&mut self) {
        // After a sweep the next one is due later.
        if self.task.take().is_some() && self.first <= Instant::now() {
            self.first = Instant::now() + INTERVAL;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{File, create_dir_all};
    use std::time::SystemTime;

    use osier_base::atomic_file;

    use super::*;

    #[test]
    fn outputs_live_as_long_as_their_session_and_its_copy_in_the_trash() {
        let place = tempfile::tempdir().unwrap();
        let data = place.path();
        for name in ["sessions/p/stored.jsonl", "trash/p/deleted.jsonl"] {
            let path = data.join(name);
            create_dir_all(path.parent().unwrap()).unwrap();
            atomic_file::write(&path, b"{}").unwrap();
        }
        let names = ["stored", "deleted", "gone", "new"];
        for name in names {
            let folder = data.join("outputs").join(name);
            create_dir_all(&folder).unwrap();
            let session = data.join(format!("sessions/p/{name}.jsonl"));
            let session = session.to_str().unwrap().as_bytes();
            atomic_file::write(&folder.join(OWNER), session).unwrap();
            if name != "new" {
                let past = SystemTime::now() - 2 * NEW;
                File::open(&folder).unwrap().set_modified(past).unwrap();
            }
        }
        sweep_outputs(data);
        let left = names.map(|name| data.join("outputs").join(name).exists());
        assert_eq!(left, [true, true, false, true]);
    }

    #[tokio::test]
    async fn run_without_a_user_sweeps_the_copies_of_lanes_at_once() {
        let place = tempfile::tempdir().unwrap();
        let lane = place.path().join("fans/fan-0123456789ab");
        create_dir_all(lane.join("files")).unwrap();
        // As those of osier.
        osier_base::private::restrict(&lane).unwrap();
        let mut sweeping = Sweeping::new(&Folders::under(place.path()), place.path(), false);
        sweeping.start();
        while lane.exists() {
            tokio::task::yield_now().await;
        }
        let mut waits = Sweeping::new(&Folders::under(place.path()), place.path(), true);
        assert!(waits.first > Instant::now());
        waits.stop();
    }
}
