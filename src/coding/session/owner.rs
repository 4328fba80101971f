//! The thread behind a `SessionStore`: the only one that touches the session's file.
//!
//! It runs outside the async runtime because writing and syncing block. Commands are answered in the
//! order they were sent; the draft is written between them when its time has come.

use std::collections::HashSet;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Instant;

use tokio::sync::oneshot;

use super::draft::DraftFile;
use super::entry::{Entry, EntryKind, Header};
use super::error::SessionError;
use super::log_file::LogFile;
use super::summary::WINDOW;
use crate::base::{clock, ids, jsonl};

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
    Close(Reply<()>),
}

/// What a new entry hangs on.
#[derive(Debug)]
pub(super) enum Parent {
    Leaf,
    Entry(Option<String>),
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
    ids: HashSet<String>,
    /// Ids an entry may hang on: all but those of `Leaf` entries.
    nodes: HashSet<String>,
    leaf: Option<String>,
    /// Entries that wait for the file to begin, or for its first write of this run.
    pending: Vec<Entry>,
    /// `pending` holds the draft of an earlier run.
    recovered: bool,
    name: Option<String>,
    /// The name was given or taken away at least once.
    named: bool,
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
            ids: HashSet::new(),
            nodes: HashSet::new(),
            leaf: None,
            pending: Vec::new(),
            recovered: false,
            name: None,
            named: false,
            name_at: 0,
            wrote: false,
        }
    }

    pub(super) fn backend(&self) -> &Backend {
        &self.backend
    }

    /// Takes over entries that are stored already.
    pub(super) fn with_stored(mut self, entries: &[Entry], leaf: Option<String>) -> Self {
        for entry in entries {
            self.remember(entry);
        }
        self.leaf = leaf;
        self
    }

    /// Takes over entries that are still to be stored.
    pub(super) fn with_pending(mut self, pending: Vec<Entry>, recovered: bool) -> Self {
        for entry in &pending {
            self.remember(entry);
        }
        self.pending = pending;
        self.recovered = recovered;
        self
    }

    /// Serves commands until the last handle is gone or one closes the store.
    pub(super) fn run(mut self, commands: &Receiver<Command>) {
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
            Command::DraftWaiting | Command::Close(_) => {}
        }
    }

    fn append(&mut self, parent: Parent, kind: EntryKind) -> Result<Entry, SessionError> {
        let parent_id = match parent {
            Parent::Leaf => self.leaf.clone(),
            Parent::Entry(id) => self.checked(id)?,
        };
        if let EntryKind::Leaf {
            target_id: Some(target),
        } = &kind
        {
            self.checked(Some(target.clone()))?;
        }
        let entry = Entry {
            id: self.new_id(),
            parent_id,
            timestamp: clock::rfc3339(clock::now_ms()),
            kind,
        };
        self.store(&entry)?;
        self.remember(&entry);
        Ok(entry)
    }

    /// Writes `entry` and whatever waits before it, or lets it wait as well.
    fn store(&mut self, entry: &Entry) -> Result<(), SessionError> {
        match &self.backend {
            Backend::Memory => Ok(()),
            Backend::ReadOnly(path) => Err(SessionError::ReadOnly { path: path.clone() }),
            Backend::File(file, _) if !file.exists() && !entry.kind.begins_file() => {
                self.pending.push(entry.clone());
                Ok(())
            }
            Backend::File(..) => self.write(Some(entry)),
        }
    }

    fn flush(&mut self) -> Result<(), SessionError> {
        match &self.backend {
            Backend::Memory | Backend::ReadOnly(_) => Ok(()),
            Backend::File(file, _) if file.exists() && self.pending.is_empty() => Ok(()),
            Backend::File(..) => self.write(None),
        }
    }

    fn write(&mut self, entry: Option<&Entry>) -> Result<(), SessionError> {
        let Backend::File(file, draft) = &mut self.backend else {
            return Ok(());
        };
        let mut records = Vec::new();
        if !file.exists() {
            jsonl::encode(&self.header, &mut records)?;
        }
        for entry in self.pending.iter().chain(entry) {
            jsonl::encode(entry, &mut records)?;
        }
        file.write(records)?;
        self.wrote = true;
        if matches!(entry, Some(entry) if matches!(entry.kind, EntryKind::SessionInfo { .. })) {
            self.name_at = file.length();
        }
        self.pending.clear();
        if std::mem::take(&mut self.recovered) {
            draft.remove();
        }
        Ok(())
    }

    /// Lists read the ends of a file only: a name that was said far from its end is said again, and
    /// the leaf stays where it is. A list without the name is no reason to fail.
    fn repeat_name(&mut self) {
        let Backend::File(file, _) = &self.backend else {
            return;
        };
        let far = file.length().saturating_sub(self.name_at) > (WINDOW / 2) as u64;
        if self.named && self.wrote && far {
            let name = self.name.clone();
            let target_id = self.leaf.clone();
            let _ = self
                .append(Parent::Leaf, EntryKind::SessionInfo { name })
                .and_then(|_| self.append(Parent::Leaf, EntryKind::Leaf { target_id }));
        }
    }

    fn remember(&mut self, entry: &Entry) {
        self.ids.insert(entry.id.clone());
        if let EntryKind::SessionInfo { name } = &entry.kind {
            self.name.clone_from(name);
            self.named = true;
        }
        if let EntryKind::Leaf { target_id } = &entry.kind {
            self.leaf.clone_from(target_id);
        } else {
            self.nodes.insert(entry.id.clone());
            self.leaf = Some(entry.id.clone());
        }
    }

    fn checked(&self, id: Option<String>) -> Result<Option<String>, SessionError> {
        match id {
            Some(id) if !self.nodes.contains(&id) => Err(SessionError::UnknownEntry { id }),
            id => Ok(id),
        }
    }

    fn new_id(&self) -> String {
        loop {
            let id = ids::entry_id();
            if !self.ids.contains(&id) {
                return id;
            }
        }
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
                draft.write(self.leaf.as_deref());
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
