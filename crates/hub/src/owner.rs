//! The owner of all rooms. One table, short locks; whoever opens or closes a session says so in it first,
//! so that two never do the same at once.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::error::OpenError;
use super::room::{Room, RoomInfo};
use osier_protocol::{Event, PermissionMode};
use osier_session::{SessionChoice, SessionHandle, SessionSetup};
use osier_settings::Settings;
use osier_store::{SessionDirectory, SessionSummary, summarize};

/// How long the events of a session are kept that nobody needs.
const RESTING: Duration = Duration::from_mins(10);

/// All open sessions of a process. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Hosts(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// What every session starts with.
    template: SessionSetup,
    table: Mutex<Table>,
    /// Something in the table that others wait for has changed.
    changed: Notify,
}

#[derive(Debug, Default)]
struct Table {
    rooms: HashMap<String, Arc<Room>>,
    /// How sessions were opened that were unloaded since.
    unloaded: HashMap<String, Wanted>,
    /// Sessions that are just being opened or closed.
    busy: HashSet<String>,
    /// Everything ends.
    closing: bool,
}

/// Which session is wanted, and how.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Where to work; for a stored session it is where that was.
    pub cwd: Option<PathBuf>,
    /// A stored session: an id, the start of one, a name or a path. A new one when not set.
    pub session: Option<String>,
    pub model: Option<String>,
    pub permissions: Option<PermissionMode>,
}

impl Wanted {
    /// What the host of `session` starts with: `template`, save for what is wanted otherwise.
    ///
    /// # Errors
    /// The directory cannot be worked in.
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
            model: self.model.clone().or_else(|| template.model.clone()),
            permissions: self.permissions.or(template.permissions),
            ..template.clone()
        })
    }
}

impl Hosts {
    /// No session yet; each will be opened with `template`.
    pub fn new(template: SessionSetup) -> Self {
        let template = SessionSetup {
            answers_questions: true,
            ..template
        };
        Self(Arc::new(Shared {
            template,
            table: Mutex::default(),
            changed: Notify::new(),
        }))
    }

    /// What every session starts with.
    pub fn template(&self) -> &SessionSetup {
        &self.0.template
    }

    /// The open sessions, in no order.
    pub fn list(&self) -> Vec<RoomInfo> {
        let rooms: Vec<Arc<Room>> = self.lock().rooms.values().cloned().collect();
        rooms.iter().map(|room| room.info()).collect()
    }

    /// Opens what is wanted. A session that is open already is shared.
    pub async fn open(&self, wanted: Wanted) -> Result<Arc<Room>, OpenError> {
        let Some(target) = wanted.session.clone() else {
            return self.start(wanted, SessionChoice::New, Vec::new()).await;
        };
        let open = self.lock().find(&target);
        if let Some(room) = open {
            return Ok(room);
        }
        let data = self.0.template.folders.data.clone();
        let query = target.clone();
        let found = tokio::task::spawn_blocking(move || {
            let path = SessionDirectory::new(&data).find(&query).ok()?;
            summarize(&path).ok()
        });
        match found.await.ok().flatten() {
            Some(stored) => self.resume(stored, wanted).await,
            None => Err(OpenError::Unknown { id: target }),
        }
    }

    /// The session that is open where it is wanted, the one that was used last if there are several; a new one
    /// when there is none.
    pub async fn join(&self, wanted: Wanted) -> Result<Arc<Room>, OpenError> {
        if wanted.session.is_none() {
            let cwd = wanted.cwd.as_ref().unwrap_or(&self.0.template.cwd);
            let cwd = cwd.canonicalize().unwrap_or_else(|_| cwd.clone());
            let is_there = |room: &RoomInfo| Path::new(&room.cwd) == cwd;
            let open = self.list().into_iter().filter(is_there);
            if let Some(newest) = open.max_by_key(|room| room.modified) {
                return self.find(&newest.id).await;
            }
        }
        self.open(wanted).await
    }

    /// The session with this id, which is opened again if it was unloaded, or was stored in another life.
    pub async fn find(&self, id: &str) -> Result<Arc<Room>, OpenError> {
        self.settled(id).await;
        let (open, unloaded) = {
            let table = self.lock();
            (table.find(id), table.unloaded.get(id).cloned())
        };
        if let Some(room) = open {
            return Ok(room);
        }
        let data = self.0.template.folders.data.clone();
        let whole = id.to_owned();
        let found = tokio::task::spawn_blocking(move || {
            let path = SessionDirectory::new(&data).file_of(&whole)?;
            summarize(&path).ok()
        });
        match (found.await.ok().flatten(), unloaded) {
            (Some(stored), wanted) => self.resume(stored, wanted.unwrap_or_default()).await,
            (None, Some(wanted)) => self.begin_again(id, wanted).await,
            (None, None) => Err(OpenError::Unknown { id: id.to_owned() }),
        }
    }

    /// Opens a session anew in which nothing had been said when it was unloaded.
    async fn begin_again(&self, id: &str, wanted: Wanted) -> Result<Arc<Room>, OpenError> {
        let _busy = self.idle(id).await;
        let open = self.lock().find(id);
        if let Some(room) = open {
            return Ok(room);
        }
        let ids = vec![id.to_owned()];
        self.start(wanted, SessionChoice::New, ids).await
    }

    /// Closes a session; its file stays. False when it was not open.
    pub async fn close(&self, id: &str) -> bool {
        let Some(room) = self.lock().find(id) else {
            return false;
        };
        let _busy = self.try_busy(&room.id());
        room.close().await;
        self.lock().unloaded.remove(id);
        true
    }

    /// Sessions that nobody has needed for a while keep no events for who comes back.
    pub fn rest_idle(&self) {
        let rooms: Vec<Arc<Room>> = self.lock().rooms.values().cloned().collect();
        for room in rooms {
            room.rest(RESTING);
        }
    }

    /// Unloads the sessions that nobody has needed for so long; how many.
    pub async fn unload_idle(&self, after: Duration) -> usize {
        let rooms: Vec<Arc<Room>> = self.lock().rooms.values().cloned().collect();
        let mut unloaded = 0;
        for room in rooms {
            let id = room.id();
            let Some(_busy) = self.try_busy(&id) else {
                continue;
            };
            if !room.is_forgotten(after) {
                continue;
            }
            let info = room.info();
            // What is stored says which model it was.
            let stored = info.path.is_some_and(|path| Path::new(&path).is_file());
            let wanted = Wanted {
                cwd: Some(PathBuf::from(info.cwd)),
                session: None,
                model: info.model.filter(|_| !stored),
                permissions: info.permissions,
            };
            self.lock().unloaded.insert(id, wanted);
            room.close().await;
            unloaded += 1;
        }
        unloaded
    }

    /// Closes everything: what runs is stopped, everything is stored. No session is opened any more.
    pub async fn close_all(&self) {
        let rooms: Vec<Arc<Room>> = {
            let mut table = self.lock();
            table.closing = true;
            table.rooms.values().cloned().collect()
        };
        let mut closing = JoinSet::new();
        for room in rooms {
            closing.spawn(async move { room.close().await });
        }
        closing.join_all().await;
    }

    async fn resume(&self, stored: SessionSummary, wanted: Wanted) -> Result<Arc<Room>, OpenError> {
        let _busy = self.idle(&stored.id).await;
        let open = self.lock().find(&stored.id);
        if let Some(room) = open {
            return Ok(room);
        }
        let cwd = Path::new(&stored.cwd);
        let cwd = cwd.is_absolute().then(|| cwd.to_owned()).or(wanted.cwd);
        let choice = SessionChoice::Resume(stored.path.to_string_lossy().into_owned());
        self.start(Wanted { cwd, ..wanted }, choice, Vec::new())
            .await
    }

    /// Starts a host and waits until its session is open.
    async fn start(
        &self,
        wanted: Wanted,
        session: SessionChoice,
        ids: Vec<String>,
    ) -> Result<Arc<Room>, OpenError> {
        if self.lock().closing {
            return Err(OpenError::Closing);
        }
        let setup = wanted.setup(&self.0.template, session)?;
        let (host, events) = SessionHandle::start(setup)?;
        let room = Room::new(host, ids);
        let mut watch = room.watch();
        let hosts = self.clone();
        let moved = move |room: &Arc<Room>, id: &str| hosts.moved(room, id);
        let (serving, hosts) = (Arc::clone(&room).serve(events, moved), self.clone());
        let ending = Arc::clone(&room);
        tokio::spawn(async move {
            serving.await;
            hosts.ended(&ending);
        });
        loop {
            let told = watch.next().await;
            match told.as_deref().map(|told| &told.event) {
                Some(Event::SessionOpened { .. }) => {
                    return Ok(room);
                }
                Some(Event::SessionFailed { message, .. }) => {
                    let message = message.clone();
                    room.close().await;
                    return Err(OpenError::Unavailable { message });
                }
                Some(_) => {}
                None => return Err(OpenError::Closing),
            }
        }
    }

    /// The room holds another session from now on.
    fn moved(&self, room: &Arc<Room>, id: &str) {
        let mut table = self.lock();
        table.rooms.retain(|_, known| !Arc::ptr_eq(known, room));
        table.rooms.insert(id.to_owned(), Arc::clone(room));
    }

    fn ended(&self, room: &Arc<Room>) {
        let mut table = self.lock();
        table.rooms.retain(|_, known| !Arc::ptr_eq(known, room));
        drop(table);
        self.0.changed.notify_waiters();
    }

    /// Waits until nobody opens or closes this session, and is the one who does.
    async fn idle(&self, id: &str) -> Busy<'_> {
        loop {
            let changed = self.0.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if let Some(busy) = self.try_busy(id) {
                return busy;
            }
            changed.await;
        }
    }

    /// Waits until nobody opens or closes this session.
    async fn settled(&self, id: &str) {
        loop {
            let changed = self.0.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if !self.lock().busy.contains(id) {
                return;
            }
            changed.await;
        }
    }

    fn try_busy(&self, id: &str) -> Option<Busy<'_>> {
        let free = self.lock().busy.insert(id.to_owned());
        free.then(|| Busy {
            hosts: self,
            id: id.to_owned(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        // A panic elsewhere cannot leave these short critical sections half done.
        self.0.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    /// The room whose session has this id; else the one that had it last.
    fn find(&self, id: &str) -> Option<Arc<Room>> {
        let now = self.rooms.get(id);
        now.or_else(|| self.rooms.values().find(|room| room.was(id)))
            .cloned()
    }
}

/// Somebody opens or closes a session.
struct Busy<'a> {
    hosts: &'a Hosts,
    id: String,
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.hosts.lock().busy.remove(&self.id);
        self.hosts.0.changed.notify_waiters();
    }
}
