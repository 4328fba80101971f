//! One open session and its clients.
//!
//! A task receives each event of the session once, numbers it, stores it in the replay buffer and sends it to every
//! subscriber. The queues of subscribers are unbounded: a subscriber that serves a slow client must drop events itself.

use parking_lot::Mutex;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;
use tokio::sync::{Notify, mpsc, watch};

use super::presence::{ClientIdentity, OccupiedError, Presence};
use super::received::{Piece, SeenKeys, Uploads};
use super::replay::{NumberedEvent, ReplayBuffer, TimedEvent};
use super::retained::RetainedState;
use osier_agent::{AgentMessage, Severity, Subscription};
use osier_base::clock;
use osier_base::task::sleep_until;
use osier_base::text::head_bytes;
use osier_protocol::{Event, Op, PermissionMode};
use osier_session::SessionHandle;

/// Event numbers start at the time of opening in milliseconds, multiplied by this, so that they
/// continue to increase after a restart.
const NUMBERS_PER_MILLISECOND: u64 = 1000;

/// One open session, shared by all its clients.
#[derive(Debug)]
pub struct SharedSession {
    handle: SessionHandle,
    state: Mutex<State>,
    /// The number of this opening of the session.
    opened: u64,
    ended: watch::Sender<bool>,
    /// A client has left, so the deadline of presence may have changed.
    client_left: Notify,
}

#[derive(Debug)]
struct State {
    /// The ids of the sessions that were open here; the last one is the current session.
    ids: Vec<String>,
    replay: ReplayBuffer,
    retained: RetainedState,
    presence: Presence,
    subscribers: Vec<mpsc::UnboundedSender<Arc<NumberedEvent>>>,
    /// The idempotency keys of the last commands, and those of the prompts in the file.
    seen_keys: SeenKeys,
    /// Commands that arrive in parts.
    uploads: Uploads,
    /// The session has ended.
    ended: bool,
    /// The session ends because its server stops: clients join it again after a restart.
    ends_with_server: bool,
    details: Details,
    /// When a client subscribed or an event arrived last.
    last_active: Instant,
}

/// The details of a session for session lists.
#[derive(Debug, Clone, Default)]
struct Details {
    cwd: String,
    path: Option<String>,
    name: Option<String>,
    first_prompt: Option<String>,
    model: Option<String>,
    permissions: Option<PermissionMode>,
    /// Answers that arrived while no client was connected.
    unread: usize,
    /// Milliseconds since the Unix epoch.
    modified: i64,
}

/// The present activity of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Activity {
    /// A run or a command is active.
    Working,
    /// A question waits for the user.
    Waiting,
    Idle,
}

/// An open session in a session list.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct OpenSessionInfo {
    pub id: String,
    pub state: Activity,
    /// Answers that arrived while no client was connected.
    pub unread: usize,
    /// Connected clients.
    pub clients: usize,
    pub name: Option<String>,
    pub first_prompt: Option<String>,
    pub cwd: String,
    /// `PROVIDER/ID`.
    pub model: Option<String>,
    /// The permission mode.
    pub permissions: Option<PermissionMode>,
    /// The path of the session file; not set for a session that is not stored.
    pub path: Option<String>,
    /// Time of the last change, in milliseconds since the Unix epoch.
    pub modified: i64,
}

/// Receives the events of a session from the moment of subscription.
#[derive(Debug)]
pub struct Subscriber {
    /// Number of the last event before the subscription.
    pub number: u64,
    pub(super) retained: RetainedState,
    events: mpsc::UnboundedReceiver<Arc<NumberedEvent>>,
}

impl Subscriber {
    /// The next event; `None` when the session has ended. Cancel safe.
    pub async fn next(&mut self) -> Option<Arc<NumberedEvent>> {
        self.events.recv().await
    }

    /// The state of the session at the moment of subscription, as events.
    pub fn retained(&self) -> Vec<TimedEvent> {
        self.retained.events()
    }
}

impl SharedSession {
    /// A session that was just started; `ids` are its earlier ids, `stored_keys` the idempotency keys in its file.
    pub(super) fn new(
        handle: SessionHandle,
        ids: Vec<String>,
        stored_keys: HashSet<String>,
    ) -> Arc<Self> {
        let now = u64::try_from(clock::now_ms()).unwrap_or_default();
        let (ended, _) = watch::channel(false);
        Arc::new(Self {
            handle,
            opened: now * NUMBERS_PER_MILLISECOND,
            state: Mutex::new(State {
                ids,
                replay: ReplayBuffer::new(now * NUMBERS_PER_MILLISECOND),
                retained: RetainedState::default(),
                presence: Presence::default(),
                subscribers: Vec::new(),
                seen_keys: SeenKeys::new(stored_keys),
                uploads: Uploads::default(),
                ended: false,
                ends_with_server: false,
                details: Details::default(),
                last_active: Instant::now(),
            }),
            ended,
            client_left: Notify::new(),
        })
    }

    /// The handle to send ops with.
    pub fn handle(&self) -> &SessionHandle {
        &self.handle
    }

    /// The id of the current session.
    pub fn id(&self) -> String {
        self.state.lock().ids.last().cloned().unwrap_or_default()
    }

    /// Whether this is the current id or an earlier one.
    pub(super) fn had_id(&self, id: &str) -> bool {
        self.state.lock().ids.iter().any(|known| known == id)
    }

    /// Subscribes to the events from now on.
    pub fn subscribe(&self) -> Subscriber {
        let (sender, events) = mpsc::unbounded_channel();
        let mut state = self.state.lock();
        if !state.ended {
            state.subscribers.push(sender);
        }
        state.last_active = Instant::now();
        Subscriber {
            number: state.replay.last(),
            retained: state.retained.clone(),
            events,
        }
    }

    /// Marks all answers as read.
    pub fn mark_read(&self) {
        self.state.lock().details.unread = 0;
    }

    /// The number of this opening of the session: it knows all idempotency keys that were sent to it. A later opening
    /// knows those of prompts, which are in the file.
    pub fn opened(&self) -> u64 {
        self.opened
    }

    /// Records an idempotency key. Returns false if it is already known.
    pub fn claim_key(&self, key: &str) -> bool {
        self.state.lock().seen_keys.claim(key)
    }

    /// Whether a command with this key was sent before.
    pub fn knows_key(&self, key: &str) -> bool {
        self.state.lock().seen_keys.has(key)
    }

    /// Stores a part of the command with this key. Returns how many bytes of it have arrived, and
    /// the text as soon as it is complete.
    pub fn add_piece(&self, key: &str, piece: &Piece) -> (usize, Option<String>) {
        let mut state = self.state.lock();
        state.last_active = Instant::now();
        state.uploads.add(key, piece)
    }

    /// The events after this number. `None` when some are no longer in the replay buffer, or the number is unknown.
    pub fn events_after(&self, number: u64) -> Option<Vec<Arc<NumberedEvent>>> {
        self.state.lock().replay.events_after(number)
    }

    /// The entry for session lists.
    pub fn info(&self) -> OpenSessionInfo {
        let mut state = self.state.lock();
        state
            .subscribers
            .retain(|subscriber| !subscriber.is_closed());
        let details = state.details.clone();
        OpenSessionInfo {
            id: state.ids.last().cloned().unwrap_or_default(),
            state: state.activity(),
            unread: details.unread,
            clients: state.subscribers.len(),
            name: details.name,
            first_prompt: details.first_prompt,
            cwd: details.cwd,
            model: details.model,
            permissions: details.permissions,
            path: details.path,
            modified: details.modified,
        }
    }

    /// Whether the session has been idle and without clients for `after`.
    pub(super) fn is_unused_for(&self, after: Duration) -> bool {
        let mut state = self.state.lock();
        state
            .subscribers
            .retain(|subscriber| !subscriber.is_closed());
        state.subscribers.is_empty()
            && state.activity() == Activity::Idle
            && state.last_active.elapsed() >= after
    }

    /// Clears the replay buffer if the session has been idle and without clients for `after`.
    pub(super) fn clear_replay_if_unused(&self, after: Duration) {
        if self.is_unused_for(after) {
            self.state.lock().replay.clear();
        }
    }

    /// Stops all work, stores the session and waits until it has ended.
    pub async fn close(&self) {
        self.handle.send(Op::ShutDown);
        self.ended().await;
    }

    /// Closes the session because the server stops.
    pub(super) async fn close_with_server(&self) {
        self.state.lock().ends_with_server = true;
        self.close().await;
    }

    /// Whether the session ends only because the server stops. Clients then wait for the server instead of leaving.
    pub fn ends_with_server(&self) -> bool {
        self.state.lock().ends_with_server
    }

    /// Waits until the session has ended.
    pub async fn ended(&self) {
        let mut ended = self.ended.subscribe();
        // This cannot fail: the sender is a field of this session.
        let _ = ended.wait_for(|ended| *ended).await;
    }

    /// Handles the events until the session ends. Calls `switched` with the new id when it switches to another session.
    pub(super) async fn serve(
        self: Arc<Self>,
        mut events: Subscription<Event>,
        switched: impl Fn(&Arc<Self>, &str),
    ) {
        loop {
            let deadline = self.state.lock().presence.deadline();
            let event = tokio::select! {
                event = events.recv_timed() => event,
                () = self.client_left.notified() => continue,
                () = sleep_until(deadline) => {
                    self.expire();
                    continue;
                }
            };
            let Some((time, event)) = event else {
                break;
            };
            let last = event == Event::ShutDown;
            if let Some(id) = self.on_event(time, event) {
                switched(&self, &id);
            }
            if last {
                break;
            }
        }
        let mut state = self.state.lock();
        state.ended = true;
        state.subscribers.clear();
        drop(state);
        self.ended.send_replace(true);
    }

    /// Handles an event. Returns the new id when the session has switched to another one.
    fn on_event(&self, time: i64, event: Event) -> Option<String> {
        let mut state = self.state.lock();
        state.retained.apply(time, &event);
        let has_subscribers = !state.subscribers.is_empty();
        state.details.on_event(&event, has_subscribers);
        state.last_active = Instant::now();
        let mut switched = None;
        if let Event::SessionOpened { session, .. } = &event
            && state.ids.last() != Some(&session.id)
        {
            state.ids.retain(|id| *id != session.id);
            state.ids.push(session.id.clone());
            switched = Some(session.id.clone());
        }
        let is_running = state.retained.is_running();
        state.presence.on_event(&event, is_running);
        // Presence is published first, so that a client that receives the end of a run may write.
        state.publish_presence();
        state.publish(time, event);
        switched
    }

    /// Adds a client. Returns its number.
    pub(super) fn join(&self, identity: ClientIdentity) -> u64 {
        let mut state = self.state.lock();
        let id = state.presence.join(identity);
        state.publish_presence();
        id
    }

    /// Removes a connection of a client; `lost` if the client did not close it.
    pub(super) fn leave(&self, id: u64, lost: bool) {
        let mut state = self.state.lock();
        state.presence.leave(id, lost, tokio::time::Instant::now());
        state.publish_presence();
        drop(state);
        self.client_left.notify_one();
    }

    fn expire(&self) {
        let mut state = self.state.lock();
        state.presence.expire(tokio::time::Instant::now());
        state.publish_presence();
    }

    /// Checks whether client `by` may send `op` with the number `request`.
    pub(super) fn authorize(
        &self,
        by: Option<u64>,
        op: &Op,
        request: u64,
    ) -> Result<(), OccupiedError> {
        let mut state = self.state.lock();
        let is_running = state.retained.is_running();
        let notice = state.presence.authorize(by, op, request, is_running)?;
        state.publish_presence();
        if let Some(text) = notice {
            let event = Event::Notice {
                severity: Severity::Info,
                text,
                request: None,
            };
            state.publish(clock::now_ms(), event);
        }
        Ok(())
    }
}

impl State {
    /// Numbers an event and sends it to every subscriber.
    fn publish(&mut self, time: i64, event: Event) {
        let event = self.replay.push(time, event);
        self.subscribers
            .retain(|subscriber| subscriber.send(Arc::clone(&event)).is_ok());
    }

    /// Publishes presence if it has changed.
    fn publish_presence(&mut self) {
        if let Some(event) = self.presence.changed() {
            let time = clock::now_ms();
            self.retained.apply(time, &event);
            self.publish(time, event);
        }
        if self.presence.is_empty() {
            self.retained.clear_presence();
        }
    }

    fn activity(&self) -> Activity {
        if self.retained.has_question() {
            Activity::Waiting
        } else if self.retained.is_running() {
            Activity::Working
        } else {
            Activity::Idle
        }
    }
}

impl Details {
    fn on_event(&mut self, event: &Event, has_subscribers: bool) {
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
                    self.add_message(&stored.message);
                }
            }
            Event::SessionRenamed { name } => {
                self.name.clone_from(name);
                // A new name is not a use of the session.
                return;
            }
            Event::ModelSelected { model, .. } => self.model = Some(model.reference()),
            Event::Permissions { mode, .. } => self.permissions = Some(*mode),
            Event::Agent(osier_agent::Event::MessageEnd { message, .. }) => {
                self.add_message(message);
                let is_answer = matches!(&**message, AgentMessage::Assistant(_));
                self.unread += usize::from(is_answer && !has_subscribers);
            }
            _ => return,
        }
        self.modified = clock::now_ms();
    }

    fn add_message(&mut self, message: &AgentMessage) {
        if let AgentMessage::User(prompt) = message
            && self.first_prompt.is_none()
        {
            let text = prompt.text.trim();
            self.first_prompt = Some(head_bytes(text, 200).to_owned());
        }
    }
}
