//! Makes a line: a WebSocket over whatever leads there.

use std::io;

use reqwest::StatusCode;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite};
use tokio::net::UnixStream;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use super::{Joining, Target};
use osier_base::process::{Invocation, Piped, spawn_piped};
use osier_base::text::{sanitize, single_line, tail_bytes};
use osier_llm::HttpOptions;
use osier_llm::http::client_to_upgrade;

/// Any pair of streams.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// A line, and what has to live as long as it.
pub(super) struct Dialled {
    pub socket: WebSocketStream<Box<dyn Stream>>,
    /// The ssh that carries it.
    pub child: Option<Piped>,
}

/// Why there is no line. The text is for the person.
#[derive(Debug, thiserror::Error)]
pub enum DialError {
    #[error("no server listens at `{0}`: `osier serve --unix {0}` starts one")]
    NobodyThere(String),
    #[error("`{place}` cannot be reached: {reason}")]
    Unreachable { place: String, reason: String },
    /// Trying again is of no use.
    #[error("`{place}` does not let you in: {reason}")]
    Refused { place: String, reason: String },
}

impl DialError {
    /// Whether trying again is of no use.
    pub(super) fn is_final(&self) -> bool {
        matches!(self, Self::Refused { .. })
    }
}

/// What a page may be in bytes: a snapshot of a long session is one frame.
fn config() -> WebSocketConfig {
    WebSocketConfig::default()
        .max_message_size(None)
        .max_frame_size(None)
}

/// Makes a line.
pub(super) async fn dial(target: &Target, joining: &Joining) -> Result<Dialled, DialError> {
    let unreachable = |reason: String| DialError::Unreachable {
        place: target.to_string(),
        reason: single_line(&sanitize(&reason)),
    };
    match target {
        Target::Unix(path) => {
            let stream = UnixStream::connect(path).await.map_err(|error| {
                let is_away = matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused
                );
                if is_away {
                    DialError::NobodyThere(path.display().to_string())
                } else {
                    unreachable(error.to_string())
                }
            })?;
            let socket = shake_hands(Box::new(stream)).await.map_err(unreachable)?;
            Ok(Dialled {
                socket,
                child: None,
            })
        }
        Target::Http(address) => {
            let socket = over_http(address, joining).await?;
            Ok(Dialled {
                socket,
                child: None,
            })
        }
        Target::Ssh { host, port, .. } => {
            let run = ssh(host, *port, joining);
            let (child, pipes) = spawn_piped(&run).map_err(|error| {
                let program = run.program.to_string_lossy();
                unreachable(format!("`{program}` cannot be started: {error}"))
            })?;
            let stream = tokio::io::join(pipes.stdout, pipes.stdin);
            let mut errors = pipes.stderr;
            match shake_hands(Box::new(stream)).await {
                Ok(socket) => {
                    tokio::spawn(async move {
                        // What ssh says later is not shown: the line shows itself.
                        let _ = tokio::io::copy(&mut errors, &mut tokio::io::sink()).await;
                    });
                    Ok(Dialled {
                        socket,
                        child: Some(child),
                    })
                }
                Err(reason) => {
                    child.end().await;
                    let mut said = Vec::new();
                    let _ = (&mut errors).take(64 * 1024).read_to_end(&mut said).await;
                    let said = String::from_utf8_lossy(&said);
                    let said = tail_bytes(said.trim(), 300);
                    Err(unreachable(if said.is_empty() {
                        reason
                    } else {
                        said.to_owned()
                    }))
                }
            }
        }
    }
}

async fn shake_hands(stream: Box<dyn Stream>) -> Result<WebSocketStream<Box<dyn Stream>>, String> {
    let made = client_async_with_config("ws://localhost/api/ws", stream, Some(config())).await;
    made.map(|(socket, _)| socket)
        .map_err(|error| error.to_string())
}

async fn over_http(
    address: &str,
    joining: &Joining,
) -> Result<WebSocketStream<Box<dyn Stream>>, DialError> {
    let unreachable = |reason: String| DialError::Unreachable {
        place: address.to_owned(),
        reason,
    };
    let options = HttpOptions {
        ca_file: joining.ca_file.clone(),
        ..HttpOptions::default()
    };
    let client = client_to_upgrade(options, address)
        .await
        .map_err(unreachable)?;
    let mut request = client
        .get(format!("{address}/api/ws"))
        .header("connection", "Upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", generate_key());
    if let Some(token) = &joining.token {
        request = request.bearer_auth(token);
    }
    let response = request.send().await;
    let response = response.map_err(|error| unreachable(error.without_url().to_string()))?;
    let status = response.status();
    if status == StatusCode::SWITCHING_PROTOCOLS {
        let upgraded = response.upgrade().await;
        let upgraded = upgraded.map_err(|error| unreachable(error.to_string()))?;
        let stream: Box<dyn Stream> = Box::new(upgraded);
        return Ok(WebSocketStream::from_raw_socket(stream, Role::Client, Some(config())).await);
    }
    let body: Value = response.json().await.unwrap_or_default();
    let message = body["error"]["message"].as_str();
    let reason = message.map_or_else(|| format!("it answers with {status}"), str::to_owned);
    let reason = single_line(&sanitize(&reason));
    let place = address.to_owned();
    if status == StatusCode::UNAUTHORIZED || status == StatusCode::FORBIDDEN {
        return Err(DialError::Refused { place, reason });
    }
    Err(DialError::Unreachable { place, reason })
}

/// The ssh that finds or starts a server over there and speaks with it.
fn ssh(host: &str, port: Option<u16>, joining: &Joining) -> Invocation {
    let mut words = joining.ssh.iter().cloned();
    let program = words.next().unwrap_or_else(|| "ssh".to_owned());
    let mut args: Vec<String> = words.collect();
    // The terminal belongs to the interface: what asks for a password there has to be an agent or a key.
    for option in [
        "BatchMode=yes",
        "ServerAliveInterval=5",
        "ServerAliveCountMax=3",
    ] {
        args.extend(["-o".to_owned(), option.to_owned()]);
    }
    args.extend(["-T".to_owned(), "-e".to_owned(), "none".to_owned()]);
    if let Some(port) = port {
        args.extend(["-p".to_owned(), port.to_string()]);
    }
    args.extend(["--".to_owned(), host.to_owned()]);
    args.push(format!("{} rpc --connect", joining.program));
    Invocation::new(program, args)
}
