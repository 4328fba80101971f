//! The MCP servers of a session. They start and end with it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use globset::{Glob, GlobSet, GlobSetBuilder};
use tokio::sync::mpsc;

use crate::emitter::{Callback, Emitter};
use crate::setup::SessionSetup;
use osier_protocol::Event;
use osier_protocol::questions::Questions;

use osier_llm::auth::CredentialFile;
use osier_mcp::{Logins, Mcp, McpSetup, ServerEvent};
use osier_permissions::trust::{Trust, project_root};
use osier_tools::Workspace;

/// How long the first prompt of a non-interactive run waits for servers.
pub(crate) const FIRST_PROMPT_WAIT: Duration = Duration::from_secs(15);

/// Starts the servers of a session that works in `workspace`.
pub(crate) fn start(
    setup: &SessionSetup,
    questions: Questions,
    workspace: &Arc<Workspace>,
    changed: Callback<ServerEvent>,
) -> Mcp {
    let (sender, mut news) = mpsc::unbounded_channel();
    osier_base::task::spawn(async move {
        while let Some(told) = news.recv().await {
            changed.call(told);
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
        questions,
        workspace: Arc::clone(workspace),
        wanted: wanted(setup.tools.as_deref()),
        only: None,
        trace: setup.trace_servers,
    };
    Mcp::start(mcp, sender)
}

/// The files that configure servers; those of the project only if it is trusted.
pub(crate) fn files(setup: &SessionSetup) -> Vec<PathBuf> {
    let mut files = vec![setup.folders.servers()];
    if Trust::new(&setup.folders).allows(&setup.cwd) {
        files.extend(project_files(&setup.cwd));
    }
    files
}

/// The files of the project around `cwd`; later files override earlier ones.
fn project_files(cwd: &Path) -> [PathBuf; 2] {
    let root = project_root(cwd);
    [".mcp.json", ".osier/mcp.json"].map(|name| root.join(name))
}

/// Whether `name`, one of `--tools`, names tools of a server.
pub(crate) fn is_server_tool(name: &str) -> bool {
    name.contains("__")
}

/// The tools of servers that `--tools` selects; all without it.
fn wanted(names: Option<&[String]>) -> Option<GlobSet> {
    let names = names?.iter().filter(|name| is_server_tool(name));
    let mut wanted = GlobSetBuilder::new();
    for name in names {
        // An invalid pattern matches nothing.
        if let Ok(glob) = Glob::new(name) {
            wanted.add(glob);
        }
    }
    wanted.build().ok()
}

/// Publishes what the servers report. Whether their tools changed.
pub(crate) fn publish(news: ServerEvent, emitter: &Emitter) -> bool {
    match news {
        ServerEvent::Servers(servers) => emitter.publish(Event::McpServers { servers }),
        ServerEvent::Notice { severity, text } => emitter.notice(severity, text),
        ServerEvent::Tools => return true,
    }
    false
}
