//! `osier mcp`: lists, adds, removes and tests MCP servers, and signs in to them.

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::cli::args::{McpAddArgs, McpCommand};
use crate::cli::exit::{Exit, usage_error};
use osier_base::config_file::ConfigFile;
use osier_base::folders::Folders;
use osier_base::{clock, terminal_output};
use osier_llm::auth::CredentialFile;
use osier_mcp::{Logins, Mcp, McpSetup, NewServer, ServerConfig, Servers, last_lines};
use osier_permissions::trust::ProjectFiles;
use osier_protocol::questions::Questions;
use osier_protocol::{ServerInfo, ServerState};
use osier_session::server_files;
use osier_tools::Workspace;
use tokio::sync::mpsc;

/// How long `osier mcp test` waits for all servers to start.
const TEST_TIMEOUT: Duration = Duration::from_secs(90);
/// The number of lines that are shown of the log of a server that failed.
const LOG_LINES: usize = 5;

/// The directories and settings of an `osier mcp` command.
pub(in crate::cli) struct McpContext<'a> {
    pub folders: &'a Folders,
    pub environment: &'a BTreeMap<String, String>,
    pub cwd: PathBuf,
    /// The files of the project, if it is trusted.
    pub project: ProjectFiles,
    pub keyring: bool,
}

impl McpContext<'_> {
    fn project_file(&self) -> PathBuf {
        self.project.root().join(".osier/mcp.json")
    }

    fn files(&self) -> Vec<ConfigFile> {
        server_files(self.folders, &self.project)
    }

    /// The servers, with all problems of their files.
    fn servers(&self) -> Servers {
        let mut servers = osier_mcp::load(&self.files(), self.environment);
        let rejected = self.project.rejected().iter().cloned();
        servers.problems.extend(rejected);
        servers
    }

    fn logins(&self) -> Logins {
        let file = CredentialFile::new(self.folders.credentials());
        Logins::new(file.keep_in_vault(self.keyring))
    }
}

/// Runs one `osier mcp` command.
pub(in crate::cli) async fn run(
    command: McpCommand,
    context: &McpContext<'_>,
    out: &mut dyn Write,
) -> io::Result<Exit> {
    match command {
        McpCommand::Add(args) => add(args, context, out),
        McpCommand::Rm { name, project } => {
            let path = file(context, project);
            match osier_mcp::remove(&path, &name) {
                Ok(()) => {
                    writeln!(out, "removed `{name}` from {}", path.display())?;
                    Ok(Exit::Success)
                }
                Err(error) => Ok(usage_error(&format!("{error}; {}", error.hint()))),
            }
        }
        McpCommand::List => list(context, out),
        McpCommand::Test { name } => test(name.as_deref(), context, out).await,
        McpCommand::Login { name } => login(&name, context, out).await,
        // The server opens sessions, so `dispatch` runs it like other modes.
        McpCommand::Serve(_) => Ok(Exit::Success),
    }
}

fn file(context: &McpContext<'_>, project: bool) -> PathBuf {
    if project {
        context.project_file()
    } else {
        context.folders.servers()
    }
}

fn add(args: McpAddArgs, context: &McpContext<'_>, out: &mut dyn Write) -> io::Result<Exit> {
    let pairs = |texts: Vec<String>, mark: char| -> Result<BTreeMap<String, String>, String> {
        let pair = |text: String| match text.split_once(mark) {
            Some((name, value)) => Ok((name.trim().to_owned(), value.trim().to_owned())),
            None => Err(format!(
                "invalid value `{text}`; expected `NAME{mark}VALUE`"
            )),
        };
        texts.into_iter().map(pair).collect()
    };
    let has = (!args.env.is_empty(), !args.header.is_empty());
    let (env, headers) = match (pairs(args.env, '='), pairs(args.header, ':')) {
        (Ok(env), Ok(headers)) => (env, headers),
        (Err(message), _) | (_, Err(message)) => return Ok(usage_error(&message)),
    };
    let first = args.command.first().map(String::as_str).unwrap_or_default();
    let is_url = first.starts_with("https://") || first.starts_with("http://");
    if is_url && args.command.len() > 1 {
        let message =
            format!("unexpected arguments after the URL `{first}`; flags come before the URL");
        return Ok(usage_error(&message));
    }
    let refused = match has {
        (true, _) if is_url => "`--env` is for a server that is a program; a URL has none",
        (_, true) if !is_url => "`--header` is for a server with a URL; a program uses stdio",
        _ if !is_url && args.transport.is_some() => {
            "`--transport` is for a server with a URL; a program uses stdio"
        }
        _ => "",
    };
    if !refused.is_empty() {
        return Ok(usage_error(refused));
    }
    let server = NewServer {
        name: args.name,
        is_sse: args.transport.as_deref() == Some("sse"),
        url: is_url.then(|| first.to_owned()),
        command: if is_url { Vec::new() } else { args.command },
        env,
        headers,
    };
    let path = file(context, args.project);
    match osier_mcp::add(&path, &server, args.force) {
        Ok(()) => {
            let name = &server.name;
            writeln!(out, "added `{name}` to {}", path.display())?;
            writeln!(out, "test it with `osier mcp test {name}`")?;
            Ok(Exit::Success)
        }
        Err(error) => Ok(usage_error(&format!("{error}; {}", error.hint()))),
    }
}

fn list(context: &McpContext<'_>, out: &mut dyn Write) -> io::Result<Exit> {
    let servers = context.servers();
    for server in servers.servers.values() {
        let state = if server.disabled {
            "disabled"
        } else {
            "enabled"
        };
        writeln!(
            out,
            "{:<16} {state:<9} {:<40} {}",
            server.name,
            server.shown,
            server.file.display()
        )?;
    }
    for problem in &servers.problems {
        writeln!(out, "{problem}")?;
    }
    if servers.servers.is_empty() && servers.problems.is_empty() {
        writeln!(
            out,
            "no MCP servers; add one with `osier mcp add NAME COMMAND …`"
        )?;
    }
    Ok(if servers.problems.is_empty() {
        Exit::Success
    } else {
        Exit::Failure
    })
}

async fn test(
    name: Option<&str>,
    context: &McpContext<'_>,
    out: &mut dyn Write,
) -> io::Result<Exit> {
    let servers = context.servers();
    for problem in &servers.problems {
        writeln!(out, "{problem}")?;
    }
    if let Some(name) = name
        && !servers.servers.contains_key(name)
    {
        return Ok(usage_error(&format!(
            "unknown MCP server `{name}`; `osier mcp list` lists the servers"
        )));
    }
    let (questions, pending) = Questions::new();
    // No client can answer questions here.
    drop(pending);
    let (changes, _receiver) = tokio::sync::mpsc::unbounded_channel();
    let setup = McpSetup {
        files: context.files(),
        trusted: context.project.runs_servers(),
        folders: context.folders.servers_data(),
        given: Vec::new(),
        environment: Arc::new(context.environment.clone()),
        cwd: context.cwd.clone(),
        logs: context.folders.logs(),
        logins: context.logins(),
        questions,
        rules: None,
        workspace: Arc::new(Workspace::new(&context.cwd)),
        wanted: None,
        only: name.map(str::to_owned),
        trace: false,
        sampler: None,
        is_interactive: true,
        // The user starts them with this command.
        guard: None,
    };
    let began = clock::now();
    let servers = Mcp::start(setup, changes);
    servers.settled(TEST_TIMEOUT).await;
    let infos = servers.servers();
    servers.end().await;
    let mut exit = if infos.is_empty() {
        Exit::Failure
    } else {
        Exit::Success
    };
    for server in &infos {
        describe(server, out)?;
        if server.error.is_some() {
            for line in last_lines(Path::new(&server.log), began, LOG_LINES) {
                writeln!(out, "  {line}")?;
            }
        }
        if !matches!(server.state, ServerState::Ready | ServerState::Disabled) {
            exit = Exit::Failure;
        }
    }
    Ok(exit)
}

fn describe(server: &ServerInfo, out: &mut dyn Write) -> io::Result<()> {
    let version = server.version.as_ref();
    let version = version.map_or(String::new(), |version| format!(" ({version})"));
    writeln!(out, "{}: {}{version}", server.name, server.state.name())?;
    if let Some(protocol) = &server.protocol {
        writeln!(out, "  protocol {protocol}")?;
    }
    if let Some(error) = &server.error {
        writeln!(out, "  {error}; log: {}", server.log)?;
    }
    if let Some(instructions) = &server.instructions {
        writeln!(out, "  instructions, sent to the model:")?;
        for line in instructions.lines() {
            writeln!(out, "    {line}")?;
        }
    }
    for tool in &server.tools {
        writeln!(out, "  tool {tool}")?;
    }
    if server.hidden_tools > 0 {
        writeln!(
            out,
            "  {} more tools, not offered to the model",
            server.hidden_tools
        )?;
    }
    for resource in &server.resources {
        writeln!(out, "  resource {}", resource.uri)?;
    }
    for prompt in &server.prompts {
        writeln!(
            out,
            "  prompt {}",
            osier_mcp::prompt_command(&server.name, &prompt.name)
        )?;
    }
    Ok(())
}

async fn login(name: &str, context: &McpContext<'_>, out: &mut dyn Write) -> io::Result<Exit> {
    let servers = context.servers();
    let Some(config) = servers.servers.get(name) else {
        let message = format!("unknown MCP server `{name}`; `osier mcp list` lists the servers");
        return Ok(usage_error(&message));
    };
    match sign_in(config, context, out).await {
        Ok(()) => {
            writeln!(out, "signed in to `{name}`")?;
            Ok(Exit::Success)
        }
        Err(error) => {
            writeln!(out, "cannot sign in to `{name}`: {error}")?;
            Ok(Exit::Failure)
        }
    }
}

/// Opens the browser, and waits for its redirect or for the pasted address of it.
async fn sign_in(
    config: &ServerConfig,
    context: &McpContext<'_>,
    out: &mut dyn Write,
) -> Result<(), String> {
    let login = context.logins().begin(config).await?;
    let is_set = |name: &str| {
        let value = context.environment.get(name);
        value.is_some_and(|value| !value.is_empty())
    };
    let is_open = osier_base::browser::open(login.url(), is_set).await;
    let first = if is_open {
        "Sign in with the browser. If it shows nothing, open this URL:"
    } else {
        "Open this URL in a browser:"
    };
    let paste = "If the browser is on another machine, paste the final URL of the browser here.";
    let printed = writeln!(out, "{first}\n  {}\n{paste}", login.url());
    printed
        .and_then(|()| out.flush())
        .map_err(|error| error.to_string())?;
    let (send, mut pasted) = mpsc::unbounded_channel();
    // In a thread: a blocking read cannot be cancelled and must not delay the exit.
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                break;
            }
        }
    });
    let refuse = |reason: &str| {
        // A failed write to standard error cannot be reported.
        let _ = writeln!(terminal_output::stderr(), "! {reason}");
    };
    login.finish_or_paste(&mut pasted, refuse).await
}
