//! A session with a scripted model in its own directory.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use osier_agent::Subscription;
use osier_base::folders::Folders;
use osier_llm::{Script, ScriptedProvider};
use osier_protocol::{Event, Op, SessionInfo};
use osier_session::{SessionChoice, SessionHandle, SessionSetup};
use tempfile::TempDir;

use super::agent::model;

/// Only a failing test waits that long.
const PATIENCE: Duration = Duration::from_mins(2);

/// A home and a working directory for sessions that are opened one after the other.
pub(crate) struct TestProject {
    folder: PathBuf,
    /// Deletes the folder.
    _owner: Option<TempDir>,
}

impl TestProject {
    pub(crate) fn new() -> Self {
        let owner = tempfile::tempdir().expect("a temporary folder");
        std::fs::create_dir(owner.path().join("work")).expect("a project");
        Self {
            folder: owner.path().to_owned(),
            _owner: Some(owner),
        }
    }

    /// The project of another process.
    pub(crate) fn at(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            _owner: None,
        }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.folder.join("work")
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// Opens a session whose model `test/one` plays `script`.
    pub(crate) async fn open(&self, choice: SessionChoice, script: Script) -> OpenSession {
        self.open_with(choice, script, |_| ()).await
    }

    /// Opens a session with a custom setup.
    pub(crate) async fn open_with(
        &self,
        choice: SessionChoice,
        script: Script,
        change: impl FnOnce(&mut SessionSetup),
    ) -> OpenSession {
        let provider = ScriptedProvider::new(script);
        let mut setup = SessionSetup::new(Folders::under(&self.data()), self.work());
        setup.settings.discover_local_models = false;
        setup.settings.describe_environment = false;
        setup.embedded = Some((model("test/one"), Arc::new(provider.clone())));
        setup.session = choice;
        change(&mut setup);
        let (host, events) = SessionHandle::start(setup).expect("a host");
        let mut open = OpenSession {
            host,
            events,
            provider,
            session: SessionInfo::default(),
        };
        open.opened().await;
        open
    }
}

/// A running session actor.
pub(crate) struct OpenSession {
    pub(crate) host: SessionHandle,
    pub(crate) events: Subscription<Event>,
    pub(crate) provider: ScriptedProvider,
    /// The open session.
    pub(crate) session: SessionInfo,
}

impl OpenSession {
    pub(crate) async fn until(&mut self, wanted: impl Fn(&Event) -> bool) -> Vec<Event> {
        let mut seen = Vec::new();
        loop {
            let next = tokio::time::timeout(PATIENCE, self.events.recv()).await;
            let Ok(Some(event)) = next else {
                panic!("nothing follows {seen:#?}");
            };
            let found = wanted(&event);
            seen.push(event);
            if found {
                return seen;
            }
        }
    }

    /// Waits for the next opened session and its model. Returns the events before.
    pub(crate) async fn opened(&mut self) -> Vec<Event> {
        let events = self
            .until(|event| matches!(event, Event::SessionOpened { .. }))
            .await;
        if let Some(Event::SessionOpened { session, .. }) = events.last() {
            self.session = (**session).clone();
        }
        self.until(|event| matches!(event, Event::ModelSelected { .. }))
            .await;
        events
    }

    pub(crate) fn prompt(&self, text: &str) {
        let text = text.to_owned();
        let attachments = Vec::new();
        self.host.send(
            osier_agent::Op::Prompt {
                text,
                attachments,
                typed: None,
                once: None,
            }
            .into(),
        );
    }

    /// Runs a prompt until the agent settles.
    pub(crate) async fn run(&mut self, text: &str) -> Vec<Event> {
        self.prompt(text);
        self.settled().await
    }

    pub(crate) async fn settled(&mut self) -> Vec<Event> {
        self.until(|event| matches!(event, Event::Agent(osier_agent::Event::AgentSettled { .. })))
            .await
    }

    pub(crate) async fn said(&mut self, part: &str) {
        self.until(|event| match event {
            Event::Agent(osier_agent::Event::MessageUpdate { delta, .. }) => {
                serde_json::to_string(delta).is_ok_and(|delta| delta.contains(part))
            }
            _ => false,
        })
        .await;
    }

    pub(crate) fn path(&self) -> PathBuf {
        PathBuf::from(self.session.path.as_deref().expect("a stored session"))
    }

    /// The messages of the last request, one line per message.
    pub(crate) fn last_request(&self) -> Vec<String> {
        super::agent::sent(&self.provider.last_request().expect("a request"))
    }

    /// Shuts the session down and releases its files.
    pub(crate) async fn close(mut self) {
        self.host.send(Op::ShutDown);
        self.until(|event| *event == Event::ShutDown).await;
    }
}
