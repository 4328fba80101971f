//! Waits for the lock of the recorded states, visibly and until the user cancels.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use osier_base::locked_file;
use osier_store::Locks;
use tokio_util::sync::CancellationToken;

use super::error::CheckpointError;

/// A lock that is free sooner is not worth a message.
const VISIBLE: Duration = Duration::from_millis(500);
/// The time between two attempts: a blocking wait could not be cancelled.
const PAUSE: Duration = Duration::from_millis(20);

/// Called with a notice for the user, once.
pub type Notify = Arc<dyn Fn(String) + Send + Sync>;

/// How to tell the user that osier waits for a lock, and how to end the wait.
#[derive(Clone, Default)]
pub struct LockWait {
    pub notify: Option<Notify>,
    /// Ends the wait with [`CheckpointError::Locked`]; without it the wait lasts until the lock is free.
    pub cancel: Option<CancellationToken>,
}

osier_base::opaque_debug!(LockWait);

impl LockWait {
    /// Locks `file`, which is at `path`, together with other processes that share the lock. Blocks.
    pub(super) fn share(&self, file: &File, path: &Path) -> Result<(), CheckpointError> {
        let mut visible = Some(Instant::now() + VISIBLE);
        while !locked_file::try_share(file)? {
            if self
                .cancel
                .as_ref()
                .is_some_and(CancellationToken::is_cancelled)
            {
                return Err(CheckpointError::Locked);
            }
            if visible.is_some_and(|visible| Instant::now() >= visible) {
                visible = None;
                self.report(path);
            }
            thread::sleep(PAUSE);
        }
        Ok(())
    }

    fn report(&self, path: &Path) {
        let Some(notify) = &self.notify else { return };
        let holder = Locks::read().holder(path);
        let process = holder.map_or_else(String::new, |id| format!(" (process {id})"));
        let way_out = self
            .cancel
            .as_ref()
            .map_or("", |_| "; esc or ctrl+c cancels");
        notify(format!(
            "waiting for another osier{process}, which has locked the checkpoints{way_out}"
        ));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn wait_for_a_lock_is_reported_and_can_be_cancelled() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let (held, file) = (File::create(&path).unwrap(), File::open(&path).unwrap());
        assert!(locked_file::try_lock(&held).unwrap());
        let cancel = CancellationToken::new();
        let (texts, all) = (Arc::new(Mutex::new(Vec::new())), cancel.clone());
        let heard = Arc::clone(&texts);
        // The user cancels when the reason is shown.
        let notify: Notify = Arc::new(move |text| {
            heard.lock().unwrap().push(text);
            all.cancel();
        });
        let wait = LockWait {
            notify: Some(notify),
            cancel: Some(cancel),
        };
        assert!(matches!(
            wait.share(&file, &path),
            Err(CheckpointError::Locked)
        ));
        let process = if cfg!(target_os = "linux") && Locks::read().holder(&path).is_some() {
            format!(" (process {})", std::process::id())
        } else {
            String::new()
        };
        let text = format!(
            "waiting for another osier{process}, which has locked the checkpoints; esc or ctrl+c cancels"
        );
        assert_eq!(*texts.lock().unwrap(), [text]);
        held.unlock().unwrap();
        assert!(wait.share(&file, &path).is_ok());
    }
}
