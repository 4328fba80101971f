//! Tests of the session store on real files.

mod branches;
mod damage;
mod draft;
mod handover;
mod length;
mod listing;
mod locking;
mod log;
mod relocation;
mod tree;

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::{Loaded, SessionDirectory, SessionStore};
use osier_agent::{AgentMessage, UserMessage};
use osier_llm::{AssistantBlock, AssistantMessage, StopReason, Usage};
use osier_protocol::{Entry, EntryKind, Header};

/// A data directory and the project `/work/project`.
struct TestData {
    directory: TempDir,
    sessions: SessionDirectory,
}

const CWD: &str = "/work/project";

impl TestData {
    fn new() -> Self {
        let directory = TempDir::new().unwrap();
        Self {
            sessions: SessionDirectory::new(directory.path()),
            directory,
        }
    }

    fn plan(&self) -> (PathBuf, Header) {
        let header = Header::new(Path::new(CWD));
        (self.sessions.path_for(&header), header)
    }

    fn create(&self) -> SessionStore {
        let (path, header) = self.plan();
        SessionStore::create(path, header).unwrap()
    }
}

/// Opens a session and reads all of it.
async fn open(path: &Path) -> (SessionStore, Loaded) {
    let (store, _) = SessionStore::open(path).unwrap();
    let loaded = store.read_all().await.unwrap();
    (store, loaded)
}

fn user(text: &str) -> EntryKind {
    EntryKind::message(AgentMessage::User(UserMessage::new(text, 1)))
}

fn answer(text: &str) -> AssistantMessage {
    AssistantMessage {
        content: vec![AssistantBlock::Text {
            text: text.into(),
            signature: None,
        }],
        provider: "demo".into(),
        model: "tour".into(),
        stop_reason: StopReason::Stop,
        usage: Usage {
            input: 10,
            output: 2,
            ..Usage::default()
        },
        timestamp: 2,
        ..AssistantMessage::default()
    }
}

fn assistant(text: &str) -> EntryKind {
    EntryKind::message(AgentMessage::Assistant(answer(text)))
}

fn path_of(store: &SessionStore) -> &Path {
    store.path().unwrap()
}

/// The state after a kill: copies of the session's files under the same names.
fn killed(store: &SessionStore) -> (TempDir, PathBuf) {
    let path = path_of(store);
    let directory = TempDir::new().unwrap();
    for file in std::fs::read_dir(path.parent().unwrap()).unwrap().flatten() {
        std::fs::copy(file.path(), directory.path().join(file.file_name())).unwrap();
    }
    let copy = directory.path().join(path.file_name().unwrap());
    (directory, copy)
}

/// A conversation with a branch, names and labels; returns the acknowledged entries in order.
async fn conversation(store: &SessionStore) -> Vec<Entry> {
    let mut entries = Vec::new();
    for kind in [
        user("first \u{2028} prompt"),
        assistant("first answer"),
        user("second"),
        assistant("second answer\nwith `code`"),
        EntryKind::SessionInfo {
            name: Some("a name".into()),
        },
    ] {
        entries.push(store.append(kind).await.unwrap());
    }
    let second = entries[1].id.clone();
    entries.push(store.set_leaf(Some(&second), None).await.unwrap());
    entries.push(store.append(user("other way")).await.unwrap());
    entries
}

fn texts(messages: &[AgentMessage]) -> Vec<String> {
    messages.iter().map(AgentMessage::text).collect()
}
