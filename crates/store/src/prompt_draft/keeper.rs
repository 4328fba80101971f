//! The task that writes what is typed: at once, and then at most four times a second.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::{UnsentFile, UnsentText, forget};
use osier_base::parts::Parts;

/// The least time between two writes.
const INTERVAL: Duration = Duration::from_millis(250);
/// Bytes that may be written in that time: a text that changes before a long paste is written less often.
const SHARE: usize = 64 * 1024;
/// How long a text stays that was taken out of the editor: by then a prompt that was sent is stored.
const AFTER_SENDING: Duration = Duration::from_secs(1);

/// The way to the task that writes.
#[derive(Debug)]
pub struct UnsentKeeper {
    latest: watch::Sender<Latest>,
    writing: JoinHandle<()>,
}

/// What is typed now.
#[derive(Debug, Clone, Default)]
struct Latest {
    unsent: UnsentText,
    /// What was taken out of the editor and may not be stored elsewhere yet.
    taken: Option<UnsentText>,
}

impl UnsentKeeper {
    /// Begins a task that writes to `folder`, which is made when it is needed. Needs a tokio runtime.
    pub fn new(folder: PathBuf) -> Self {
        let (latest, changes) = watch::channel(Latest::default());
        let writing = tokio::spawn(write_all(folder, changes));
        Self { latest, writing }
    }

    /// Has `unsent` written in place of what was kept before. Never blocks.
    pub fn keep(&self, unsent: UnsentText) {
        self.latest.send_if_modified(|latest| {
            let before = std::mem::replace(&mut latest.unsent, unsent);
            let is_other = before != latest.unsent;
            if is_other {
                let is_taken = latest.unsent.text.is_empty() && !before.text.is_empty();
                latest.taken = is_taken.then_some(before);
            }
            is_other
        });
    }

    /// What is kept goes out as `text`, which may be more than was told of it: whoever finds it can tell that
    /// it was sent.
    pub fn send(&self, text: &str) {
        self.latest.send_if_modified(|latest| {
            let kept = &mut latest.unsent.text;
            let differs = !kept.is_empty() && kept.to_string() != text;
            if differs {
                *kept = text.into();
            }
            differs
        });
    }

    /// What is kept is stored elsewhere.
    pub fn put_away(&self) {
        self.latest.send_modify(|latest| {
            latest.unsent.text = Parts::default();
            latest.taken = None;
        });
    }

    /// Writes what is left to be written.
    pub async fn end(self) {
        drop(self.latest);
        // A task that failed has nothing to write.
        let _ = self.writing.await;
    }
}

async fn write_all(folder: PathBuf, mut changes: watch::Receiver<Latest>) {
    let mut file = Writer { folder, open: None };
    let mut is_new = false;
    while is_new || changes.changed().await.is_ok() {
        let Latest { unsent, taken } = changes.borrow_and_update().clone();
        if let Some(taken) = taken {
            // Not the half of it that was written last.
            file.write(taken).await;
            let more = tokio::time::timeout(AFTER_SENDING, changes.changed()).await;
            is_new = matches!(more, Ok(Ok(())));
            if is_new {
                continue;
            }
        }
        let written = file.write(unsent).await;
        let times = u32::try_from(1 + written / SHARE).unwrap_or(u32::MAX);
        is_new = rest(&mut changes, INTERVAL * times).await;
    }
}

/// The file that is written to.
struct Writer {
    folder: PathBuf,
    open: Option<(String, UnsentFile)>,
}

impl Writer {
    /// How many bytes were written.
    async fn write(&mut self, unsent: UnsentText) -> usize {
        let (folder, open) = (self.folder.clone(), self.open.take());
        let write = tokio::task::spawn_blocking(move || keep(&folder, open, &unsent));
        let (open, written) = write.await.unwrap_or_default();
        self.open = open;
        written
    }
}

/// Waits that long, or until nothing more can come; whether something came.
async fn rest(changes: &mut watch::Receiver<Latest>, time: Duration) -> bool {
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

#[cfg(test)]
mod tests {
    use super::super::tests::unsent;
    use super::*;

    /// The text in the file once that time has passed, of which nobody waits for any.
    async fn after(time: Duration, folder: &Path) -> Option<String> {
        tokio::time::sleep(time).await;
        let stored = std::fs::read(folder.join("1.json")).ok()?;
        let stored: UnsentText = serde_json::from_slice(&stored).unwrap();
        Some(stored.text.to_string())
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_sent_stands_whole_in_its_file_for_a_moment_and_what_is_put_aside_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let keeper = UnsentKeeper::new(folder.to_owned());
        keeper.keep(unsent("f"));
        assert_eq!(after(INTERVAL, folder).await.as_deref(), Some("f"));
        // The rest of it and the key that sends it came at once.
        keeper.send("first thought");
        keeper.keep(unsent(""));
        keeper.keep(unsent(""));
        let stored = after(INTERVAL * 2, folder).await;
        assert_eq!(stored.as_deref(), Some("first thought"));
        assert_eq!(after(AFTER_SENDING, folder).await, None);
        keeper.keep(unsent(""));
        assert_eq!(after(INTERVAL * 2, folder).await, None);
        keeper.keep(unsent("another"));
        assert_eq!(
            after(INTERVAL * 2, folder).await.as_deref(),
            Some("another")
        );
        keeper.put_away();
        keeper.keep(unsent(""));
        assert_eq!(after(INTERVAL * 2, folder).await, None);
        // What is typed next is kept at once, whatever went before it.
        keeper.keep(unsent("one more"));
        keeper.keep(unsent(""));
        keeper.keep(unsent("and on"));
        assert_eq!(after(INTERVAL * 2, folder).await.as_deref(), Some("and on"));
        keeper.end().await;
        assert_eq!(after(INTERVAL, folder).await.as_deref(), Some("and on"));
    }
}
