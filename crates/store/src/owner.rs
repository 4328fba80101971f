//! The thread behind a `SessionStore`: the only one that touches the session's file.
//!
//! It runs outside the async runtime because writing and syncing block. Commands are answered in the
//! order they were sent; the draft is written between them when its time has come.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Instant;

use tokio::sync::oneshot;

use super::bodies::Place;
use super::draft::DraftFile;
use super::entry::{Entry, EntryKind, Header};
use super::error::SessionError;
use super::index::SessionIndex;
use super::load::{Findings, Loaded, Scan, read_all, scan};
use super::log_file::LogFile;
use super::summary::WINDOW;
use osier_base::{clock, ids, jsonl};

/// Where an answer goes; nobody may be waiting for it any more.
pub(super) type Reply<T> = oneshot::Sender<Result<T, SessionError>>;

#[derive(Debug)]
pub(super) enum Command {
    Append {
        parent: Parent,
        kind: Box<EntryKind>,
        /// The draft this entry makes superfluous, if it is an answer.
        draft: Option<u64>,
        reply: Reply<Entry>,
    },
    /// Writes what is held back until a conversation begins.
    Flush(Reply<()>),
    Sync(Reply<()>),
    /// The draft's inbox is no longer empty.
    DraftWaiting,
    FlushDraft(Reply<()>),
    ClearDraft(u64, Reply<()>),
    /// Answered when the whole file is indexed.
    Findings(Reply<Findings>),
    ReadAll(Reply<Loaded>),
    Close(Reply<()>),
}

/// What a new entry hangs on.
#[derive(Debug)]
pub(super) enum Parent {
    Leaf,
    Entry(Option<String>),
    /// The same without moving the leaf: others write to the session at the same time.
    Beside(Option<String>),
}

/// What the entries are written to.
#[derive(Debug)]
pub(super) enum Backend {
    Memory,
    ReadOnly(std::path::PathBuf),
    File(LogFile, DraftFile),
}

#[derive(Debug)]
pub(super) struct Owner {
    header: Header,
    backend: Backend,
    /// What is stored. Others read it; only this thread changes it.
    index: SessionIndex,
    findings: Findings,
    /// The file is still to be indexed.
    unread: bool,
    /// Set when nobody waits for the index any more.
    stop: Arc<AtomicBool>,
    /// Entries that wait for the file to begin, or for its first write of this run.
    pending: Vec<Entry>,
    /// `pending` holds the draft of an earlier run.
    recovered: bool,
    /// Length of the file when the name was last said in this run.
    name_at: u64,
    /// Something was written in this run.
    wrote: bool,
}

impl Owner {
    pub(super) fn new(header: Header, backend: Backend) -> Self {
        Self {
            header,
            backend,
            index: SessionIndex::default(),
            findings: Findings::default(),
            unread: false,
            stop: Arc::default(),
            pending: Vec::new(),
            recovered: false,
            name_at: 0,
            wrote: false,
        }
    }

    pub(super) fn backend(&self) -> &Backend {
        &self.backend
    }

    pub(super) fn index(&self) -> &SessionIndex {
        &self.index
    }

    pub(super) fn stop(&self) -> &Arc<AtomicBool> {
        &self.stop
    }

    /// Takes over entries that stay in memory.
    pub(super) fn with_kept(self, entries: &[Entry]) -> Self {
        self.index.change(|tree| {
            for entry in entries {
                tree.insert(entry.clone());
            }
        });
        self
    }

    /// Takes over entries that are still to be stored.
    pub(super) fn with_pending(self, pending: Vec<Entry>) -> Self {
        let owner = self.with_kept(&pending);
        Self { pending, ..owner }
    }

    /// Takes over what is stored already.
    pub(super) fn with_scan(mut self, scan: Scan) -> Self {
        self.take(scan);
        self
    }

    /// Leaves reading the file to the thread: until it has, everything that is asked waits.
    pub(super) fn with_unread_file(self) -> Self {
        Self {
            unread: true,
            ..self
        }
    }

    fn take(&mut self, scan: Scan) {
        if let Backend::File(file, _) = &mut self.backend {
            file.set_end(scan.length, scan.tail);
            self.pending.extend(scan.recovered());
            self.recovered = !self.pending.is_empty();
        }
        self.header = scan.header;
        self.findings = scan.findings;
        self.index.change(|tree| *tree = scan.tree);
    }

    /// Indexes the file. When that fails nothing can be done with the session any more.
    fn read_file(&mut self) -> Result<(), SessionError> {
        let Backend::File(file, _) = &self.backend else {
            return Ok(());
        };
        let path = file.path().to_owned();
        let Some(file) = file.file() else {
            return Err(SessionError::Closed);
        };
        let scan = scan(file, &path, &self.stop)?;
        self.take(scan);
        Ok(())
    }

    /// Serves commands until the last handle is gone or one closes the store.
    pub(super) fn run(mut self, commands: &Receiver<Command>) {
        if self.unread
            && let Err(error) = self.read_file()
        {
            // The first to ask learns why; to all others the session is closed.
            tell_first(commands, error);
            return;
        }
        let mut draft_due: Option<Instant> = None;
        let closed = loop {
            let command = match draft_due {
                None => commands.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(due) => commands.recv_timeout(due.saturating_duration_since(Instant::now())),
            };
            match command {
                Ok(Command::DraftWaiting) => draft_due = self.draft_due(),
                Ok(Command::Close(reply)) => break Some(reply),
                Ok(command) => self.serve(command),
                Err(RecvTimeoutError::Timeout) => {
                    draft_due = None;
                    self.write_draft();
                }
                Err(RecvTimeoutError::Disconnected) => break None,
            }
        };
        self.write_draft();
        self.repeat_name();
        // The file and its lock are gone before the caller hears of it.
        drop(self);
        if let Some(reply) = closed {
            let _ = reply.send(Ok(()));
        }
    }

    fn serve(&mut self, command: Command) {
        match command {
            Command::Append {
                parent,
                kind,
                draft,
                reply,
            } => {
                let result = self.append(parent, *kind);
                if let (Ok(_), Some(generation)) = (&result, draft) {
                    self.clear_draft(generation);
                }
                let _ = reply.send(result);
            }
            Command::Flush(reply) => {
                let _ = reply.send(self.flush());
            }
            Command::Sync(reply) => {
                let _ = reply.send(match &mut self.backend {
                    Backend::File(file, _) => file.sync(),
                    Backend::Memory | Backend::ReadOnly(_) => Ok(()),
                });
            }
            Command::FlushDraft(reply) => {
                self.write_draft();
                let _ = reply.send(Ok(()));
            }
            Command::ClearDraft(generation, reply) => {
                self.clear_draft(generation);
                let _ = reply.send(Ok(()));
            }
            Command::Findings(reply) => {
                let _ = reply.send(Ok(self.findings.clone()));
            }
            Command::ReadAll(reply) => {
                let loaded = self
                    .index
                    .look(|tree| read_all(self.header.clone(), tree, self.findings.clone(), false));
                let _ = reply.send(Ok(loaded));
            }
            Command::DraftWaiting | Command::Close(_) => {}
        }
    }

    fn append(&mut self, parent: Parent, kind: EntryKind) -> Result<Entry, SessionError> {
        let is_aside = matches!(parent, Parent::Beside(_));
        let parent_id = match parent {
            Parent::Leaf => self.index.leaf(),
            Parent::Entry(id) | Parent::Beside(id) => self.checked(id)?,
        };
        if let EntryKind::Leaf {
            target_id: Some(target),
        } = &kind
        {
            self.checked(Some(target.clone()))?;
        }
        let entry = self.entry(parent_id, kind);
        if is_aside {
            return self.append_aside(entry);
        }
        let place = self.store(&entry)?;
        self.index.change(|tree| {
            let parent = entry.parent_id.as_deref().and_then(|id| tree.number(id));
            tree.add_entry(&entry, parent, place);
            tree.settle();
        });
        Ok(entry)
    }

    /// Stores an entry and, in the same write, that the leaf stays where it is.
    fn append_aside(&mut self, entry: Entry) -> Result<Entry, SessionError> {
        let target_id = self.index.leaf();
        let stays = self.entry(None, EntryKind::Leaf { target_id });
        let kept = |entry: &Entry| Place::Kept(Arc::new(entry.clone()));
        let places = match &self.backend {
            Backend::Memory => None,
            Backend::ReadOnly(path) => {
                return Err(SessionError::ReadOnly { path: path.clone() });
            }
            Backend::File(..) => self.write(&[&entry, &stays])?,
        };
        let mut places = places.into_iter().flatten();
        self.index.change(|tree| {
            let parent = entry.parent_id.as_deref().and_then(|id| tree.number(id));
            let place = places.next().unwrap_or_else(|| kept(&entry));
            tree.add_aside(&entry, parent, place);
            let place = places.next().unwrap_or_else(|| kept(&stays));
            tree.add_entry(&stays, None, place);
        });
        Ok(entry)
    }

    fn entry(&self, parent_id: Option<String>, kind: EntryKind) -> Entry {
        Entry {
            id: self.new_id(),
            parent_id,
            timestamp: clock::rfc3339(clock::now_ms()),
            kind,
        }
    }

    /// Writes `entry` and whatever waits before it, or lets it wait as well. Returns where it is.
    fn store(&mut self, entry: &Entry) -> Result<Place, SessionError> {
        let kept = || Place::Kept(Arc::new(entry.clone()));
        match &self.backend {
            Backend::Memory => Ok(kept()),
            Backend::ReadOnly(path) => Err(SessionError::ReadOnly { path: path.clone() }),
            Backend::File(file, _) if !file.exists() && !entry.kind.begins_file() => {
                self.pending.push(entry.clone());
                Ok(kept())
            }
            Backend::File(..) => {
                let places = self.write(&[entry])?.unwrap_or_default();
                Ok(places.into_iter().next().unwrap_or_else(kept))
            }
        }
    }

    fn flush(&mut self) -> Result<(), SessionError> {
        match &self.backend {
            Backend::Memory | Backend::ReadOnly(_) => Ok(()),
            Backend::File(file, _) if file.exists() && self.pending.is_empty() => Ok(()),
            Backend::File(..) => self.write(&[]).map(drop),
        }
    }

    /// Writes what waits, then `entries`. Returns where these stand, if they can be read back from there.
    fn write(&mut self, entries: &[&Entry]) -> Result<Option<Vec<Place>>, SessionError> {
        let Backend::File(file, draft) = &mut self.backend else {
            return Ok(None);
        };
        let mut records = Vec::new();
        if !file.exists() {
            jsonl::encode(&self.header, &mut records)?;
        }
        let mut places = Vec::with_capacity(self.pending.len() + entries.len());
        for entry in self.pending.iter().chain(entries.iter().copied()) {
            let start = records.len();
            jsonl::encode(entry, &mut records)?;
            places.push((start as u64, (records.len() - start - 1) as u32));
        }
        let begin = file.write(records)?;
        self.wrote = true;
        let names = |entry: &&Entry| matches!(entry.kind, EntryKind::SessionInfo { .. });
        if entries.iter().any(names) {
            self.name_at = file.length();
        }
        let path = file.path().to_owned();
        let readable = self.index.change(|tree| {
            let readable = tree.bodies().open(&path);
            if readable {
                for (entry, (start, length)) in self.pending.iter().zip(&places) {
                    tree.stored(&entry.id, begin + start, *length);
                }
            }
            readable
        });
        let written = places.split_off(self.pending.len());
        self.pending.clear();
        if std::mem::take(&mut self.recovered) {
            draft.remove();
        }
        let place = |(start, length): (u64, u32)| Place::Stored {
            offset: begin + start,
            length,
        };
        Ok(readable.then(|| written.into_iter().map(place).collect()))
    }

    /// Lists read the ends of a file only: a name that was said far from its end is said again, and
    /// the leaf stays where it is. A list without the name is no reason to fail.
    fn repeat_name(&mut self) {
        let Backend::File(file, _) = &self.backend else {
            return;
        };
        let far = file.length().saturating_sub(self.name_at) > (WINDOW / 2) as u64;
        let said = self
            .index
            .look(|tree| tree.is_named().then(|| tree.name().map(str::to_owned)));
        if let Some(name) = said
            && self.wrote
            && far
        {
            let target_id = self.index.leaf();
            let _ = self
                .append(Parent::Leaf, EntryKind::SessionInfo { name })
                .and_then(|_| self.append(Parent::Leaf, EntryKind::Leaf { target_id }));
        }
    }

    fn checked(&self, id: Option<String>) -> Result<Option<String>, SessionError> {
        match id {
            Some(id) if !self.index.look(|tree| tree.number(&id).is_some()) => {
                Err(SessionError::UnknownEntry { id })
            }
            id => Ok(id),
        }
    }

    fn new_id(&self) -> String {
        self.index.look(|tree| {
            loop {
                let id = ids::entry_id();
                if tree.is_free(&id) {
                    return id;
                }
            }
        })
    }

    fn draft_due(&self) -> Option<Instant> {
        match &self.backend {
            Backend::File(_, draft) => Some(draft.next_write(Instant::now())),
            Backend::Memory | Backend::ReadOnly(_) => None,
        }
    }

    /// A draft is worth writing only beside a session that exists, and must not take the place of one
    /// that is not stored yet.
    fn write_draft(&mut self) {
        if let Backend::File(file, draft) = &mut self.backend {
            if file.exists() && !self.recovered {
                draft.write(self.index.leaf().as_deref());
            } else {
                draft.postpone();
            }
        }
    }

    fn clear_draft(&mut self, generation: u64) {
        if let Backend::File(_, draft) = &mut self.backend {
            draft.clear(generation);
        }
    }
}

impl Backend {
    pub(super) fn path(&self) -> Option<&Path> {
        match self {
            Self::Memory => None,
            Self::ReadOnly(path) => Some(path),
            Self::File(file, _) => Some(file.path()),
        }
    }
}

/// Answers what is asked first with `error`.
fn tell_first(commands: &Receiver<Command>, error: SessionError) {
    while let Ok(command) = commands.recv() {
        match command {
            Command::Append { reply, .. } => drop(reply.send(Err(error))),
            Command::Findings(reply) => drop(reply.send(Err(error))),
            Command::ReadAll(reply) => drop(reply.send(Err(error))),
            Command::Flush(reply)
            | Command::Sync(reply)
            | Command::FlushDraft(reply)
            | Command::ClearDraft(_, reply) => drop(reply.send(Err(error))),
            // Closing what cannot be read succeeds.
            Command::Close(reply) => drop(reply.send(Ok(()))),
            Command::DraftWaiting => continue,
        }
        return;
    }
}
