//! A running server: its process, its open files, and its reports.

mod pull;

use parking_lot::Mutex;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use osier_base::process::{Invocation, Piped, Pipes, spawn_piped};
use osier_base::text::tail_bytes;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;
use tokio::process::ChildStderr;
use tokio::sync::watch;

use crate::capabilities::{self, Capabilities, Capability};
use crate::client::{Connection, Problem, Receiver};
use crate::diagnostics::{Counts, FileDiagnostics, Origin, Published, Store};
use crate::documents::{Change, Documents, Sync, TEXT_LIMIT};
use crate::frame::FrameError;
use crate::launch::Limits;
use crate::lists;
use crate::pace::Pace;
use crate::server_config::ServerConfig;
use crate::tsserver;
use crate::uri;

/// Maximum stored bytes of standard error, which explain the end of a server.
const ERRORS_KEPT: usize = 4 * 1024;
/// Time for the rest of standard error of a server that has ended.
const ERRORS_WAIT: Duration = Duration::from_millis(300);
/// Maximum number of other open files whose diagnostics are requested after a change.
const OTHERS: usize = 8;
/// Changes in a row without a report, after which osier no longer waits for reports.
const MISSES: usize = 3;
/// Pause after which a server has reported on the other files, too.
const OTHERS_PAUSE: Duration = Duration::from_millis(15);
/// Time to read a file before a question about it.
const READ: Duration = Duration::from_secs(3);
/// Time for the answer to `shutdown`.
const SHUTDOWN: Duration = Duration::from_secs(2);

/// A running server. Dropping it kills it with everything that it started.
#[derive(Debug)]
pub struct Server {
    name: String,
    root: PathBuf,
    limits: Limits,
    pub(crate) capabilities: Capabilities,
    pub(crate) connection: Arc<Connection>,
    shared: Arc<Shared>,
    process: Arc<Mutex<Option<Piped>>>,
}

/// The state that the connection changes.
#[derive(Debug)]
struct Shared {
    root: PathBuf,
    options: Value,
    state: Mutex<State>,
    /// The number of the last report.
    reports: watch::Sender<u64>,
    /// How often the server has said that its answers about diagnostics are outdated.
    refreshes: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct State {
    capabilities: Capabilities,
    documents: Documents,
    diagnostics: Store,
    reports: u64,
    /// How many changes in a row the server did not report on in time.
    misses: usize,
    /// Whether the server sent more messages than are read at once.
    floods: bool,
}

/// The reason why a server does not run.
#[derive(Debug)]
pub(crate) enum StartError {
    /// Starting the server again is of no use.
    Final(String),
    /// The server ended.
    Crashed(String),
}

impl Server {
    /// Starts `invocation` and initializes the server. `reports` counts its reports.
    pub(crate) async fn start(
        config: &ServerConfig,
        root: &Path,
        invocation: &Invocation,
        limits: Limits,
        reports: watch::Sender<u64>,
    ) -> Result<Self, StartError> {
        let (process, pipes) = spawn_piped(invocation)
            .map_err(|error| StartError::Final(format!("it cannot be started: {error}")))?;
        let Pipes {
            stdin,
            stdout,
            stderr,
        } = pipes;
        let connection = Connection::new(stdin);
        let shared = Arc::new(Shared {
            root: root.to_owned(),
            options: config.options.clone(),
            state: Mutex::default(),
            reports,
            refreshes: watch::Sender::default(),
        });
        let errors = osier_base::task::spawn(last_errors(stderr));
        let process = Arc::new(Mutex::new(Some(process)));
        let (reading, receiver) = (Arc::clone(&connection), Arc::clone(&shared));
        let ended = Arc::clone(&process);
        osier_base::task::spawn(async move {
            let reason = reading.read(stdout, &*receiver).await;
            let reason = explained(reason, errors).await;
            reading.end(reason);
            // A server that breaks the protocol may still run.
            drop(take_process(&ended));
            receiver.reports.send_modify(|number| *number += 1);
        });
        let mut server = Self {
            name: config.name.clone(),
            root: root.to_owned(),
            limits,
            capabilities: Capabilities::default(),
            connection,
            shared,
            process,
        };
        server.initialize(&config.options).await?;
        server.follow_refreshes();
        Ok(server)
    }

    async fn initialize(&mut self, options: &Value) -> Result<(), StartError> {
        let params = capabilities::initialize(&self.root, options);
        let limit = self.limits.start;
        let answer = self.connection.request("initialize", params, limit).await;
        let answer = answer.map_err(|problem| match problem {
            Problem::Ended(reason) => StartError::Crashed(reason),
            problem => StartError::Final(problem.to_string()),
        })?;
        let answer = lists::value(answer.get(), 4 * 1024 * 1024).unwrap_or_default();
        let capabilities = Capabilities::read(&answer).map_err(StartError::Final)?;
        self.shared.state.lock().capabilities = capabilities.clone();
        self.capabilities = capabilities;
        let crashed = |problem: Problem| StartError::Crashed(problem.to_string());
        let connection = &self.connection;
        connection
            .notify("initialized", &json!({}))
            .map_err(crashed)?;
        let settings = json!({"settings": options});
        connection
            .notify("workspace/didChangeConfiguration", &settings)
            .map_err(crashed)
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn can(&self, capability: Capability) -> bool {
        self.capabilities.can(capability)
    }

    pub(crate) fn answer_limit(&self) -> Duration {
        self.limits.answer
    }

    /// Why the server has ended, if it has.
    pub fn ended(&self) -> Option<String> {
        self.connection.ended()
    }

    /// Whether the server sends so many messages that they are read slowly.
    pub fn floods(&self) -> bool {
        self.shared.state.lock().floods
    }

    /// The process id, as long as it runs.
    pub fn process_id(&self) -> Option<i32> {
        let process = self.process.lock();
        process.as_ref().map(Piped::id)
    }

    /// Sends the server the text of a file in `language`.
    pub fn set_text(&self, path: &Path, language: &str, text: &str) -> Result<Change, Problem> {
        if text.len() > TEXT_LIMIT {
            return Err(Problem::Refused(format!(
                "files of more than {TEXT_LIMIT} bytes are not checked"
            )));
        }
        // The lock covers the version and the sending: texts must be sent in the order of their
        // versions.
        let mut state = self.shared.state.lock();
        let report = state.reports;
        let (sync, version) = state.documents.set(path, text, report);
        let uri = uri::of_path(path);
        let sent = match sync {
            Sync::Nothing => Ok(()),
            Sync::Open => self.connection.notify(
                "textDocument/didOpen",
                &json!({"textDocument": {
                    "uri": uri, "languageId": language, "version": version, "text": text,
                }}),
            ),
            Sync::Change => self.changed(&uri, version, text),
        };
        for closed in state.documents.surplus() {
            self.close_document(&mut state, &closed);
        }
        sent?;
        Ok(Change {
            path: path.to_owned(),
            version,
            is_new: sync != Sync::Nothing,
        })
    }

    fn changed(&self, uri: &str, version: i64, text: &str) -> Result<(), Problem> {
        let connection = &self.connection;
        let changed = json!({
            "textDocument": {"uri": uri, "version": version},
            "contentChanges": [{"text": text}],
        });
        connection.notify("textDocument/didChange", &changed)?;
        if self.capabilities.saves {
            let saved = json!({"textDocument": {"uri": uri}, "text": text});
            connection.notify("textDocument/didSave", &saved)?;
        }
        let events = json!({"changes": [{"uri": uri, "type": 2}]});
        connection.notify("workspace/didChangeWatchedFiles", &events)
    }

    /// Notifies the server of a file that another program created or deleted.
    pub fn file_event(&self, path: &Path, exists: bool) {
        let kind = if exists { 1 } else { 3 };
        if !exists {
            let mut state = self.shared.state.lock();
            if state.documents.close(path) {
                self.close_document(&mut state, path);
            }
            state.diagnostics.remove(path);
        }
        let events = json!({"changes": [{"uri": uri::of_path(path), "type": kind}]});
        // The end of the server is reported elsewhere.
        let _ = self
            .connection
            .notify("workspace/didChangeWatchedFiles", &events);
    }

    fn close_document(&self, state: &mut State, path: &Path) {
        state.diagnostics.remove(path);
        let closed = json!({"textDocument": {"uri": uri::of_path(path)}});
        let _ = self.connection.notify("textDocument/didClose", &closed);
    }

    /// The text of an open file as the server knows it.
    pub(crate) fn text(&self, path: &Path) -> Option<Arc<str>> {
        let state = self.shared.state.lock();
        Some(Arc::clone(&state.documents.get(path)?.text))
    }

    /// The open files, the last used first.
    pub fn open_files(&self) -> Vec<PathBuf> {
        self.shared.state.lock().documents.recent()
    }

    /// Whether waiting for reports is likely to be useless: the server never reports, or is busy
    /// for long.
    pub fn is_quiet(&self) -> bool {
        let state = self.shared.state.lock();
        let allowed = if state.reports == 0 { 1 } else { MISSES };
        !self.capabilities.answers() && state.misses >= allowed
    }

    /// Records that a change was not reported on in time.
    pub fn missed(&self) {
        self.shared.state.lock().misses += 1;
    }

    /// Waits a short time until the server has read a file: some servers answer nothing about it
    /// before that.
    pub async fn read(&self, change: &Change) {
        if self.capabilities.answers() || self.is_quiet() {
            return;
        }
        if tokio::time::timeout(READ, self.reported(change))
            .await
            .is_err()
        {
            self.missed();
        }
    }

    /// Waits until the server has reported on this version of a file.
    pub async fn reported(&self, change: &Change) -> Result<(), Problem> {
        if self.capabilities.answers() {
            self.pull(&change.path).await?;
            let others = self.open_files().into_iter();
            let others = others.filter(|path| *path != change.path).take(OTHERS);
            let pulls = others.map(|path| async move { self.pull(&path).await });
            futures_util::future::join_all(pulls).await;
            return Ok(());
        }
        let mut reports = self.shared.reports.subscribe();
        loop {
            reports.mark_unchanged();
            if let Some(reason) = self.ended() {
                return Err(Problem::Ended(reason));
            }
            if self.is_reported(change) {
                break;
            }
            let _ = reports.changed().await;
        }
        // Reports on other files follow.
        while tokio::time::timeout(OTHERS_PAUSE, reports.changed())
            .await
            .is_ok()
        {}
        Ok(())
    }

    fn is_reported(&self, change: &Change) -> bool {
        let state = self.shared.state.lock();
        let document = state.documents.get(&change.path);
        document.is_none_or(|document| {
            document.version > change.version
                || document
                    .reported
                    .is_some_and(|report| report > document.before)
        })
    }

    /// Requests the diagnostics of a file.
    async fn pull(&self, path: &Path) -> Result<(), Problem> {
        let limit = self.limits.answer;
        if self.capabilities.asks_tsserver {
            let text = self.text(path);
            let found =
                tsserver::diagnostics(&self.connection, path, text.as_deref(), limit).await?;
            let mut state = self.shared.state.lock();
            // A report that the server pushes later replaces these diagnostics.
            state.diagnostics.set(path, Origin::Pushed, found);
            self.shared.count(&mut state, path, None);
            return Ok(());
        }
        self.shared.pull(&self.connection, path, limit).await
    }

    /// The diagnostics of a file.
    pub fn diagnostics(&self, path: &Path) -> FileDiagnostics {
        self.shared.state.lock().diagnostics.of(path)
    }

    /// The diagnostics of every file that has any, by path.
    pub fn all_diagnostics(&self) -> Vec<(PathBuf, FileDiagnostics)> {
        self.shared.state.lock().diagnostics.all()
    }

    pub fn counts(&self) -> Counts {
        self.shared.state.lock().diagnostics.counts()
    }

    /// Ends the server as the protocol requires, and kills it if it does not exit.
    pub async fn shut_down(&self) {
        let connection = &self.connection;
        let answered = connection.request("shutdown", Value::Null, SHUTDOWN).await;
        if answered.is_ok() {
            let _ = connection.notify("exit", &Value::Null);
            let _ = tokio::time::timeout(SHUTDOWN, connection.wait_for_end()).await;
        }
        connection.end("it was stopped".to_owned());
        if let Some(process) = take_process(&self.process) {
            process.end().await;
        }
    }
}

impl Shared {
    fn store_pushed(&self, params: &str) {
        let Ok(published) = serde_json::from_str::<Published<'_>>(params) else {
            return;
        };
        let Some(path) = published.path() else { return };
        let mut state = self.state.lock();
        let text = state
            .documents
            .get(&path)
            .map(|open| Arc::clone(&open.text));
        let found = published.diagnostics(text.as_deref(), state.capabilities.encoding);
        state.diagnostics.set(&path, Origin::Pushed, found);
        self.count(&mut state, &path, published.version);
    }

    fn count(&self, state: &mut State, path: &Path, version: Option<i64>) {
        (state.reports, state.misses) = (state.reports + 1, 0);
        let report = state.reports;
        state.documents.reported(path, version, report);
        self.reports.send_modify(|number| *number += 1);
    }

    /// The settings that a server requests.
    fn configuration(&self, params: &str) -> Value {
        let params = lists::value(params, 64 * 1024).unwrap_or_default();
        let items = params["items"].as_array().cloned().unwrap_or_default();
        let setting = |item: &Value| {
            let section = item["section"].as_str().unwrap_or_default();
            let mut value = &self.options;
            for name in section.split('.').filter(|name| !name.is_empty()) {
                value = &value[name];
            }
            value.clone()
        };
        items.iter().map(setting).collect()
    }
}

impl Receiver for Shared {
    fn flooded(&self) {
        if !std::mem::replace(&mut self.state.lock().floods, true) {
            self.reports.send_modify(|number| *number += 1);
        }
    }

    fn notification(&self, method: &str, params: &str) {
        if method == "textDocument/publishDiagnostics" {
            self.store_pushed(params);
        }
    }

    fn request(&self, method: &str, params: &str) -> Option<Value> {
        match method {
            "workspace/configuration" => Some(self.configuration(params)),
            "workspace/workspaceFolders" => {
                let uri = uri::of_path(&self.root);
                Some(json!([{"uri": uri, "name": "project"}]))
            }
            // Only the tools of osier change files.
            "workspace/applyEdit" => Some(json!({"applied": false})),
            "client/registerCapability"
            | "client/unregisterCapability"
            | "window/workDoneProgress/create"
            | "window/showMessageRequest"
            | "workspace/semanticTokens/refresh"
            | "workspace/inlayHint/refresh"
            | "workspace/codeLens/refresh" => Some(Value::Null),
            "workspace/diagnostic/refresh" => {
                self.refreshes.send_modify(|number| *number += 1);
                Some(Value::Null)
            }
            "window/showDocument" => Some(json!({"success": false})),
            _ => None,
        }
    }
}

/// The reason, with the errors that the server printed if it ended by itself.
async fn explained(reason: String, errors: tokio::task::JoinHandle<String>) -> String {
    if reason != FrameError::Closed.to_string() {
        return reason;
    }
    let errors = tokio::time::timeout(ERRORS_WAIT, errors).await;
    match errors
        .ok()
        .and_then(Result::ok)
        .unwrap_or_default()
        .as_str()
    {
        "" => reason,
        errors => format!("{reason}; it wrote: {errors}"),
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(take_process(&self.process));
    }
}

fn take_process(process: &Mutex<Option<Piped>>) -> Option<Piped> {
    let mut process = process.lock();
    process.take()
}

/// Reads standard error to its end. Returns its last line.
async fn last_errors(mut stderr: ChildStderr) -> String {
    let (mut kept, mut buffer) = (Vec::new(), vec![0; 8 * 1024]);
    let mut pace = Pace::new();
    while let Ok(read @ 1..) = stderr.read(&mut buffer).await {
        pace.message(read).await;
        kept.extend_from_slice(&buffer[..read]);
        let surplus = kept.len().saturating_sub(ERRORS_KEPT);
        kept.drain(..surplus);
    }
    let text = String::from_utf8_lossy(&kept);
    let mut lines = text.lines().map(|line| lists::line(line, 300));
    let is_telling = |line: &String| line.chars().any(char::is_alphanumeric);
    // The first line names the error; a trace of the stack follows it.
    let first = lines.find(|line| line.to_lowercase().contains("error") && is_telling(line));
    let last = || text.lines().rev().map(|line| lists::line(line, 300));
    let found = first.or_else(|| last().find(is_telling));
    tail_bytes(&found.unwrap_or_default(), 300).to_owned()
}
