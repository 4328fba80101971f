//! The servers of the process: one for each root, shared by the sessions that use it.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Weak};

use osier_base::process::Invocation;
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::launch::{Launch, Limits};
use crate::rustup::lacks_component;
use crate::server::{Server, StartError};
use crate::server_config::ServerConfig;

/// Maximum number of times that a server is started again after it ended.
const RESTARTS: usize = 2;

/// The state of a server, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// The server starts when it is used.
    Stopped,
    Starting,
    Ready,
    /// The server is not started again; the reason, in one line.
    Failed(String),
}

/// The servers of the process.
#[derive(Debug, Default)]
pub struct Servers {
    slots: Mutex<HashMap<Key, Weak<Slot>>>,
    limits: Limits,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    command: Vec<String>,
    options: String,
    programs: Vec<PathBuf>,
    root: PathBuf,
    launch: String,
}

impl Servers {
    pub fn new(limits: Limits) -> Self {
        Self {
            slots: Mutex::default(),
            limits,
        }
    }

    /// The servers that all sessions of the process share.
    pub fn of_process() -> &'static Self {
        static SERVERS: LazyLock<Servers> = LazyLock::new(Servers::default);
        &SERVERS
    }

    /// The server with the first of these programs that is installed, and this root. It starts when
    /// it is used, and ends when no session has its slot.
    pub fn slot(
        &self,
        config: &Arc<ServerConfig>,
        programs: Vec<PathBuf>,
        root: &Path,
        launch: Arc<dyn Launch>,
    ) -> Arc<Slot> {
        let key = Key {
            command: config.command.clone(),
            options: config.options.to_string(),
            programs: programs.clone(),
            root: root.to_owned(),
            launch: launch.key(),
        };
        let mut slots = self.slots.lock();
        if let Some(known) = slots.get(&key).and_then(Weak::upgrade) {
            return known;
        }
        slots.retain(|_, slot| slot.strong_count() > 0);
        let slot = Arc::new(Slot {
            config: Arc::clone(config),
            programs,
            root: root.to_owned(),
            launch,
            limits: self.limits,
            state: Mutex::default(),
            changed: watch::Sender::new(0),
        });
        slots.insert(key, Arc::downgrade(&slot));
        slot
    }
}

/// A server that may run.
#[derive(Debug)]
pub struct Slot {
    config: Arc<ServerConfig>,
    programs: Vec<PathBuf>,
    root: PathBuf,
    launch: Arc<dyn Launch>,
    limits: Limits,
    state: Mutex<State>,
    /// The number of changes of the state and of reports of the server.
    changed: watch::Sender<u64>,
}

#[derive(Debug)]
struct State {
    stage: Stage,
    /// How often the server ended by itself.
    crashes: usize,
    used: Instant,
}

impl Default for State {
    fn default() -> Self {
        Self {
            stage: Stage::Stopped,
            crashes: 0,
            used: Instant::now(),
        }
    }
}

#[derive(Debug, Clone)]
enum Stage {
    Stopped,
    Starting,
    Ready(Arc<Server>),
    Failed(String),
}

impl Slot {
    pub fn config(&self) -> &Arc<ServerConfig> {
        &self.config
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A number that changes with the state and with the diagnostics.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    pub fn status(&self) -> Status {
        match &self.state.lock().stage {
            Stage::Stopped => Status::Stopped,
            Stage::Starting => Status::Starting,
            Stage::Ready(server) if server.ended().is_some() => Status::Stopped,
            Stage::Ready(_) => Status::Ready,
            Stage::Failed(reason) => Status::Failed(reason.clone()),
        }
    }

    /// The server, if it runs.
    pub fn running(&self) -> Option<Arc<Server>> {
        match &self.state.lock().stage {
            Stage::Ready(server) if server.ended().is_none() => Some(Arc::clone(server)),
            _ => None,
        }
    }

    /// The server. Starts it in the background if it does not run, so that the caller may stop
    /// waiting.
    ///
    /// # Errors
    /// Why it does not run, in one line.
    pub async fn server(self: &Arc<Self>) -> Result<Arc<Server>, String> {
        let mut changes = self.changed.subscribe();
        loop {
            changes.mark_unchanged();
            match self.use_now() {
                Stage::Ready(server) => return Ok(server),
                Stage::Failed(reason) => return Err(reason),
                Stage::Starting | Stage::Stopped => {
                    let _ = changes.changed().await;
                }
            }
        }
    }

    /// The current stage. A server that has stopped is started.
    fn use_now(self: &Arc<Self>) -> Stage {
        let mut state = self.state.lock();
        state.used = Instant::now();
        if let Stage::Ready(server) = &state.stage
            && let Some(reason) = server.ended()
        {
            state.crashed(&reason);
            if let Stage::Failed(_) = state.stage {
                self.changed.send_modify(|number| *number += 1);
            }
        }
        if let Stage::Stopped = state.stage {
            state.stage = Stage::Starting;
            osier_base::task::spawn(Arc::clone(self).start());
        }
        state.stage.clone()
    }

    async fn start(self: Arc<Self>) {
        loop {
            let started = self.start_once().await;
            let mut state = self.state.lock();
            match started {
                Ok(server) => {
                    state.used = Instant::now();
                    state.stage = Stage::Ready(Arc::new(server));
                    osier_base::task::spawn(stop_when_idle(Arc::downgrade(&self)));
                }
                Err(StartError::Final(reason)) => state.stage = Stage::Failed(reason),
                Err(StartError::Crashed(reason)) => {
                    state.crashed(&reason);
                    if let Stage::Stopped = state.stage {
                        state.stage = Stage::Starting;
                        drop(state);
                        continue;
                    }
                }
            }
            drop(state);
            self.changed.send_modify(|number| *number += 1);
            return;
        }
    }

    async fn start_once(&self) -> Result<Server, StartError> {
        let program = self.program().await.ok_or_else(|| {
            StartError::Final(
                "rustup does not have it for the toolchain of this project".to_owned(),
            )
        })?;
        let args: Vec<OsString> = self.config.command.iter().skip(1).map(Into::into).collect();
        let invocation = Invocation {
            cwd: Some(self.root.clone()),
            ..Invocation::new(program, args)
        };
        let options = match &self.config.options {
            Value::Null => String::new(),
            options => options.to_string(),
        };
        let wrapped = self.launch.wrap(invocation, &options).await;
        let invocation = wrapped.map_err(StartError::Final)?;
        let reports = self.changed.clone();
        Server::start(&self.config, &self.root, &invocation, self.limits, reports).await
    }

    /// The first program that is not just a proxy of rustup for a component that is not installed.
    async fn program(&self) -> Option<&PathBuf> {
        for program in &self.programs {
            if !lacks_component(program, &self.root, &*self.launch).await {
                return Some(program);
            }
        }
        None
    }
}

impl State {
    fn crashed(&mut self, reason: &str) {
        self.crashes += 1;
        self.stage = if self.crashes > RESTARTS {
            Stage::Failed(format!("it ended {} times: {reason}", self.crashes))
        } else {
            Stage::Stopped
        };
    }
}

/// Ends the server of the slot when nobody has used it for a while.
async fn stop_when_idle(slot: Weak<Slot>) {
    loop {
        let Some((used, limit)) = slot
            .upgrade()
            .map(|slot| (slot.state.lock().used, slot.limits.idle))
        else {
            return;
        };
        tokio::time::sleep_until(used + limit).await;
        let Some(slot) = slot.upgrade() else { return };
        let idle = {
            let mut state = slot.state.lock();
            let Stage::Ready(server) = &state.stage else {
                return;
            };
            let server = Arc::clone(server);
            if server.ended().is_some() {
                return;
            }
            let is_idle = state.used.elapsed() >= limit;
            if is_idle {
                state.stage = Stage::Stopped;
            }
            is_idle.then_some(server)
        };
        if let Some(server) = idle {
            slot.changed.send_modify(|number| *number += 1);
            server.shut_down().await;
            return;
        }
    }
}
