//! All stored sessions, as the host tells of them. Every question and every look at files runs beside the
//! loop; one thread of this host indexes at a time.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::asked::Jobs;
use super::event::Event;
use super::host::{Job, Task};
use super::library_op::{
    Description, FoundSession, FoundText, LibraryEvent, LibraryOp, SessionQuery, SessionState,
};
use crate::marks::{Mark, Marks};
use osier_index::{
    Depth, Hits, Library, LibraryError, Outcome, SessionFilter, SessionRow, describe, preview,
};
use osier_store::{Locks, SessionError, SessionIndex, rename};

/// Sessions in an answer when no other number is given, and at most.
const USUAL: usize = 200;
const MOST: usize = 2_000;
/// How often a host at work brings the index up to date without being asked.
const INTERVAL: Duration = Duration::from_mins(1);
/// How often the progress is told.
const TELL: Duration = Duration::from_millis(100);

/// Nobody indexes; a thread does; it begins once more when it is done, since something has changed.
const IDLE: u8 = 0;
const INDEXING: u8 = 1;
const AGAIN: u8 = 2;

/// What the host holds for its questions.
#[derive(Debug)]
pub(super) struct Shelf {
    library: Library,
    /// The question that is being answered.
    question: CancellationToken,
    /// Ends the indexing when the host does.
    stop: CancellationToken,
    /// One of the states below.
    indexing: Arc<AtomicU8>,
    indexed: Option<Instant>,
}

impl Shelf {
    pub(super) fn new(data: &Path) -> Self {
        Self {
            library: Library::new(data),
            question: CancellationToken::new(),
            stop: CancellationToken::new(),
            indexing: Arc::default(),
            indexed: None,
        }
    }

    pub(super) fn close(&self) {
        self.question.cancel();
        self.stop.cancel();
    }

    /// Brings the index up to date, unless that is being done.
    fn index(&mut self, jobs: &Jobs) {
        self.indexed = Some(Instant::now());
        let next = |state| Some(if state == IDLE { INDEXING } else { AGAIN });
        let (get, set) = (Ordering::Acquire, Ordering::AcqRel);
        if self.indexing.fetch_update(set, get, next) != Ok(IDLE) {
            return;
        }
        let (library, stop) = (self.library.clone(), self.stop.clone());
        let (indexing, jobs) = (Arc::clone(&self.indexing), jobs.clone());
        // A thread that a host which ends does not wait for.
        let spawned = std::thread::Builder::new()
            .name("osier-index".to_owned())
            .spawn(move || {
                loop {
                    index_all(&library, &stop, &jobs);
                    let (get, set) = (Ordering::Acquire, Ordering::AcqRel);
                    if indexing.compare_exchange(INDEXING, IDLE, set, get).is_ok() {
                        break;
                    }
                    indexing.store(INDEXING, Ordering::Release);
                }
            });
        if spawned.is_err() {
            self.indexing.store(IDLE, Ordering::Release);
        }
    }
}

impl Task {
    pub(super) async fn apply_library(&mut self, op: LibraryOp) {
        match op {
            LibraryOp::FindSessions {
                request,
                query,
                as_is,
            } => {
                self.find_sessions(request, query);
                if !as_is {
                    self.shelf.index(&self.jobs.own());
                }
            }
            LibraryOp::PreviewSession { request, path } => self.preview_session(request, path),
            LibraryOp::NameSession { path, name } => {
                if self.is_open_here(&path) {
                    self.rename(name).await;
                    self.publish(Event::Library(LibraryEvent::SessionsChanged));
                    return;
                }
                let jobs = self.jobs.clone();
                tokio::spawn(async move {
                    let named = rename(&path, Some(&name)).await;
                    tell(&jobs, changed(named));
                });
            }
            LibraryOp::DeleteSession { path } => {
                if self.is_open_here(&path) {
                    let message = "the open session is not deleted: leave it first".to_owned();
                    self.publish(Event::Library(LibraryEvent::LibraryRefused { message }));
                    return;
                }
                let trash = self.shelf.library.trash();
                self.beside(move || match trash.delete(&path) {
                    Ok(trashed) => LibraryEvent::SessionDeleted { path, trashed },
                    Err(error) => refused(&error),
                });
            }
            LibraryOp::RestoreSession { path } => {
                let trash = self.shelf.library.trash();
                self.beside(move || changed(trash.restore(&path).map(drop)));
            }
            LibraryOp::MarkSession { session, mark, on } => {
                let file = self.setup.folders.marks();
                self.beside(move || match Marks::set(&file, &session, mark, on) {
                    Ok(_) => LibraryEvent::SessionsChanged,
                    Err(error) => LibraryEvent::LibraryRefused {
                        message: error.to_string(),
                    },
                });
            }
            LibraryOp::DescribeSession => self.describe_session(),
        }
    }

    /// A run has ended: what it said is to be found soon.
    pub(super) fn index_later(&mut self) {
        let due = self
            .shelf
            .indexed
            .is_none_or(|before| before.elapsed() > INTERVAL);
        // Where nobody has asked for a session nobody will search for words.
        let wanted = self.shelf.indexed.is_some() || self.setup.answers_questions;
        if due && wanted {
            self.shelf.index(&self.jobs.own());
        }
    }

    fn find_sessions(&mut self, request: u64, query: SessionQuery) {
        self.shelf.question.cancel();
        self.shelf.question = CancellationToken::new();
        let cancel = self.shelf.question.clone();
        let library = self.shelf.library.clone();
        let place = (self.setup.cwd.clone(), self.open_path());
        let marks = self.setup.folders.marks();
        self.beside_unless(cancel.clone(), move || {
            let marks = Marks::read(&marks);
            answer(&library, request, (&query, &marks), &place, &cancel)
        });
    }

    fn preview_session(&self, request: u64, path: PathBuf) {
        self.beside(move || LibraryEvent::SessionPreview {
            request,
            // One that cannot be read has nothing to show.
            preview: preview(&path).unwrap_or_default(),
            path,
        });
    }

    fn describe_session(&self) {
        let Some(session) = &self.session else {
            return;
        };
        let (index, path) = (session.store.index().clone(), self.open_path());
        let library = self.shelf.library.clone();
        let row = SessionRow {
            id: session.store.id().to_owned(),
            cwd: self.setup.cwd.to_string_lossy().into_owned(),
            ..SessionRow::default()
        };
        self.beside(move || {
            let description = Box::new(described(&library, &index, (path.as_deref(), row)));
            LibraryEvent::SessionDescribed { description }
        });
    }

    fn open_path(&self) -> Option<PathBuf> {
        let session = self.session.as_ref()?;
        session.store.path().map(Path::to_owned)
    }

    fn is_open_here(&self, path: &Path) -> bool {
        self.open_path().is_some_and(|open| open == path)
    }

    fn beside(&self, work: impl FnOnce() -> LibraryEvent + Send + 'static) {
        self.beside_unless(CancellationToken::new(), || Some(work()));
    }

    /// Does work beside the loop and tells its outcome, unless nobody wants it any more.
    fn beside_unless(
        &self,
        cancel: CancellationToken,
        work: impl FnOnce() -> Option<LibraryEvent> + Send + 'static,
    ) {
        let jobs = self.jobs.clone();
        tokio::task::spawn_blocking(move || {
            if let Some(event) = work().filter(|_| !cancel.is_cancelled()) {
                tell(&jobs, event);
            }
        });
    }
}

fn tell(jobs: &Jobs, event: LibraryEvent) {
    // A host that has ended tells nobody.
    let _ = jobs.send(Job::Publish(Box::new(Event::Library(event))));
}

fn changed(done: Result<(), SessionError>) -> LibraryEvent {
    match done {
        Ok(()) => LibraryEvent::SessionsChanged,
        Err(error) => refused(&error),
    }
}

fn refused(error: &SessionError) -> LibraryEvent {
    let message = match error {
        // What its hint says is of no use for a name or a deletion.
        SessionError::Locked { .. } => format!("{error}; close it there first"),
        error => error.to_string(),
    };
    LibraryEvent::LibraryRefused { message }
}

/// Reads all that is new. Blocks.
fn index_all(library: &Library, stop: &CancellationToken, jobs: &Jobs) {
    let mut told = Instant::now();
    let mut last = (0, 0);
    let outcome = library.refresh(Depth::Words, stop, &mut |progress| {
        last = (progress.done, progress.total);
        if told.elapsed() > TELL {
            told = Instant::now();
            let (done, total) = last;
            let (finished, read) = (false, done);
            tell(
                jobs,
                LibraryEvent::Indexing {
                    done,
                    total,
                    finished,
                    read,
                },
            );
        }
    });
    let read = match outcome {
        Ok(Outcome::Done { read }) => read,
        Ok(Outcome::Busy) | Err(_) => 0,
    };
    let ((done, total), finished) = (last, true);
    tell(
        jobs,
        LibraryEvent::Indexing {
            done,
            total,
            finished,
            read,
        },
    );
}

/// Answers a question; `None` when it was given up. Blocks.
fn answer(
    library: &Library,
    request: u64,
    (query, marks): (&SessionQuery, &Marks),
    (cwd, here): &(PathBuf, Option<PathBuf>),
    cancel: &CancellationToken,
) -> Option<LibraryEvent> {
    let limit = match query.limit {
        0 => USUAL,
        limit => limit.min(MOST),
    };
    let text = query.text.trim();
    let filter = SessionFilter {
        cwd: (!query.all).then(|| cwd.to_string_lossy().into_owned()),
        named: query.named,
        sort: query.sort,
        letters: Some(text.to_owned()).filter(|text| !query.in_words && !text.is_empty()),
        first: marks.pinned.iter().cloned().collect(),
        apart: marks.archived.iter().cloned().collect(),
        only_apart: query.archived,
        ..SessionFilter::default()
    };
    let locks = Locks::look();
    let found = |session: SessionRow, hit| FoundSession {
        state: state(&locks, &session.path, here.as_deref()),
        pinned: marks.has(Mark::Pinned, &session.id),
        archived: marks.has(Mark::Archived, &session.id),
        session,
        hit,
    };
    if query.in_words && !text.is_empty() {
        let hits = match library.search(text, &filter, limit, cancel) {
            Err(LibraryError::Cancelled) => return None,
            hits => hits.unwrap_or_default(),
        };
        let Hits { hits, cut, ready } = hits;
        let sessions = hits.into_iter().map(|hit| {
            let text = FoundText {
                source: hit.source,
                entry_id: hit.entry_id,
                text: hit.text,
            };
            found(hit.session, Some(text))
        });
        let sessions: Vec<_> = sessions.collect();
        return Some(LibraryEvent::SessionsFound {
            request,
            total: sessions.len(),
            sessions,
            cut,
            ready,
        });
    }
    let listing = library.list(&filter, 0, limit).unwrap_or_default();
    // One that was just deleted is in the index for a moment longer.
    let rows = listing.rows.into_iter().filter(|row| row.path.exists());
    let sessions = rows.map(|row| found(row, None));
    Some(LibraryEvent::SessionsFound {
        request,
        sessions: sessions.collect(),
        total: listing.total,
        cut: false,
        ready: listing.ready,
    })
}

fn state(locks: &Locks, path: &Path, here: Option<&Path>) -> SessionState {
    if here == Some(path) {
        return SessionState::Here;
    }
    let holder = locks.holder(path);
    holder.map_or(SessionState::Free, |pid| SessionState::Elsewhere { pid })
}

/// Blocks while it reads the file.
fn described(
    library: &Library,
    index: &SessionIndex,
    (path, row): (Option<&Path>, SessionRow),
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
