//! The language servers of a session: which servers run, their reports, and the reports that the model knows.

use async_trait::async_trait;
use parking_lot::Mutex;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use osier_agent::{Severity, ToolSet, ToolSource};
use osier_base::regular_file;
use osier_lsp::{
    Capability, Counts, Override, Server, ServerConfig, Servers, Slot, Status, configured,
};
use osier_permissions::trust::{ProgramUse, project_root};
use osier_protocol::{
    CodeProblem, CodeServerInfo, CodeServerState, DiagnosticCounts, Event, FileDiagnostics,
};
use osier_settings::{LanguageServer, Settings};
use osier_tools::Workspace;
use osier_tools::code::report::Findings;
use osier_tools::code::{CodeServers, Opened, code_tools};

use super::known;
use super::launch::Confined;
use crate::emitter::Emitter;
use crate::setup::SessionSetup;

/// Bytes of a file that servers get.
const FILE_LIMIT: u64 = 2 * 1024 * 1024;
/// Errors and warnings of a server that clients see.
const PROBLEMS: usize = 50;
/// Files whose errors and warnings a client gets.
const FILES: usize = 1_000;
/// Pause between two events with counts.
const EVENT_PAUSE: Duration = Duration::from_millis(250);

/// The servers that a check waits for.
type Waited = Arc<Mutex<Vec<Arc<Server>>>>;

/// Asks whether the user trusts a project, when the only reason is that the program with this name would start in it.
pub(crate) type AskTrust = Box<dyn Fn(&str) + Send + Sync>;

/// The language servers of a session. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct CodeIntelligence(Arc<Inner>);

struct Inner {
    configs: Vec<Arc<ServerConfig>>,
    /// The folder that the user trusts or not.
    project: PathBuf,
    confined: Confined,
    trusted: AtomicBool,
    /// The user was asked about trust.
    asked: AtomicBool,
    ask: AskTrust,
    /// The tools to offer; all if not set.
    wanted: Option<Vec<String>>,
    emitter: Emitter,
    state: Mutex<State>,
}

osier_base::opaque_debug!(Inner);

#[derive(Debug, Default)]
struct State {
    /// By name and root.
    slots: HashMap<(String, PathBuf), Used>,
    /// The tools that the model has. They stay.
    offered: Option<ToolSet>,
    /// Files that the model changed.
    touched: HashSet<PathBuf>,
    /// The model has changed a file: errors are news.
    is_active: bool,
    /// Why programs of the project do not run, as the user knows it.
    reported: HashSet<String>,
}

/// A server that the session uses.
#[derive(Debug)]
struct Used {
    slot: Arc<Slot>,
    /// A key for the configuration that started the server.
    key: String,
    known: known::KnownDiagnostics,
    /// A notice has told the user that the server failed.
    told: bool,
    /// A notice has told the user that the server floods.
    told_flood: bool,
}

fn change(server: &LanguageServer) -> Override {
    Override {
        name: server.name.clone(),
        command: server.command.clone(),
        extensions: server.extensions.clone(),
        markers: server.markers.clone(),
        options: server.options.clone().map(serde_json::Value::Object),
        disabled: server.disabled,
    }
}

fn servers(settings: &Settings) -> Vec<Arc<ServerConfig>> {
    if !settings.lsp {
        return Vec::new();
    }
    let changes: Vec<Override> = settings.lsp_servers.iter().map(change).collect();
    configured(&changes)
}

impl CodeIntelligence {
    /// The language servers of a session whose programs run as `confined` says. `trusted` says
    /// whether programs may run in the project.
    pub(crate) fn of_session(
        setup: &SessionSetup,
        confined: Confined,
        trusted: bool,
        ask: AskTrust,
        emitter: Emitter,
    ) -> Self {
        Self(Arc::new(Inner {
            configs: servers(&setup.settings),
            project: project_root(&setup.cwd),
            confined,
            trusted: AtomicBool::new(trusted),
            asked: AtomicBool::new(false),
            ask,
            wanted: setup.tools.clone(),
            emitter,
            state: Mutex::default(),
        }))
    }

    /// Sets whether programs may run in the project.
    pub(crate) fn set_trusted(&self, trusted: bool) {
        self.0.trusted.store(trusted, Ordering::Relaxed);
    }

    /// Whether programs may run in the project, for the program `name`. If not, the user is asked once.
    pub(crate) fn may_run(&self, name: &str) -> bool {
        let inner = &self.0;
        let trusted = inner.trusted.load(Ordering::Relaxed);
        if !trusted && !inner.asked.swap(true, Ordering::Relaxed) {
            (inner.ask)(name);
        }
        trusted
    }

    /// Whether programs are as the user trusted them. If not, the user is asked in the background, or a notice says so once.
    pub(crate) async fn is_unchanged(&self, run: ProgramUse) -> bool {
        let guard = Arc::clone(&self.0.confined.guard);
        let Err(reason) = guard.permit(&run, false).await else {
            return true;
        };
        if !self.0.state.lock().reported.insert(reason.clone()) {
            return false;
        }
        let session = self.clone();
        osier_base::task::spawn(async move {
            let Self(session) = session;
            if guard.permit(&run, true).await.is_ok() {
                session.state.lock().reported.remove(&reason);
            } else {
                let text = format!("not started: {reason}");
                session.emitter.post_notice(Severity::Warning, text);
            }
        });
        false
    }

    /// The folder whose files programs may be run for.
    pub(crate) fn project(&self) -> &Path {
        &self.0.project
    }

    pub(crate) fn confined(&self) -> &Confined {
        &self.0.confined
    }

    /// The slots of the servers for a file.
    fn slots(&self, path: &Path) -> Vec<Arc<Slot>> {
        let configs = self.0.configs.iter();
        let fitting = configs.filter(|config| config.language(path).is_some());
        fitting
            .filter_map(|config| self.slot(config, path))
            .collect()
    }

    fn slot(&self, config: &Arc<ServerConfig>, path: &Path) -> Option<Arc<Slot>> {
        let root = config.root(path, self.project())?;
        let id = (config.name.clone(), root.clone());
        let launch = Arc::new(self.0.confined.clone());
        let key = osier_lsp::Launch::key(&*launch);
        let is_plan = self.0.confined.sandbox.is_plan();
        {
            let state = self.0.state.lock();
            if let Some(used) = state.slots.get(&id)
                && (is_plan || used.key == key)
            {
                return Some(Arc::clone(&used.slot));
            }
        }
        let programs = config.programs(&root, self.project());
        if programs.is_empty() || !self.may_run(&config.name) {
            return None;
        }
        let slot = Servers::of_process().slot(config, programs, &root, launch);
        let used = Used {
            slot: Arc::clone(&slot),
            key,
            known: known::KnownDiagnostics::default(),
            told: false,
            told_flood: false,
        };
        self.0.state.lock().slots.insert(id, used);
        self.observe(&slot);
        Some(slot)
    }

    /// Publishes the state of a server whenever it changes.
    fn observe(&self, slot: &Arc<Slot>) {
        let (session, slot) = (Arc::downgrade(&self.0), Arc::downgrade(slot));
        let Some(mut changes) = slot.upgrade().map(|slot| slot.changes()) else {
            return;
        };
        osier_base::task::spawn(async move {
            while changes.changed().await.is_ok() {
                let Some(session) = session.upgrade() else {
                    return;
                };
                if slot.upgrade().is_none() {
                    return;
                }
                let session = Self(session);
                session.tell_failures();
                session.publish();
                drop(session);
                tokio::time::sleep(EVENT_PAUSE).await;
            }
        });
    }

    /// Tells the user once about each server that does not run, or that floods.
    fn tell_failures(&self) {
        let mut notices = Vec::new();
        for used in self.0.state.lock().slots.values_mut() {
            if let Status::Failed(reason) = used.slot.status()
                && !std::mem::replace(&mut used.told, true)
            {
                notices.push(failure(used.slot.config(), &reason));
            }
            let floods = used.slot.running().is_some_and(|server| server.floods());
            if floods && !std::mem::replace(&mut used.told_flood, true) {
                notices.push(format!(
                    "the language server {} sends thousands of messages: osier reads them slowly, so its reports may be late; \
                     `lsp_servers` in `settings.toml` can change or disable it",
                    used.slot.config().name
                ));
            }
        }
        for notice in notices {
            self.0.emitter.post_notice(Severity::Warning, notice);
        }
    }

    /// The state of all servers, by name.
    pub(crate) fn infos(&self) -> Vec<CodeServerInfo> {
        let state = self.0.state.lock();
        let mut infos: Vec<CodeServerInfo> = state.slots.values().map(info).collect();
        osier_base::sort::by_key(&mut infos, |info| (info.name.clone(), info.root.clone()));
        infos
    }

    pub(crate) fn publish(&self) {
        let servers = self.infos();
        self.0.emitter.post(Event::CodeServers { servers });
    }

    /// Gives the servers of a file its text as it is on disk.
    async fn open_file(&self, path: &Path) -> Result<Vec<Opened>, String> {
        let slots = self.slots(path);
        if slots.is_empty() {
            return Err(self.no_server(path));
        }
        let text = read(path).await?;
        let mut opened = Vec::new();
        let mut failed = Vec::new();
        for slot in slots {
            let config = slot.config();
            let language = config.language(path).unwrap_or_default();
            let server = match slot.server().await {
                Ok(server) => server,
                Err(reason) => {
                    failed.push(failure(config, &reason));
                    continue;
                }
            };
            refresh(&server, config, path).await;
            match server.set_text(path, language, &text) {
                Ok(change) => opened.push((server, change)),
                Err(problem) => failed.push(format!("{}: {problem}", config.name)),
            }
        }
        if opened.is_empty() {
            return Err(failed.join("; "));
        }
        Ok(opened)
    }

    /// Why a file has no server.
    fn no_server(&self, path: &Path) -> String {
        let configs = self.0.configs.iter();
        let mut fitting = configs.filter(|config| config.language(path).is_some());
        let name = path.display();
        match fitting.next() {
            None => format!("no language server is known for `{name}`"),
            Some(config) if config.root(path, self.project()).is_none() => {
                format!("`{name}` belongs to no project of {}", config.name)
            }
            Some(config) if config.programs(self.project(), self.project()).is_empty() => {
                format!("{} is not installed{}", config.name, hint(config))
            }
            Some(config) => format!(
                "the user does not trust this project, so {} does not run",
                config.name
            ),
        }
    }

    /// Starts the servers of a file that the model reads, and opens the file in them.
    pub(crate) fn look_at(&self, path: PathBuf) {
        if self.slots(&path).is_empty() {
            return;
        }
        let session = Arc::downgrade(&self.0);
        osier_base::task::spawn(async move {
            if let Some(session) = session.upgrade() {
                // A server that fails is reported to the user elsewhere.
                let _ = Self(session).open_file(&path).await;
            }
        });
    }

    /// Gives running servers their open files as a command left them.
    pub(super) fn refresh_later(&self) {
        let slots: Vec<Arc<Slot>> = {
            let state = self.0.state.lock();
            let slots = state.slots.values();
            slots.map(|used| Arc::clone(&used.slot)).collect()
        };
        for slot in slots {
            if let Some(server) = slot.running() {
                osier_base::task::spawn(async move {
                    refresh(&server, slot.config(), Path::new("")).await;
                });
            }
        }
    }

    /// The new diagnostics of these files, and new errors in other files, within the time limit.
    pub(super) async fn check(&self, paths: &[PathBuf], limit: Duration) -> Findings {
        {
            let mut state = self.0.state.lock();
            state.touched.extend(paths.iter().cloned());
            state.is_active = true;
        }
        let (session, paths) = (self.clone(), paths.to_vec());
        let waited: Waited = Arc::default();
        let waiting = Arc::clone(&waited);
        let all = osier_base::task::spawn(async move {
            let checks = paths.iter().map(|path| session.check_file(path, &waiting));
            futures_util::future::join_all(checks).await;
        });
        // The check continues: later reports become a reminder.
        if tokio::time::timeout(limit, all).await.is_err() {
            let waited = waited.lock();
            waited.iter().for_each(|server| server.missed());
        }
        self.news()
    }

    async fn check_file(&self, path: &Path, waited: &Waited) {
        if !path.exists() {
            for server in self.running() {
                server.file_event(path, false);
            }
            return;
        }
        let Ok(opened) = self.open_file(path).await else {
            return;
        };
        let reports = opened
            .iter()
            .filter(|(server, change)| change.is_new && !server.is_quiet())
            .map(|(server, change)| async move {
                let lock = || waited.lock();
                lock().push(Arc::clone(server));
                if server.reported(change).await.is_ok() {
                    lock().retain(|one| !Arc::ptr_eq(one, server));
                }
            });
        futures_util::future::join_all(reports).await;
    }

    /// The diagnostics that the model does not know yet. They count as known from now on.
    fn news(&self) -> Findings {
        let mut findings = Findings::default();
        let mut state = self.0.state.lock();
        let State { slots, touched, .. } = &mut *state;
        for used in slots.values_mut() {
            if let Some(server) = used.slot.running() {
                let all = server.all_diagnostics();
                used.known.add_new(all, touched, &mut findings);
            }
        }
        findings
    }

    /// The diagnostics since the last call, for the next request of the model.
    pub(super) fn late_news(&self) -> Findings {
        let is_active = self.0.state.lock().is_active;
        if is_active {
            return self.news();
        }
        for used in self.0.state.lock().slots.values_mut() {
            if let Some(server) = used.slot.running() {
                used.known.absorb(server.all_diagnostics());
            }
        }
        Findings::default()
    }

    /// Offers the tools of servers that run, when a turn of the user begins.
    pub(super) fn offer_tools(&self, workspace: &Arc<Workspace>) {
        let running = self.running();
        let mut state = self.0.state.lock();
        if state.offered.is_none() && !running.is_empty() {
            let can = |capability: Capability| running.iter().any(|server| server.can(capability));
            let mut tools = code_tools(workspace, &can);
            if let Some(wanted) = &self.0.wanted {
                tools.retain(|tool| wanted.contains(&tool.spec().name));
            }
            state.offered = Some(tools);
        }
    }
}

#[async_trait]
impl CodeServers for CodeIntelligence {
    async fn open(&self, path: &Path) -> Result<Vec<Opened>, String> {
        self.open_file(path).await
    }

    fn running(&self) -> Vec<Arc<Server>> {
        let state = self.0.state.lock();
        let mut slots: Vec<&Used> = state.slots.values().collect();
        osier_base::sort::by_key(&mut slots, |used| used.slot.root().to_owned());
        slots
            .iter()
            .filter_map(|used| used.slot.running())
            .collect()
    }
}

impl ToolSource for CodeIntelligence {
    fn tools(&self) -> ToolSet {
        self.0.state.lock().offered.clone().unwrap_or_default()
    }
}

/// The text of a file.
async fn read(path: &Path) -> Result<String, String> {
    let (file, name) = (path.to_owned(), path.display().to_string());
    let read = osier_base::task::spawn_blocking(move || regular_file::read(&file, FILE_LIMIT));
    let read = read.await.map_err(|error| error.to_string())?;
    let bytes = read.map_err(|error| format!("cannot read `{name}`: {error}"))?;
    String::from_utf8(bytes).map_err(|_| format!("`{name}` is not UTF-8 text"))
}

/// Gives the server the other open files as they are on disk: commands and other programs change them, too.
async fn refresh(server: &Arc<Server>, config: &Arc<ServerConfig>, opened: &Path) {
    let others: Vec<PathBuf> = server.open_files();
    let others: Vec<PathBuf> = others.into_iter().filter(|path| path != opened).collect();
    let (server, config) = (Arc::clone(server), Arc::clone(config));
    let refreshed = osier_base::task::spawn_blocking(move || {
        for path in others {
            let text = regular_file::read(&path, FILE_LIMIT).ok();
            match text.and_then(|text| String::from_utf8(text).ok()) {
                Some(text) => {
                    let language = config.language(&path).unwrap_or_default();
                    let _ = server.set_text(&path, language, &text);
                }
                None => server.file_event(&path, false),
            }
        }
    });
    let _ = refreshed.await;
}

fn hint(config: &ServerConfig) -> String {
    match config.install.as_str() {
        "" => String::new(),
        install => format!("; install it with `{install}`"),
    }
}

/// The message about a server that does not run.
fn failure(config: &ServerConfig, reason: &str) -> String {
    format!(
        "the language server {} does not run: {reason}{}; `lsp_servers` in `settings.toml` can change or disable it",
        config.name,
        hint(config)
    )
}

fn info(used: &Used) -> CodeServerInfo {
    let slot = &used.slot;
    let (state, error) = match slot.status() {
        Status::Stopped => (CodeServerState::Stopped, None),
        Status::Starting => (CodeServerState::Starting, None),
        Status::Ready => (CodeServerState::Ready, None),
        Status::Failed(reason) => (CodeServerState::Failed, Some(reason)),
    };
    let server = slot.running();
    let counts = server.as_ref().map(|server| server.counts());
    let Counts {
        errors, warnings, ..
    } = counts.unwrap_or_default();
    CodeServerInfo {
        name: slot.config().name.clone(),
        root: slot.root().display().to_string(),
        state,
        error,
        diagnostics: DiagnosticCounts {
            errors: errors as u64,
            warnings: warnings as u64,
        },
        files: server.as_deref().map_or_else(Vec::new, files),
        problems: server.as_deref().map_or_else(Vec::new, problems),
    }
}

/// The files with errors or warnings.
fn files(server: &Server) -> Vec<FileDiagnostics> {
    let all = server.all_diagnostics().into_iter();
    let counted = all.map(|(path, found)| FileDiagnostics {
        file_path: path.display().to_string(),
        diagnostics: DiagnosticCounts {
            errors: found.counts.errors as u64,
            warnings: found.counts.warnings as u64,
        },
    });
    let counted = counted.filter(|file| file.diagnostics != DiagnosticCounts::default());
    counted.take(FILES).collect()
}

/// The worst errors and warnings of all files.
fn problems(server: &Server) -> Vec<CodeProblem> {
    let mut findings = Findings::default();
    for (path, found) in server.all_diagnostics() {
        let worst = found.worst.into_iter();
        let worst = worst.filter(|one| one.severity <= osier_lsp::Severity::Warning);
        worst.for_each(|one| findings.push(path.clone(), one));
    }
    findings.cut(PROBLEMS);
    let problems = findings.list.into_iter().map(|(path, one)| CodeProblem {
        file_path: path.display().to_string(),
        line: one.line,
        column: one.column,
        severity: one.severity.name().to_owned(),
        message: one.message,
    });
    problems.collect()
}
