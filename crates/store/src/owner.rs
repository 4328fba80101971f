//! The thread of a `SessionStore`: the only one that accesses the session's file.
//!
//! It runs outside the async runtime because writing and syncing block. It answers commands in order and writes the
//! draft between them when it is due.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Instant;

use tokio::sync::oneshot;

use super::deletion::{Deleted, Deletion};
use super::draft::DraftFile;
use super::entry_reader::Location;
use super::error::SessionError;
use super::index::EntryIndex;
use super::load::{Findings, Loaded, Scan, read_all, scan};
use super::log_file::LogFile;
use super::summary::WINDOW;
use super::tree::SessionTree;
use osier_base::{clock, ids, jsonl};
use osier_protocol::{Entry, EntryKind, Header};

/// Where to send an answer; the receiver may be gone.
pub(super) type Reply<T> = oneshot::Sender<Result<T, SessionError>>;

#[derive(Debug)]
pub(super) enum Command {
    Append {
        parent: Parent,
        kind: Box<EntryKind>,
        /// The draft that this entry replaces, if it is an answer.
        draft: Option<u64>,
        reply: Reply<Entry>,
    },
    /// Writes entries that wait for a conversation to begin.
    Flush(Reply<()>),
    Sync(Reply<()>),
    /// The draft's inbox is no longer empty.
    DraftWaiting,
    FlushDraft(Reply<()>),
    ClearDraft(u64, Reply<()>),
    /// Answered when the complete file is indexed.
    Findings(Reply<Findings>),
    ReadAll(Reply<Loaded>),
    /// Deletes an entry and all below it; with `preview`, only reports what that would delete.
    Delete {
        id: String,
        preview: bool,
        reply: Reply<Deleted>,
    },
    SetHeader(Box<Header>, Reply<()>),
    Close(Reply<()>),
}

/// The parent of a new entry.
#[derive(Debug)]
pub(super) enum Parent {
    Leaf,
    Entry(Option<String>),
    /// An explicit parent; does not move the leaf, because others write to the session at the same time.
    OffLeaf(Option<String>),
}

/// Where entries are written.
#[derive(Debug)]
pub(super) enum Backend {
    Memory,
    ReadOnly(std::path::PathBuf),
    File(LogFile, DraftFile),
}

#[derive(Debug)]
pub(super) struct Owner {
    header: Header,
    pub(super) backend: Backend,
    /// The stored entries. Only this thread changes the index.
    pub(super) index: EntryIndex,
    findings: Findings,
    /// The file is not indexed yet.
    unread: bool,
    /// Set when the index is no longer needed.
    pub(super) stop: Arc<AtomicBool>,
    /// Entries that wait for the file's creation or for the first write of this run.
    pending: Vec<Entry>,
    /// `pending` contains the draft of an earlier run.
    recovered: bool,
    /// Length of the file at the last write of the name in this run.
    name_at: u64,
    /// This run wrote to the file.
    wrote: bool,
}

impl Owner {
    pub(super) fn new(header: Header, backend: Backend) -> Self {
        Self {
            header,
            backend,
            index: EntryIndex::default(),
            findings: Findings::default(),
            unread: false,
            stop: Arc::default(),
            pending: Vec::new(),
            recovered: false,
            name_at: 0,
            wrote: false,
        }
    }

    /// Starts with entries that stay in memory.
    pub(super) fn with_entries(self, entries: &[Entry]) -> Self {
        self.index.change(|tree| {
            for entry in entries {
                tree.insert(entry.clone());
            }
        });
        self
    }

    /// Starts with entries that are not stored yet.
    pub(super) fn with_pending(self, pending: Vec<Entry>) -> Self {
        let owner = self.with_entries(&pending);
        Self { pending, ..owner }
    }

    /// Starts with stored entries.
    pub(super) fn with_scan(mut self, scan: Scan) -> Self {
        self.adopt(scan);
        self
    }

    /// Lets the thread read the file; all commands wait until it has.
    pub(super) fn with_unread_file(self) -> Self {
        Self {
            unread: true,
            ..self
        }
    }

    fn adopt(&mut self, scan: Scan) {
        if let Backend::File(file, _) = &mut self.backend {
            file.set_end(scan.length, scan.tail);
            self.pending.extend(scan.recovered());
            self.recovered = !self.pending.is_empty();
        }
        self.header = scan.header;
        self.findings = scan.findings;
        self.index.change(|tree| *tree = scan.tree);
    }

    /// Indexes the file. After a failure the session is unusable.
    fn read_file(&mut self) -> Result<(), SessionError> {
        let Backend::File(file, _) = &self.backend else {
            return Ok(());
        };
        let path = file.path().to_owned();
        let Some(file) = file.file() else {
            return Err(SessionError::Closed);
        };
        let scan = scan(file, &path, &self.stop)?;
        self.adopt(scan);
        Ok(())
    }

    /// Processes commands until the last handle is dropped or one closes the store.
    pub(super) fn run(mut self, commands: &Receiver<Command>) {
        if self.unread
            && let Err(error) = self.read_file()
        {
            // The first caller gets the error; later ones get `Closed`.
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
        // Close the file and release its lock before the caller gets the answer.
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
                    .read(|tree| read_all(self.header.clone(), tree, self.findings.clone(), false));
                let _ = reply.send(Ok(loaded));
            }
            Command::Delete { id, preview, reply } => {
                let _ = reply.send(self.delete(&id, preview));
            }
            Command::SetHeader(header, reply) => {
                let _ = reply.send(self.set_header(&header));
            }
            Command::DraftWaiting | Command::Close(_) => {}
        }
    }

    fn set_header(&mut self, header: &Header) -> Result<(), SessionError> {
        self.flush()?;
        let Backend::File(file, _) = &mut self.backend else {
            return Err(SessionError::NotStored);
        };
        let (length, path) = (file.length(), file.path().to_owned());
        let mut line = Vec::new();
        jsonl::encode(header, &mut line)?;
        let reader = self.index.read(|tree| tree.entry_reader().clone());
        let rest = reader.after_header();
        let rest = rest.map_err(|error| SessionError::io("read", &path, error))?;
        file.replace(|mut copy| {
            copy.write_all(&line)?;
            reader.copy(rest..length, copy)
        })?;
        self.read_file()?;
        self.name_at = 0;
        Ok(())
    }

    fn delete(&mut self, id: &str, preview: bool) -> Result<Deleted, SessionError> {
        match &self.backend {
            Backend::Memory => return Err(SessionError::NotStored),
            Backend::ReadOnly(path) => {
                return Err(SessionError::ReadOnly { path: path.clone() });
            }
            Backend::File(..) => self.flush()?,
        }
        let deletion = self.index.read(|tree| Deletion::plan(tree, id))?;
        if let (false, Backend::File(file, _)) = (preview, &mut self.backend) {
            let length = file.length();
            file.replace(|copy| deletion.write(length, copy))?;
            self.read_file()?;
            self.name_at = 0;
        }
        Ok(deletion.deleted)
    }

    fn append(&mut self, parent: Parent, kind: EntryKind) -> Result<Entry, SessionError> {
        let is_off_leaf = matches!(parent, Parent::OffLeaf(_));
        let parent_id = match parent {
            Parent::Leaf => self.index.leaf(),
            Parent::Entry(id) | Parent::OffLeaf(id) => self.checked(id)?,
        };
        if let EntryKind::Leaf {
            target_id: Some(target),
            ..
        } = &kind
        {
            self.checked(Some(target.clone()))?;
        }
        let entry = self.entry(parent_id, kind);
        if is_off_leaf {
            return self.append_off_leaf(entry);
        }
        let location = self.store(&entry)?;
        self.index.change(|tree| {
            let parent = entry.parent_id.as_deref().and_then(|id| tree.number(id));
            tree.add_entry(&entry, parent, location);
            tree.settle();
        });
        Ok(entry)
    }

    /// Stores an entry and, in the same write, that the leaf stays where it is.
    fn append_off_leaf(&mut self, entry: Entry) -> Result<Entry, SessionError> {
        let stays = self.entry(None, self.index.read(SessionTree::stay));
        let in_memory = |entry: &Entry| Location::Memory(Arc::new(entry.clone()));
        let locations = match &self.backend {
            Backend::Memory => None,
            Backend::ReadOnly(path) => {
                return Err(SessionError::ReadOnly { path: path.clone() });
            }
            Backend::File(..) => self.write(&[&entry, &stays])?,
        };
        let mut locations = locations.into_iter().flatten();
        self.index.change(|tree| {
            let parent = entry.parent_id.as_deref().and_then(|id| tree.number(id));
            let location = locations.next().unwrap_or_else(|| in_memory(&entry));
            tree.add_on_branch(&entry, parent, location);
            let location = locations.next().unwrap_or_else(|| in_memory(&stays));
            tree.add_entry(&stays, None, location);
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

    /// Writes `entry` after all pending entries, or queues it. Returns the entry's location.
    fn store(&mut self, entry: &Entry) -> Result<Location, SessionError> {
        let in_memory = || Location::Memory(Arc::new(entry.clone()));
        match &self.backend {
            Backend::Memory => Ok(in_memory()),
            Backend::ReadOnly(path) => Err(SessionError::ReadOnly { path: path.clone() }),
            Backend::File(file, _) if !file.exists() && !entry.kind.begins_file() => {
                self.pending.push(entry.clone());
                Ok(in_memory())
            }
            Backend::File(..) => {
                let locations = self.write(&[entry])?.unwrap_or_default();
                Ok(locations.into_iter().next().unwrap_or_else(in_memory))
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

    /// Writes pending entries, then `entries`. Returns the locations of `entries` if they can be read back.
    fn write(&mut self, entries: &[&Entry]) -> Result<Option<Vec<Location>>, SessionError> {
        let Backend::File(file, draft) = &mut self.backend else {
            return Ok(None);
        };
        let mut records = Vec::new();
        if !file.exists() {
            jsonl::encode(&self.header, &mut records)?;
        }
        let mut locations = Vec::with_capacity(self.pending.len() + entries.len());
        for entry in self.pending.iter().chain(entries.iter().copied()) {
            let start = records.len();
            jsonl::encode(entry, &mut records)?;
            locations.push((start as u64, (records.len() - start - 1) as u32));
        }
        let begin = file.write(records)?;
        self.wrote = true;
        let names = |entry: &&Entry| matches!(entry.kind, EntryKind::SessionInfo { .. });
        if entries.iter().any(names) {
            self.name_at = file.length();
        }
        let path = file.path().to_owned();
        let readable = self.index.change(|tree| {
            let readable = tree.entry_reader().open(&path);
            if readable {
                for (entry, (start, length)) in self.pending.iter().zip(&locations) {
                    tree.stored(&entry.id, begin + start, *length);
                }
            }
            readable
        });
        let written = locations.split_off(self.pending.len());
        self.pending.clear();
        if std::mem::take(&mut self.recovered) {
            draft.remove();
        }
        let location = |(start, length): (u64, u32)| Location::Stored {
            offset: begin + start,
            length,
        };
        Ok(readable.then(|| written.into_iter().map(location).collect()))
    }

    /// Session lists read only the ends of a file, so a name far from the end is written again without moving the
    /// leaf. A failure only costs the name in lists.
    fn repeat_name(&mut self) {
        let Backend::File(file, _) = &self.backend else {
            return;
        };
        let far = file.length().saturating_sub(self.name_at) > (WINDOW / 2) as u64;
        let set_name = self
            .index
            .read(|tree| tree.is_named().then(|| tree.name().map(str::to_owned)));
        if let Some(name) = set_name
            && self.wrote
            && far
        {
            let stays = self.index.read(SessionTree::stay);
            let _ = self
                .append(Parent::Leaf, EntryKind::SessionInfo { name })
                .and_then(|_| self.append(Parent::Leaf, stays));
        }
    }

    fn checked(&self, id: Option<String>) -> Result<Option<String>, SessionError> {
        match id {
            Some(id) if !self.index.read(|tree| tree.number(&id).is_some()) => {
                Err(SessionError::UnknownEntry { id })
            }
            id => Ok(id),
        }
    }

    fn new_id(&self) -> String {
        self.index.read(|tree| {
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

    /// A draft is only useful next to an existing session, and must not replace one that is not stored yet.
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

/// Answers the first command with `error`.
fn tell_first(commands: &Receiver<Command>, error: SessionError) {
    while let Ok(command) = commands.recv() {
        match command {
            Command::Append { reply, .. } => drop(reply.send(Err(error))),
            Command::Findings(reply) => drop(reply.send(Err(error))),
            Command::ReadAll(reply) => drop(reply.send(Err(error))),
            Command::Delete { reply, .. } => drop(reply.send(Err(error))),
            Command::Flush(reply)
            | Command::Sync(reply)
            | Command::FlushDraft(reply)
            | Command::ClearDraft(_, reply)
            | Command::SetHeader(_, reply) => drop(reply.send(Err(error))),
            // Closing an unreadable session succeeds.
            Command::Close(reply) => drop(reply.send(Ok(()))),
            Command::DraftWaiting => continue,
        }
        return;
    }
}
