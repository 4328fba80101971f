//! The task that writes what is typed: at once, and then at most four times a second.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::{UnsentFile, UnsentText, forget};

/// The least time between two writes.
const INTERVAL: Duration = Duration::from_millis(250);
/// Bytes that may be written in that time: a text that changes before a long paste is written less often.
const SHARE: usize = 64 * 1024;
/// How long a text stays that was taken out of the editor: by then a prompt that was sent is stored.
const AFTER_SENDING: Duration = Duration::from_secs(1);

/// The way to the task that writes.
#[derive(Debug)]
pub struct UnsentKeeper {
    latest: watch::Sender<UnsentText>,
    writing: JoinHandle<()>,
}

impl UnsentKeeper {
    /// Begins a task that writes to `folder`, which is made when it is needed. Needs a tokio runtime.
    pub fn new(folder: PathBuf) -> Self {
        let (latest, changes) = watch::channel(UnsentText::default());
        let writing = tokio::spawn(write_all(folder, changes));
        Self { latest, writing }
    }

    /// Has `unsent` written in place of what was kept before. Never blocks.
    pub fn keep(&self, unsent: UnsentText) {
        self.latest.send_replace(unsent);
    }

    /// Writes what is left to be written.
    pub async fn end(self) {
        drop(self.latest);
        // A task that failed has nothing to write.
        let _ = self.writing.await;
    }
}

async fn write_all(folder: PathBuf, mut changes: watch::Receiver<UnsentText>) {
    let mut open: Option<(String, UnsentFile)> = None;
    let mut is_new = false;
    while is_new || changes.changed().await.is_ok() {
        let mut unsent = changes.borrow_and_update().clone();
        if unsent.text.is_empty() {
            // What comes meanwhile is written in its place.
            let more = tokio::time::timeout(AFTER_SENDING, changes.changed()).await;
            if matches!(more, Ok(Ok(()))) {
                unsent = changes.borrow_and_update().clone();
            }
        }
        let folder = folder.clone();
        let write = tokio::task::spawn_blocking(move || keep(&folder, open, &unsent));
        let (kept, written) = write.await.unwrap_or_default();
        open = kept;
        let times = u32::try_from(1 + written / SHARE).unwrap_or(u32::MAX);
        is_new = rest(&mut changes, INTERVAL * times).await;
    }
}

/// Waits that long, or until nothing more can come; whether something came.
async fn rest(changes: &mut watch::Receiver<UnsentText>, time: Duration) -> bool {
    let end = tokio::time::Instant::now() + time;
    let mut is_new = false;
    while let Ok(Ok(())) = tokio::time::timeout_at(end, changes.changed()).await {
        is_new = true;
    }
    is_new
}

/// Writes `unsent` to the file of its session, or removes that when there is nothing. A failure costs the
/// text of a crash and nothing else, so nobody is told. Gives the bytes that were written, too.
fn keep(
    folder: &Path,
    open: Option<(String, UnsentFile)>,
    unsent: &UnsentText,
) -> (Option<(String, UnsentFile)>, usize) {
    let (same, other): (Option<_>, Option<_>) = match open {
        Some((session, file)) if session == unsent.session => (Some(file), None),
        Some((_, file)) => (None, Some(file)),
        None => (None, None),
    };
    // The text went along to another session.
    if let Some(file) = other {
        file.remove();
    }
    let file = match same {
        Some(file) => file,
        // What an earlier run left came back, and was cleared before it was written anew.
        None if unsent.text.is_empty() => {
            forget(folder, &unsent.session);
            return (None, 0);
        }
        None => match UnsentFile::open(folder, &unsent.session) {
            Ok(file) => file,
            Err(_) => return (None, 0),
        },
    };
    if unsent.text.is_empty() {
        file.remove();
        return (None, 0);
    }
    let mut file = file;
    let written = file.write(unsent).unwrap_or_default();
    (Some((unsent.session.clone(), file)), written)
}
