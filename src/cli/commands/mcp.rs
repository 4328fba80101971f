//! `osier mcp`: which servers there are, adding and removing them, trying them, signing in.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::cli::args::{McpAddArgs, McpCommand};
use crate::cli::exit::{Exit, usage_error};
use osier_base::folders::Folders;
use osier_llm::auth::CredentialFile;
use osier_mcp::{Logins, Mcp, McpSetup, NewServer, ServerInfo, ServerState};
use osier_permissions::trust::project_root;
use osier_protocol::questions::Questions;
use osier_tools::Workspace;

/// Time all servers have to come up in a trial.
const TRIAL_TIME: Duration = Duration::from_secs(90);

/// Where the command works.
pub(in crate::cli) struct Place<'a> {
    pub folders: &'a Folders,
    pub environment: &'a BTreeMap<String, String>,
    pub cwd: PathBuf,
    /// The project's own files count.
    pub project: bool,
    pub keyring: bool,
}

impl Place<'_> {
    fn project_file(&self) -> PathBuf {
        project_root(&self.cwd).join(".osier/mcp.json")
    }

    fn files(&self) -> Vec<PathBuf> {
        let mut files = vec![self.folders.servers()];
        if self.project {
            let shared = project_root(&self.cwd).join(".mcp.json");
            files.extend([shared, self.project_file()]);
        }
        files
    }

    fn logins(&self) -> Logins {
        let file = CredentialFile::new(self.folders.credentials());
        Logins::new(file.keep_in_vault(self.keyring))
    }
}

/// Runs one `osier mcp` command.
pub(in crate::cli) async fn run(
    what: McpCommand,
    place: &Place<'_>,
    out: &mut dyn Write,
) -> io::Result<Exit> {
    match what {
        McpCommand::Add(args) => add(args, place, out),
        McpCommand::Rm { name, project } => {
            let path = file(place, project);
            match osier_mcp::remove(&path, &name) {
                Ok(()) => {
                    writeln!(out, "removed `{name}` from {}", path.display())?;
                    Ok(Exit::Success)
                }
                Err(error) => Ok(usage_error(&format!("{error}; {}", error.hint()))),
            }
        }
        McpCommand::List => list(place, out),
        McpCommand::Test { name } => test(name.as_deref(), place, out).await,
        McpCommand::Login { name } => login(&name, place, out).await,
    }
}

fn file(place: &Place<'_>, project: bool) -> PathBuf {
    if project {
        place.project_file()
    } else {
        place.folders.servers()
    }
}

fn add(args: McpAddArgs, place: &Place<'_>, out: &mut dyn Write) -> io::Result<Exit> {
    let pairs = |texts: Vec<String>, mark: char| -> Result<BTreeMap<String, String>, String> {
        let pair = |text: String| match text.split_once(mark) {
            Some((name, value)) => Ok((name.trim().to_owned(), value.trim().to_owned())),
            None => Err(format!("`{text}` is no NAME{mark}VALUE")),
        };
        texts.into_iter().map(pair).collect()
    };
    let (env, headers) = match (pairs(args.env, '='), pairs(args.header, ':')) {
        (Ok(env), Ok(headers)) => (env, headers),
        (Err(message), _) | (_, Err(message)) => return Ok(usage_error(&message)),
    };
    let first = args.command.first().map(String::as_str).unwrap_or_default();
    let is_url = first.starts_with("https://") || first.starts_with("http://");
    if is_url && args.command.len() > 1 {
        let message = format!("nothing follows the address `{first}`");
        return Ok(usage_error(&message));
    }
    let server = NewServer {
        name: args.name,
        url: is_url.then(|| first.to_owned()),
        command: if is_url { Vec::new() } else { args.command },
        env,
        headers,
    };
    let path = file(place, args.project);
    match osier_mcp::add(&path, &server, args.force) {
        Ok(()) => {
            let name = &server.name;
            writeln!(out, "added `{name}` to {}", path.display())?;
            writeln!(out, "try it: osier mcp test {name}")?;
            Ok(Exit::Success)
        }
        Err(error) => Ok(usage_error(&format!("{error}; {}", error.hint()))),
    }
}

fn list(place: &Place<'_>, out: &mut dyn Write) -> io::Result<Exit> {
    let servers = osier_mcp::load(&place.files(), place.environment);
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
            "no server is configured: `osier mcp add NAME COMMAND …`"
        )?;
    }
    Ok(if servers.problems.is_empty() {
        Exit::Success
    } else {
        Exit::Failure
    })
}

async fn test(name: Option<&str>, place: &Place<'_>, out: &mut dyn Write) -> io::Result<Exit> {
    let servers = osier_mcp::load(&place.files(), place.environment);
    for problem in &servers.problems {
        writeln!(out, "{problem}")?;
    }
    if let Some(name) = name
        && !servers.servers.contains_key(name)
    {
        return Ok(usage_error(&format!(
            "there is no MCP server `{name}`: `osier mcp list` shows them"
        )));
    }
    let (questions, asked) = Questions::new();
    // Nobody can be asked here.
    drop(asked);
    let (told, _tell) = tokio::sync::mpsc::unbounded_channel();
    let setup = McpSetup {
        files: place.files(),
        given: Vec::new(),
        environment: Arc::new(place.environment.clone()),
        cwd: place.cwd.clone(),
        logs: place.folders.logs(),
        logins: place.logins(),
        questions,
        workspace: Arc::new(Workspace::new(&place.cwd)),
        wanted: None,
        only: name.map(str::to_owned),
        trace: false,
    };
    let servers = Mcp::start(setup, told);
    servers.settled(TRIAL_TIME).await;
    let infos = servers.servers();
    let mut exit = if infos.is_empty() {
        Exit::Failure
    } else {
        Exit::Success
    };
    for server in &infos {
        describe(server, out)?;
        if !matches!(server.state, ServerState::Ready | ServerState::Disabled) {
            exit = Exit::Failure;
        }
    }
    servers.end().await;
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
        writeln!(out, "  {error}; its log is {}", server.log)?;
    }
    for tool in &server.tools {
        writeln!(out, "  tool {tool}")?;
    }
    if server.hidden_tools > 0 {
        writeln!(out, "  {} more tools are not offered", server.hidden_tools)?;
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

async fn login(name: &str, place: &Place<'_>, out: &mut dyn Write) -> io::Result<Exit> {
    let servers = osier_mcp::load(&place.files(), place.environment);
    let Some(config) = servers.servers.get(name) else {
        let message = format!("there is no MCP server `{name}`: `osier mcp list` shows them");
        return Ok(usage_error(&message));
    };
    let outcome = async {
        let login = place.logins().begin(config).await?;
        let told = writeln!(out, "open this address to sign in:\n{}", login.url());
        told.map_err(|error| error.to_string())?;
        login.finish().await
    };
    match outcome.await {
        Ok(()) => {
            writeln!(out, "signed in to `{name}`")?;
            Ok(Exit::Success)
        }
        Err(error) => {
            writeln!(out, "no sign-in to `{name}`: {error}")?;
            Ok(Exit::Failure)
        }
    }
}
