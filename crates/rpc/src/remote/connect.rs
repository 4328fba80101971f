//! Connects to a server: a WebSocket over a Unix socket, HTTP or ssh.

use std::error::Error as _;
use std::io;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::SinkExt as _;
use serde_json::Value;
use tokio::io::AsyncReadExt as _;
use tokio::net::{TcpStream, UnixStream};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::protocol::Role;

use super::activity::{Activity, ActivityStream};
use super::failure::{ConnectError, FailureKind};
use super::handshake::{Response, Socket, Stream, request, request_bytes, websocket_config};
use super::options::{AttachOptions, Token};
use super::proof::{NONCE_HEADER, PROOF_HEADER, Prover};
use super::target::Target;
use crate::{client_environment, compression};
use osier_base::process::{Invocation, Piped, Pipes, spawn_piped};
use osier_llm::HttpOptions;
use osier_llm::http::client_for;

/// How long one attempt may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// Options of ssh.
const SSH_OPTIONS: [&str; 5] = [
    // The interface uses the terminal, so ssh must not ask for a password.
    "BatchMode=yes",
    "ConnectTimeout=10",
    "ServerAliveInterval=3",
    "ServerAliveCountMax=2",
    // A remote command in the configuration of ssh would replace osier.
    "RemoteCommand=none",
];

/// Asks for compressed messages.
const ASK_COMPRESSION: (&str, &str) = (compression::HEADER, compression::METHOD);

/// A WebSocket and the process that carries it.
pub(super) struct ServerStream {
    pub socket: Socket,
    /// When the server was last heard.
    pub activity: Activity,
    /// The ssh process of the connection.
    pub child: Option<Piped>,
    /// Both ends read compressed messages.
    pub compresses: bool,
}

/// How to connect.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Attempt {
    /// The server was stopped: osier on the other machine does not start it again.
    pub is_stopped: bool,
}

/// Connects to `target` and sends `frames`.
pub(super) async fn connect(
    target: &Target,
    options: &AttachOptions,
    attempt: Attempt,
    frames: &[Value],
) -> Result<ServerStream, ConnectError> {
    let connecting = async {
        match target {
            Target::Unix(path) => {
                let stream = UnixStream::connect(path).await;
                let stream = stream.map_err(|error| of_io(target, &error))?;
                connect_unix(target, stream, options, frames).await
            }
            Target::Http(address) => match address.strip_prefix("http://") {
                Some(authority) => connect_http(target, authority, options, frames).await,
                None => connect_https(target, address, options, frames).await,
            },
            Target::Ssh { host, port, .. } => {
                // The bridge on the other machine adds the token of that machine.
                let request = request_bytes("localhost", &[ASK_COMPRESSION], frames);
                let request = request.map_err(|error| of_io(target, &error))?;
                let run = ssh(host, *port, options, attempt, &request);
                connect_ssh(target, &run).await
            }
        }
    };
    let late = || {
        let cause = format!("no response within {} s", CONNECT_TIMEOUT.as_secs());
        ConnectError::new(FailureKind::Unreachable, target, &cause)
    };
    let connected = tokio::time::timeout(CONNECT_TIMEOUT, connecting).await;
    connected.unwrap_or_else(|_| Err(late()))
}

/// The failure to connect to a socket or a port.
fn of_io(target: &Target, error: &io::Error) -> ConnectError {
    let kind = match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => FailureKind::NotRunning,
        _ => FailureKind::Unreachable,
    };
    let cause = match kind {
        FailureKind::NotRunning => String::new(),
        _ => error.to_string(),
    };
    ConnectError::new(kind, target, &cause)
}

async fn connect_unix(
    target: &Target,
    stream: UnixStream,
    options: &AttachOptions,
    frames: &[Value],
) -> Result<ServerStream, ConnectError> {
    let peer = stream.peer_cred().map(|peer| peer.uid());
    let is_own = peer.is_ok_and(|user| user == rustix::process::getuid().as_raw());
    if matches!(options.token, Some(Token::Stored(_))) && !is_own {
        let cause = "the socket belongs to another user";
        return Err(ConnectError::new(FailureKind::Unproven, target, cause));
    }
    let token = options.token.as_ref().map(Token::text);
    let environment = is_own.then(client_environment::header_value);
    let environment = environment.as_deref();
    let to = Requested {
        host: "localhost",
        token,
        environment,
    };
    open(target, stream, Some(to), frames).await
}

/// Connects over plain HTTP, which leads only to this machine.
async fn connect_http(
    target: &Target,
    authority: &str,
    options: &AttachOptions,
    frames: &[Value],
) -> Result<ServerStream, ConnectError> {
    let authority = authority.split('/').next().unwrap_or_default();
    let has_port = authority
        .rsplit_once(':')
        .is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let place = if has_port {
        authority.to_owned()
    } else {
        format!("{authority}:80")
    };
    let connected = TcpStream::connect(place).await;
    let mut stream = connected.map_err(|error| of_io(target, &error))?;
    let _ = stream.set_nodelay(true);
    if let Some(Token::Stored(token)) = &options.token
        && !is_proven(&mut stream, authority, token).await
    {
        let cause = "the server does not prove that it knows the stored token";
        return Err(ConnectError::new(FailureKind::Unproven, target, cause));
    }
    let token = options.token.as_ref().map(Token::text);
    let to = Requested {
        host: authority,
        token,
        environment: None,
    };
    open(target, stream, Some(to), frames).await
}

/// Whether the server of this connection knows the token. The token itself is not sent.
async fn is_proven(stream: &mut TcpStream, host: &str, token: &str) -> bool {
    let Ok(address) = stream.peer_addr() else {
        return false;
    };
    let nonce = uuid::Uuid::new_v4().simple().to_string();
    let asked = request(stream, host, &[(NONCE_HEADER, &nonce)]).await;
    let Ok(response) = asked else {
        return false;
    };
    let proof = response.header(PROOF_HEADER).map(str::to_owned);
    if response.body(stream).await.is_err() {
        return false;
    }
    proof.is_some_and(|proof| Prover::new(token).is_proven(&proof, &nonce, address))
}

async fn connect_https(
    target: &Target,
    address: &str,
    options: &AttachOptions,
    frames: &[Value],
) -> Result<ServerStream, ConnectError> {
    let failed = |kind, cause: &str| ConnectError::new(kind, target, cause);
    if matches!(options.token, Some(Token::Stored(_))) {
        let cause = format!(
            "`OSIER_SERVE_TOKEN` names no server; write `OSIER_SERVE_TOKEN={address}/#token=TOKEN`"
        );
        return Err(failed(FailureKind::Unproven, &cause));
    }
    let http_options = HttpOptions {
        ca_file: options.ca_file.clone(),
        ..HttpOptions::default()
    };
    let client = client_for(http_options, address).await;
    let client = client.map_err(|error| failed(FailureKind::Unreachable, &error))?;
    let mut request = client
        .get(format!("{address}/api/ws"))
        .header("connection", "Upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", generate_key())
        .header(ASK_COMPRESSION.0, ASK_COMPRESSION.1);
    if let Some(token) = &options.token {
        request = request.bearer_auth(token.text());
    }
    let response = request.send().await;
    let response = response.map_err(|error| of_request(target, error))?;
    let status = response.status().as_u16();
    if status != 101 {
        let body = response.bytes().await.unwrap_or_default();
        return Err(of_status(target, status, &body));
    }
    let agreed = response.headers().get(compression::HEADER);
    let compresses = agreed.is_some_and(|method| method == compression::METHOD);
    let upgraded = response.upgrade().await;
    let upgraded = upgraded.map_err(|error| of_request(target, error))?;
    let activity = Activity::new();
    let stream: Box<dyn Stream> = Box::new(ActivityStream::new(upgraded, activity.clone()));
    let config = Some(websocket_config());
    let mut socket = WebSocketStream::from_raw_socket(stream, Role::Client, config).await;
    send_all(&mut socket, frames)
        .await
        .map_err(|error| failed(FailureKind::Unreachable, &error))?;
    Ok(ServerStream {
        socket,
        activity,
        child: None,
        compresses,
    })
}

async fn connect_ssh(target: &Target, run: &Invocation) -> Result<ServerStream, ConnectError> {
    let (child, pipes) = spawn_piped(run).map_err(|error| {
        let program = run.program.to_string_lossy();
        let cause = format!("cannot start `{program}`: {error}");
        ConnectError::new(FailureKind::NoSsh, target, &cause)
    })?;
    let Pipes {
        stdin,
        stdout,
        stderr: mut errors,
    } = pipes;
    let stream = tokio::io::join(stdout, stdin);
    let opened = open(target, stream, None, &[]).await;
    match opened {
        Ok(opened) => {
            osier_base::task::spawn(async move {
                // Later messages of ssh are discarded; the state of the connection is shown instead.
                let _ = tokio::io::copy(&mut errors, &mut tokio::io::sink()).await;
            });
            Ok(ServerStream {
                child: Some(child),
                ..opened
            })
        }
        // The server itself answered.
        Err(error) if error.kind != FailureKind::Unreachable => Err(error),
        Err(error) => {
            child.end().await;
            let mut stderr = Vec::new();
            let _ = (&mut errors).take(64 * 1024).read_to_end(&mut stderr).await;
            let stderr = String::from_utf8_lossy(&stderr);
            if stderr.trim().is_empty() {
                return Err(error);
            }
            Err(ConnectError::of_ssh(target, &stderr))
        }
    }
}

/// The request for a WebSocket.
struct Requested<'a> {
    host: &'a str,
    token: Option<&'a str>,
    /// The variables of a client on the machine of the server.
    environment: Option<&'a str>,
}

/// Opens the WebSocket with a request, unless it was already sent. Then sends `frames`.
async fn open(
    target: &Target,
    stream: impl Stream + 'static,
    to: Option<Requested<'_>>,
    frames: &[Value],
) -> Result<ServerStream, ConnectError> {
    let lost = |error: &dyn std::fmt::Display| {
        ConnectError::new(FailureKind::Unreachable, target, &error.to_string())
    };
    let activity = Activity::new();
    let mut stream: Box<dyn Stream> = Box::new(ActivityStream::new(stream, activity.clone()));
    let asked = match to {
        Some(to) => {
            let value = to.token.map(|token| format!("Bearer {token}"));
            let mut headers = vec![ASK_COMPRESSION];
            headers.extend(value.as_deref().map(|value| ("authorization", value)));
            headers.extend(
                to.environment
                    .map(|value| (client_environment::HEADER, value)),
            );
            request(&mut *stream, to.host, &headers).await
        }
        None => Response::read_after_text(&mut *stream).await,
    };
    let response: Response = asked.map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData => ConnectError::new(FailureKind::NotOsier, target, ""),
        io::ErrorKind::UnexpectedEof => lost(&"the connection was closed"),
        _ => lost(&error),
    })?;
    let status = response.status;
    if status != 101 {
        let body = response.body(&mut *stream).await.unwrap_or_default();
        return Err(of_status(target, status, &body));
    }
    let compresses = response.header(compression::HEADER) == Some(compression::METHOD);
    let mut socket = response.socket(stream).await;
    let sent = send_all(&mut socket, frames).await;
    sent.map_err(|error| lost(&error))?;
    Ok(ServerStream {
        socket,
        activity,
        child: None,
        compresses,
    })
}

async fn send_all(socket: &mut Socket, frames: &[Value]) -> Result<(), String> {
    for frame in frames {
        let sent = socket.send(Message::text(frame.to_string())).await;
        sent.map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// The failure that a response reports.
fn of_status(target: &Target, status: u16, body: &[u8]) -> ConnectError {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let error = &body["error"];
    if let (Some(code), Some(message)) = (error["code"].as_str(), error["message"].as_str()) {
        return ConnectError::of_code(target, code, message);
    }
    let cause = format!("it responds with status {status}");
    // A reverse proxy sends these statuses while the server behind it starts.
    let kind = match status {
        502..=504 => FailureKind::Unreachable,
        _ => FailureKind::NotOsier,
    };
    ConnectError::new(kind, target, &cause)
}

/// The failure of a request that got no response.
fn of_request(target: &Target, error: reqwest::Error) -> ConnectError {
    let error = error.without_url();
    let mut causes = vec![error.to_string()];
    let mut source = error.source();
    while let Some(cause) = source {
        causes.push(cause.to_string());
        source = cause.source();
    }
    let text = causes.join(": ");
    let lower = text.to_lowercase();
    let kind = if lower.contains("certificate") {
        FailureKind::Certificate
    } else if lower.contains("dns error") || lower.contains("failed to lookup") {
        FailureKind::UnknownHost
    } else if lower.contains("connection refused") {
        FailureKind::NotRunning
    } else {
        FailureKind::Unreachable
    };
    ConnectError::new(kind, target, causes.last().unwrap_or(&text))
}

/// The ssh command that finds or starts the server on the other machine and connects to it.
fn ssh(
    host: &str,
    port: Option<u16>,
    options: &AttachOptions,
    attempt: Attempt,
    request: &[u8],
) -> Invocation {
    let mut command = options.ssh.iter().cloned();
    let program = command.next().unwrap_or_else(|| "ssh".to_owned());
    let mut args: Vec<String> = command.collect();
    for option in SSH_OPTIONS {
        args.extend(["-o".to_owned(), option.to_owned()]);
    }
    args.extend(["-T".to_owned(), "-e".to_owned(), "none".to_owned()]);
    if let Some(port) = port {
        args.extend(["-p".to_owned(), port.to_string()]);
    }
    args.extend(["--".to_owned(), host.to_owned()]);
    let request = URL_SAFE_NO_PAD.encode(request);
    let mut remote = format!("{} rpc --connect --request {request}", options.program);
    if attempt.is_stopped {
        remote.push_str(" --no-start");
    }
    args.push(remote);
    Invocation {
        may_ask: true,
        ..Invocation::new(program, args)
    }
}
