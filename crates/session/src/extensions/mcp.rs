//! The MCP servers of a session. They start and end with it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use globset::{Glob, GlobSet, GlobSetBuilder};
use tokio::sync::mpsc;

use crate::emitter::{Callback, Emitter};
use crate::safety::programs::ProgramTrust;
use crate::safety::trust;
use crate::setup::SessionSetup;
use osier_protocol::Event;
use osier_protocol::questions::Questions;

use osier_base::config_file::ConfigFile;
use osier_base::folders::Folders;
use osier_base::server_tool::tool_name;
use osier_llm::auth::CredentialFile;
use osier_mcp::{
    ElicitationRules, Logins, Mcp, McpSetup, Sampler, ServerEvent, ServerNames, StartGuard,
};
use osier_permissions::ServerTools;
use osier_permissions::trust::{ProgramGuard as _, ProgramUse, ProjectFiles, command};
use osier_tools::Workspace;

/// How long the first prompt of a non-interactive run waits for servers.
pub(crate) const FIRST_PROMPT_WAIT: Duration = Duration::from_secs(15);

/// Starts the servers of a session that works in `workspace`.
pub(crate) fn start(
    setup: &SessionSetup,
    questions: Questions,
    workspace: &Arc<Workspace>,
    (sampler, rules): (Arc<dyn Sampler>, Option<Arc<dyn ElicitationRules>>),
    changed: Callback<ServerEvent>,
) -> Mcp {
    let (sender, mut news) = mpsc::unbounded_channel();
    osier_base::task::spawn(async move {
        while let Some(told) = news.recv().await {
            changed.call(told);
        }
    });
    let file = CredentialFile::new(setup.folders.credentials());
    let (files, trusted) = files(setup);
    let guard = ProgramTrust::new(setup, questions.clone());
    let mcp = McpSetup {
        files,
        trusted,
        folders: setup.folders.servers_data(),
        given: setup.servers.clone(),
        environment: Arc::clone(&setup.environment),
        cwd: setup.cwd.clone(),
        logs: setup.folders.logs(),
        logins: Logins::new(file.keep_in_vault(setup.settings.credential_store.is_keyring())),
        questions,
        rules,
        workspace: Arc::clone(workspace),
        wanted: wanted(setup.tools.as_deref()),
        only: None,
        trace: setup.trace_servers,
        sampler: Some(sampler),
        is_interactive: setup.answers_questions,
        guard: Some(Arc::new(ProjectServers(guard))),
    };
    Mcp::start(mcp, sender)
}

/// Starts servers of the project as the user trusted them.
#[derive(Debug)]
struct ProjectServers(ProgramTrust);

#[async_trait]
impl StartGuard for ProjectServers {
    async fn permit(&self, name: &str, words: Vec<String>, cwd: PathBuf) -> Result<(), String> {
        let run = ProgramUse {
            name: format!("MCP server {name}"),
            cwd,
            command: command(words),
            ..ProgramUse::default()
        };
        self.0.permit(&run, true).await
    }
}

/// The tools of the servers, for permission rules.
#[derive(Debug)]
pub(crate) struct NamedTools(pub ServerNames);

impl ServerTools for NamedTools {
    fn tool(&self, name: &str) -> Option<(String, String)> {
        self.0.tool(name)
    }

    fn servers(&self) -> Vec<String> {
        self.0.servers()
    }
}

/// The notice about servers that are not ready when a run begins.
pub(crate) fn late_servers(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    let (what, is, its) = match names.len() {
        1 => ("server", "is", "its"),
        _ => ("servers", "are", "their"),
    };
    format!(
        "the MCP {what} {} {is} not ready yet: {its} tools are offered when it restarts; see `osier mcp test`",
        quoted.join(", ")
    )
}

/// The files that configure servers, and whether servers of the user may start in the project.
/// Files of the project are included only if it is trusted.
pub(crate) fn files(setup: &SessionSetup) -> (Vec<ConfigFile>, bool) {
    let trusted = trust::trusted_files(setup);
    let runs = trusted.runs_servers();
    if setup.only_given_servers {
        return (Vec::new(), runs);
    }
    (server_files(&setup.folders, &trusted), runs)
}

/// The files that configure servers; later files override earlier ones.
pub fn server_files(folders: &Folders, trusted: &ProjectFiles) -> Vec<ConfigFile> {
    let of_project = [".mcp.json", ".osier/mcp.json"].map(|name| trusted.get(name));
    let user = ConfigFile::from(folders.servers());
    std::iter::once(user)
        .chain(of_project.into_iter().flatten())
        .collect()
}

/// The names of all configured servers, also as models call them.
pub(crate) fn names_of_servers(setup: &SessionSetup) -> Vec<String> {
    let configured = osier_mcp::load(&files(setup).0, &setup.environment).servers;
    let given = setup.servers.iter().map(|server| &server.name);
    let names = configured.keys().chain(given);
    let called = |name: &String| {
        let tool = tool_name(name, "x");
        tool.strip_suffix("__x").map(str::to_owned)
    };
    names
        .flat_map(|name| [Some(name.clone()), called(name)])
        .flatten()
        .collect()
}

/// Whether `name`, one of `--tools`, names tools of a server.
pub(crate) fn is_server_tool(name: &str) -> bool {
    name.contains("__")
}

/// The patterns that `name`, one of `--tools`, can mean: `mcp__git__log` is `git__log` and `mcp__git` is `git__*`, as other
/// agents write it, unless there is a server `mcp`.
fn patterns(name: &str) -> impl Iterator<Item = String> {
    let plain = name.strip_prefix("mcp__").map(|plain| {
        if is_server_tool(plain) {
            plain.to_owned()
        } else {
            format!("{plain}__*")
        }
    });
    [name.to_owned()].into_iter().chain(plain)
}

/// Checks that each of `names`, of `--tools`, is of a server that is configured. Which tools a server has is known only
/// when it runs.
///
/// # Errors
/// The first one that is not.
pub(crate) fn check_tools<'a>(
    setup: &SessionSetup,
    names: impl Iterator<Item = &'a String>,
) -> Result<(), String> {
    let mut names = names.peekable();
    if names.peek().is_none() {
        return Ok(());
    }
    let configured = osier_mcp::load(&files(setup).0, &setup.environment).servers;
    let given = setup.servers.iter().map(|server| &server.name);
    let servers: Vec<&String> = configured.keys().chain(given).collect();
    // Models call a tool of the server by this name.
    let is_of = |server: &String, pattern: &str| {
        let pattern = pattern.split("__").next().unwrap_or_default();
        let called = tool_name(server, "x");
        let called = called.split("__").next().unwrap_or_default();
        Glob::new(pattern).is_ok_and(|glob| glob.compile_matcher().is_match(called))
    };
    let is_known =
        |name: &str| patterns(name).any(|it| servers.iter().any(|server| is_of(server, &it)));
    match names.find(|name| !is_known(name)) {
        None => Ok(()),
        Some(name) => Err(format!(
            "unknown tool `{name}`: no MCP server of this name is configured; `osier mcp list` lists them"
        )),
    }
}

/// The tools of servers that `--tools` selects; all without it.
fn wanted(names: Option<&[String]>) -> Option<GlobSet> {
    let names = names?.iter().filter(|name| is_server_tool(name));
    let mut wanted = GlobSetBuilder::new();
    // An invalid pattern matches nothing.
    for glob in names
        .flat_map(|name| patterns(name))
        .filter_map(|it| Glob::new(&it).ok())
    {
        wanted.add(glob);
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
