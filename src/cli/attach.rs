//! `osier attach`: a local interface for an agent that runs in a server.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use tokio::net::UnixStream;

use super::args::{AttachArgs, RpcArgs};
use super::exit::{Exit, screen_exit};
use super::runtime::{block_on, block_on_with_input};
use osier_base::exit_limit::{Interrupt, limit_after_signals};
use osier_base::folders::Folders;
use osier_base::private;
use osier_base::process::{Invocation, spawn_detached};
use osier_base::terminal_output;
use osier_protocol::Opening;
use osier_serve::read_token;
use osier_session::SessionSetup;

use osier_rpc::client_environment;
use osier_rpc::remote;
use osier_rpc::remote::{AttachOptions, Target, Token, attach};

/// The environment variable with the token of a server, `ADDRESS#token=TOKEN` or the token alone.
const TOKEN_VARIABLE: &str = "OSIER_SERVE_TOKEN";

/// Bytes of the first line of a request at most.
const MAX_REQUEST_LINE: usize = 16 * 1024;

/// Runs the interface until the user exits; the session keeps running.
///
/// # Errors
/// The server cannot be reached, or an argument is invalid.
pub(super) fn run(
    args: &AttachArgs,
    setup: &SessionSetup,
    mut options: osier_tui::Options,
) -> Result<Exit, String> {
    let (target, url_token) = parse_target(args.target.as_deref(), &setup.folders)?;
    if args.target.is_none() {
        block_on(connect_to_background_server(&setup.folders))??;
    }
    let attach_options = attach_options(args, &target, url_token, setup)?;
    // Without the token of the address, because the command is shown.
    let command = match &args.target {
        Some(_) => format!("osier attach {target}"),
        None => "osier attach".to_owned(),
    };
    options.elsewhere = Some(osier_tui::Elsewhere {
        files_are_here: target.is_local(),
        way_back: command,
    });
    limit_after_signals(Interrupt::Ends);
    let outcome = block_on(async {
        let (host, events) = attach(target.clone(), attach_options.clone());
        let open = open_other_sessions(target, attach_options);
        osier_tui::run_over(host, events, open, setup, options).await
    });
    screen_exit(outcome?)
}

fn attach_options(
    args: &AttachArgs,
    target: &Target,
    url_token: Option<String>,
    setup: &SessionSetup,
) -> Result<AttachOptions, String> {
    let dir = args.dir.clone();
    Ok(AttachOptions {
        session: args.session.clone(),
        new_session: args.new,
        cwd: dir.or_else(|| target.is_local().then(|| setup.cwd.clone())),
        model: args.model.clone(),
        name: args.name.clone().unwrap_or_else(|| client_name(setup)),
        token: token(target, url_token, args.token_file.as_deref(), setup)?,
        ssh: args.ssh.split_whitespace().map(str::to_owned).collect(),
        program: args.program.clone(),
        ca_file: setup.settings.ca_file.as_deref().map(Arc::from),
        drafts: Some(setup.folders.drafts()),
    })
}

/// Runs `osier serve stop`.
///
/// # Errors
/// There is no such server, or it cannot be reached.
pub(super) fn stop(
    server: Option<&str>,
    token_file: Option<&Path>,
    setup: &SessionSetup,
) -> Result<Exit, String> {
    let (target, url_token) = parse_target(server, &setup.folders)?;
    if matches!(target, Target::Ssh { .. }) {
        return Err(format!(
            "cannot stop `{target}` from here; run `osier serve stop` on that machine"
        ));
    }
    let attach_options = AttachOptions {
        token: token(&target, url_token, token_file, setup)?,
        ca_file: setup.settings.ca_file.as_deref().map(Arc::from),
        ..AttachOptions::default()
    };
    let stopped = block_on(remote::stop(&target, &attach_options));
    stopped?
        .map(|()| Exit::Success)
        .map_err(|error| error.to_string())
}

/// The server and the token of its URL; the local background server by default.
fn parse_target(
    server: Option<&str>,
    folders: &Folders,
) -> Result<(Target, Option<String>), String> {
    match server.map(Target::parse).transpose() {
        Ok(Some(target)) => Ok(target),
        Ok(None) => Ok((Target::Unix(background_socket(folders)), None)),
        Err(error) => Err(error.to_string()),
    }
}

/// The token: from the URL, from the file, or what is known of the server.
fn token(
    target: &Target,
    url_token: Option<String>,
    file: Option<&Path>,
    setup: &SessionSetup,
) -> Result<Option<Token>, String> {
    match (url_token, file) {
        (Some(token), _) => Ok(Some(Token::Given(token))),
        (None, Some(file)) => Ok(Some(Token::Given(read_token(file)?))),
        (None, None) => Ok(known_token(target, setup)),
    }
}

/// Opens other sessions of the server, each with its own connection.
fn open_other_sessions(target: Target, attach_options: AttachOptions) -> osier_tui::Open {
    osier_tui::Open::new(move |open_options, opening| {
        if opening != Opening::Itself {
            let text = "cannot copy a session of a server from here; run `/clone` in that session";
            return Err(text.to_owned());
        }
        let attach_options = AttachOptions {
            new_session: open_options.session.is_none(),
            session: open_options.session,
            cwd: open_options.cwd.or_else(|| attach_options.cwd.clone()),
            ..attach_options.clone()
        };
        Ok(attach(target.clone(), attach_options))
    })
}

/// The name of this client: `USER@HOST TERMINAL`.
fn client_name(setup: &SessionSetup) -> String {
    let mut names = ["USER", "LOGNAME"].iter();
    let user = names.find_map(|name| setup.environment.get(*name));
    let user = user.map_or("unknown", String::as_str);
    let host = rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned();
    let terminal = rustix::termios::ttyname(io::stdin(), Vec::new()).ok();
    let terminal = terminal.and_then(|name| name.into_string().ok());
    let terminal = terminal.as_deref().unwrap_or_default();
    let terminal = terminal.trim_start_matches("/dev/");
    format!("{user}@{host} {terminal}").trim_end().to_owned()
}

/// The token of the environment, or that of a server on this machine.
fn known_token(target: &Target, setup: &SessionSetup) -> Option<Token> {
    let variable = setup.environment.get(TOKEN_VARIABLE);
    let variable = variable.filter(|token| !token.is_empty());
    let variable = variable.and_then(|value| token_of_variable(value, target));
    let file = token_file(&setup.folders);
    let stored = || read_token(&file).ok().map(Token::Stored);
    match target {
        // The file is created before the server, which may not run yet.
        Target::Unix(_) => stored().or(variable),
        _ if target.is_local() && file.is_file() => variable.or_else(stored),
        _ => variable,
    }
}

/// The token in `ADDRESS#token=TOKEN`, if the address is `target`; a token alone names no server.
fn token_of_variable(value: &str, target: &Target) -> Option<Token> {
    if !value.contains("#token=") {
        return Some(Token::Stored(value.to_owned()));
    }
    let (named, token) = Target::parse(value).ok()?;
    (named == *target)
        .then_some(token)
        .flatten()
        .map(Token::Given)
}

/// The file with the token of servers on this machine, which only this user can read and sandboxed commands cannot.
pub(super) fn token_file(folders: &Folders) -> PathBuf {
    folders.data.join("serve.token")
}

/// The socket of the local background server.
fn background_socket(folders: &Folders) -> PathBuf {
    folders.data.join("serve.sock")
}

/// Connects to the local background server; starts it if necessary.
async fn connect_to_background_server(folders: &Folders) -> Result<UnixStream, String> {
    let path = background_socket(folders);
    if let Ok(stream) = UnixStream::connect(&path).await {
        return Ok(stream);
    }
    let failed = |error: io::Error| format!("cannot start the background server: {error}");
    private::create_folder(&folders.data).map_err(failed)?;
    let program = std::env::current_exe().map_err(failed)?;
    let socket = path.clone();
    let arguments = [
        "serve".as_ref(),
        "--detached".as_ref(),
        "--unix".as_ref(),
        socket.as_os_str(),
    ];
    let run = Invocation::new(program, arguments);
    let log = folders.logs().join("serve.log");
    // The new process exits when another process has started the server in the meantime.
    let _ = spawn_detached(&run, &log).map_err(failed)?;
    UnixStream::connect(&path).await.map_err(|error| {
        let log = log.display();
        format!("cannot connect to the background server: {error}; see `{log}`")
    })
}

/// Runs `osier rpc --connect`: connects standard input and output to a server on this machine, for an ssh
/// connection from another machine.
///
/// # Errors
/// The server cannot be reached.
pub(super) fn bridge(args: &RpcArgs, folders: &Folders) -> Result<Exit, String> {
    let path = Path::new(args.connect.as_deref().unwrap_or_default());
    let bridged = block_on_with_input(async {
        let (mut input, mut output) = (tokio::io::stdin(), terminal_output::async_stdout());
        // The request is checked before a server is started for it.
        let request = match &args.request {
            Some(request) => decoded(request)?,
            None => http_request_line(first_line(&mut input).await)?,
        };
        let stream = if !path.as_os_str().is_empty() {
            let failed = |error| format!("cannot connect to `{}`: {error}", path.display());
            UnixStream::connect(path).await.map_err(failed)?
        } else if !args.no_start {
            connect_to_background_server(folders).await?
        } else {
            let socket = background_socket(folders);
            let stream = UnixStream::connect(socket).await;
            stream.map_err(|error| format!("no server runs on this machine: {error}"))?
        };
        let (mut from, mut to) = stream.into_split();
        authorize(&request, &mut to, folders).await?;
        // The first end that closes ends both directions.
        tokio::select! {
            _ = tokio::io::copy(&mut input, &mut to) => {}
            _ = copy_unbuffered(&mut from, &mut output) => {}
        }
        Ok(Exit::Success)
    });
    bridged?
}

/// The request that the client passed as an argument.
fn decoded(request: &str) -> Result<Vec<u8>, String> {
    let decoded = URL_SAFE_NO_PAD.decode(request);
    decoded.map_err(|_| "invalid value of `--request`; expected base64".to_owned())
}

/// Refuses what is no request line: the connection speaks HTTP and WebSocket.
fn http_request_line(line: Vec<u8>) -> Result<Vec<u8>, String> {
    let is_request = line.is_empty() || line.windows(6).any(|part| part == b"HTTP/1");
    is_request.then_some(line).ok_or_else(|| {
        "standard input is no HTTP request: `osier rpc --connect` connects `osier attach ssh://…` to a server; for \
         lines of RPC, use `osier rpc`, or the WebSocket of a session of `osier serve`"
            .to_owned()
    })
}

/// The request line; nothing at the end of the input.
async fn first_line(input: &mut (impl tokio::io::AsyncRead + Unpin)) -> Vec<u8> {
    use tokio::io::AsyncReadExt as _;
    let mut line = Vec::new();
    while !line.ends_with(b"\n") && line.len() < MAX_REQUEST_LINE {
        let Ok(byte) = input.read_u8().await else {
            return Vec::new();
        };
        line.push(byte);
    }
    line
}

/// Passes the start of the request on, with the token of this machine's server and the variables of this login as the first
/// headers. Only that server's own user gets here.
async fn authorize(
    request: &[u8],
    server: &mut (impl tokio::io::AsyncWrite + Unpin),
    folders: &Folders,
) -> Result<(), String> {
    use tokio::io::AsyncWriteExt as _;
    let token = read_token(&token_file(folders))?;
    let line = request.iter().position(|byte| *byte == b'\n');
    let Some(line) = line else {
        // The end of the input also ends the connection.
        return Ok(());
    };
    let (line, rest) = request.split_at(line + 1);
    let environment = client_environment::header_value();
    let headers = format!(
        "Authorization: Bearer {token}\r\n{}: {environment}\r\n",
        client_environment::HEADER
    );
    let bytes = [line, headers.as_bytes(), rest].concat();
    let sent = server.write_all(&bytes).await;
    sent.map_err(|error| format!("cannot reach the server: {error}"))
}

/// Copies and flushes after every read.
async fn copy_unbuffered(
    from: &mut (impl tokio::io::AsyncRead + Unpin),
    to: &mut (impl tokio::io::AsyncWrite + Unpin),
) -> io::Result<()> {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = from.read(&mut buffer).await?;
        if read == 0 {
            return Ok(());
        }
        to.write_all(&buffer[..read]).await?;
        to.flush().await?;
    }
}

/// The connection, as a text. A given token differs from one that was found.
#[cfg(test)]
pub(super) fn described(args: &AttachArgs, setup: &SessionSetup) -> Result<String, String> {
    let (target, url_token) = parse_target(args.target.as_deref(), &setup.folders)?;
    let options = attach_options(args, &target, url_token, setup)?;
    Ok(format!("{target} {options:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_http_is_passed_on_to_a_server() {
        for line in [
            "",
            "GET /v1/sessions/1/ws HTTP/1.1\r\n",
            "POST /x HTTP/1.0\n",
        ] {
            let line = line.as_bytes().to_vec();
            assert_eq!(http_request_line(line.clone()), Ok(line));
        }
        let error = http_request_line(b"{\"type\":\"prompt\"}\n".to_vec()).unwrap_err();
        assert!(error.contains("use `osier rpc`"), "{error}");
    }
}
