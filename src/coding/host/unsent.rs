//! Keeps what is typed and not sent. A task of its own writes: at once, and then at most four times a second.

use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::event::Event;
use super::host::{Job, Task};
use crate::agent::AgentMessage;
use crate::coding::unsent::{UnsentFile, UnsentText, find, forget};

/// The least time between two writes.
const INTERVAL: Duration = Duration::from_millis(250);
/// How long a text stays that was taken out of the editor: by then a prompt that was sent is stored.
const AFTER_SENDING: Duration = Duration::from_secs(1);

/// The way to the task that writes.
#[derive(Debug)]
pub(super) struct Unsent {
    latest: watch::Sender<UnsentText>,
    writing: JoinHandle<()>,
}

impl Unsent {
    /// Begins a task that writes to `folder`, which is made when it is needed.
    pub(super) fn new(folder: PathBuf) -> Self {
        let (latest, changes) = watch::channel(UnsentText::default());
        let writing = tokio::spawn(write_all(folder, changes));
        Self { latest, writing }
    }

    /// Writes what is left to be written.
    async fn end(self) {
        drop(self.latest);
        // A task that failed has nothing to write.
        let _ = self.writing.await;
    }
}

impl Task {
    pub(super) fn keep_unsent(&mut self, text: String) {
        let Some(session) = &self.session else {
            return;
        };
        if self.unsent.is_none() {
            self.unsent = Some(Unsent::new(self.setup.folders.drafts()));
        }
        if let Some(unsent) = &self.unsent {
            unsent.latest.send_replace(UnsentText {
                session: session.store.id().to_owned(),
                cwd: self.setup.cwd.to_string_lossy().into_owned(),
                text,
            });
        }
    }

    /// Looks for what an earlier run left; told with `Event::UnsentFound` when there is something.
    pub(super) fn find_unsent(&self) {
        let Some(session) = &self.session else {
            return;
        };
        let (folders, jobs) = (self.setup.folders.clone(), self.jobs.clone());
        let (id, cwd) = (session.store.id().to_owned(), self.setup.cwd.clone());
        let (index, is_new) = (session.store.index().clone(), session.last_stored.is_none());
        tokio::task::spawn_blocking(move || {
            let which = (id.as_str(), &*cwd.to_string_lossy(), is_new);
            let Some(unsent) = find(&folders.data, &folders.drafts(), which) else {
                return;
            };
            // It was sent, and the end came before its file was removed.
            let page = index.page(&crate::coding::session::PageAt::End);
            let was_sent = page.is_some_and(|page| {
                let prompts =
                    page.messages
                        .iter()
                        .rev()
                        .filter_map(|stored| match &*stored.message {
                            AgentMessage::User(said) => Some(said.text.trim()),
                            _ => None,
                        });
                prompts.into_iter().next() == Some(unsent.text.trim())
            });
            if !was_sent {
                let event = Event::UnsentFound { text: unsent.text };
                let _ = jobs.send(Job::Publish(Box::new(event)));
            }
        });
    }

    pub(super) async fn end_unsent(&mut self) {
        if let Some(unsent) = self.unsent.take() {
            unsent.end().await;
        }
    }
}

async fn write_all(folder: PathBuf, mut changes: watch::Receiver<UnsentText>) {
    let mut open: Option<(String, UnsentFile)> = None;
    while changes.changed().await.is_ok() {
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
        open = write.await.ok().flatten();
        tokio::time::sleep(INTERVAL).await;
    }
}

/// Writes `unsent` to the file of its session, or removes that when there is nothing. A failure costs the
/// text of a crash and nothing else, so nobody is told.
fn keep(
    folder: &std::path::Path,
    open: Option<(String, UnsentFile)>,
    unsent: &UnsentText,
) -> Option<(String, UnsentFile)> {
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
            return None;
        }
        None => UnsentFile::open(folder, &unsent.session).ok()?,
    };
    if unsent.text.is_empty() {
        file.remove();
        return None;
    }
    let _ = file.write(unsent);
    Some((unsent.session.clone(), file))
}
