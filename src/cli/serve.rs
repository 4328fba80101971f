//! `osier serve`: the address, the token, and the background process.

use std::ffi::OsString;
use std::io::Write as _;

use super::args::{ServeArgs, ServeCommand};
use super::exit::Exit;
#[cfg(feature = "proxy")]
use super::llm_proxy;
use super::run_config::RunConfig;
use super::runtime::LAST_WORK;
use osier_base::exit_limit::{Interrupt, limit_after_signals};
use osier_base::process::{Invocation, spawn_detached};
use osier_base::terminal_output;
use osier_session::SessionSetup;

use osier_serve::{Listen, Options, Server, read_token};

/// The default address.
const ADDRESS: &str = "127.0.0.1:7433";

/// Serves until a signal arrives, or runs a subcommand.
///
/// # Errors
/// An address, a file or a user is invalid.
pub(super) fn run(
    args: &ServeArgs,
    config: &RunConfig,
    setup: SessionSetup,
) -> Result<Exit, String> {
    match &args.command {
        #[cfg(feature = "proxy")]
        Some(ServeCommand::Users { command }) => return llm_proxy::users(command, &setup),
        Some(ServeCommand::Stop { target, token_file }) => {
            return super::attach::stop(target.as_deref(), token_file.as_deref(), &setup);
        }
        None => {}
    }
    let mut setup = config.checked(setup)?;
    if args.detach {
        return detach(&setup);
    }
    let options = options(args, &setup)?;
    let token = options.token.clone();
    if args.detached {
        // This fails when the process already leads a process session.
        let _ = rustix::process::setsid();
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start the async runtime: {error}"))?;
    limit_after_signals(Interrupt::Ends);
    let ended = runtime.block_on(async {
        if setup.model.is_some() {
            let _ = osier_session::models::find_local(&mut setup).await;
        }
        let server = Server::bind(setup, options).await;
        let server = server.map_err(|error| error.to_string())?;
        let mut url = server.url();
        if url.starts_with("http") {
            url = format!("{url}/#token={token}");
        }
        // The server also runs when its standard output is closed.
        let _ = writeln!(terminal_output::stdout(), "{url}");
        let _ = terminal_output::stdout().flush();
        server.run().await.map_err(|error| error.to_string())
    });
    // The tasks end here, and with them the programs that they run.
    runtime.shutdown_timeout(LAST_WORK);
    ended.map(|()| Exit::Success)
}

fn options(args: &ServeArgs, setup: &SessionSetup) -> Result<Options, String> {
    let listen = match (&args.unix, args.listen) {
        (Some(path), _) => Listen::Unix(std::path::absolute(path).map_err(|e| e.to_string())?),
        (None, Some(address)) => Listen::Address(address),
        (None, None) => Listen::Address(ADDRESS.parse().map_err(|_| ADDRESS.to_owned())?),
    };
    let token_file = args.token_file.clone();
    let token_file = token_file.unwrap_or_else(|| super::attach::token_file(&setup.folders));
    Ok(Options {
        listen,
        token: read_token(&token_file)?,
        allowed_hosts: args.allow_host.clone(),
        client_header: args.client_header.clone(),
        #[cfg(feature = "proxy")]
        proxy: args.proxy.then(|| llm_proxy::open(setup)).transpose()?,
        unload_after: Some(args.unload_after).filter(|after| !after.is_zero()),
    })
}

/// Starts the same command in the background and prints its address.
fn detach(setup: &SessionSetup) -> Result<Exit, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let arguments = std::env::args_os().skip(1);
    let arguments: Vec<OsString> = arguments
        .map(|argument| match argument.to_str() {
            Some("--detach") => OsString::from("--detached"),
            _ => argument,
        })
        .collect();
    let log = setup.folders.logs().join("serve.log");
    let invocation = Invocation::new(program, arguments);
    let output = spawn_detached(&invocation, &log)
        .map_err(|error| format!("cannot start the server in the background: {error}"))?;
    if output.trim().is_empty() {
        return Err(format!(
            "the background server exited at once; see `{}`",
            log.display()
        ));
    }
    // The result does not depend on a closed standard output.
    let _ = terminal_output::stdout().write_all(output.as_bytes());
    Ok(Exit::Success)
}

/// How the server listens, as a text.
#[cfg(test)]
pub(super) fn described(args: &ServeArgs, setup: &SessionSetup) -> Result<String, String> {
    options(args, setup).map(|options| format!("{options:?}"))
}
