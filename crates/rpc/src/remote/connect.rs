//! Connects to a server: a WebSocket over a Unix socket, HTTP or ssh.

use std::io;

use reqwest::StatusCode;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite};
use tokio::net::UnixStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::{WebSocketStream, client_async_with_config, tungstenite};

use super::{AttachOptions, Target};
use osier_base::process::{Invocation, Piped, spawn_piped};
use osier_base::text::{sanitize, single_line, tail_bytes};
use osier_llm::HttpOptions;
use osier_llm::http::client_for;

/// Any pair of streams.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// A WebSocket and the process that carries it.
pub(super) struct ServerStream {
    pub socket: WebSocketStream<Box<dyn Stream>>,
    /// The ssh process of the connection.
    pub child: Option<Piped>,
}

/// Why a server cannot be reached. The texts are shown to users.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error("no server listens on `{0}`; start one with `osier serve --unix {0}`")]
    NotRunning(String),
    #[error("cannot reach `{target}`: {reason}")]
    Unreachable { target: String, reason: String },
    /// Retrying does not help.
    #[error("`{target}` rejects the connection: {reason}")]
    Refused { target: String, reason: String },
}

impl ConnectError {
    /// Whether retrying cannot help.
    pub(super) fn is_final(&self) -> bool {
        matches!(self, Self::Refused { .. })
    }
}

/// Without size limits: the snapshot of a long session is one frame.
fn websocket_config() -> WebSocketConfig {
    WebSocketConfig::default()
        .max_message_size(None)
        .max_frame_size(None)
}

/// Connects to `target`.
pub(super) async fn connect(
    target: &Target,
    options: &AttachOptions,
) -> Result<ServerStream, ConnectError> {
    let unreachable = |reason: String| ConnectError::Unreachable {
        target: target.to_string(),
        reason: single_line(&sanitize(&reason)),
    };
    match target {
        Target::Unix(path) => {
            let stream = UnixStream::connect(path).await.map_err(|error| {
                let not_running = matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused
                );
                if not_running {
                    ConnectError::NotRunning(path.display().to_string())
                } else {
                    unreachable(error.to_string())
                }
            })?;
            let token = options.token.as_deref();
            let socket = handshake(Box::new(stream), token).await;
            let socket = socket.map_err(|failure| failure.of(target))?;
            Ok(ServerStream {
                socket,
                child: None,
            })
        }
        Target::Http(address) => {
            let socket = connect_http(address, options).await?;
            Ok(ServerStream {
                socket,
                child: None,
            })
        }
        Target::Ssh { host, port, .. } => {
            let run = ssh(host, *port, options);
            let (child, pipes) = spawn_piped(&run).map_err(|error| {
                let program = run.program.to_string_lossy();
                unreachable(format!("cannot start `{program}`: {error}"))
            })?;
            let stream = tokio::io::join(pipes.stdout, pipes.stdin);
            let mut errors = pipes.stderr;
            // The bridge on the other machine sends the token of that machine.
            let socket = handshake(Box::new(stream), None).await;
            match socket.map_err(|failure| failure.reason) {
                Ok(socket) => {
                    osier_base::task::spawn(async move {
                        // Later messages of ssh are discarded; the state of the connection is shown instead.
                        let _ = tokio::io::copy(&mut errors, &mut tokio::io::sink()).await;
                    });
                    Ok(ServerStream {
                        socket,
                        child: Some(child),
                    })
                }
                Err(reason) => {
                    child.end().await;
                    let mut stderr = Vec::new();
                    let _ = (&mut errors).take(64 * 1024).read_to_end(&mut stderr).await;
                    let stderr = String::from_utf8_lossy(&stderr);
                    let stderr = tail_bytes(stderr.trim(), 300);
                    Err(unreachable(if stderr.is_empty() {
                        reason
                    } else {
                        stderr.to_owned()
                    }))
                }
            }
        }
    }
}

/// Why a WebSocket was not opened.
struct HandshakeError {
    reason: String,
    /// The server answered.
    is_refused: bool,
}

impl HandshakeError {
    fn of(self, target: &Target) -> ConnectError {
        let target = target.to_string();
        let reason = single_line(&sanitize(&self.reason));
        if self.is_refused {
            ConnectError::Refused { target, reason }
        } else {
            ConnectError::Unreachable { target, reason }
        }
    }
}

async fn handshake(
    stream: Box<dyn Stream>,
    token: Option<&str>,
) -> Result<WebSocketStream<Box<dyn Stream>>, HandshakeError> {
    let failed = |error: tungstenite::Error| {
        let message = match &error {
            tungstenite::Error::Http(response) => response.body().as_deref(),
            _ => None,
        };
        let message: Value = message
            .and_then(|body| serde_json::from_slice(body).ok())
            .unwrap_or_default();
        let message = message["error"]["message"].as_str().map(str::to_owned);
        HandshakeError {
            is_refused: message.is_some(),
            reason: message.unwrap_or_else(|| error.to_string()),
        }
    };
    let mut request = "ws://localhost/api/ws"
        .into_client_request()
        .map_err(failed)?;
    let token = token.map(|token| format!("Bearer {token}").parse());
    if let Some(Ok(token)) = token {
        request.headers_mut().insert("authorization", token);
    }
    let opened = client_async_with_config(request, stream, Some(websocket_config())).await;
    opened.map(|(socket, _)| socket).map_err(failed)
}

async fn connect_http(
    address: &str,
    options: &AttachOptions,
) -> Result<WebSocketStream<Box<dyn Stream>>, ConnectError> {
    let unreachable = |reason: String| ConnectError::Unreachable {
        target: address.to_owned(),
        reason,
    };
    let http_options = HttpOptions {
        ca_file: options.ca_file.clone(),
        ..HttpOptions::default()
    };
    let client = client_for(http_options, address)
        .await
        .map_err(unreachable)?;
    let mut request = client
        .get(format!("{address}/api/ws"))
        .header("connection", "Upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", generate_key());
    if let Some(token) = &options.token {
        request = request.bearer_auth(token);
    }
    let response = request.send().await;
    let response = response.map_err(|error| unreachable(error.without_url().to_string()))?;
    let status = response.status();
    if status == StatusCode::SWITCHING_PROTOCOLS {
        let upgraded = response.upgrade().await;
        let upgraded = upgraded.map_err(|error| unreachable(error.to_string()))?;
        let stream: Box<dyn Stream> = Box::new(upgraded);
        return Ok(WebSocketStream::from_raw_socket(
            stream,
            Role::Client,
            Some(websocket_config()),
        )
        .await);
    }
    let body: Value = response.json().await.unwrap_or_default();
    let message = body["error"]["message"].as_str();
    let reason = message.map_or_else(|| format!("it responds with {status}"), str::to_owned);
    let reason = single_line(&sanitize(&reason));
    let target = address.to_owned();
    if status == StatusCode::UNAUTHORIZED || status == StatusCode::FORBIDDEN {
        return Err(ConnectError::Refused { target, reason });
    }
    Err(ConnectError::Unreachable { target, reason })
}

/// The ssh command that finds or starts the server on the other machine and connects to it.
fn ssh(host: &str, port: Option<u16>, options: &AttachOptions) -> Invocation {
    let mut command = options.ssh.iter().cloned();
    let program = command.next().unwrap_or_else(|| "ssh".to_owned());
    let mut args: Vec<String> = command.collect();
    // The interface uses the terminal, so ssh must not ask for a password.
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
    args.push(format!("{} rpc --connect", options.program));
    Invocation::new(program, args)
}
