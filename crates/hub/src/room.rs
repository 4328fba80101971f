//! One host and everybody who listens to it.
//!
//! A task takes each event of the host once: it is numbered, kept for a while and handed to every watcher.
//! Watchers only receive; whoever shows events to somebody slow has to let go of them itself.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;
use tokio::sync::{Notify, mpsc, watch};

use super::presence::{Introduction, Occupied, Presence};
use super::ring::{Ring, Told};
use super::standing::Standing;
use osier_agent::{AgentMessage, Severity, Subscription};
use osier_base::clock;
use osier_base::text::head_bytes;
use osier_protocol::{Event, Op, PermissionMode};
use osier_session::SessionHandle;

/// Numbers of a life: those of the next one are above them.
const NUMBERS_A_MILLISECOND: u64 = 1000;

/// Names of what was taken that are remembered.
const REMEMBERED: usize = 256;

/// One open session.
#[derive(Debug)]
pub struct Room {
    host: SessionHandle,
    inside: Mutex<Inside>,
    ended: watch::Sender<bool>,
    /// Somebody may have to give up a place later.
    leaving: Notify,
}

#[derive(Debug)]
struct Inside {
    /// Ids the room is known by; the last one is that of its session.
    ids: Vec<String>,
    ring: Ring,
    standing: Standing,
    presence: Presence,
    watchers: Vec<mpsc::UnboundedSender<Arc<Told>>>,
    /// Names of what was taken last.
    taken: VecDeque<String>,
    /// Nothing comes any more.
    ended: bool,
    about: About,
    /// When somebody came or something happened last.
    touched: Instant,
}

/// What a list shows.
#[derive(Debug, Clone, Default)]
struct About {
    cwd: String,
    path: Option<String>,
    name: Option<String>,
    first_prompt: Option<String>,
    model: Option<String>,
    permissions: Option<PermissionMode>,
    /// Answers that came while nobody was there.
    unread: usize,
    /// Milliseconds since the Unix epoch.
    modified: i64,
}

/// How a session stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Activity {
    /// A run or a command is on.
    Working,
    /// Somebody has to decide something.
    Waiting,
    Idle,
}

/// An open session as a list shows it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RoomInfo {
    pub id: String,
    pub state: Activity,
    /// Answers that came while nobody was there.
    pub unread: usize,
    /// Clients that listen.
    pub clients: usize,
    pub name: Option<String>,
    pub first_prompt: Option<String>,
    pub cwd: String,
    /// `PROVIDER/ID`.
    pub model: Option<String>,
    /// How much is asked before tools run.
    pub permissions: Option<PermissionMode>,
    /// Not set for a session that is not stored.
    pub path: Option<String>,
    /// When something happened last, in milliseconds since the Unix epoch.
    pub modified: i64,
}

/// A place from which everything that comes is heard.
#[derive(Debug)]
pub struct Watch {
    /// Number of the last event before those that come.
    pub number: u64,
    pub(super) standing: Standing,
    events: mpsc::UnboundedReceiver<Arc<Told>>,
}

impl Watch {
    /// The next event; `None` when the room has ended. Cancel safe.
    pub async fn next(&mut self) -> Option<Arc<Told>> {
        self.events.recv().await
    }

    /// What held when the watch began, as events.
    pub fn standing(&self) -> Vec<Event> {
        self.standing.events()
    }
}

impl Room {
    /// A room for a host that was just started; `ids` are those it is known by already.
    pub(super) fn new(host: SessionHandle, ids: Vec<String>) -> Arc<Self> {
        let now = u64::try_from(clock::now_ms()).unwrap_or_default();
        let (ended, _) = watch::channel(false);
        Arc::new(Self {
            host,
            inside: Mutex::new(Inside {
                ids,
                ring: Ring::new(now * NUMBERS_A_MILLISECOND),
                standing: Standing::default(),
                presence: Presence::default(),
                watchers: Vec::new(),
                taken: VecDeque::new(),
                ended: false,
                about: About::default(),
                touched: Instant::now(),
            }),
            ended,
            leaving: Notify::new(),
        })
    }

    /// The host, for whoever sends it ops.
    pub fn host(&self) -> &SessionHandle {
        &self.host
    }

    /// The id of its session.
    pub fn id(&self) -> String {
        self.lock().ids.last().cloned().unwrap_or_default()
    }

    /// Whether it was found under this id before its session changed.
    pub(super) fn was(&self, id: &str) -> bool {
        self.lock().ids.iter().any(|known| known == id)
    }

    /// Listens from now on.
    pub fn watch(&self) -> Watch {
        let (sender, events) = mpsc::unbounded_channel();
        let mut inside = self.lock();
        if !inside.ended {
            inside.watchers.push(sender);
        }
        inside.touched = Instant::now();
        Watch {
            number: inside.ring.last(),
            standing: inside.standing.clone(),
            events,
        }
    }

    /// Somebody has seen what there is.
    pub fn read(&self) {
        self.lock().about.unread = 0;
    }

    /// Whether nothing was taken under this name before. It counts as taken from now on.
    pub fn is_first(&self, name: &str) -> bool {
        let mut inside = self.lock();
        if inside.taken.iter().any(|known| known == name) {
            return false;
        }
        if inside.taken.len() == REMEMBERED {
            inside.taken.pop_front();
        }
        inside.taken.push_back(name.to_owned());
        true
    }

    /// What came after the event with this number; `None` when some of it is gone, or when there was no such
    /// event.
    pub fn after(&self, number: u64) -> Option<Vec<Arc<Told>>> {
        self.lock().ring.after(number)
    }

    /// How it stands.
    pub fn info(&self) -> RoomInfo {
        let mut inside = self.lock();
        inside.watchers.retain(|watcher| !watcher.is_closed());
        let about = inside.about.clone();
        RoomInfo {
            id: inside.ids.last().cloned().unwrap_or_default(),
            state: inside.activity(),
            unread: about.unread,
            clients: inside.watchers.len(),
            name: about.name,
            first_prompt: about.first_prompt,
            cwd: about.cwd,
            model: about.model,
            permissions: about.permissions,
            path: about.path,
            modified: about.modified,
        }
    }

    /// Whether nobody has needed it for so long.
    pub(super) fn is_forgotten(&self, after: Duration) -> bool {
        let mut inside = self.lock();
        inside.watchers.retain(|watcher| !watcher.is_closed());
        inside.watchers.is_empty()
            && inside.activity() == Activity::Idle
            && inside.touched.elapsed() >= after
    }

    /// Forgets the events that are kept for who comes back, when nobody has been there for so long.
    pub(super) fn rest(&self, after: Duration) {
        if self.is_forgotten(after) {
            self.lock().ring.forget();
        }
    }

    /// Stops what runs, stores everything and waits for the end.
    pub async fn close(&self) {
        self.host.send(Op::ShutDown);
        self.ended().await;
    }

    /// Waits for the end.
    pub async fn ended(&self) {
        let mut ended = self.ended.subscribe();
        // The sender is a part of this room.
        let _ = ended.wait_for(|ended| *ended).await;
    }

    /// Takes the host's events until it ends. `moved` is told the new id when the session is another.
    pub(super) async fn serve(
        self: Arc<Self>,
        mut events: Subscription<Event>,
        moved: impl Fn(&Arc<Self>, &str),
    ) {
        loop {
            let deadline = self.lock().presence.deadline();
            let event = tokio::select! {
                event = events.recv() => event,
                () = self.leaving.notified() => continue,
                () = until(deadline) => {
                    self.expire();
                    continue;
                }
            };
            let Some(event) = event else {
                break;
            };
            let last = event == Event::ShutDown;
            if let Some(id) = self.take(event) {
                moved(&self, &id);
            }
            if last {
                break;
            }
        }
        let mut inside = self.lock();
        inside.ended = true;
        inside.watchers.clear();
        drop(inside);
        self.ended.send_replace(true);
    }

    /// Takes an event; the id of the session, when that is another one now.
    fn take(&self, event: Event) -> Option<String> {
        let mut inside = self.lock();
        inside.standing.take(&event);
        let is_watched = !inside.watchers.is_empty();
        inside.about.take(&event, is_watched);
        inside.touched = Instant::now();
        let mut moved = None;
        if let Event::SessionOpened { session, .. } = &event
            && inside.ids.last() != Some(&session.id)
        {
            inside.ids.retain(|id| *id != session.id);
            inside.ids.push(session.id.clone());
            moved = Some(session.id.clone());
        }
        let works = inside.standing.is_running();
        inside.presence.follow(&event, works);
        // Whoever hears of the end may write.
        inside.tell_presence();
        inside.tell(event);
        moved
    }

    /// Somebody comes; the number of the place.
    pub(super) fn enter(&self, introduction: Introduction) -> u64 {
        let mut inside = self.lock();
        let id = inside.presence.enter(introduction);
        inside.tell_presence();
        id
    }

    /// Somebody goes, or is cut off.
    pub(super) fn leave(&self, id: u64, cut: bool) {
        let mut inside = self.lock();
        inside.presence.leave(id, cut, tokio::time::Instant::now());
        inside.tell_presence();
        drop(inside);
        self.leaving.notify_one();
    }

    fn expire(&self) {
        let mut inside = self.lock();
        inside.presence.expire(tokio::time::Instant::now());
        inside.tell_presence();
    }

    /// Whether this client may have the op done that it asks for under `request`.
    pub(super) fn admit(&self, by: Option<u64>, op: &Op, request: u64) -> Result<(), Occupied> {
        let mut inside = self.lock();
        let works = inside.standing.is_running();
        let said = inside.presence.judge(by, op, request, works)?;
        inside.tell_presence();
        if let Some(text) = said {
            inside.tell(Event::HostNotice {
                severity: Severity::Info,
                text,
                request: None,
            });
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Inside> {
        // A panic elsewhere cannot leave these short critical sections half done.
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inside {
    /// Numbers an event and hands it to everybody.
    fn tell(&mut self, event: Event) {
        let told = self.ring.push(event);
        self.watchers
            .retain(|watcher| watcher.send(Arc::clone(&told)).is_ok());
    }

    /// Tells who is there, where that is news.
    fn tell_presence(&mut self) {
        if let Some(event) = self.presence.news() {
            self.standing.take(&event);
            self.tell(event);
        }
        if self.presence.is_empty() {
            self.standing.forget_presence();
        }
    }

    fn activity(&self) -> Activity {
        if self.standing.is_waiting() {
            Activity::Waiting
        } else if self.standing.is_running() {
            Activity::Working
        } else {
            Activity::Idle
        }
    }
}

async fn until(deadline: Option<tokio::time::Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

impl About {
    fn take(&mut self, event: &Event, is_watched: bool) {
        match event {
            Event::SessionOpened {
                session, messages, ..
            } => {
                let model = self.model.take();
                *self = Self {
                    permissions: self.permissions,
                    cwd: session.cwd.clone(),
                    path: session.path.clone(),
                    name: session.name.clone(),
                    model,
                    ..Self::default()
                };
                for stored in messages {
                    self.hear(&stored.message);
                }
            }
            Event::SessionRenamed { name } => self.name.clone_from(name),
            Event::ModelSelected { model, .. } => self.model = Some(model.reference()),
            Event::Permissions { mode, .. } => self.permissions = Some(*mode),
            Event::Agent(osier_agent::Event::MessageEnd { message, .. }) => {
                self.hear(message);
                let is_answer = matches!(&**message, AgentMessage::Assistant(_));
                self.unread += usize::from(is_answer && !is_watched);
            }
            _ => return,
        }
        self.modified = clock::now_ms();
    }

    fn hear(&mut self, message: &AgentMessage) {
        if let AgentMessage::User(prompt) = message
            && self.first_prompt.is_none()
        {
            let text = prompt.text.trim();
            self.first_prompt = Some(head_bytes(text, 200).to_owned());
        }
    }
}
