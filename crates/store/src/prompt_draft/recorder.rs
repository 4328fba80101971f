//! The task that writes the prompt draft: immediately, then at most four times a second.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use osier_agent::{Attachment, UserMessage};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::{BETWEEN, PromptDraft, PromptDraftFile, Queued, forget};
use osier_base::parts::Parts;

/// Minimum time between two writes.
const INTERVAL: Duration = Duration::from_millis(250);
/// Maximum bytes to write per interval: a change before a long paste is written less often.
const SHARE: usize = 64 * 1024;
/// How long a submitted text stays in the file: by then the prompt is stored.
const AFTER_SENDING: Duration = Duration::from_secs(1);

/// A handle on the task that writes the draft.
#[derive(Debug)]
pub struct PromptDraftRecorder {
    latest: watch::Sender<Latest>,
    writing: JoinHandle<()>,
}

/// The current draft.
#[derive(Debug, Clone, Default)]
struct Latest {
    draft: PromptDraft,
    /// Text that was submitted and may not be stored elsewhere yet.
    submitted: Option<PromptDraft>,
    /// Prompts that wait for the model: they are in no other file.
    queued: Arc<Vec<UserMessage>>,
}

impl Latest {
    /// The draft for the file, with queued prompts: they return to the editor with the draft.
    fn with_queued(&self, draft: &PromptDraft) -> PromptDraft {
        let mut whole = PromptDraft {
            text: Parts::default(),
            ..draft.clone()
        };
        let is_queued = |message: &UserMessage| message.text == draft.text.to_string();
        let submitted = self.queued.last().is_some_and(is_queued);
        let draft = if submitted { &whole } else { draft };
        let (draft_text, mut files) = (draft.text.clone(), Vec::new());
        for message in &*self.queued {
            if !whole.text.is_empty() {
                whole.text.push(BETWEEN.into(), false);
            }
            whole.queued.push(Queued {
                bytes: message.text.len(),
                files: message.attachments.len(),
                timestamp: message.timestamp,
            });
            whole.text.push(message.text.as_str().into(), false);
            files.extend(message.attachments.iter().cloned());
        }
        if self.queued.is_empty() {
            whole.text = draft_text;
            return whole;
        }
        if !draft_text.is_empty() {
            whole.text.push(BETWEEN.into(), false);
            for part in draft_text.iter() {
                whole.text.push(Arc::clone(&part.text), part.is_paste);
            }
        }
        files.extend(whole.files.iter().cloned());
        whole.files = Arc::new(files);
        whole
    }
}

impl PromptDraftRecorder {
    /// Starts a task that writes to `folder`, which is created when needed. Requires a tokio
    /// runtime. `failed` is called when a draft cannot be stored, and again only after a draft was
    /// stored.
    pub fn new(folder: PathBuf, failed: impl Fn(io::Error) + Send + 'static) -> Self {
        let (latest, changes) = watch::channel(Latest::default());
        let writing = osier_base::task::spawn(write_all(folder, changes, Box::new(failed)));
        Self { latest, writing }
    }

    /// Writes `draft` instead of the previous draft, whose files stay. Never blocks.
    pub fn record(&self, mut draft: PromptDraft) {
        self.latest.send_if_modified(|latest| {
            if latest.draft.session == draft.session {
                draft.files = Arc::clone(&latest.draft.files);
            }
            let before = std::mem::replace(&mut latest.draft, draft);
            let is_other = before != latest.draft;
            if is_other {
                let is_submitted = latest.draft.text.is_empty() && !before.text.is_empty();
                latest.submitted = is_submitted.then_some(before);
            }
            is_other
        });
    }

    /// Writes `files` as those that are attached to the draft.
    pub fn record_files(&self, files: Vec<Attachment>) {
        self.latest.send_if_modified(|latest| {
            let is_other = *latest.draft.files != files;
            if is_other {
                latest.draft.files = Arc::new(files);
            }
            is_other
        });
    }

    /// Writes `messages`, which wait for the model, in front of the draft. `empty` is a draft of their session.
    pub fn record_queue(&self, empty: PromptDraft, messages: Vec<UserMessage>) {
        self.latest.send_if_modified(|latest| {
            if latest.draft.session != empty.session {
                latest.draft = empty;
            }
            let is_other = *latest.queued != messages;
            if messages.len() < latest.queued.len() {
                // The first ones are being stored.
                latest.submitted = Some(latest.with_queued(&latest.draft));
            }
            if is_other {
                latest.queued = Arc::new(messages);
            }
            is_other
        });
    }

    /// A function that records what an earlier process left: the draft, and the prompts that wait for the model again.
    pub fn restorer(&self) -> impl FnOnce(PromptDraft, Vec<UserMessage>) + Send + use<> {
        let latest = self.latest.clone();
        move |draft, queued| {
            latest.send_modify(|latest| {
                latest.draft = draft;
                latest.queued = Arc::new(queued);
            });
        }
    }

    /// Marks the draft as submitted as `text`, which may have more than the recorded text, so that a later run can
    /// recognise it.
    pub fn submit(&self, text: &str) {
        self.latest.send_if_modified(|latest| {
            let recorded = &mut latest.draft.text;
            let differs = !recorded.is_empty() && recorded.to_string() != text;
            if differs {
                *recorded = text.into();
            }
            differs
        });
    }

    /// Removes the draft because it is stored elsewhere.
    pub fn clear(&self) {
        self.latest.send_modify(|latest| {
            latest.draft.text = Parts::default();
            latest.draft.files = Arc::default();
            latest.submitted = None;
        });
    }

    /// Writes the remaining changes.
    pub async fn end(self) {
        drop(self.latest);
        // A task that failed has nothing to write.
        let _ = self.writing.await;
    }
}

async fn write_all(folder: PathBuf, mut changes: watch::Receiver<Latest>, failed: OnFailure) {
    let mut file = Writer {
        folder,
        open: None,
        failed,
        is_failing: false,
    };
    let mut is_new = false;
    while is_new || changes.changed().await.is_ok() {
        let latest = changes.borrow_and_update().clone();
        if let Some(submitted) = &latest.submitted {
            // The last write may have only part of it.
            file.write(latest.with_queued(submitted)).await;
            let more = tokio::time::timeout(AFTER_SENDING, changes.changed()).await;
            is_new = matches!(more, Ok(Ok(())));
            if is_new {
                continue;
            }
        }
        let written = file.write(latest.with_queued(&latest.draft)).await;
        let times = u32::try_from(1 + written / SHARE).unwrap_or(u32::MAX);
        is_new = rest(&mut changes, INTERVAL * times).await;
    }
}

type OnFailure = Box<dyn Fn(io::Error) + Send>;

/// The file of the current draft.
struct Writer {
    folder: PathBuf,
    open: Option<(String, PromptDraftFile)>,
    failed: OnFailure,
    /// The last draft could not be stored, which was reported.
    is_failing: bool,
}

impl Writer {
    /// Writes `draft` and returns the number of bytes.
    async fn write(&mut self, draft: PromptDraft) -> usize {
        let (folder, open) = (self.folder.clone(), self.open.take());
        let write = osier_base::task::spawn_blocking(move || write_draft(&folder, open, &draft));
        let (open, written) = write.await.unwrap_or((None, Ok(0)));
        self.open = open;
        match written {
            Ok(written) => {
                self.is_failing = false;
                written
            }
            Err(error) => {
                if !std::mem::replace(&mut self.is_failing, true) {
                    (self.failed)(error);
                }
                0
            }
        }
    }
}

/// Waits for `time`, or until the sender is gone; returns whether a change came.
async fn rest(changes: &mut watch::Receiver<Latest>, time: Duration) -> bool {
    let end = tokio::time::Instant::now() + time;
    let mut is_new = false;
    while let Ok(Ok(())) = tokio::time::timeout_at(end, changes.changed()).await {
        is_new = true;
    }
    is_new
}

/// Writes `draft` to the file of its session, or removes the file if there is nothing to write. Also returns the number
/// of bytes written.
fn write_draft(
    folder: &Path,
    open: Option<(String, PromptDraftFile)>,
    draft: &PromptDraft,
) -> (Option<(String, PromptDraftFile)>, io::Result<usize>) {
    let (same, other): (Option<_>, Option<_>) = match open {
        Some((session, file)) if session == draft.session => (Some(file), None),
        Some((_, file)) => (None, Some(file)),
        None => (None, None),
    };
    // The text moved to another session.
    if let Some(file) = other {
        file.remove();
    }
    let file = match same {
        Some(file) => file,
        // An earlier run's draft was restored and cleared before it was written again.
        None if draft.text.is_empty() => {
            forget(folder, &draft.session);
            return (None, Ok(0));
        }
        None => match PromptDraftFile::open(folder, &draft.session) {
            Ok(file) => file,
            Err(error) => return (None, Err(error)),
        },
    };
    if draft.text.is_empty() {
        file.remove();
        return (None, Ok(0));
    }
    let mut file = file;
    let written = file.write(draft);
    (Some((draft.session.clone(), file)), written)
}

#[cfg(test)]
mod tests {
    use super::super::tests::draft;
    use super::*;

    fn queued(texts: &[&str]) -> Vec<UserMessage> {
        let message = |text: &&str| UserMessage {
            text: (*text).to_owned(),
            ..UserMessage::default()
        };
        texts.iter().map(message).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn queued_prompts_are_stored_with_the_draft_until_the_model_gets_them() {
        let folder = tempfile::tempdir().unwrap();
        let recorder = PromptDraftRecorder::new(folder.path().to_owned(), |_| {});
        let moment = Duration::from_millis(300);
        let stored = async |time| after(time, folder.path()).await;
        recorder.record(draft("one"));
        assert_eq!(stored(moment).await.as_deref(), Some("one"));
        // Sent while the model works: it is queued.
        recorder.record(draft(""));
        recorder.record_queue(draft(""), queued(&["one"]));
        assert_eq!(stored(moment).await.as_deref(), Some("one"));
        assert_eq!(stored(AFTER_SENDING).await.as_deref(), Some("one"));
        recorder.record(draft("two"));
        recorder.record_queue(draft(""), queued(&["one"]));
        assert_eq!(stored(moment).await.as_deref(), Some("one\n\ntwo"));
        recorder.record(draft(""));
        recorder.record_queue(draft(""), queued(&["one", "two"]));
        assert_eq!(stored(moment).await.as_deref(), Some("one\n\ntwo"));
        recorder.record(draft("three"));
        assert_eq!(stored(moment).await.as_deref(), Some("one\n\ntwo\n\nthree"));
        let written = std::fs::read(folder.path().join("1.json")).unwrap();
        let (waiting, rest) = serde_json::from_slice::<PromptDraft>(&written)
            .unwrap()
            .split();
        assert_eq!((waiting, rest), (queued(&["one", "two"]), draft("three")));
        // The model gets them: they stay until they are stored.
        recorder.record_queue(draft(""), Vec::new());
        assert_eq!(stored(moment).await.as_deref(), Some("one\n\ntwo\n\nthree"));
        assert_eq!(stored(AFTER_SENDING).await.as_deref(), Some("three"));
        recorder.record(draft(""));
        assert_eq!(stored(2 * AFTER_SENDING).await, None);
    }

    /// The text in the file after `time`, in paused test time.
    async fn after(time: Duration, folder: &Path) -> Option<String> {
        tokio::time::sleep(time).await;
        let stored = std::fs::read(folder.join("1.json")).ok()?;
        let stored: PromptDraft = serde_json::from_slice(&stored).unwrap();
        Some(stored.text.to_string())
    }

    #[tokio::test(start_paused = true)]
    async fn draft_that_cannot_be_stored_is_reported_once_until_one_is() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("drafts");
        osier_base::atomic_file::write(&folder, b"no directory").unwrap();
        let (failures, mut reported) = tokio::sync::mpsc::unbounded_channel();
        let recorder = PromptDraftRecorder::new(folder.clone(), move |error| {
            failures.send(error.kind()).unwrap();
        });
        for text in ["o", "on", "one"] {
            recorder.record(draft(text));
            assert_eq!(after(INTERVAL * 2, &folder).await, None);
        }
        assert_eq!(reported.try_recv(), Ok(io::ErrorKind::AlreadyExists));
        assert!(reported.try_recv().is_err());
        std::fs::remove_file(&folder).unwrap();
        recorder.record(draft("two"));
        assert_eq!(after(INTERVAL * 2, &folder).await.as_deref(), Some("two"));
        assert!(reported.try_recv().is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn submitted_draft_stays_for_a_moment_and_cleared_draft_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let recorder = PromptDraftRecorder::new(folder.to_owned(), |_| {});
        recorder.record(draft("f"));
        assert_eq!(after(INTERVAL, folder).await.as_deref(), Some("f"));
        // The last characters and the submit key arrive together.
        recorder.submit("first thought");
        recorder.record(draft(""));
        recorder.record(draft(""));
        let stored = after(INTERVAL * 2, folder).await;
        assert_eq!(stored.as_deref(), Some("first thought"));
        assert_eq!(after(AFTER_SENDING, folder).await, None);
        recorder.record(draft(""));
        assert_eq!(after(INTERVAL * 2, folder).await, None);
        recorder.record(draft("another"));
        assert_eq!(
            after(INTERVAL * 2, folder).await.as_deref(),
            Some("another")
        );
        recorder.clear();
        recorder.record(draft(""));
        assert_eq!(after(INTERVAL * 2, folder).await, None);
        // Later text is written at once.
        recorder.record(draft("one more"));
        recorder.record(draft(""));
        recorder.record(draft("and on"));
        assert_eq!(after(INTERVAL * 2, folder).await.as_deref(), Some("and on"));
        recorder.end().await;
        assert_eq!(after(INTERVAL, folder).await.as_deref(), Some("and on"));
    }
}
