//! The handle on an open session's file.
//!
//! Handles are cheap to clone. One thread (`owner`) has the file and ends when the last handle is dropped. An append
//! completes when the system accepted its bytes; only then may the entry enter memory. `sync` makes entries survive a
//! power failure: callers use it after each user message and each finished turn.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};

use tokio::sync::oneshot;

use super::branch_end::{self, Ending};
use super::deletion::Deleted;
use super::draft::{DraftFile, Inbox};
use super::error::SessionError;
use super::index::EntryIndex;
use super::load::{Findings, Loaded, scan, scan_unlocked};
use super::log_file::LogFile;
use super::owner::{Backend, Command, Owner, Parent, Reply};
use osier_agent::AgentMessage;
use osier_llm::{AssistantMessage, Delta};
use osier_protocol::{Entry, EntryKind, Header, Jump};

/// Files up to this size are indexed when opened, which takes a few milliseconds.
const READ_AT_ONCE: u64 = 4 << 20;

/// An open session.
#[derive(Debug, Clone)]
pub struct SessionStore {
    commands: Sender<Command>,
    inbox: Inbox,
    facts: Arc<Facts>,
}

/// The constant data of an open session.
#[derive(Debug)]
struct Facts {
    header: Header,
    path: Option<PathBuf>,
    read_only: bool,
    index: EntryIndex,
    /// Tells the thread that the index is no longer needed.
    stop: Arc<AtomicBool>,
}

impl SessionStore {
    /// Creates a session at `path`. Nothing is written before a conversation begins or `flush` is called.
    pub fn create(path: PathBuf, header: Header) -> Result<Self, SessionError> {
        Self::create_with(path, header, Vec::new())
    }

    /// Creates a session that starts with `entries`, written with the first write.
    pub(super) fn create_with(
        path: PathBuf,
        header: Header,
        entries: Vec<Entry>,
    ) -> Result<Self, SessionError> {
        let inbox = Inbox::default();
        let draft = DraftFile::new(&path, inbox.clone());
        let backend = Backend::File(LogFile::planned(path), draft);
        let owner = Owner::new(header.clone(), backend).with_pending(entries);
        Self::start(header, owner, inbox)
    }

    /// Creates a session that is never written (`--no-session`) and starts with `entries`: none, or those of a fork.
    pub fn in_memory(header: Header, entries: &[Entry]) -> Result<Self, SessionError> {
        let owner = Owner::new(header.clone(), Backend::Memory).with_entries(entries);
        Self::start(header, owner, Inbox::default())
    }

    /// Opens the session at `path` to continue it. Blocks while it reads a short file completely, or the end of a
    /// long one. The store's thread indexes the rest; `findings` and all other calls wait for it. An interrupted
    /// answer is among the entries; the next write stores it.
    pub fn open(path: &Path) -> Result<(Self, Ending), SessionError> {
        Self::open_within(path, READ_AT_ONCE)
    }

    /// Opens a session that was copied just now: the first prompt does not wait until all of it is
    /// on the disk.
    pub fn open_copy(path: &Path) -> Result<(Self, Ending), SessionError> {
        Self::open_log(LogFile::open(path)?.of_copy(), path, READ_AT_ONCE)
    }

    /// Opens a session; only files of up to `limit` bytes are indexed at once.
    pub(super) fn open_within(path: &Path, limit: u64) -> Result<(Self, Ending), SessionError> {
        Self::open_log(LogFile::open(path)?, path, limit)
    }

    fn open_log(log: LogFile, path: &Path, limit: u64) -> Result<(Self, Ending), SessionError> {
        let file = log.file().ok_or(SessionError::Closed)?;
        let inbox = Inbox::default();
        let draft = DraftFile::new(path, inbox.clone());
        let ending = if draft.was_left() {
            None
        } else {
            branch_end::read(file, limit)
        };
        if let Some(ending) = ending {
            let header = ending.header.clone();
            let owner = Owner::new(header.clone(), Backend::File(log, draft)).with_unread_file();
            return Ok((Self::start(header, owner, inbox)?, ending));
        }
        let mut scan = scan(file, path, &AtomicBool::new(false))?;
        scan.recover_draft(path);
        let ending = Ending::of(&scan);
        let header = scan.header.clone();
        let owner = Owner::new(header.clone(), Backend::File(log, draft)).with_scan(scan);
        Ok((Self::start(header, owner, inbox)?, ending))
    }

    /// Opens the session at `path` read-only, even if it is open elsewhere. Appending fails.
    pub fn open_read_only(path: &Path) -> Result<(Self, Ending), SessionError> {
        let scan = scan_unlocked(path)?;
        let ending = Ending::of(&scan);
        let header = scan.header.clone();
        let backend = Backend::ReadOnly(path.to_owned());
        let owner = Owner::new(header.clone(), backend).with_scan(scan);
        Ok((Self::start(header, owner, Inbox::default())?, ending))
    }

    fn start(header: Header, owner: Owner, inbox: Inbox) -> Result<Self, SessionError> {
        let facts = Facts {
            path: owner.backend.path().map(Path::to_owned),
            read_only: matches!(owner.backend, Backend::ReadOnly(_)),
            index: owner.index.clone(),
            stop: Arc::clone(&owner.stop),
            header,
        };
        let (commands, received) = mpsc::channel();
        std::thread::Builder::new()
            .name("session".into())
            .spawn(move || owner.run(&received))
            .map_err(|error| {
                let path = facts.path.as_deref().unwrap_or(Path::new("session"));
                SessionError::io("start the writer of", path, error)
            })?;
        Ok(Self {
            commands,
            inbox,
            facts: Arc::new(facts),
        })
    }

    /// UUIDv7 of the session.
    pub fn id(&self) -> &str {
        &self.facts.header.id
    }

    pub fn header(&self) -> &Header {
        &self.facts.header
    }

    /// The path of the session; `None` for one in memory.
    pub fn path(&self) -> Option<&Path> {
        self.facts.path.as_deref()
    }

    pub fn is_read_only(&self) -> bool {
        self.facts.read_only
    }

    /// The entries of the session. Complete after `findings` returned.
    pub fn index(&self) -> &EntryIndex {
        &self.facts.index
    }

    /// Waits until the complete file is indexed and returns what that found.
    pub async fn findings(&self) -> Result<Findings, SessionError> {
        self.ask(Command::Findings).await
    }

    /// Reads every entry. Skips and counts damaged ones.
    pub async fn read_all(&self) -> Result<Loaded, SessionError> {
        self.ask(Command::ReadAll).await
    }

    /// Appends an entry under the current leaf; it becomes the leaf. Storing an answer removes its draft.
    ///
    /// Await the result: a dropped append may still be written.
    pub async fn append(&self, kind: EntryKind) -> Result<Entry, SessionError> {
        self.append_under(Parent::Leaf, kind).await
    }

    /// Appends an entry under `parent` (`None`: as a root). It becomes the leaf.
    pub async fn append_to(
        &self,
        parent: Option<&str>,
        kind: EntryKind,
    ) -> Result<Entry, SessionError> {
        let parent = Parent::Entry(parent.map(str::to_owned));
        self.append_under(parent, kind).await
    }

    /// Appends an entry under `parent` without moving the leaf, for writers on other branches.
    pub async fn append_on_branch(
        &self,
        parent: Option<&str>,
        kind: EntryKind,
    ) -> Result<Entry, SessionError> {
        let parent = Parent::OffLeaf(parent.map(str::to_owned));
        self.append_under(parent, kind).await
    }

    /// Moves the current leaf (`None`: before every root) and stores the move. `before` is the prompt before which the
    /// conversation continues.
    pub async fn set_leaf(
        &self,
        target: Option<&str>,
        before: Option<&str>,
    ) -> Result<Entry, SessionError> {
        self.jump_to(target, before, Jump::Usual).await
    }

    /// Moves the leaf, as a step in the history of positions.
    ///
    /// # Errors
    /// As `append`.
    pub async fn jump_to(
        &self,
        target: Option<&str>,
        before: Option<&str>,
        jump: Jump,
    ) -> Result<Entry, SessionError> {
        let target_id = target.map(str::to_owned);
        let before_id = before.map(str::to_owned);
        let kind = EntryKind::Leaf {
            target_id,
            before_id,
            jump,
        };
        self.append(kind).await
    }

    async fn append_under(&self, parent: Parent, kind: EntryKind) -> Result<Entry, SessionError> {
        let draft = match &kind {
            EntryKind::Message {
                message: AgentMessage::Assistant(_),
            } => Some(self.inbox.generation()),
            _ => None,
        };
        self.ask(|reply| Command::Append {
            parent,
            kind: Box::new(kind),
            draft,
            reply,
        })
        .await
    }

    /// Deletes the entry `id` and all entries below it permanently, unless they are on the current branch. With `preview`,
    /// only returns what that would delete.
    ///
    /// # Errors
    /// The entry is unknown or current, or the file cannot be written; then it is unchanged.
    pub async fn delete_branch(&self, id: &str, preview: bool) -> Result<Deleted, SessionError> {
        let id = id.to_owned();
        self.ask(|reply| Command::Delete { id, preview, reply })
            .await
    }

    /// Writes the file again with this header.
    ///
    /// # Errors
    /// The file cannot be written; then it is unchanged.
    pub(super) async fn set_header(&self, header: Header) -> Result<(), SessionError> {
        self.ask(|reply| Command::SetHeader(Box::new(header), reply))
            .await
    }

    /// Writes the file now, even without a conversation.
    pub async fn flush(&self) -> Result<(), SessionError> {
        self.ask(Command::Flush).await
    }

    /// Syncs all written data to disk (fdatasync).
    pub async fn sync(&self) -> Result<(), SessionError> {
        self.ask(Command::Sync).await
    }

    /// Starts the draft of an answer; it replaces the previous one. `partial` is the answer so far, usually empty.
    pub(crate) fn begin_draft(&self, partial: AssistantMessage) {
        if self.keeps_drafts() && self.inbox.begin(partial) {
            self.tell(Command::DraftWaiting);
        }
    }

    /// Adds a delta to the draft. Never blocks; deltas are written together, a few times a second.
    pub fn draft(&self, delta: &Delta) {
        if self.keeps_drafts() && self.inbox.push(delta) {
            self.tell(Command::DraftWaiting);
        }
    }

    /// Writes the rest of the draft.
    pub async fn flush_draft(&self) -> Result<(), SessionError> {
        self.ask(Command::FlushDraft).await
    }

    /// Drops the draft: its answer will not be stored.
    pub(crate) async fn clear_draft(&self) -> Result<(), SessionError> {
        let generation = self.inbox.generation();
        self.ask(|reply| Command::ClearDraft(generation, reply))
            .await
    }

    /// Closes the file and releases its lock. Later calls on any handle fail with `Closed`.
    pub async fn close(&self) -> Result<(), SessionError> {
        self.facts.stop.store(true, Ordering::Relaxed);
        self.ask(Command::Close).await
    }

    fn keeps_drafts(&self) -> bool {
        self.facts.path.is_some() && !self.facts.read_only
    }

    /// Sends a command without an answer; a closed store ignores it.
    fn tell(&self, command: Command) {
        let _ = self.commands.send(command);
    }

    async fn ask<T>(&self, command: impl FnOnce(Reply<T>) -> Command) -> Result<T, SessionError> {
        let (reply, answer) = oneshot::channel();
        self.tell(command(reply));
        answer.await.unwrap_or(Err(SessionError::Closed))
    }
}
