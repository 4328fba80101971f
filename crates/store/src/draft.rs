//! The answer that is being streamed, kept in `<session file>.draft` so that a crash loses a quarter of
//! a second of it and no more.
//!
//! The file is the empty message and then the deltas, each line one piece. Deltas are merged in memory
//! as they come and written together, at most once in [`INTERVAL`]: the cost of a delta is the copy of
//! its text. A failed draft write is no error of the session: the text waits for the next one.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::envelope::Tag;
use super::log_file::{beside, options};
use super::tree::SessionTree;
use osier_agent::AgentMessage;
use osier_base::jsonl;
use osier_base::jsonl::Lines;
use osier_llm::{AssistantBlock, AssistantMessage, Delta, MessageBuilder, StopReason, StreamEvent};

/// The least time between two writes.
pub(super) const INTERVAL: Duration = Duration::from_millis(250);

pub(super) fn path_of(session: &Path) -> PathBuf {
    beside(session, "draft")
}

/// First line of a draft.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Base {
    /// The leaf under which the answer was asked for.
    parent_id: Option<String>,
    message: AssistantMessage,
}

/// What the store's handles put in and its thread takes out.
#[derive(Debug, Clone, Default)]
pub(super) struct Inbox(Arc<Mutex<Waiting>>);

#[derive(Debug, Default)]
struct Waiting {
    /// Which answer this is; counts up.
    generation: u64,
    base: Option<AssistantMessage>,
    deltas: Vec<Delta>,
    /// The thread knows that something waits.
    announced: bool,
}

impl Inbox {
    /// Starts a new answer in place of the one before. True when the thread must be told.
    pub(super) fn begin(&self, message: AssistantMessage) -> bool {
        self.with(|waiting| {
            waiting.generation += 1;
            waiting.base = Some(message);
            waiting.deltas.clear();
            !std::mem::replace(&mut waiting.announced, true)
        })
    }

    /// Adds a piece. True when the thread must be told.
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

    /// Forgets the answer `generation`; false when a newer one has begun.
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

    fn take(&self) -> (Option<AssistantMessage>, Vec<Delta>) {
        self.with(|waiting| {
            waiting.announced = false;
            (waiting.base.take(), std::mem::take(&mut waiting.deltas))
        })
    }

    /// A thread that panicked while it held the lock left plain data behind.
    fn with<T>(&self, change: impl FnOnce(&mut Waiting) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The draft's file; owned by the store's thread.
#[derive(Debug)]
pub(super) struct DraftFile {
    path: PathBuf,
    inbox: Inbox,
    file: Option<File>,
    length: u64,
    /// Lines that are still to be written.
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

    /// Whether an earlier run has left a draft.
    pub(super) fn was_left(&self) -> bool {
        self.path.exists()
    }

    /// When the next write may happen.
    pub(super) fn next_write(&self, now: Instant) -> Instant {
        self.last_write.map_or(now, |last| last + INTERVAL)
    }

    /// Writes what waits. `leaf` is the current one.
    pub(super) fn write(&mut self, leaf: Option<&str>) {
        let (base, deltas) = self.inbox.take();
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
            // A delta is strings and numbers: it always encodes.
            let _ = jsonl::encode(delta, &mut self.backlog);
        }
        if let Ok(length) = jsonl::append(file, self.length, &self.backlog) {
            self.length = length;
            self.backlog.clear();
        }
        self.last_write = Some(Instant::now());
    }

    /// Removes the draft of the answer `generation`, which is stored or was given up.
    pub(super) fn clear(&mut self, generation: u64) {
        if self.inbox.forget(generation) && self.file.is_some() {
            self.remove();
        }
    }

    /// Lets what waits go on waiting until the next piece comes.
    pub(super) fn postpone(&self) {
        self.inbox.with(|waiting| waiting.announced = false);
    }

    /// Removes a draft that another run left and this one has stored.
    pub(super) fn remove(&mut self) {
        self.file = None;
        self.backlog.clear();
        // It may never have been written.
        let _ = std::fs::remove_file(&self.path);
    }

    fn start(&mut self, base: &Base) {
        self.remove();
        self.length = 0;
        self.file = options().create_new(true).open(&self.path).ok();
        let _ = jsonl::encode(base, &mut self.backlog);
    }
}

/// The answer a crash interrupted: what the draft of the session at `session` holds, unless `tree` has
/// that answer already.
pub(super) fn recover(session: &Path, tree: &SessionTree) -> Option<AssistantMessage> {
    let mut lines = Lines::new(File::open(path_of(session)).ok()?);
    let base: Base = serde_json::from_slice(lines.next().ok()??.bytes).ok()?;
    if is_stored(&base, tree) {
        return None;
    }
    let mut builder = MessageBuilder::resume(base.message);
    while let Ok(Some(line)) = lines.next() {
        // Behind a piece that cannot be read the text would no longer fit together.
        let Ok(delta) = serde_json::from_slice(line.bytes) else {
            break;
        };
        builder.apply(&StreamEvent::Delta(delta));
    }
    let mut message = builder.finish(0);
    message.stop_reason = StopReason::Aborted;
    has_content(&message).then_some(message)
}

/// The process may have died between storing the answer and removing its draft.
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

fn has_content(message: &AssistantMessage) -> bool {
    message.content.iter().any(|block| match block {
        AssistantBlock::Text { text, .. } => !text.is_empty(),
        AssistantBlock::Thinking { thinking, .. } => !thinking.is_empty(),
        AssistantBlock::ToolCall(_) => true,
    })
}
