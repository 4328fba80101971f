//! Plugins in Lua. Each has its own thread and Lua state (`thread`, `sandbox`). Its API is the table in
//! [`api`]. It sends requests to the session over a [`Link`], the agent loop calls it through
//! [`PluginInterceptor`], and its tools are a tool source of the agent.
//!
//! Plugins are limited in instructions, memory and the time that they can delay an event. Every
//! error is one line with its position. A plugin that guards (`PluginEvent::failure`) blocks these
//! events while it does not work; other errors do not affect anything else.

mod allowance;
mod answer;
pub mod api;
mod async_functions;
mod bindings;
pub mod channel;
mod check;
mod convert;
mod cx;
pub mod discover;
mod fault;
mod halt;
mod interceptor;
pub mod lines;
mod pattern;
mod sandbox;
#[cfg(test)]
mod tests;
mod thread;
mod tool;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};

use futures_util::StreamExt as _;
use futures_util::stream;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use channel::{Call, Link, Registration, Request};
pub use check::check;
use discover::{Found, PluginFolder, Source};
use halt::Halt;
pub use interceptor::PluginInterceptor;
use osier_agent::{Severity, Tool, ToolSet, ToolSource};
use osier_base::problem::Problem;
use osier_protocol::questions::Questions;
use osier_protocol::{AddedCommand, PluginKey};
use osier_tools::Workspace;
use tool::PluginTool;

/// The event with which plugins check calls.
const GATE: &str = "tool_call";
/// The error of a call that the user interrupted.
const INTERRUPTED: &str = "interrupted";
/// Maximum number of plugins that load at the same time.
const AT_ONCE: usize = 8;
/// How often in a row plugins can continue a model that has finished, as the hooks of `Stop`.
const CONTINUATIONS: u32 = 8;

/// The plugins of a session. Reloading updates the list for all holders.
#[derive(Debug)]
pub struct Plugins {
    link: Link,
    questions: Questions,
    cwd: PathBuf,
    is_attended: bool,
    state: RwLock<State>,
    /// How often plugins continued the model since the user did something.
    continued: AtomicU32,
    /// Cancelled when the user interrupts, which ends all waits for plugins.
    interrupt: Mutex<CancellationToken>,
}

#[derive(Debug, Default)]
struct State {
    running: Vec<Arc<Running>>,
    broken: Vec<BrokenGate>,
}

/// A plugin that does not load and, as far as is known, guards events.
#[derive(Debug)]
struct BrokenGate {
    name: String,
    /// The events that the plugin guards.
    events: Vec<&'static str>,
    reason: String,
}

impl BrokenGate {
    /// The answer to every event that the plugin guards.
    fn refusal(&self) -> String {
        let what = if self.events.contains(&GATE) {
            "checks calls".to_owned()
        } else {
            format!("handles `{}`", self.events.join("` and `"))
        };
        format!(
            "the plugin `{}` {what} and does not load: {}; fix or delete it",
            self.name, self.reason
        )
    }
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

/// The result of loading one plugin.
#[derive(Debug, Default)]
struct Update {
    started: Option<String>,
    running: Option<Arc<Running>>,
    broken: Option<BrokenGate>,
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
    /// The plugins of a session in `cwd`. Without a person who sees problems (`is_attended`), no prompt runs while a
    /// plugin that checks calls does not load.
    pub fn new(link: Link, questions: Questions, cwd: PathBuf, is_attended: bool) -> Arc<Self> {
        Arc::new(Self {
            link,
            questions,
            cwd,
            is_attended,
            state: RwLock::default(),
            continued: AtomicU32::new(0),
            interrupt: Mutex::default(),
        })
    }

    /// The interceptor for the agent loop of an agent in `workspace`.
    pub fn interceptor(self: &Arc<Self>, workspace: &Arc<Workspace>) -> PluginInterceptor {
        PluginInterceptor {
            plugins: Arc::clone(self),
            workspace: Arc::clone(workspace),
        }
    }

    fn has_tool(&self, name: &str) -> bool {
        let state = self.state();
        let mut running = state.running.iter();
        running.any(|plugin| {
            let mut tools = plugin.registration.tools.iter();
            tools.any(|tool| tool.name == name)
        })
    }

    fn state(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Loads the plugins in `folders`; unchanged plugins keep running. Running plugins stay active
    /// until all are loaded, and longer if their new version does not load.
    pub async fn load(&self, folders: Vec<PluginFolder>) -> Loaded {
        let found = osier_base::task::spawn_blocking(move || discover::discover(&folders));
        let Ok(found) = found.await else {
            return Loaded::default();
        };
        let old = self.state().running.clone();
        let starting = found
            .plugins
            .into_iter()
            .map(|found| self.update(found, &old));
        let updates: Vec<Update> = stream::iter(starting).buffered(AT_ONCE).collect().await;
        let mut loaded = Loaded::default();
        let mut state = State::default();
        for update in updates {
            loaded.started.extend(update.started);
            state.running.extend(update.running);
            state.broken.extend(update.broken);
        }
        for ignored in found.ignored {
            let events = ignored
                .source
                .map_or_else(|| vec![GATE], |source| source.guards());
            if !events.is_empty() {
                let (name, reason) = (ignored.name, ignored.problem.to_string());
                state.broken.push(BrokenGate {
                    name,
                    events,
                    reason,
                });
            }
            self.link.report(ignored.problem);
        }
        if !loaded.started.is_empty() {
            for problem in duplicates(&state.running) {
                self.link.report(problem);
            }
        }
        let gone = old.iter().filter(|known| {
            let mut stays = state.running.iter();
            !stays.any(|running| Arc::ptr_eq(running, known))
        });
        loaded.ended = gone.map(|gone| gone.source.name.clone()).collect();
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = state;
        loaded
    }

    /// Starts a plugin unless it runs without a change.
    async fn update(&self, found: Found, old: &[Arc<Running>]) -> Update {
        let Found { name, source } = found;
        let known = old.iter().find(|known| known.source.name == name);
        let unchanged = known.filter(|known| {
            source.as_ref().is_ok_and(|source| known.source == *source)
                && !known.halt.token.is_cancelled()
        });
        if let Some(unchanged) = unchanged {
            return Update {
                running: Some(Arc::clone(unchanged)),
                ..Update::default()
            };
        }
        let mut events = source.as_ref().map_or_else(|_| vec![GATE], Source::guards);
        let started = match source {
            Ok(source) => {
                if known.is_some() {
                    self.clear(&name);
                }
                self.start(source).await
            }
            Err(problem) => {
                let reason = problem.to_string();
                self.link.report(problem);
                Err(reason)
            }
        };
        let reason = match started {
            Ok(plugin) => {
                return Update {
                    started: Some(name),
                    running: Some(Arc::new(plugin)),
                    broken: None,
                };
            }
            Err(reason) => reason,
        };
        let state = self.state();
        let before = state.broken.iter().filter(|gate| gate.name == name);
        events.extend(before.flat_map(|gate| gate.events.clone()));
        events.extend(api::guards().filter(|event| {
            known.is_some_and(|known| known.listens(event))
                || reason.contains(&format!("`{event}`"))
        }));
        events.sort_unstable();
        events.dedup();
        let broken = BrokenGate {
            name,
            events,
            reason,
        };
        Update {
            started: None,
            running: known.cloned(),
            broken: Some(broken).filter(|gate| !gate.events.is_empty()),
        }
    }

    /// Removes everything that a plugin shows, before its new version loads.
    fn clear(&self, name: &str) {
        let (plugin, text) = (name.to_owned(), None);
        self.link.send(Request::Status { plugin, text });
        let (plugin, lines) = (name.to_owned(), Vec::new());
        self.link.send(Request::Widget { plugin, lines });
    }

    /// Why no prompt may run without a person, if a guard does not load.
    pub fn broken_gate(&self) -> Option<String> {
        self.state().broken.first().map(BrokenGate::refusal)
    }

    /// Whether a plugin may continue a model that has finished. If so, counts a continuation.
    pub fn may_continue(&self) -> bool {
        let before = self.continued.fetch_add(1, Ordering::Relaxed);
        if before == CONTINUATIONS {
            let text = format!("plugins continued the model {CONTINUATIONS} times: stopping now");
            self.complain(&text);
        }
        before < CONTINUATIONS
    }

    /// Resets the count of continuations, because the user did something that can start a run.
    pub fn user_acted(&self) {
        self.continued.store(0, Ordering::Relaxed);
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
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        state.running.clear();
    }

    /// Starts a plugin and waits until it is loaded. If it does not load, reports and returns the
    /// reason.
    async fn start(&self, source: Source) -> Result<Running, String> {
        let fault = |problem: Problem| {
            let reason = problem.to_string();
            self.link.report(problem);
            reason
        };
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
            return Err(fault(Problem::of_file(&source.path, message, "")));
        }
        let loaded = tokio::select! {
            biased;
            loaded = loaded => loaded,
            () = halt.token.cancelled() => return Err(halt.message()),
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
                Ok(Running {
                    tools: tools.collect(),
                    source,
                    calls,
                    halt,
                    registration,
                    closed,
                })
            }
            Ok(Err(problem)) => Err(fault(problem)),
            Err(_) => Err(halt.ended()),
        }
    }

    /// Whether a plugin has a handler for the event, or may have one and does not load.
    pub fn listens(&self, event: &str) -> bool {
        let state = self.state();
        let mut broken = state.broken.iter();
        broken.any(|gate| gate.events.contains(&event))
            || state.running.iter().any(|plugin| plugin.listens(event))
    }

    /// Calls every plugin with a handler; returns the changed fields.
    ///
    /// # Errors
    /// A message for the model when a plugin failed, or [`INTERRUPTED`].
    async fn ask(&self, event: &'static str, mut payload: Value) -> Result<Value, String> {
        // The plugins stay active until they have answered, even if they are reloaded meanwhile.
        let mut listening = self.state().running.clone();
        listening.retain(|plugin| plugin.listens(event));
        let interrupt = self.interrupted();
        let mut all = serde_json::Map::new();
        for plugin in listening {
            let (calls, halt) = (&plugin.calls, &plugin.halt);
            if halt.token.is_cancelled() {
                return Err(halt.refusal());
            }
            let (reply, answer) = oneshot::channel();
            let call = Call::Ask {
                event,
                payload: payload.clone(),
                reply,
            };
            if calls.send(call).is_err() {
                return Err(halt.ended());
            }
            let answer = tokio::select! {
                answer = answer => answer,
                () = halt.token.cancelled() => return Err(halt.message()),
                () = interrupt.cancelled() => return Err(INTERRUPTED.to_owned()),
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
        let state = self.state();
        let mut broken = state.broken.iter();
        match broken.find(|gate| gate.events.contains(&event)) {
            Some(gate) => Err(gate.refusal()),
            None => Ok(Value::Object(all)),
        }
    }

    /// Notifies every plugin with a handler. Never waits.
    pub fn tell(&self, event: &'static str, payload: &Value) {
        for plugin in self
            .state()
            .running
            .iter()
            .filter(|plugin| plugin.listens(event))
        {
            let payload = payload.clone();
            // The plugin may have just ended.
            plugin.send(Call::Tell { event, payload });
        }
    }

    /// Whether a plugin has a handler for an event after the fact.
    pub fn is_curious(&self) -> bool {
        let told = |event: &str| api::NOTIFIED.iter().any(|known| known.name == event);
        let state = self.state();
        let mut events = state
            .running
            .iter()
            .flat_map(|plugin| &plugin.registration.events);
        events.any(|event| told(event))
    }

    /// Runs a slash command; false for an unknown name.
    pub fn run_command(&self, name: &str, argument: &str) -> bool {
        let state = self.state();
        let has = |plugin: &&Arc<Running>| {
            let mut commands = plugin.registration.commands.iter();
            commands.any(|command| command.name == name)
        };
        let Some(plugin) = state.running.iter().find(has) else {
            return false;
        };
        self.user_acted();
        let (name, argument) = (name.to_owned(), argument.to_owned());
        plugin.send(Call::Command { name, argument })
    }

    /// Runs the function of a plugin's key; false for an unknown key.
    pub fn press(&self, plugin: &str, keys: &str) -> bool {
        let state = self.state();
        let mut running = state.running.iter();
        let Some(plugin) = running.find(|known| known.source.name == plugin) else {
            return false;
        };
        self.user_acted();
        let keys = keys.to_owned();
        plugin.send(Call::Key { keys })
    }

    pub fn commands(&self) -> Vec<AddedCommand> {
        let state = self.state();
        let all = state
            .running
            .iter()
            .flat_map(|plugin| plugin.registration.commands.clone());
        all.collect()
    }

    pub fn keys(&self) -> Vec<PluginKey> {
        let state = self.state();
        let all = state
            .running
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

/// Reports a tool, command or key that two plugins have: the first is used.
fn duplicates(running: &[Arc<Running>]) -> Vec<Problem> {
    let names = |plugin: &Running| {
        let Registration {
            tools,
            commands,
            keys,
            ..
        } = &plugin.registration;
        let tools = tools.iter().map(|tool| ("tool", tool.name.clone()));
        let commands = commands
            .iter()
            .map(|command| ("command", format!("/{}", command.name)));
        let keys = keys.iter().map(|key| ("key", key.keys.clone()));
        tools.chain(commands).chain(keys).collect::<Vec<_>>()
    };
    let mut seen: HashMap<(&str, String), &Path> = HashMap::new();
    let mut problems = Vec::new();
    for plugin in running {
        let path = plugin.source.path.as_path();
        for (kind, name) in names(plugin) {
            match seen.entry((kind, name)) {
                Entry::Vacant(free) => {
                    free.insert(path);
                }
                Entry::Occupied(taken) => {
                    let ((kind, name), first) = (taken.key(), taken.get().display());
                    let message =
                        format!("the {kind} `{name}` is already in `{first}`, which is used");
                    problems.push(Problem::of_file(path, message, "rename one of them"));
                }
            }
        }
    }
    problems
}

impl ToolSource for Plugins {
    fn tools(&self) -> ToolSet {
        let state = self.state();
        state
            .running
            .iter()
            .flat_map(|plugin| plugin.tools.clone())
            .collect()
    }
}
