//! The sandbox of a workspace, and how a command is wrapped for it.

mod files;
mod requested;

use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use tokio_util::sync::CancellationToken;

use super::HELPER;
use super::backend::{Backend, Preferred, SandboxError};
use super::bubblewrap::Layout;
use super::denied::{Denial, Denied};
#[cfg(target_os = "linux")]
use super::mounts::Source;
use super::network::{Asker, Proxies};
use super::protected::{Identities, Protected, git_directories};
use super::report::Report;
use super::scope::{self, Scope};
use super::spec::{Network, Spec, Stage};
#[cfg(target_os = "linux")]
use super::starter;
use osier_base::folders::Folders;
use osier_base::leftovers::TemporaryFolder;
use osier_base::process::Invocation;
use osier_base::real_path;
use osier_protocol::questions::{Answer, Question, QuestionKind, Questions, Subject};
use osier_protocol::{NetworkAccess, SandboxMode};
use requested::Requested;

/// The sandbox of a workspace: what was requested, and how it is enforced.
#[derive(Debug)]
pub struct Confinement {
    cwd: PathBuf,
    /// The program with the hidden subcommand.
    helper: Option<PathBuf>,
    /// osier's own files, which are hidden.
    folders: Option<Folders>,
    /// Shared with the sandboxes of other directories.
    requested: Arc<Mutex<Requested>>,
    backend: Arc<OnceLock<Result<Backend, SandboxError>>>,
    proxies: Arc<Proxies>,
    temporary: Arc<OnceLock<Option<TemporaryFolder>>>,
    /// The starter, if it could be created.
    #[cfg(target_os = "linux")]
    starter: Arc<OnceLock<Option<PathBuf>>>,
    /// Whether the starter makes namespaces and mounts itself, without bubblewrap.
    starts_alone: Arc<OnceLock<bool>>,
    protected: Protected,
    /// The directories of the repository that `.git` named at the start.
    repositories: Vec<PathBuf>,
    /// Read-only directories that are not hidden.
    shown: Arc<Mutex<BTreeSet<PathBuf>>>,
    /// Asks the questions of this sandbox, instead of the asker of all.
    asker: Option<Questions>,
}

/// A command in the sandbox.
#[derive(Debug)]
pub struct Confined {
    pub invocation: Invocation,
    pub report: Report,
}

impl Confinement {
    /// Creates a sandbox that is off until `set` is called.
    pub fn new(cwd: &Path, helper: Option<PathBuf>) -> Self {
        Self {
            helper: helper.or_else(|| std::env::current_exe().ok()),
            ..Self::empty(cwd)
        }
    }

    fn empty(cwd: &Path) -> Self {
        Self {
            cwd: cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned()),
            helper: None,
            folders: None,
            requested: Arc::default(),
            backend: Arc::default(),
            proxies: Arc::default(),
            temporary: Arc::default(),
            #[cfg(target_os = "linux")]
            starter: Arc::default(),
            starts_alone: Arc::default(),
            protected: Protected::default(),
            repositories: Vec::new(),
            shown: Arc::default(),
            asker: None,
        }
        .with_repositories()
    }

    /// Hides osier's own files from commands.
    #[must_use]
    pub fn hiding(mut self, folders: &Folders) -> Self {
        self.folders = Some(folders.clone());
        self.with_repositories()
    }

    /// Finds the directories of the repository now, before a command could let `.git` name others.
    fn with_repositories(mut self) -> Self {
        let folders = self.folders.iter();
        let own = folders.flat_map(|folders| [&folders.config, &folders.data]);
        let own: Vec<PathBuf> = own.filter_map(|path| path.canonicalize().ok()).collect();
        let is_own = |path: &PathBuf| own.iter().any(|folder| path.starts_with(folder));
        let mut found = git_directories(&self.cwd.join(".git"));
        found.retain(|path| path.join("HEAD").is_file() && !is_own(path));
        self.repositories = found;
        self
    }

    /// This sandbox for another directory: changes apply to both.
    pub fn at(self: &Arc<Self>, cwd: &Path) -> Arc<Self> {
        let other = Self::empty(cwd);
        if other.cwd == self.cwd {
            return Arc::clone(self);
        }
        let other = Self {
            folders: self.folders.clone(),
            ..other
        };
        let other = other.with_repositories();
        Arc::new(Self {
            helper: self.helper.clone(),
            requested: Arc::clone(&self.requested),
            backend: Arc::clone(&self.backend),
            starts_alone: Arc::clone(&self.starts_alone),
            proxies: Arc::clone(&self.proxies),
            ..other
        })
    }

    /// This sandbox with questions of its own: everything else is the same.
    #[must_use]
    pub fn asked_by(&self, questions: Questions) -> Arc<Self> {
        Arc::new(Self {
            cwd: self.cwd.clone(),
            helper: self.helper.clone(),
            folders: self.folders.clone(),
            requested: Arc::clone(&self.requested),
            backend: Arc::clone(&self.backend),
            proxies: Arc::clone(&self.proxies),
            temporary: Arc::clone(&self.temporary),
            #[cfg(target_os = "linux")]
            starter: Arc::clone(&self.starter),
            starts_alone: Arc::clone(&self.starts_alone),
            protected: self.protected.clone(),
            repositories: self.repositories.clone(),
            shown: Arc::clone(&self.shown),
            asker: Some(questions),
        })
    }

    /// Who asks the questions, if a client can answer them.
    fn asker(&self, requested: &Requested) -> Option<Questions> {
        let shared = requested.asker.clone()?;
        Some(self.asker.clone().unwrap_or(shared))
    }

    /// Sets what child processes can do; `writable` are directories besides the working directory.
    pub fn set(
        &self,
        mode: SandboxMode,
        network: impl Into<NetworkAccess>,
        writable: Vec<PathBuf>,
    ) {
        let mut requested = self.requested.lock();
        requested.mode = mode;
        requested.network = network.into();
        // Now, before a command could put a link there.
        let real = writable
            .into_iter()
            .map(|path| real_path::resolve(&path).real);
        requested.writable = real.collect();
    }

    /// Sets what commands cannot use: [`Self::limit`] says how far that holds.
    pub fn deny(&self, denied: Vec<Denial>) {
        let mut requested = self.requested.lock();
        if requested.denied.list != denied {
            requested.denied = Denied::of(denied);
        }
    }

    pub fn set_plan(&self, plan: bool) {
        self.requested.lock().plan = plan;
    }

    /// Enables the questions whether a command can run outside of the sandbox, and whether it can use a network host.
    pub fn set_asker(&self, questions: Questions) {
        self.requested.lock().asker = Some(questions);
    }

    /// The program of osier itself.
    pub fn program(&self) -> Option<&Path> {
        self.helper.as_deref()
    }

    /// The effective mode.
    pub fn mode(&self) -> SandboxMode {
        self.requested.lock().effective()
    }

    /// Whether sandboxed processes have a network, at least for some hosts.
    pub fn has_network(&self) -> bool {
        *self.requested.lock().network() != NetworkAccess::Off
    }

    /// Whether the sandbox is on and denies commands some of the network.
    pub fn denies_network(&self) -> bool {
        let requested = self.requested.lock();
        requested.effective() != SandboxMode::Off && *requested.network() != NetworkAccess::All
    }

    /// Whether plan mode forces the sandbox: then nothing can run outside of it.
    pub fn is_plan(&self) -> bool {
        self.requested.lock().plan
    }

    /// Sets the mechanism that is tried first. This must happen before `ready` detects the backend.
    pub fn prefer(&self, preferred: Preferred) {
        self.requested.lock().preferred = preferred;
    }

    /// Whether commands start in namespaces without bubblewrap. False until the backend is detected.
    pub fn starts_alone(&self) -> bool {
        self.starts_alone.get() == Some(&true)
    }

    /// A warning for the user if the sandbox allows writes to more than a project.
    pub fn warning(&self) -> Option<String> {
        let requested = self.requested.lock().clone();
        let folders = self.folders.as_ref();
        let home = std::env::home_dir();
        (requested.effective() == SandboxMode::Workspace).then(|| {
            let scope = Scope::of(&self.cwd, home.as_deref(), folders)?;
            Some(scope.warning(&self.cwd))
        })?
    }

    /// Detects the backend, once.
    pub async fn ready(&self) -> Result<Backend, SandboxError> {
        if let Some(known) = self.backend.get() {
            return known.clone();
        }
        let preferred = self.requested.lock().preferred;
        let found = Backend::find(preferred).await;
        #[cfg(target_os = "linux")]
        if preferred == Preferred::Namespaces && matches!(found, Ok(Backend::Bubblewrap(_))) {
            let works = self.works_alone().await;
            self.starts_alone.get_or_init(|| works);
        }
        self.backend.get_or_init(|| found).clone()
    }

    /// Like `ready`, but only when the sandbox is on.
    pub async fn prepare(&self) -> Result<(), SandboxError> {
        match self.mode() {
            SandboxMode::Off => Ok(()),
            _ => self.ready().await.map(drop),
        }
    }

    /// Whether the user lets `command`, which the sandbox denied, run outside of it. Always false in plan
    /// mode and in non-interactive runs.
    pub async fn may_leave(&self, command: &str, cancel: &CancellationToken) -> bool {
        let asker = self.asker(&self.requested.lock());
        let Some(questions) = asker.filter(|_| !self.is_plan()) else {
            return false;
        };
        let question = Question {
            id: String::new(),
            origin: "the sandbox".to_owned(),
            subagent: None,
            title: "The sandbox denied this command. Run it again without the sandbox?".to_owned(),
            subject: Some(Subject::Command {
                command: command.to_owned(),
                cwd: self.cwd.display().to_string(),
            }),
            kind: QuestionKind::Confirm,
        };
        questions.ask(question, cancel).await == Answer::Yes
    }

    /// Does not hide the directory `path` from commands, which cannot write to it.
    pub fn show(&self, path: &Path) {
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let mut shown = self.shown.lock();
        shown.insert(path);
    }

    /// Wraps `invocation` in the sandbox. When the sandbox is on, `ready` must have been awaited before.
    pub fn wrap(&self, invocation: Invocation) -> Result<Invocation, SandboxError> {
        Ok(self.confine(invocation)?.invocation)
    }

    /// Like `wrap`, with what the sandbox reports after the command has ended. Network hosts require a tokio runtime.
    pub fn confine(&self, invocation: Invocation) -> Result<Confined, SandboxError> {
        let requested = self.requested.lock().clone();
        let mut report = Report::default();
        let mode = requested.effective();
        if mode == SandboxMode::Off {
            return Ok(Confined { invocation, report });
        }
        let writes = mode == SandboxMode::Workspace;
        if writes {
            scope::refuse_everything([&self.cwd].into_iter().chain(&requested.writable))?;
        }
        let protected = self.protected_in(&requested)?;
        if writes {
            report.protected = Identities::of(&self.cwd, &self.protected, protected.clone());
        }
        let backend = self.known_backend()?;
        let network = match requested.hosts(&backend)? {
            None => Network::Off,
            Some(hosts) if hosts.allowed.is_none() && hosts.denied.is_empty() => Network::All,
            Some(hosts) => {
                let asker = Asker::of(self.asker(&requested), &invocation, &self.cwd);
                let temporary = self.temporary()?;
                let proxy = self
                    .proxies
                    .start(&backend, hosts, asker, temporary.root())?;
                report.denied_hosts = proxy.denied;
                Network::Proxy(proxy.socket)
            }
        };
        let temporary = self.temporary()?;
        let mut confined = match &backend {
            Backend::Bubblewrap(program) => {
                let layout = self.layout(&requested, &network, &protected.paths)?;
                self.in_bubblewrap(program, layout, &network, invocation)?
            }
            Backend::Landlock(_) => {
                let writable = self.writable(&requested, &temporary);
                let spec = Spec {
                    stage: Stage::Landlock,
                    hidden: self.hidden(&requested, &writable)?,
                    writable,
                    links: Vec::new(),
                    read_only: !writes,
                    network: network.clone(),
                };
                self.in_helper(&spec, invocation)?
            }
            Backend::SandboxExec => {
                let spec = Spec {
                    writable: self.writable(&requested, &temporary),
                    network: network.clone(),
                    ..Spec::default()
                };
                sandbox_exec(&spec, invocation)
            }
        };
        let folder = match backend {
            Backend::Bubblewrap(_) => "/tmp".into(),
            _ => temporary.root().to_owned(),
        };
        let env = &mut confined.env;
        env.push(("OSIER_SANDBOX".into(), mode.name().into()));
        env.push(("TMPDIR".into(), folder.into()));
        if let Network::Proxy(_) = network {
            let listed = match requested.network() {
                NetworkAccess::Hosts(hosts) => hosts.as_slice(),
                _ => &[],
            };
            env.extend(super::network::environment(listed));
        }
        Ok(Confined {
            invocation: confined,
            report,
        })
    }

    fn known_backend(&self) -> Result<Backend, SandboxError> {
        let unknown = || SandboxError::new("the backend was not detected yet");
        self.backend.get().ok_or_else(unknown)?.clone()
    }

    fn in_bubblewrap(
        &self,
        program: &Path,
        mut layout: Layout,
        network: &Network,
        invocation: Invocation,
    ) -> Result<Invocation, SandboxError> {
        let spec = Spec {
            stage: Stage::Bubblewrap,
            network: Layout::network(network.clone()),
            writable: layout.writable(),
            links: layout.links().to_vec(),
            ..Spec::default()
        };
        if let Some((starter, args)) = self.in_starter(&mut layout, &spec, &invocation, true) {
            let mut started = wrap(starter, args, invocation);
            // `bwrap` sets this variable, too.
            started.env.push(("PWD".into(), self.cwd.clone().into()));
            return Ok(started);
        }
        let inner = match self.in_starter(&mut layout, &spec, &invocation, false) {
            Some((starter, args)) => wrap(starter, args, invocation),
            None => self.in_helper(&spec, invocation)?,
        };
        let mut args = layout.arguments();
        args.extend(["--chdir".into(), self.cwd.clone().into(), "--".into()]);
        Ok(wrap(program.into(), args, inner))
    }

    /// The starter with its arguments, `alone` or for bubblewrap; `None` if it cannot start the program, or if a command may have changed
    /// it.
    #[cfg(target_os = "linux")]
    fn in_starter(
        &self,
        layout: &mut Layout,
        spec: &Spec,
        invocation: &Invocation,
        alone: bool,
    ) -> Option<(OsString, Vec<OsString>)> {
        if alone && !self.starts_alone() {
            return None;
        }
        let of_layout = alone.then_some((&*layout, self.cwd.as_path()));
        let arguments = starter::arguments(spec, invocation, of_layout)?;
        let path = self.starter()?;
        if layout.mounts.is_open(path) || !starter::is_intact(path) {
            return None;
        }
        if alone {
            return Some((path.into(), arguments));
        }
        layout
            .mounts
            .add(starter::PATH, Source::Other(path.to_owned()));
        Some((starter::PATH.into(), arguments))
    }

    #[cfg(not(target_os = "linux"))]
    fn in_starter(
        &self,
        _layout: &mut Layout,
        _spec: &Spec,
        _invocation: &Invocation,
        _alone: bool,
    ) -> Option<(OsString, Vec<OsString>)> {
        None
    }

    #[cfg(target_os = "linux")]
    fn starter(&self) -> Option<&Path> {
        let temporary = self.temporary().ok()?;
        let starter = self
            .starter
            .get_or_init(|| starter::create(temporary.root()));
        starter.as_deref()
    }

    #[cfg(target_os = "linux")]
    async fn works_alone(&self) -> bool {
        let (Some(starter), Ok(temporary)) = (self.starter(), self.temporary()) else {
            return false;
        };
        starter::works_alone(starter, Layout::new(&temporary, &Network::Off)).await
    }

    fn in_helper(&self, spec: &Spec, invocation: Invocation) -> Result<Invocation, SandboxError> {
        let unknown = || SandboxError::new("the path of the osier executable is unknown");
        let helper = self.helper.clone().ok_or_else(unknown)?;
        let spec = serde_json::to_string(spec).unwrap_or_default();
        let args = vec![HELPER.into(), spec.into(), "--".into()];
        Ok(wrap(helper.into(), args, invocation))
    }
}

fn wrap(program: OsString, mut args: Vec<OsString>, invocation: Invocation) -> Invocation {
    args.push(invocation.program);
    args.extend(invocation.args);
    Invocation {
        program,
        args,
        ..invocation
    }
}

#[cfg(target_os = "macos")]
fn sandbox_exec(spec: &Spec, invocation: Invocation) -> Invocation {
    super::seatbelt::wrap(spec, invocation)
}

#[cfg(not(target_os = "macos"))]
fn sandbox_exec(_spec: &Spec, invocation: Invocation) -> Invocation {
    invocation
}
