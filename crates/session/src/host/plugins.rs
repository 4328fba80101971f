//! Plug-ins beside the session: loading them when files change, doing what they ask, telling them what
//! happens.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::event::Event;
use super::host::{Job, Task};
use super::session::OpenSession;
use osier_agent::message::CustomMessage;
use osier_agent::{AgentMessage, Interceptor, Severity, ToolDecision};
use osier_base::watch::Watcher;
use osier_base::{clock, ids};
use osier_extensions::hooks::Role;
use osier_extensions::plugins::link::{MayRun, PluginKey, PluginMessage, Request};
use osier_extensions::plugins::{Loaded, Plugins, api};
use osier_llm::ToolCall;
use osier_permissions::trust::{Trust, project_root};
use osier_store::{PageAt, SessionIndex};

/// What a host keeps for its plug-ins.
#[derive(Debug, Default)]
pub(super) struct PluginState {
    /// Tells when a file changes. Dropping it ends that.
    watcher: Option<Watcher>,
    /// The keys that were told last.
    keys: Vec<PluginKey>,
    /// Somebody tells them what happens.
    telling: bool,
    /// A message waits for a run, and one was on when it came.
    continue_after: bool,
}

impl Task {
    /// Folders of plug-ins; those of the project only when it may run code.
    pub(super) fn plugin_folders(&self) -> Vec<PathBuf> {
        let mut folders = vec![self.setup.folders.config.join("plugins")];
        if Trust::new(&self.setup.folders).allows(&self.setup.cwd) {
            folders.push(project_root(&self.setup.cwd).join(".osier/plugins"));
        }
        folders
    }

    /// Takes what came of loading.
    pub(super) fn plugins_loaded(&mut self, loaded: &Loaded) {
        for plugin in loaded.ended.iter().chain(&loaded.started) {
            self.publish(Event::PluginStatus {
                plugin: plugin.clone(),
                text: None,
            });
            self.publish(Event::PluginWidget {
                plugin: plugin.clone(),
                lines: Vec::new(),
            });
        }
        self.watch_plugins();
        self.tell_plugins();
        let keys = self.plugins.keys();
        if keys != self.plugin_state.keys {
            self.plugin_state.keys.clone_from(&keys);
            self.publish(Event::PluginKeys { keys });
        }
        if !loaded.started.is_empty()
            && let Some(session) = &self.session
        {
            let session = json!({"session": session.info()});
            self.plugins.tell("session_opened", &session);
        }
    }

    /// Loads plug-ins again when their files change.
    fn watch_plugins(&mut self) {
        let mut watched = Vec::new();
        for folder in self
            .plugin_folders()
            .into_iter()
            .filter(|folder| folder.is_dir())
        {
            let below = std::fs::read_dir(&folder).into_iter().flatten();
            let below = below.filter_map(Result::ok).map(|entry| entry.path());
            watched.extend(below.filter(|path| path.is_dir()));
            watched.push(folder);
        }
        self.plugin_state.watcher = None;
        if watched.is_empty() {
            return;
        }
        // Without watching, `Reload` does the same.
        let Ok((watcher, mut changes)) = Watcher::start(&watched) else {
            return;
        };
        self.plugin_state.watcher = Some(watcher);
        let jobs = self.jobs.own();
        tokio::spawn(async move {
            if changes.recv().await.is_some() {
                let _ = jobs.send(Job::PluginsChanged);
            }
        });
    }

    /// Begins to tell what happens, once somebody listens.
    fn tell_plugins(&mut self) {
        if self.plugin_state.telling || !self.plugins.is_curious() {
            return;
        }
        self.plugin_state.telling = true;
        let mut events = self.publisher.subscribe();
        let plugins = self.plugins.clone();
        tokio::spawn(async move {
            while let Some(event) = events.recv().await {
                if event == Event::ShutDown {
                    return;
                }
                tell(&plugins, &event);
            }
        });
    }

    /// What a plug-in asked for.
    pub(super) async fn plugin_asks(&mut self, request: Request) {
        match request {
            Request::Notify { severity, text } => self.notice(severity, text),
            Request::Problem(problem) => self.notice(Severity::Error, problem.to_string()),
            Request::Status { plugin, text } => self.publish(Event::PluginStatus { plugin, text }),
            Request::Widget { plugin, lines } => {
                self.publish(Event::PluginWidget { plugin, lines });
            }
            Request::Message(message) => self.plugin_message(*message),
            Request::Entries { kind, reply } => self.plugin_entries(kind, reply),
            Request::Model { reply } => {
                let _ = reply.send(self.models.chosen().reference());
            }
            Request::SetModel { reference, reply } => {
                let found = self.models.find(&reference);
                let answer = match found {
                    Ok((model, level)) => {
                        if model.reference() != self.models.chosen().reference() || level.is_some()
                        {
                            self.choose(model, level).await;
                        }
                        Ok(())
                    }
                    Err(error) => Err(error.to_string()),
                };
                let _ = reply.send(answer);
            }
            Request::Session { reply } => {
                let session = self.session.as_ref().map(OpenSession::info);
                let _ = reply.send(json!(session));
            }
            Request::MayRun {
                plugin,
                command,
                reply,
            } => self.may_run(&plugin, &command, reply),
        }
    }

    /// A program of a plug-in is held to the permissions of the model's commands, in plan mode to the
    /// sandbox that keeps those from writing.
    fn may_run(&self, plugin: &str, command: &str, reply: oneshot::Sender<MayRun>) {
        let Some(session) = &self.session else {
            // Dropping `reply` says that nobody can allow it.
            return;
        };
        let (_, gate) = session.guard.around(&session.workspace, Role::Main);
        let confinement = Arc::clone(session.workspace.confinement());
        let call = ToolCall {
            id: ids::prefixed(plugin),
            name: "bash".to_owned(),
            arguments: json!({"command": command}),
            ..ToolCall::default()
        };
        tokio::spawn(async move {
            let answer = match gate.before_tool(&call, &CancellationToken::new()).await {
                ToolDecision::Allow => Ok(confinement.is_plan().then_some(confinement)),
                ToolDecision::Deny { reason } => Err(reason),
                ToolDecision::Rewrite { .. } => {
                    Err("the user wants another command: it was not run".to_owned())
                }
            };
            let _ = reply.send(answer);
        });
    }

    fn plugin_message(&mut self, message: PluginMessage) {
        let Some(session) = &self.session else { return };
        let trigger = message.trigger_turn;
        let message = AgentMessage::Custom(CustomMessage {
            kind: message.kind,
            text: message.text,
            display: message.display,
            details: json!({"data": message.data, "lines": message.lines}),
            timestamp: clock::now_ms(),
        });
        let message = Box::new(message);
        session
            .agent
            .send(osier_agent::Op::AppendMessage { message });
        if trigger {
            self.plugin_state.continue_after = session.agent.state().is_streaming;
            session.agent.send(osier_agent::Op::Continue);
        }
    }

    /// A run is over: a message that came too late for it starts another.
    pub(super) fn settled_for_plugins(&mut self) {
        if std::mem::take(&mut self.plugin_state.continue_after)
            && let Some(session) = &self.session
        {
            session.agent.send(osier_agent::Op::Continue);
        }
    }

    fn plugin_entries(&self, kind: String, reply: oneshot::Sender<Vec<Value>>) {
        let Some(session) = &self.session else {
            drop(reply.send(Vec::new()));
            return;
        };
        let store = session.store.clone();
        tokio::spawn(async move {
            // A file that cannot be read any more has no entries.
            let _ = store.findings().await;
            tokio::task::spawn_blocking(move || reply.send(entries(store.index(), &kind)));
        });
    }
}

/// The data of the entries of one kind, oldest first. Blocks.
fn entries(index: &SessionIndex, kind: &str) -> Vec<Value> {
    let mut found = Vec::new();
    let mut at = PageAt::Start;
    while let Some(page) = index.page(&at) {
        for stored in &page.messages {
            if let AgentMessage::Custom(message) = &*stored.message
                && message.kind == kind
            {
                found.push(message.details.get("data").cloned().unwrap_or_default());
            }
        }
        match page.messages.last() {
            Some(stored) if !page.at_end => {
                at = PageAt::After {
                    entry_id: stored.entry_id.clone(),
                };
            }
            _ => break,
        }
    }
    found
}

fn tell(plugins: &Plugins, event: &Event) {
    let Ok(payload) = serde_json::to_value(event) else {
        return;
    };
    let name = payload.get("type").and_then(Value::as_str);
    let known = api::TOLD.iter().find(|known| Some(known.name) == name);
    if let Some(known) = known {
        plugins.tell(known.name, &payload);
    }
}
