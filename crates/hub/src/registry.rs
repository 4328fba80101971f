//! The registry of all open sessions. Its lock is held only briefly; a session that is being opened or closed is
//! locked by id, so that two callers never open or close it at the same time.

use parking_lot::Mutex;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinSet;

use super::error::OpenError;
use super::shared_session::{OpenSessionInfo, SharedSession};
use osier_protocol::{Event, PermissionMode};
use osier_session::{SessionChoice, SessionHandle, SessionSetup};
use osier_settings::Settings;
use osier_store::{SessionDirectory, SessionSummary, stored_keys, summarize};

/// How long an idle session without clients keeps its replay buffer.
const REPLAY_UNUSED_LIMIT: Duration = Duration::from_mins(10);

/// How many files are searched for at the same time.
const MAX_LOOKUPS: usize = 4;

/// All open sessions of a process. It opens, finds, unloads and closes them. Cheap to clone.
#[derive(Debug, Clone)]
pub struct SessionRegistry(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// The setup that every session starts from.
    template: SessionSetup,
    table: Mutex<Table>,
    /// A session was unlocked or removed.
    changed: Notify,
    /// Limits the searches for files at the same time: each needs a thread, and threads need
    /// memory.
    lookups: Semaphore,
}

#[derive(Debug, Default)]
struct Table {
    sessions: HashMap<String, Arc<SharedSession>>,
    /// The options of unloaded sessions, to open them again.
    unloaded: HashMap<String, OpenOptions>,
    /// Ids of sessions that are being opened or closed.
    locked: HashSet<String>,
    /// The registry opens no more sessions.
    closing: bool,
}

/// Which session to open, and with which options.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpenOptions {
    /// The working directory. A stored session uses its own.
    pub cwd: Option<PathBuf>,
    /// A stored session: an id, an id prefix, a name or a path. A new session when not set.
    pub session: Option<String>,
    pub model: Option<String>,
    pub permissions: Option<PermissionMode>,
}

impl OpenOptions {
    /// The setup of `session`: `template` with these options.
    ///
    /// # Errors
    /// The working directory does not exist or is unreadable.
    pub fn setup(
        &self,
        template: &SessionSetup,
        session: SessionChoice,
    ) -> Result<SessionSetup, OpenError> {
        let cwd = self.cwd.as_ref().unwrap_or(&template.cwd);
        let failed = |source| OpenError::Directory {
            cwd: cwd.clone(),
            source,
        };
        let cwd = cwd.canonicalize().map_err(failed)?;
        std::fs::read_dir(&cwd).map_err(failed)?;
        let (settings, _) = Settings::load_for(&template.folders, &cwd);
        Ok(SessionSetup {
            cwd,
            settings,
            session,
            prefers_stored: true,
            model: self.model.clone().or_else(|| template.model.clone()),
            permissions: self.permissions.or(template.permissions),
            ..template.clone()
        })
    }
}

impl OpenOptions {
    /// Shares an open session. An option that only a new session can have is an error.
    fn share(&self, session: Arc<SharedSession>) -> Result<Arc<SharedSession>, OpenError> {
        let field = match (&self.model, &self.permissions) {
            (Some(_), _) => "model",
            (_, Some(_)) => "permissions",
            _ => return Ok(session),
        };
        let id = session.id();
        Err(OpenError::Open { id, field })
    }
}

impl SessionRegistry {
    /// An empty registry whose sessions start from `template`.
    pub fn new(template: SessionSetup) -> Self {
        let template = SessionSetup {
            answers_questions: true,
            ..template
        };
        Self(Arc::new(Shared {
            template,
            table: Mutex::default(),
            changed: Notify::new(),
            lookups: Semaphore::new(MAX_LOOKUPS),
        }))
    }

    /// The setup that every session starts from.
    pub fn template(&self) -> &SessionSetup {
        &self.0.template
    }

    /// The open sessions, unordered.
    pub fn list(&self) -> Vec<OpenSessionInfo> {
        let sessions: Vec<Arc<SharedSession>> =
            self.0.table.lock().sessions.values().cloned().collect();
        sessions.iter().map(|session| session.info()).collect()
    }

    /// Opens a session. If it is already open, the caller shares it as it is. The id of a stored
    /// session opens that session, also if an open one was forked from it.
    pub async fn open(&self, options: OpenOptions) -> Result<Arc<SharedSession>, OpenError> {
        let Some(target) = options.session.clone() else {
            return self
                .start(options, SessionChoice::New, Vec::new(), HashSet::new())
                .await;
        };
        let open = self.0.table.lock().sessions.get(&target).cloned();
        if let Some(session) = open {
            return options.share(session);
        }
        let data = self.0.template.folders.data.clone();
        let query = target.clone();
        let found = osier_base::task::spawn_blocking(move || {
            let path = SessionDirectory::new(&data).find(&query).ok()?;
            summarize(&path).ok()
        });
        if let Some(stored) = found.await.ok().flatten() {
            return self.resume(stored, options).await;
        }
        // The session was never stored, and continues as another session.
        let open = self.0.table.lock().find(&target);
        options.share(open.ok_or(OpenError::Unknown { id: target })?)
    }

    /// Returns the open session of the working directory, the last used one if there are several. Opens a new session
    /// if there is none.
    pub async fn join(&self, options: OpenOptions) -> Result<Arc<SharedSession>, OpenError> {
        if options.session.is_none() {
            let cwd = options.cwd.as_ref().unwrap_or(&self.0.template.cwd);
            let cwd = cwd.canonicalize().unwrap_or_else(|_| cwd.clone());
            let in_directory = |session: &OpenSessionInfo| Path::new(&session.cwd) == cwd;
            let open = self.list().into_iter().filter(in_directory);
            if let Some(newest) = open.max_by_key(|session| session.modified) {
                return options.share(self.find(&newest.id).await?);
            }
        }
        self.open(options).await
    }

    /// Returns the session with this id. Opens it if it is stored or was unloaded.
    pub async fn find(&self, id: &str) -> Result<Arc<SharedSession>, OpenError> {
        self.wait_until_unlocked(id).await;
        let (open, unloaded) = {
            let table = self.0.table.lock();
            (table.find(id), table.unloaded.get(id).cloned())
        };
        if let Some(session) = open {
            return Ok(session);
        }
        let data = self.0.template.folders.data.clone();
        let full_id = id.to_owned();
        // This cannot fail: the semaphore is never closed.
        let lookup = self.0.lookups.acquire().await;
        let found = osier_base::task::spawn_blocking(move || {
            let path = SessionDirectory::new(&data).file_of(&full_id)?;
            summarize(&path).ok()
        });
        let found = found.await.ok().flatten();
        drop(lookup);
        match (found, unloaded) {
            (Some(stored), options) => self.resume(stored, options.unwrap_or_default()).await,
            (None, Some(options)) => self.reopen_empty(id, options).await,
            (None, None) => Err(OpenError::Unknown { id: id.to_owned() }),
        }
    }

    /// Opens an unloaded session that had no messages and therefore no file.
    async fn reopen_empty(
        &self,
        id: &str,
        options: OpenOptions,
    ) -> Result<Arc<SharedSession>, OpenError> {
        let _lock = self.lock_session(id).await;
        let open = self.0.table.lock().find(id);
        if let Some(session) = open {
            return Ok(session);
        }
        let ids = vec![id.to_owned()];
        self.start(options, SessionChoice::New, ids, HashSet::new())
            .await
    }

    /// Closes a session; its file stays. Returns false if it was not open.
    pub async fn close(&self, id: &str) -> bool {
        let Some(session) = self.0.table.lock().find(id) else {
            return false;
        };
        let _lock = self.try_lock_session(&session.id());
        session.close().await;
        self.0.table.lock().unloaded.remove(id);
        true
    }

    /// Clears the replay buffers of sessions that have been idle and without clients for a while.
    pub fn clear_unused_replay_buffers(&self) {
        let sessions: Vec<Arc<SharedSession>> =
            self.0.table.lock().sessions.values().cloned().collect();
        for session in sessions {
            session.clear_replay_if_unused(REPLAY_UNUSED_LIMIT);
        }
    }

    /// Unloads the sessions that have been idle and without clients for `after`. Returns their number.
    pub async fn unload_unused(&self, after: Duration) -> usize {
        let sessions: Vec<Arc<SharedSession>> =
            self.0.table.lock().sessions.values().cloned().collect();
        let mut unloaded = 0;
        for session in sessions {
            let id = session.id();
            let Some(_lock) = self.try_lock_session(&id) else {
                continue;
            };
            if !session.is_unused_for(after) {
                continue;
            }
            let info = session.info();
            // A stored session restores its model from the file.
            let stored = info.path.is_some_and(|path| Path::new(&path).is_file());
            let options = OpenOptions {
                cwd: Some(PathBuf::from(info.cwd)),
                session: None,
                model: info.model.filter(|_| !stored),
                permissions: info.permissions,
            };
            self.0.table.lock().unloaded.insert(id, options);
            session.close().await;
            unloaded += 1;
        }
        unloaded
    }

    /// Stops all work, stores and closes all sessions, because the server stops. The registry opens no more sessions.
    pub async fn close_all(&self) {
        let sessions: Vec<Arc<SharedSession>> = {
            let mut table = self.0.table.lock();
            table.closing = true;
            table.sessions.values().cloned().collect()
        };
        let mut closing = JoinSet::new();
        for session in sessions {
            closing.spawn(async move { session.close_with_server().await });
        }
        closing.join_all().await;
    }

    async fn resume(
        &self,
        stored: SessionSummary,
        options: OpenOptions,
    ) -> Result<Arc<SharedSession>, OpenError> {
        let _lock = self.lock_session(&stored.id).await;
        let open = self.0.table.lock().sessions.get(&stored.id).cloned();
        if let Some(session) = open {
            return Ok(session);
        }
        let cwd = Path::new(&stored.cwd);
        let cwd = cwd.is_absolute().then(|| cwd.to_owned()).or(options.cwd);
        let choice = SessionChoice::Resume(stored.path.to_string_lossy().into_owned());
        let path = stored.path.clone();
        let keys = osier_base::task::spawn_blocking(move || stored_keys(&path)).await;
        let keys = keys.map_err(|_| OpenError::Closing)?;
        let keys = keys.map_err(|error| OpenError::Unavailable {
            message: format!("cannot read `{}`: {error}", stored.path.display()),
        })?;
        let options = OpenOptions { cwd, ..options };
        self.start(options, choice, Vec::new(), keys).await
    }

    /// Starts a session and waits until it is open.
    async fn start(
        &self,
        options: OpenOptions,
        session: SessionChoice,
        ids: Vec<String>,
        keys: HashSet<String>,
    ) -> Result<Arc<SharedSession>, OpenError> {
        if self.0.table.lock().closing {
            return Err(OpenError::Closing);
        }
        let setup = options.setup(&self.0.template, session)?;
        let (handle, events) = SessionHandle::start(setup)?;
        let session = SharedSession::new(handle, ids, keys);
        let mut subscriber = session.subscribe();
        let registry = self.clone();
        let switched = move |session: &Arc<SharedSession>, id: &str| registry.switched(session, id);
        let (serving, registry) = (Arc::clone(&session).serve(events, switched), self.clone());
        let ending = Arc::clone(&session);
        osier_base::task::spawn(async move {
            serving.await;
            registry.remove(&ending);
        });
        loop {
            let received = subscriber.next().await;
            match received.as_deref().map(|received| &received.event) {
                Some(Event::SessionOpened { .. }) => {
                    return Ok(session);
                }
                Some(Event::SessionFailed { message, .. }) => {
                    let message = message.clone();
                    session.close().await;
                    return Err(OpenError::Unavailable { message });
                }
                Some(_) => {}
                None => return Err(OpenError::Closing),
            }
        }
    }

    /// Records that `session` has switched to the session with this id.
    fn switched(&self, session: &Arc<SharedSession>, id: &str) {
        let mut table = self.0.table.lock();
        table
            .sessions
            .retain(|_, known| !Arc::ptr_eq(known, session));
        table.sessions.insert(id.to_owned(), Arc::clone(session));
    }

    fn remove(&self, session: &Arc<SharedSession>) {
        let mut table = self.0.table.lock();
        table
            .sessions
            .retain(|_, known| !Arc::ptr_eq(known, session));
        drop(table);
        self.0.changed.notify_waiters();
    }

    /// Waits until no other caller opens or closes this session, and locks it.
    async fn lock_session(&self, id: &str) -> SessionLock<'_> {
        loop {
            let changed = self.0.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if let Some(locked) = self.try_lock_session(id) {
                return locked;
            }
            changed.await;
        }
    }

    /// Waits until no caller opens or closes this session.
    async fn wait_until_unlocked(&self, id: &str) {
        loop {
            let changed = self.0.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if !self.0.table.lock().locked.contains(id) {
                return;
            }
            changed.await;
        }
    }

    fn try_lock_session(&self, id: &str) -> Option<SessionLock<'_>> {
        let free = self.0.table.lock().locked.insert(id.to_owned());
        free.then(|| SessionLock {
            registry: self,
            id: id.to_owned(),
        })
    }
}

impl Table {
    /// The session with this id, or the session that had this id before it switched to another one.
    fn find(&self, id: &str) -> Option<Arc<SharedSession>> {
        let now = self.sessions.get(id);
        now.or_else(|| self.sessions.values().find(|session| session.had_id(id)))
            .cloned()
    }
}

/// Locks a session id while the session is opened or closed.
struct SessionLock<'a> {
    registry: &'a SessionRegistry,
    id: String,
}

impl Drop for SessionLock<'_> {
    fn drop(&mut self) {
        self.registry.0.table.lock().locked.remove(&self.id);
        self.registry.0.changed.notify_waiters();
    }
}
