//! The draft of a streaming answer, in `<session file>.draft`. A crash loses at most a quarter of a second of it.
//!
//! The file has the empty message and then one delta per line. Deltas are merged in memory and written at most once
//! per [`INTERVAL`], so that a delta costs one copy of its text. A failed write is not an error of the session: the
//! text is written with the next one.

use parking_lot::Mutex;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::log_file::{options, with_suffix};
use super::tree::SessionTree;
use osier_agent::AgentMessage;
use osier_base::jsonl;
use osier_base::jsonl::Lines;
use osier_base::regular_file;
use osier_llm::{AssistantMessage, Delta, MessageBuilder, StopReason, StreamEvent};
use osier_protocol::Tag;

/// Minimum time between two writes.
pub(super) const INTERVAL: Duration = Duration::from_millis(250);

pub(super) fn path_of(session: &Path) -> PathBuf {
    with_suffix(session, "draft")
}

/// First line of a draft.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Base {
    /// The entry that the answer follows.
    parent_id: Option<String>,
    message: AssistantMessage,
}

/// The queue from the store's handles to its thread.
#[derive(Debug, Clone, Default)]
pub(super) struct Inbox(Arc<Mutex<PendingDraft>>);

#[derive(Debug, Default)]
struct PendingDraft {
    /// Number of the current answer; counts up.
    generation: u64,
    base: Option<AssistantMessage>,
    deltas: Vec<Delta>,
    /// The thread was notified of waiting data.
    announced: bool,
}

impl Inbox {
    /// Starts a new answer that replaces the previous one. Returns whether to notify the thread.
    pub(super) fn begin(&self, message: AssistantMessage) -> bool {
        self.with(|waiting| {
            waiting.generation += 1;
            waiting.base = Some(message);
            waiting.deltas.clear();
            !std::mem::replace(&mut waiting.announced, true)
        })
    }

    /// Adds a delta. Returns whether to notify the thread.
    pub(super) fn push(&self, delta: &Delta) -> bool {
        self.with(|waiting| {
            let merged = waiting
                .deltas
                .last_mut()
                .is_some_and(|last| last.merge(delta));
            if !merged {
                waiting.deltas.push(delta.clone());
            }
            !std::mem::replace(&mut waiting.announced, true)
        })
    }

    pub(super) fn generation(&self) -> u64 {
        self.with(|waiting| waiting.generation)
    }

    /// Drops the answer `generation`; false if a newer one has started.
    fn forget(&self, generation: u64) -> bool {
        self.with(|waiting| {
            let current = waiting.generation == generation;
            if current {
                waiting.base = None;
                waiting.deltas.clear();
            }
            current
        })
    }

    fn drain(&self) -> (Option<AssistantMessage>, Vec<Delta>) {
        self.with(|waiting| {
            waiting.announced = false;
            (waiting.base.take(), std::mem::take(&mut waiting.deltas))
        })
    }

    /// A panic while the lock was held leaves only plain data behind, so a poisoned lock is usable.
    fn with<T>(&self, change: impl FnOnce(&mut PendingDraft) -> T) -> T {
        change(&mut self.0.lock())
    }
}

/// The draft file; owned by the store's thread.
#[derive(Debug)]
pub(super) struct DraftFile {
    path: PathBuf,
    inbox: Inbox,
    file: Option<File>,
    length: u64,
    /// Lines not written yet.
    backlog: Vec<u8>,
    last_write: Option<Instant>,
}

impl DraftFile {
    pub(super) fn new(session: &Path, inbox: Inbox) -> Self {
        Self {
            path: path_of(session),
            inbox,
            file: None,
            length: 0,
            backlog: Vec::new(),
            last_write: None,
        }
    }

    /// Whether an earlier run left a draft.
    pub(super) fn was_left(&self) -> bool {
        self.path.exists()
    }

    /// The earliest time of the next write.
    pub(super) fn next_write(&self, now: Instant) -> Instant {
        self.last_write.map_or(now, |last| last + INTERVAL)
    }

    /// Writes all waiting data. `leaf` is the current leaf.
    pub(super) fn write(&mut self, leaf: Option<&str>) {
        let (base, deltas) = self.inbox.drain();
        if let Some(message) = base {
            self.start(&Base {
                parent_id: leaf.map(str::to_owned),
                message,
            });
        }
        let Some(file) = &self.file else {
            return;
        };
        for delta in &deltas {
            // A delta has only strings and numbers: encoding cannot fail.
            let _ = jsonl::encode(delta, &mut self.backlog);
        }
        if let Ok(length) = jsonl::append(file, self.length, &self.backlog) {
            self.length = length;
            self.backlog.clear();
        }
        self.last_write = Some(Instant::now());
    }

    /// Removes the draft of the answer `generation` after it was stored or abandoned.
    pub(super) fn clear(&mut self, generation: u64) {
        if self.inbox.forget(generation) && self.file.is_some() {
            self.remove();
        }
    }

    /// Delays waiting data until the next delta.
    pub(super) fn postpone(&self) {
        self.inbox.with(|waiting| waiting.announced = false);
    }

    /// Removes the draft of an earlier run after this run stored it.
    pub(super) fn remove(&mut self) {
        self.file = None;
        self.backlog.clear();
        // The file may not exist.
        let _ = std::fs::remove_file(&self.path);
    }

    fn start(&mut self, base: &Base) {
        self.remove();
        self.length = 0;
        self.file = options().create_new(true).open(&self.path).ok();
        let _ = jsonl::encode(base, &mut self.backlog);
    }
}

/// The interrupted answer in the draft of the session at `session`, unless `tree` already contains it.
pub(super) fn recover(session: &Path, tree: &SessionTree) -> Option<AssistantMessage> {
    let mut lines = Lines::new(regular_file::open_plain(&path_of(session)).ok()?);
    let base: Base = serde_json::from_slice(lines.next().ok()??.bytes).ok()?;
    if is_stored(&base, tree) {
        return None;
    }
    let mut builder = MessageBuilder::resume(base.message);
    while let Ok(Some(line)) = lines.next() {
        // Text after an unreadable delta would not fit, so reading stops here.
        let Ok(delta) = serde_json::from_slice(line.bytes) else {
            break;
        };
        builder.apply(&StreamEvent::Delta(delta));
    }
    let mut message = builder.finish(0);
    message.stop_reason = StopReason::Aborted;
    message.has_content().then_some(message)
}

/// The process may have died after it stored the answer and before it removed the draft.
fn is_stored(base: &Base, tree: &SessionTree) -> bool {
    let parent = base.parent_id.as_deref().and_then(|id| tree.number(id));
    (0..tree.records())
        .rev()
        .take_while(|number| Some(*number) != parent)
        .filter(|number| tree.tag(*number) == Tag::Assistant)
        .any(|number| match tree.read(number).kind.as_message() {
            Some(AgentMessage::Assistant(stored)) => stored.timestamp == base.message.timestamp,
            _ => false,
        })
}
