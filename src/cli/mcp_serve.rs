//! `osier mcp serve`: on standard input and output, or over HTTP with a token.

use std::cell::Cell;
use std::io::{self, Write as _};

use osier_base::exit_limit::{Interrupt, limit_after_signals};
use osier_base::signals::signalled;
use osier_base::terminal_output;
use osier_serve::mcp::{McpOptions, McpServer, Service, serve_lines};
use osier_serve::read_token;
use osier_session::models::find_local;
use osier_session::{SessionSetup, check_tools};

use super::args::{Command, McpCommand, McpServeArgs};
use super::exit::Exit;
use super::run_config::RunConfig;
use super::runtime::{block_on, block_on_with_input};
use crate::modes::mcp_server::PromptTool;

/// Serves until the input ends or a signal arrives.
pub(super) fn run(config: &RunConfig, setup: SessionSetup) -> Result<Exit, String> {
    let mut setup = config.checked(setup)?;
    setup.waits_for_servers = true;
    check_tools(&setup)?;
    let options = match &config.args.command {
        Some(Command::Mcp {
            command: McpCommand::Serve(args),
        }) => options(args, &setup)?,
        _ => None,
    };
    limit_after_signals(Interrupt::Ends);
    match options {
        Some(options) => block_on(serve_http(setup, options))?,
        None => block_on_with_input(serve_stdio(setup))?,
    }
}

/// How the server listens; `None` without HTTP.
fn options(args: &McpServeArgs, setup: &SessionSetup) -> Result<Option<McpOptions>, String> {
    let Some(address) = args.http else {
        return Ok(None);
    };
    let token_file = args.token_file.clone();
    let token_file = token_file.unwrap_or_else(|| super::attach::token_file(&setup.folders));
    Ok(Some(McpOptions {
        address,
        token: read_token(&token_file)?,
        allowed_hosts: args.allow_host.clone(),
    }))
}

async fn service(mut setup: SessionSetup) -> Service {
    // The server also starts without a model; each call fails then.
    let _ = find_local(&mut setup).await;
    Service::new(PromptTool { setup })
}

async fn serve_stdio(setup: SessionSetup) -> Result<Exit, String> {
    let service = service(setup).await;
    let input = tokio::io::BufReader::new(tokio::io::stdin());
    let signal = Cell::new(None);
    let stopped = async { signal.set(Some(signalled().await)) };
    let output = terminal_output::async_stdout();
    match serve_lines(&service, input, output, stopped).await {
        Ok(()) => Ok(signal.get().map_or(Exit::Success, Exit::Signal)),
        // The client has exited.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Exit::Success),
        Err(error) => Err(error.to_string()),
    }
}

async fn serve_http(setup: SessionSetup, options: McpOptions) -> Result<Exit, String> {
    let server = McpServer::bind(service(setup).await, options).await;
    let server = server.map_err(|error| error.to_string())?;
    // The server also runs when its standard output is closed.
    let _ = writeln!(terminal_output::stdout(), "{}", server.url());
    let _ = terminal_output::stdout().flush();
    let signal = Cell::new(None);
    let stopped = async { signal.set(Some(signalled().await)) };
    let served = server.run_until(stopped).await;
    served.map_err(|error| error.to_string())?;
    Ok(signal.get().map_or(Exit::Success, Exit::Signal))
}

/// How the server listens, as a text.
#[cfg(test)]
pub(super) fn described(args: &McpServeArgs, setup: &SessionSetup) -> Result<String, String> {
    options(args, setup).map(|options| format!("{options:?}"))
}
