//! Plugins of a session: loading them when files change, handling their requests, and sending them events.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use osier_agent::CustomMessage;
use osier_agent::{Agent, AgentMessage, Op, Subscription};
use osier_base::problem::Problem;
use osier_base::watch::{Watched, Watcher};
use osier_base::{clock, ids};
use osier_extensions::hooks::Role;
use osier_extensions::plugins::channel::{Link, MayRun, PluginMessage, Requests};
use osier_extensions::plugins::discover::PluginFolder;
use osier_extensions::plugins::{Loaded, Plugins, api};
use osier_protocol::questions::Questions;
use osier_protocol::{Event, PluginKey, SessionInfo};
use osier_store::{EntryIndex, SessionStore};
use osier_tools::{BASH, Workspace};

use crate::cx::when_indexed;
use crate::emitter::{Callback, Emitter};
use crate::safety::tool_policy::ToolPolicy;
use crate::safety::trust;
use crate::setup::SessionSetup;

/// Plugins of a project.
const PROJECT_FOLDER: &str = ".osier/plugins";

/// The loaded plugins.
#[derive(Debug)]
pub(crate) struct PluginHost {
    plugins: Arc<Plugins>,
    /// Reports changed files. Dropping it stops that.
    watcher: Option<Watcher>,
    /// The keys that were published last.
    keys: Vec<PluginKey>,
    /// A task sends events to the plugins.
    receives_events: bool,
    /// A message that starts a run came during one.
    continue_after: bool,
}

impl PluginHost {
    pub(crate) fn new(questions: Questions, cwd: PathBuf, is_attended: bool) -> (Self, Requests) {
        let (link, requests) = Link::new();
        let host = Self {
            plugins: Plugins::new(link, questions, cwd, is_attended),
            watcher: None,
            keys: Vec::new(),
            receives_events: false,
            continue_after: false,
        };
        (host, requests)
    }

    pub(crate) fn loaded_plugins(&self) -> &Arc<Plugins> {
        &self.plugins
    }

    /// Publishes the outcome of loading and watches the files.
    pub(crate) fn loaded(
        &mut self,
        loaded: &Loaded,
        session: Option<&SessionInfo>,
        emitter: &Emitter,
    ) {
        // A plugin that started again may have set its status and lines while it loaded.
        let gone = |plugin: &&String| !loaded.started.contains(plugin);
        for plugin in loaded.ended.iter().filter(gone) {
            emitter.publish(Event::PluginStatus {
                plugin: plugin.clone(),
                text: None,
            });
            emitter.publish(Event::PluginWidget {
                plugin: plugin.clone(),
                lines: Vec::new(),
            });
        }
        self.send_events(emitter);
        let keys = self.plugins.keys();
        if keys != self.keys {
            self.keys.clone_from(&keys);
            emitter.publish(Event::PluginKeys { keys });
        }
        if !loaded.started.is_empty()
            && let Some(info) = session
        {
            let session = json!({"session": info});
            self.plugins.tell("session_opened", &session);
        }
    }

    /// Calls `changed` when a file below `folders` changes.
    pub(crate) fn watch(&mut self, folders: Vec<PluginFolder>, changed: Callback<()>) {
        let mut watched = Vec::new();
        let folders = folders.into_iter().map(|folder| folder.path);
        for folder in folders.filter(|folder| folder.is_dir()) {
            let below = std::fs::read_dir(&folder).into_iter().flatten();
            let below = below.filter_map(Result::ok).map(|entry| entry.path());
            watched.extend(below.filter(|path| path.is_dir()));
            watched.push(folder);
        }
        self.watcher = None;
        if watched.is_empty() {
            return;
        }
        // Without a watcher, `Reload` loads changed files.
        let watched = watched.into_iter().map(Watched::Folder).collect();
        let Ok((watcher, mut changes)) = Watcher::start(watched) else {
            return;
        };
        self.watcher = Some(watcher);
        osier_base::task::spawn(async move {
            if changes.recv().await.is_some() {
                changed.call(());
            }
        });
    }

    /// Starts to send events, once a plugin subscribes.
    fn send_events(&mut self, emitter: &Emitter) {
        if !self.receives_events && self.plugins.is_curious() {
            self.receives_events = true;
            osier_base::task::spawn(send_all(emitter.subscribe(), Arc::clone(&self.plugins)));
        }
    }

    /// Appends a message of a plugin to the conversation.
    pub(crate) fn append(&mut self, message: PluginMessage, agent: &Agent) {
        let trigger = message.trigger_turn;
        let message = AgentMessage::Custom(CustomMessage {
            kind: message.kind,
            text: message.text,
            display: message.display,
            details: json!({"data": message.data, "lines": message.lines}),
            timestamp: clock::now_ms(),
        });
        agent.send(Op::AppendMessage {
            message: Box::new(message),
            respond: false,
        });
        if trigger && agent.state().is_streaming {
            self.continue_after = true;
        } else if trigger && self.plugins.may_continue() {
            agent.send(Op::Continue);
        }
    }

    /// A run has ended: a message that came too late for it starts another.
    pub(crate) fn run_ended(&mut self, agent: Option<&Agent>) {
        if std::mem::take(&mut self.continue_after)
            && let Some(agent) = agent
            && self.plugins.may_continue()
        {
            agent.send(Op::Continue);
        }
    }
}

/// The folders of plugins. The folder of the project is included only if it is trusted.
pub(crate) fn folders(setup: &SessionSetup) -> Vec<PluginFolder> {
    let mut folders = vec![setup.folders.config.join("plugins").into()];
    let trusted = trust::trusted_files(setup);
    let files = trusted.below(PROJECT_FOLDER);
    if !files.is_empty() {
        let path = trusted.root().join(PROJECT_FOLDER);
        folders.push(PluginFolder::with_files(path, files));
    }
    folders
}

/// The errors of plugins that can be known without running them. Blocks.
pub fn check_plugins(setup: &SessionSetup) -> Vec<Problem> {
    osier_extensions::plugins::check(&folders(setup))
}

/// Decides whether `plugin` can run a program. The permissions of the model's commands apply; in plan mode also the
/// sandbox that denies writes.
pub(crate) fn may_run(
    plugin: &str,
    command: &str,
    policy: &ToolPolicy,
    workspace: &Arc<Workspace>,
    reply: oneshot::Sender<MayRun>,
) {
    let (_, gate) = policy.interceptors(workspace, Role::Main);
    let confinement = Arc::clone(workspace.confinement());
    let (id, arguments) = (ids::prefixed(plugin), json!({"command": command}));
    osier_base::task::spawn(async move {
        let never = CancellationToken::new();
        let allowed = gate.allow(id, BASH, arguments, &never).await;
        let _ = reply.send(allowed.map(|()| confinement.is_plan().then_some(confinement)));
    });
}

/// Sends the data of the entries of one kind.
pub(crate) fn send_entries(store: &SessionStore, kind: String, reply: oneshot::Sender<Vec<Value>>) {
    when_indexed(store, move |store| {
        let _ = reply.send(entries(store.index(), &kind));
    });
}

/// The data of the entries of one kind, oldest first. Blocks.
fn entries(index: &EntryIndex, kind: &str) -> Vec<Value> {
    let of_kind = index.shown_messages().filter_map(|message| match message {
        AgentMessage::Custom(message) if message.kind == kind => Some(message),
        _ => None,
    });
    let data = of_kind.map(|message| message.details.get("data").cloned().unwrap_or_default());
    data.collect()
}

async fn send_all(mut events: Subscription<Event>, plugins: Arc<Plugins>) {
    while let Some(event) = events.recv().await {
        if event == Event::ShutDown {
            return;
        }
        send(&plugins, &event);
    }
}

fn send(plugins: &Plugins, event: &Event) {
    let Ok(payload) = serde_json::to_value(event) else {
        return;
    };
    let name = payload.get("type").and_then(Value::as_str);
    let known = api::NOTIFIED.iter().find(|known| Some(known.name) == name);
    if let Some(known) = known {
        plugins.tell(known.name, &payload);
    }
}
