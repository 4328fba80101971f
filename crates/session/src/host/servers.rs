//! The MCP servers of the open session: started with it, told of, ended with it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use globset::{Glob, GlobSet, GlobSetBuilder};
use tokio::sync::mpsc;

use super::event::Event;
use super::host::{Job, Task};
use super::setup::HostSetup;
use super::wires::Wires;

use osier_llm::auth::CredentialFile;
use osier_mcp::{Logins, Mcp, McpSetup, ServerAction, Told};
use osier_permissions::trust::{Trust, project_root};
use osier_tools::Workspace;

/// Longest time a session without a screen waits for its servers before its first prompt.
const FIRST_PROMPT_WAIT: Duration = Duration::from_secs(15);

/// Starts the servers of a session that works in `workspace`.
pub(super) fn start(setup: &HostSetup, wires: &Wires, workspace: &Arc<Workspace>) -> Mcp {
    let (told, mut tell) = mpsc::unbounded_channel();
    let jobs = wires.jobs.clone();
    tokio::spawn(async move {
        while let Some(told) = tell.recv().await {
            if jobs.send(Job::Servers(told)).is_err() {
                return;
            }
        }
    });
    let file = CredentialFile::new(setup.folders.credentials());
    let mcp = McpSetup {
        files: files(setup),
        given: setup.servers.clone(),
        environment: Arc::clone(&setup.environment),
        cwd: setup.cwd.clone(),
        logs: setup.folders.logs(),
        logins: Logins::new(file.keep_in_vault(setup.settings.keyring)),
        questions: wires.questions.clone(),
        workspace: Arc::clone(workspace),
        wanted: wanted(setup.tools.as_deref()),
        only: None,
        trace: setup.trace_servers,
    };
    Mcp::start(mcp, told)
}

/// The files that name servers; those of the project only when they are trusted.
fn files(setup: &HostSetup) -> Vec<PathBuf> {
    let mut files = vec![setup.folders.servers()];
    if Trust::new(&setup.folders).allows(&setup.cwd) {
        files.extend(project_files(&setup.cwd));
    }
    files
}

/// Those of the project around `cwd`, the nearest last.
fn project_files(cwd: &Path) -> [PathBuf; 2] {
    let root = project_root(cwd);
    [".mcp.json", ".osier/mcp.json"].map(|name| root.join(name))
}

/// Whether `name`, one of `--tools`, means tools of a server.
pub(super) fn is_server_tool(name: &str) -> bool {
    name.contains("__")
}

/// The tools of servers that `--tools` asks for; all without it.
fn wanted(names: Option<&[String]>) -> Option<GlobSet> {
    let names = names?.iter().filter(|name| is_server_tool(name));
    let mut wanted = GlobSetBuilder::new();
    for name in names {
        // One that is no pattern matches nothing, which is what it asks for.
        if let Ok(glob) = Glob::new(name) {
            wanted.add(glob);
        }
    }
    wanted.build().ok()
}

impl Task {
    /// Where nobody watches, the first prompt comes with everything there is.
    pub(super) async fn await_servers(&mut self) {
        if let Some(session) = &self.session
            && self.setup.waits_for_servers
        {
            session.mcp.settled(FIRST_PROMPT_WAIT).await;
        }
    }

    /// Reads the files that name servers again: what is new starts, what is gone ends.
    pub(super) fn load_servers(&self) {
        if let Some(session) = &self.session {
            session.mcp.load(files(&self.setup));
        }
    }

    pub(super) fn servers_said(&mut self, told: Told) {
        match told {
            Told::Servers(servers) => self.publish(Event::McpServers { servers }),
            Told::Notice { severity, text } => self.notice(severity, text),
            Told::Tools => {
                if let Some(session) = &self.session {
                    session.agent.send(osier_agent::Op::ListTools);
                }
            }
        }
    }

    pub(super) fn list_servers(&self) {
        if let Some(session) = &self.session {
            self.jobs.passed_on();
            session.mcp.list();
        }
    }

    pub(super) fn act_on_server(&self, name: &str, action: ServerAction) {
        if let Some(session) = &self.session {
            session.mcp.act(name, action);
        }
    }
}
