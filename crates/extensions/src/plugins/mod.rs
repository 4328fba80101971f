//! Plug-ins in Lua. Each is a file with a thread and a state of its own (`thread`, `sandbox`); what it
//! can use is the table in [`api`]. It speaks to the host over a [`Link`], is asked by the loop through
//! [`PluginInterceptor`], and its tools are a source of the agent's.
//!
//! A plug-in is never trusted to end: it may run so many instructions, hold so much memory, keep an event
//! so long. Whatever it does wrong is one line with its place, and everything else goes on.

pub mod api;
mod bindings;
mod convert;
pub mod discover;
mod fault;
mod interceptor;
pub mod lines;
pub mod link;
mod outside;
mod sandbox;
mod thread;
mod tool;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use discover::Source;
pub use interceptor::PluginInterceptor;
use link::{Call, Link, PluginKey, Registration, Request};
use osier_agent::{Severity, Tool, ToolSet, ToolSource};
use osier_base::problem::Problem;
use osier_context::AddedCommand;
use osier_protocol::questions::Questions;
use tool::PluginTool;

/// The plug-ins of a host. The list changes when they are loaded again; whoever holds this sees it.
#[derive(Debug)]
pub struct Plugins {
    link: Link,
    questions: Questions,
    cwd: PathBuf,
    running: RwLock<Vec<Running>>,
    /// Fires when the user interrupts: whoever waits for a plug-in waits no more.
    interrupt: Mutex<CancellationToken>,
}

/// One that is loaded. Dropping it ends its thread and what it waits for.
#[derive(Debug)]
struct Running {
    source: Source,
    calls: mpsc::UnboundedSender<Call>,
    registration: Registration,
    tools: ToolSet,
    closed: CancellationToken,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.closed.cancel();
    }
}

/// What came of loading.
#[derive(Debug, Default)]
pub struct Loaded {
    /// Plug-ins that were started, or started again.
    pub started: Vec<String>,
    /// Plug-ins that are gone.
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

    /// The interceptor that asks them.
    pub fn interceptor(self: &Arc<Self>) -> PluginInterceptor {
        PluginInterceptor(Arc::clone(self))
    }

    fn running(&self) -> RwLockReadGuard<'_, Vec<Running>> {
        self.running.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Brings the list to what stands in `folders`: files that did not change go on running.
    pub async fn load(&self, folders: Vec<PathBuf>) -> Loaded {
        let found = tokio::task::spawn_blocking(move || discover::discover(&folders));
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

    /// Gives up whatever is waited for.
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

    /// Ends all of them.
    pub fn close(&self) {
        let mut running = self.running.write().unwrap_or_else(PoisonError::into_inner);
        running.clear();
    }

    async fn start(&self, source: Source) -> Option<Running> {
        let (calls, received) = mpsc::unbounded_channel();
        let (tell, loaded) = oneshot::channel();
        let closed = CancellationToken::new();
        let started = thread::start(thread::Start {
            source: source.clone(),
            cwd: self.cwd.clone(),
            link: self.link.clone(),
            questions: self.questions.clone(),
            calls: received,
            loaded: tell,
            closed: closed.clone(),
        });
        if let Err(error) = started {
            let message = format!("has no thread: {error}");
            self.link
                .report(Problem::of_file(&source.path, message, ""));
            return None;
        }
        // A file that blocks its thread is stopped by its instructions; the sender is dropped at the end.
        match loaded.await {
            Ok(Ok(registration)) => {
                let tools = registration.tools.iter().map(|spec| {
                    let tool = PluginTool {
                        spec: spec.clone(),
                        plugin: source.name.clone(),
                        calls: calls.clone(),
                    };
                    Arc::new(tool) as Arc<dyn Tool>
                });
                Some(Running {
                    tools: tools.collect(),
                    source,
                    calls,
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

    /// Whether any function waits for the event.
    pub fn listens(&self, event: &str) -> bool {
        let running = self.running();
        running.iter().any(|plugin| plugin.listens(event))
    }

    /// Asks every plug-in that listens; answers with the fields that changed.
    ///
    /// # Errors
    /// What is to be told the model when a plug-in failed.
    async fn ask(&self, event: &'static str, mut payload: Value) -> Result<Value, String> {
        let listening: Vec<_> = {
            let running = self.running();
            let listening = running.iter().filter(|plugin| plugin.listens(event));
            listening
                .map(|plugin| (plugin.source.name.clone(), plugin.calls.clone()))
                .collect()
        };
        let interrupt = self.interrupted();
        let mut all = serde_json::Map::new();
        for (name, calls) in listening {
            let (reply, answer) = oneshot::channel();
            let call = Call::Ask {
                event,
                payload: payload.clone(),
                reply,
            };
            // A plug-in that has just been reloaded is asked no more.
            if calls.send(call).is_err() {
                continue;
            }
            let answer = tokio::select! {
                answer = answer => answer,
                () = interrupt.cancelled() => return Err("interrupted".to_owned()),
            };
            let ended = |_| Err(format!("the plug-in `{name}` has ended"));
            let changed = answer.unwrap_or_else(ended)?;
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

    /// Tells every plug-in that listens. Never waits.
    pub fn tell(&self, event: &'static str, payload: &Value) {
        for plugin in self.running().iter().filter(|plugin| plugin.listens(event)) {
            let payload = payload.clone();
            // It may just have ended.
            let _ = plugin.calls.send(Call::Tell { event, payload });
        }
    }

    /// Whether anything that is told afterwards is listened to.
    pub fn is_curious(&self) -> bool {
        let told = |event: &str| api::TOLD.iter().any(|known| known.name == event);
        let running = self.running();
        let mut events = running
            .iter()
            .flat_map(|plugin| &plugin.registration.events);
        events.any(|event| told(event))
    }

    /// Runs a slash command; false when none has this name.
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
        plugin.calls.send(Call::Command { name, argument }).is_ok()
    }

    /// Runs what a key of the plug-in is bound to; false when it has none.
    pub fn press(&self, plugin: &str, keys: &str) -> bool {
        let running = self.running();
        let Some(plugin) = running.iter().find(|known| known.source.name == plugin) else {
            return false;
        };
        let keys = keys.to_owned();
        plugin.calls.send(Call::Key { keys }).is_ok()
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
