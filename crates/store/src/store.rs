//! The handle on an open session's file.
//!
//! Cheap to clone; the file itself belongs to one thread (`owner`), which ends when the last handle is
//! dropped. An append resolves when its bytes were accepted by the system, and only then is there an
//! entry to put into memory. `sync` is what makes them survive a power cut: the owner of a session
//! calls it after each user message and each finished turn.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};

use tokio::sync::oneshot;

use super::draft::{DraftFile, Inbox};
use super::ending::{self, Ending};
use super::entry::{Entry, EntryKind, Header};
use super::error::SessionError;
use super::index::SessionIndex;
use super::load::{Findings, Loaded, scan};
use super::lock;
use super::log_file::LogFile;
use super::owner::{Backend, Command, Owner, Parent, Reply};
use osier_agent::AgentMessage;
use osier_llm::{AssistantMessage, Delta};

/// A file of up to this many bytes is indexed before it is shown: that takes a few milliseconds.
const READ_AT_ONCE: u64 = 4 << 20;

/// A session that is open.
#[derive(Debug, Clone)]
pub struct SessionStore {
    commands: Sender<Command>,
    inbox: Inbox,
    facts: Arc<Facts>,
}

/// What never changes while a session is open.
#[derive(Debug)]
struct Facts {
    header: Header,
    path: Option<PathBuf>,
    read_only: bool,
    index: SessionIndex,
    /// Tells the thread that the index is needed no longer.
    stop: Arc<AtomicBool>,
}

impl SessionStore {
    /// A new session at `path`. Nothing is written before a conversation begins or `flush` is called.
    pub fn create(path: PathBuf, header: Header) -> Result<Self, SessionError> {
        Self::create_with(path, header, Vec::new())
    }

    /// A new session that starts with `entries`, written with the first write.
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

    /// A session that is never written (`--no-session`) and starts with `entries`: none, or those of
    /// a fork.
    pub fn in_memory(header: Header, entries: &[Entry]) -> Result<Self, SessionError> {
        let owner = Owner::new(header.clone(), Backend::Memory).with_kept(entries);
        Self::start(header, owner, Inbox::default())
    }

    /// Opens the session at `path` for going on with it. Blocks while it reads: of a short file all, of
    /// a long one the end, and the rest is indexed by the store's thread; `findings` waits for that, and
    /// so does whatever else is asked of the store. An answer that a crash interrupted is among the
    /// entries; it is stored with the next write.
    pub fn open(path: &Path) -> Result<(Self, Ending), SessionError> {
        Self::open_within(path, READ_AT_ONCE)
    }

    /// The same with a limit of its own for what is read at once.
    pub(super) fn open_within(path: &Path, limit: u64) -> Result<(Self, Ending), SessionError> {
        let log = LogFile::open(path)?;
        let file = log.file().ok_or(SessionError::Closed)?;
        let inbox = Inbox::default();
        let draft = DraftFile::new(path, inbox.clone());
        let ending = if draft.was_left() {
            None
        } else {
            ending::read(file, limit)
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

    /// Opens the session at `path` for looking at, whoever has it open. Appending fails.
    pub fn open_read_only(path: &Path) -> Result<(Self, Ending), SessionError> {
        let file = File::open(path).map_err(|error| SessionError::io("open", path, error))?;
        let with_draft = !lock::is_held(&file);
        let mut scan = scan(&file, path, &AtomicBool::new(false))?;
        if with_draft {
            scan.recover_draft(path);
        }
        let ending = Ending::of(&scan);
        let header = scan.header.clone();
        let backend = Backend::ReadOnly(path.to_owned());
        let owner = Owner::new(header.clone(), backend).with_scan(scan);
        Ok((Self::start(header, owner, Inbox::default())?, ending))
    }

    fn start(header: Header, owner: Owner, inbox: Inbox) -> Result<Self, SessionError> {
        let facts = Facts {
            path: owner.backend().path().map(Path::to_owned),
            read_only: matches!(owner.backend(), Backend::ReadOnly(_)),
            index: owner.index().clone(),
            stop: Arc::clone(owner.stop()),
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

    /// Where the session is or will be written; `None` for one in memory.
    pub fn path(&self) -> Option<&Path> {
        self.facts.path.as_deref()
    }

    pub fn is_read_only(&self) -> bool {
        self.facts.read_only
    }

    /// What the session holds. Complete once `findings` has answered.
    pub fn index(&self) -> &SessionIndex {
        &self.facts.index
    }

    /// Waits until the whole file is indexed, and tells what that showed.
    pub async fn findings(&self) -> Result<Findings, SessionError> {
        self.ask(Command::Findings).await
    }

    /// Reads every entry. What turns out damaged is left out and counted.
    pub async fn read_all(&self) -> Result<Loaded, SessionError> {
        self.ask(Command::ReadAll).await
    }

    /// Stores an entry under the current leaf, which it becomes. The answer whose draft is being kept
    /// takes its draft away once it is stored.
    ///
    /// Await it to its end: an append that was dropped may still have been written.
    pub async fn append(&self, kind: EntryKind) -> Result<Entry, SessionError> {
        self.append_under(Parent::Leaf, kind).await
    }

    /// Stores an entry under `parent` (`None`: as a root). It becomes the leaf.
    pub async fn append_to(
        &self,
        parent: Option<&str>,
        kind: EntryKind,
    ) -> Result<Entry, SessionError> {
        let parent = Parent::Entry(parent.map(str::to_owned));
        self.append_under(parent, kind).await
    }

    /// Stores an entry under `parent`; the leaf stays where it is. For a writer beside the one that goes
    /// on at the leaf: it names what its entries hang on itself.
    pub async fn append_beside(
        &self,
        parent: Option<&str>,
        kind: EntryKind,
    ) -> Result<Entry, SessionError> {
        let parent = Parent::Beside(parent.map(str::to_owned));
        self.append_under(parent, kind).await
    }

    /// Moves the current leaf (`None`: before every root) and stores that it was moved.
    pub async fn set_leaf(&self, target: Option<&str>) -> Result<Entry, SessionError> {
        let target_id = target.map(str::to_owned);
        self.append(EntryKind::Leaf { target_id }).await
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

    /// Writes the file now, conversation or not.
    pub async fn flush(&self) -> Result<(), SessionError> {
        self.ask(Command::Flush).await
    }

    /// Forces everything written so far onto the disk (fdatasync).
    pub async fn sync(&self) -> Result<(), SessionError> {
        self.ask(Command::Sync).await
    }

    /// Starts the draft of an answer, in place of the one before. `partial` is the answer as far as it
    /// has come, usually empty.
    pub fn begin_draft(&self, partial: AssistantMessage) {
        if self.keeps_drafts() && self.inbox.begin(partial) {
            self.tell(Command::DraftWaiting);
        }
    }

    /// Adds a piece to the draft. Never blocks; pieces are written together, a few times a second.
    pub fn draft(&self, delta: &Delta) {
        if self.keeps_drafts() && self.inbox.push(delta) {
            self.tell(Command::DraftWaiting);
        }
    }

    /// Writes what the draft still holds back.
    pub async fn flush_draft(&self) -> Result<(), SessionError> {
        self.ask(Command::FlushDraft).await
    }

    /// Gives the draft up: its answer will not be stored.
    pub async fn clear_draft(&self) -> Result<(), SessionError> {
        let generation = self.inbox.generation();
        self.ask(|reply| Command::ClearDraft(generation, reply))
            .await
    }

    /// Closes the file and gives its lock up. Every later call on any handle fails with `Closed`.
    pub async fn close(&self) -> Result<(), SessionError> {
        self.facts.stop.store(true, Ordering::Relaxed);
        self.ask(Command::Close).await
    }

    fn keeps_drafts(&self) -> bool {
        self.facts.path.is_some() && !self.facts.read_only
    }

    /// Sends what needs no answer; a closed store has nobody to tell.
    fn tell(&self, command: Command) {
        let _ = self.commands.send(command);
    }

    async fn ask<T>(&self, command: impl FnOnce(Reply<T>) -> Command) -> Result<T, SessionError> {
        let (reply, answer) = oneshot::channel();
        self.tell(command(reply));
        answer.await.unwrap_or(Err(SessionError::Closed))
    }
}
