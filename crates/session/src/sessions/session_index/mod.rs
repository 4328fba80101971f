//! The session index: lists, full-text search, previews and changes of stored sessions. All work runs in the
//! background; one thread updates the index at a time.

pub mod flags;

use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::cx::Cx;
use crate::emitter::Emitter;
use crate::setup::SessionSetup;
use flags::SessionFlags;
use osier_agent::Severity;
use osier_base::folders::Folders;
use osier_index::{
    Depth, Hits, IndexError, IndexReader, Outcome, SessionFilter, SessionIndex, describe, preview,
};
use osier_protocol::{
    Description, Event, FoundSession, FoundText, IndexEvent, IndexOp, Mark, SessionQuery,
    SessionRow, SessionState, SessionSummary,
};
use osier_store::{EntryIndex, Locks, Scope, SessionDirectory, SessionError, SessionStore, rename};

/// Sessions in an answer without a limit.
const DEFAULT_LIMIT: usize = 200;
const MAX_LIMIT: usize = 2_000;
/// How often the index is updated without a request.
const UPDATE_INTERVAL: Duration = Duration::from_mins(1);
/// How long a list waits for the directories of its sessions.
const DIRECTORY_PATIENCE: Duration = Duration::from_millis(200);
/// How often progress is published.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// The states of the update: none; a thread updates; it starts again when it is done, because something changed.
const IDLE: u8 = 0;
const UPDATING: u8 = 1;
const AGAIN: u8 = 2;

/// The index of all sessions of a user, for clients of one session.
#[derive(Debug)]
pub(crate) struct IndexHandle {
    library: SessionIndex,
    flags: PathBuf,
    cwd: PathBuf,
    /// Cancels the query that runs.
    query: CancellationToken,
    /// Cancels the update.
    stop: CancellationToken,
    /// The state of the update: one of the constants above.
    update: Arc<AtomicU8>,
    updated: Option<Instant>,
    fallback: Fallback,
}

/// An index in memory, while none can be stored: the disk is full or read-only.
type Fallback = Arc<Mutex<Option<IndexReader>>>;

impl IndexHandle {
    pub(crate) fn new(folders: &Folders, cwd: &Path) -> Self {
        Self {
            library: SessionIndex::new(&folders.data),
            flags: folders.marks(),
            cwd: cwd.to_owned(),
            query: CancellationToken::new(),
            stop: CancellationToken::new(),
            update: Arc::default(),
            updated: None,
            fallback: Fallback::default(),
        }
    }

    /// Handles a request about stored sessions.
    pub(crate) fn handle(&mut self, op: IndexOp, cx: Cx<'_>) {
        let emitter = cx.emitter;
        let open = cx.session.and_then(|session| session.store.path());
        match op {
            IndexOp::FindSessions {
                request,
                query,
                as_is,
            } => {
                self.find(request, query, open.map(Path::to_owned), emitter);
                if !as_is {
                    self.update(emitter);
                }
            }
            IndexOp::PreviewSession { request, path } => {
                in_background(emitter, move || IndexEvent::SessionPreview {
                    request,
                    // A file that cannot be read has an empty preview.
                    preview: preview(&path).unwrap_or_default(),
                    path,
                });
            }
            IndexOp::NameSession { path, name } => {
                let emitter = emitter.clone();
                osier_base::task::spawn(async move {
                    let renamed = rename(&path, Some(&name)).await;
                    emitter.post(Event::Index(changed(renamed)));
                });
            }
            IndexOp::DeleteSession { path } if open == Some(&path) => {
                let message = "cannot delete the open session: leave it first".to_owned();
                emitter.publish(Event::Index(IndexEvent::LibraryRefused { message }));
            }
            IndexOp::DeleteSession { path } => {
                let trash = self.library.trash();
                in_background(emitter, move || match trash.delete(&path) {
                    Ok(trashed) => IndexEvent::SessionDeleted { path, trashed },
                    Err(error) => refused(&error),
                });
            }
            IndexOp::RestoreSession { path } => {
                let trash = self.library.trash();
                in_background(emitter, move || changed(trash.restore(&path).map(drop)));
            }
            IndexOp::MarkSession { session, mark, on } => {
                let file = self.flags.clone();
                in_background(emitter, move || {
                    match SessionFlags::set(&file, &session, mark, on) {
                        Ok(_) => IndexEvent::SessionsChanged,
                        Err(error) => IndexEvent::LibraryRefused {
                            message: error.to_string(),
                        },
                    }
                });
            }
            IndexOp::DescribeSession => {
                if let Some(session) = cx.session {
                    self.describe(&session.store, emitter);
                }
            }
        }
    }

    /// Cancels what runs.
    pub(crate) fn close(&self) {
        self.query.cancel();
        self.stop.cancel();
    }

    /// Updates the index in the background.
    pub(crate) fn update(&mut self, emitter: &Emitter) {
        self.updated = Some(Instant::now());
        let next = |state| Some(if state == IDLE { UPDATING } else { AGAIN });
        let (get, set) = (Ordering::Acquire, Ordering::AcqRel);
        if self.update.fetch_update(set, get, next) != Ok(IDLE) {
            return;
        }
        let (library, stop) = (self.library.clone(), self.stop.clone());
        let (state, emitter) = (Arc::clone(&self.update), emitter.detached());
        let fallback = Arc::clone(&self.fallback);
        // A thread, because the end of the process does not wait for it.
        let spawned = std::thread::Builder::new()
            .name("osier-index".to_owned())
            .spawn(move || {
                loop {
                    update(&library, &stop, &fallback, &emitter);
                    let (get, set) = (Ordering::Acquire, Ordering::AcqRel);
                    if state.compare_exchange(UPDATING, IDLE, set, get).is_ok() {
                        break;
                    }
                    state.store(UPDATING, Ordering::Release);
                }
            });
        if spawned.is_err() {
            self.update.store(IDLE, Ordering::Release);
        }
    }

    /// Updates the index after a run if it is due and a client can search.
    pub(crate) fn update_if_due(&mut self, interactive: bool, emitter: &Emitter) {
        let is_due = self
            .updated
            .is_none_or(|before| before.elapsed() > UPDATE_INTERVAL);
        if is_due && (interactive || self.updated.is_some()) {
            self.update(emitter);
        }
    }

    /// Publishes the sessions that match `query`. A query before it is cancelled. `open` is the file of the open
    /// session.
    fn find(
        &mut self,
        request: u64,
        asked: SessionQuery,
        open: Option<PathBuf>,
        emitter: &Emitter,
    ) {
        self.query.cancel();
        self.query = CancellationToken::new();
        let (library, cancel) = (self.library.clone(), self.query.clone());
        let (flags, cwd) = (self.flags.clone(), self.cwd.clone());
        let (fallback, emitter) = (Arc::clone(&self.fallback), emitter.clone());
        osier_base::task::spawn_blocking(move || {
            let flags = SessionFlags::read(&flags);
            let query = Query {
                library: &library,
                fallback: &fallback,
                flags: &flags,
                cwd: &cwd,
                open: open.as_deref(),
                cancel: &cancel,
            };
            let found = query.find(request, &asked);
            let event = found.filter(|_| !cancel.is_cancelled());
            emitter.post(Event::Index(event.unwrap_or_else(|| {
                IndexEvent::SearchCancelled {
                    request,
                    message: "a newer query replaced this one".to_owned(),
                }
            })));
        });
    }

    /// Publishes the stored sessions of the working directory, or of `all` directories.
    pub(crate) fn list((all, limit): (bool, Option<u64>), setup: &SessionSetup, emitter: &Emitter) {
        let (data, cwd) = (setup.folders.data.clone(), setup.cwd.clone());
        let emitter = emitter.clone();
        osier_base::task::spawn_blocking(move || match list(&data, &cwd, all, limit) {
            Ok(sessions) => emitter.post(Event::Sessions { all, sessions }),
            Err(error) => emitter.post_notice(Severity::Error, error.to_string()),
        });
    }

    /// Publishes facts about the open session.
    fn describe(&self, store: &SessionStore, emitter: &Emitter) {
        let (library, store) = (self.library.clone(), store.clone());
        let row = SessionRow {
            id: store.id().to_owned(),
            cwd: self.cwd.to_string_lossy().into_owned(),
            ..SessionRow::default()
        };
        in_background(emitter, move || {
            let description = describe_open(&library, store.index(), store.path(), row);
            IndexEvent::SessionDescribed {
                description: Box::new(description),
            }
        });
    }
}

/// Publishes the outcome of `work`.
fn in_background(emitter: &Emitter, work: impl FnOnce() -> IndexEvent + Send + 'static) {
    let emitter = emitter.clone();
    osier_base::task::spawn_blocking(move || emitter.post(Event::Index(work())));
}

fn changed(outcome: Result<(), SessionError>) -> IndexEvent {
    match outcome {
        Ok(()) => IndexEvent::SessionsChanged,
        Err(error) => refused(&error),
    }
}

fn refused(error: &SessionError) -> IndexEvent {
    let message = match error {
        // The hint of the error is about opening the session.
        SessionError::Locked { .. } => format!("{error}; close it there first"),
        error => error.to_string(),
    };
    IndexEvent::LibraryRefused { message }
}

/// Reads new and changed files. Blocks.
fn update(
    library: &SessionIndex,
    stop: &CancellationToken,
    fallback: &Fallback,
    emitter: &Emitter,
) {
    let mut published = Instant::now();
    let mut last = (0, 0);
    let publish = |(done, total), finished, read| {
        emitter.post(Event::Index(IndexEvent::Indexing {
            done,
            total,
            finished,
            read,
        }));
    };
    let outcome = library.refresh(Depth::Words, stop, &mut |progress| {
        last = (progress.done, progress.total);
        if published.elapsed() > PROGRESS_INTERVAL {
            published = Instant::now();
            publish(last, false, last.0);
        }
    });
    let mut in_memory = None;
    let read = match outcome {
        Ok(Outcome::Done { read }) => read,
        Ok(Outcome::Busy) => 0,
        Err(error) => {
            let unstored = library.read_all(Depth::Rows, stop, &mut |_| {});
            if let Err(IndexError::Io { .. }) = unstored {
                emitter.post_notice(Severity::Error, error.to_string());
            }
            in_memory = unstored.ok();
            0
        }
    };
    *fallback.lock() = in_memory;
    publish(last, true, read);
}

/// The context of a query of the sessions.
struct Query<'a> {
    library: &'a SessionIndex,
    fallback: &'a Fallback,
    flags: &'a SessionFlags,
    cwd: &'a Path,
    /// The file of the open session.
    open: Option<&'a Path>,
    cancel: &'a CancellationToken,
}

impl Query<'_> {
    /// The sessions that match; `None` when it was cancelled. Blocks.
    fn find(&self, request: u64, query: &SessionQuery) -> Option<IndexEvent> {
        let limit = match query.limit {
            0 => DEFAULT_LIMIT,
            limit => limit.min(MAX_LIMIT),
        };
        let text = query.text.trim();
        let filter = SessionFilter {
            cwd: (!query.all).then(|| self.cwd.to_string_lossy().into_owned()),
            named: query.named,
            sort: query.sort,
            letters: Some(text.to_owned()).filter(|text| !query.in_words && !text.is_empty()),
            first: self.flags.pinned.iter().cloned().collect(),
            apart: self.flags.archived.iter().cloned().collect(),
            only_apart: query.archived,
            ..SessionFilter::default()
        };
        let locks = Locks::read();
        let found = |session: SessionRow, hit| FoundSession {
            state: state(&locks, &session.path, self.open),
            pinned: self.flags.has(Mark::Pinned, &session.id),
            archived: self.flags.has(Mark::Archived, &session.id),
            missing: false,
            session,
            hit,
        };
        if query.in_words && !text.is_empty() {
            let hits = self.run(|index| index.search(text, &filter, limit, self.cancel));
            let Hits { hits, cut, ready } = match hits {
                Err(IndexError::Cancelled) => return None,
                hits => hits.unwrap_or_default(),
            };
            let sessions = hits.into_iter().map(|hit| {
                let text = FoundText {
                    source: hit.source,
                    entry_id: hit.entry_id,
                    text: hit.text,
                };
                found(hit.session, Some(text))
            });
            let mut sessions: Vec<_> = sessions.collect();
            mark_missing(&mut sessions);
            return Some(IndexEvent::SessionsFound {
                request,
                total: sessions.len(),
                sessions,
                cut,
                ready,
            });
        }
        let listing = self.run(|index| index.list(&filter, 0, limit));
        let listing = listing.unwrap_or_default();
        // The index still has files that were just deleted.
        let rows = listing.rows.into_iter().filter(|row| row.path.exists());
        let mut sessions: Vec<_> = rows.map(|row| found(row, None)).collect();
        mark_missing(&mut sessions);
        Some(IndexEvent::SessionsFound {
            request,
            sessions,
            total: listing.total,
            cut: false,
            ready: listing.ready,
        })
    }

    /// Queries the index, or the one in memory if none can be stored.
    fn run<T: Default>(
        &self,
        run: impl Fn(&IndexReader) -> Result<T, IndexError>,
    ) -> Result<T, IndexError> {
        match &*self.fallback.lock() {
            Some(index) => run(index),
            None => self.library.query(run),
        }
    }
}

/// Marks the sessions whose directories do not exist. Those on a mount that does not answer count as existing.
fn mark_missing(sessions: &mut [FoundSession]) {
    let directories = sessions.iter().map(|found| found.session.cwd.clone());
    let directories: BTreeSet<String> = directories.filter(|cwd| !cwd.is_empty()).collect();
    let (sender, results) = mpsc::channel();
    osier_base::task::spawn_blocking(move || {
        let missing = directories
            .into_iter()
            .filter(|cwd| !Path::new(cwd).is_dir());
        // The list may not wait any more.
        missing
            .map(|cwd| sender.send(cwd))
            .take_while(Result::is_ok)
            .for_each(drop);
    });
    let end = Instant::now() + DIRECTORY_PATIENCE;
    let mut missing = BTreeSet::new();
    while let Ok(cwd) = results.recv_timeout(end.saturating_duration_since(Instant::now())) {
        missing.insert(cwd);
    }
    for found in sessions {
        found.missing = missing.contains(&found.session.cwd);
    }
}

fn state(locks: &Locks, path: &Path, open: Option<&Path>) -> SessionState {
    if open == Some(path) {
        return SessionState::Here;
    }
    let holder = locks.holder(path);
    holder.map_or(SessionState::Free, |pid| SessionState::Elsewhere { pid })
}

/// Reads the file. Blocks.
fn describe_open(
    library: &SessionIndex,
    index: &EntryIndex,
    path: Option<&Path>,
    row: SessionRow,
) -> Description {
    let read = path.and_then(|path| describe(path).ok());
    let (session, models) = read.unwrap_or((row, Vec::new()));
    let counts = index.counts();
    let forks = library.forks(&session.id).unwrap_or_default();
    Description {
        session,
        models,
        entries: counts.entries,
        branches: counts.branches,
        checkpoints: counts.checkpoints,
        forks,
    }
}

/// The stored sessions of `cwd`, or of every directory, newest first. Blocks.
fn list(
    data: &Path,
    cwd: &Path,
    all: bool,
    limit: Option<u64>,
) -> Result<Vec<SessionSummary>, SessionError> {
    let directory = SessionDirectory::new(data);
    let scope = if all { Scope::All } else { Scope::Project(cwd) };
    let summaries = match limit {
        Some(limit) => directory.newest(scope, usize::try_from(limit).unwrap_or(usize::MAX))?,
        None => directory.list(scope)?,
    };
    let summaries = summaries.into_iter();
    let summaries = summaries.map(|summary| directory.listed(summary));
    Ok(summaries.collect())
}
