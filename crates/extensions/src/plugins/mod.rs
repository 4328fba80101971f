//! Plugins in Lua. Each has its own thread and Lua state (`thread`, `sandbox`). Its API is the table in
//! [`api`]. It sends requests to the session over a [`Link`], the agent loop calls it through
//! [`PluginInterceptor`], and its tools are a tool source of the agent.
//!
//! Plugins are limited in instructions, memory and the time that they can delay an event. Every error is one
//! line with its position, and does not affect anything else.

mod allowance;
pub mod api;
mod async_functions;
mod bindings;
pub mod channel;
mod convert;
mod cx;
pub mod discover;
mod fault;
mod halt;
mod interceptor;
pub mod lines;
mod pattern;
mod sandbox;
mod thread;
mod tool;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use channel::{Call, Link, Registration, Request};
use discover::{PluginFolder, Source};
use halt::Halt;
pub use interceptor::PluginInterceptor;
use osier_agent::{Severity, Tool, ToolSet, ToolSource};
use osier_base::problem::Problem;
use osier_protocol::questions::Questions;
use osier_protocol::{AddedCommand, PluginKey};
use tool::PluginTool;

/// The plugins of a session. Reloading updates the list for all holders.
#[derive(Debug)]
pub struct Plugins {
    link: Link,
    questions: Questions,
    cwd: PathBuf,
    running: RwLock<Vec<Running>>,
    /// Cancelled when the user interrupts, which ends all waits for plugins.
    interrupt: Mutex<CancellationToken>,
}

/// A loaded plugin. Dropping it ends its thread and all its waits.
#[derive(Debug)]
struct Running {
    source: Source,
    calls: mpsc::UnboundedSender<Call>,
    halt: Arc<Halt>,
    registration: Registration,
    tools: ToolSet,
    closed: CancellationToken,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.closed.cancel();
    }
}

/// The result of loading.
#[derive(Debug, Default)]
pub struct Loaded {
    /// Plugins that were started or restarted.
    pub started: Vec<String>,
    /// Plugins that were removed.
    pub ended: Vec<String>,
}

impl Plugins {
    pub fn new(link: Link, questions: Questions, cwd: PathBuf) -> Arc<Self> {
        Arc::new(Self {
            link,
            questions,
            cwd,
            running: RwLock::default(),
            interrupt: Mutex::default(),
        })
    }

    /// The interceptor for the agent loop.
    pub fn interceptor(self: &Arc<Self>) -> PluginInterceptor {
        PluginInterceptor(Arc::clone(self))
    }

    fn running(&self) -> RwLockReadGuard<'_, Vec<Running>> {
        self.running.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Loads the plugins in `folders`; unchanged plugins keep running.
    pub async fn load(&self, folders: Vec<PluginFolder>) -> Loaded {
        let found = osier_base::task::spawn_blocking(move || discover::discover(&folders));
        let (sources, problems) = found.await.unwrap_or_default();
        for problem in problems {
            self.link.report(problem);
        }
        let mut old = {
            let mut running = self.running.write().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *running)
        };
        let mut loaded = Loaded::default();
        let mut new = Vec::with_capacity(sources.len());
        for source in sources {
            if let Some(place) = old.iter().position(|known| known.source == source) {
                new.push(old.remove(place));
            } else {
                loaded.started.push(source.name.clone());
                new.extend(self.start(source).await);
            }
        }
        loaded.ended = old.iter().map(|gone| gone.source.name.clone()).collect();
        drop(old);
        *self.running.write().unwrap_or_else(PoisonError::into_inner) = new;
        loaded
    }

    /// Cancels all waits for plugins.
    pub fn interrupt(&self) {
        let mut interrupt = self
            .interrupt
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *interrupt).cancel();
    }

    fn interrupted(&self) -> CancellationToken {
        let interrupt = self
            .interrupt
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        interrupt.clone()
    }

    /// Ends all plugins.
    pub fn close(&self) {
        let mut running = self.running.write().unwrap_or_else(PoisonError::into_inner);
        running.clear();
    }

    async fn start(&self, source: Source) -> Option<Running> {
        let (calls, received) = mpsc::unbounded_channel();
        let (tell, loaded) = oneshot::channel();
        let closed = CancellationToken::new();
        let halt = Halt::new(&source, &self.link);
        let started = thread::start(thread::Start {
            source: source.clone(),
            cwd: self.cwd.clone(),
            link: self.link.clone(),
            questions: self.questions.clone(),
            calls: received,
            loaded: tell,
            halt: Arc::clone(&halt),
            closed: closed.clone(),
        });
        if let Err(error) = started {
            let message = format!("cannot start its thread: {error}");
            self.link
                .report(Problem::of_file(&source.path, message, ""));
            return None;
        }
        let loaded = tokio::select! {
            biased;
            loaded = loaded => loaded,
            () = halt.token.cancelled() => return None,
        };
        match loaded {
            Ok(Ok(registration)) => {
                let tools = registration.tools.iter().map(|spec| {
                    let tool = PluginTool {
                        spec: spec.clone(),
                        plugin: source.name.clone(),
                        calls: calls.clone(),
                        halt: Arc::clone(&halt),
                    };
                    Arc::new(tool) as Arc<dyn Tool>
                });
                Some(Running {
                    tools: tools.collect(),
                    source,
                    calls,
                    halt,
                    registration,
                    closed,
                })
            }
            Ok(Err(problem)) => {
                self.link.report(problem);
                None
            }
            Err(_) => None,
        }
    }

    /// Whether a plugin has a handler for the event.
    pub fn listens(&self, event: &str) -> bool {
        let running = self.running();
        running.iter().any(|plugin| plugin.listens(event))
    }

    /// Calls every plugin with a handler; returns the changed fields.
    ///
    /// # Errors
    /// A message for the model when a plugin failed.
    async fn ask(&self, event: &'static str, mut payload: Value) -> Result<Value, String> {
        let listening: Vec<_> = {
            let running = self.running();
            let listening = running.iter().filter(|plugin| plugin.listens(event));
            listening
                .map(|plugin| (plugin.calls.clone(), Arc::clone(&plugin.halt)))
                .collect()
        };
        let interrupt = self.interrupted();
        let mut all = serde_json::Map::new();
        for (calls, halt) in listening {
            if halt.token.is_cancelled() {
                return Err(halt.refusal());
            }
            let (reply, answer) = oneshot::channel();
            let call = Call::Ask {
                event,
                payload: payload.clone(),
                reply,
            };
            // A plugin that was just reloaded is not called.
            if calls.send(call).is_err() {
                continue;
            }
            let answer = tokio::select! {
                answer = answer => answer,
                () = halt.token.cancelled() => return Err(halt.message()),
                () = interrupt.cancelled() => return Err("interrupted".to_owned()),
            };
            let changed = answer.unwrap_or_else(|_| Err(halt.ended()))?;
            if let Value::Object(fields) = changed {
                for (field, value) in fields {
                    payload[&field] = value.clone();
                    all.insert(field, value);
                }
            }
            if all.contains_key("block") {
                break;
            }
        }
        Ok(Value::Object(all))
    }

    /// Notifies every plugin with a handler. Never waits.
    pub fn tell(&self, event: &'static str, payload: &Value) {
        for plugin in self.running().iter().filter(|plugin| plugin.listens(event)) {
            let payload = payload.clone();
            // The plugin may have just ended.
            plugin.send(Call::Tell { event, payload });
        }
    }

    /// Whether a plugin has a handler for an event after the fact.
    pub fn is_curious(&self) -> bool {
        let told = |event: &str| api::NOTIFIED.iter().any(|known| known.name == event);
        let running = self.running();
        let mut events = running
            .iter()
            .flat_map(|plugin| &plugin.registration.events);
        events.any(|event| told(event))
    }

    /// Runs a slash command; false for an unknown name.
    pub fn run_command(&self, name: &str, argument: &str) -> bool {
        let running = self.running();
        let has = |plugin: &&Running| {
            let mut commands = plugin.registration.commands.iter();
            commands.any(|command| command.name == name)
        };
        let Some(plugin) = running.iter().find(has) else {
            return false;
        };
        let (name, argument) = (name.to_owned(), argument.to_owned());
        plugin.send(Call::Command { name, argument })
    }

    /// Runs the function of a plugin's key; false for an unknown key.
    pub fn press(&self, plugin: &str, keys: &str) -> bool {
        let running = self.running();
        let Some(plugin) = running.iter().find(|known| known.source.name == plugin) else {
            return false;
        };
        let keys = keys.to_owned();
        plugin.send(Call::Key { keys })
    }

    pub fn commands(&self) -> Vec<AddedCommand> {
        let running = self.running();
        let all = running
            .iter()
            .flat_map(|plugin| plugin.registration.commands.clone());
        all.collect()
    }

    pub fn keys(&self) -> Vec<PluginKey> {
        let running = self.running();
        let all = running
            .iter()
            .flat_map(|plugin| plugin.registration.keys.clone());
        all.collect()
    }

    fn complain(&self, text: &str) {
        self.link.send(Request::Notify {
            severity: Severity::Warning,
            text: text.to_owned(),
        });
    }
}

impl Running {
    /// Passes on a call that nobody waits for. False if the plugin has just ended.
    fn send(&self, call: Call) -> bool {
        if self.halt.token.is_cancelled() {
            self.halt.refuse(&call);
            return true;
        }
        self.calls.send(call).is_ok()
    }

    fn listens(&self, event: &str) -> bool {
        self.registration.events.contains(&event)
    }
}

impl ToolSource for Plugins {
    fn tools(&self) -> ToolSet {
        let running = self.running();
        running
            .iter()
            .flat_map(|plugin| plugin.tools.clone())
            .collect()
    }
}
