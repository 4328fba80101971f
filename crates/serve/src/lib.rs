//! Sessions over HTTP: REST and server-sent events for scripts, a WebSocket for interfaces, and the browser chat.
//! `docs/serve.md` describes the API.
//!
//! The server listens on a TCP address, or on a Unix socket that only its owner can open. Clients send a token.
//! `osier_hub` owns the sessions. A `SessionConnection` connects one client to one session with the dispatcher of
//! `osier rpc`. Each client has a bounded `SendQueue`: a client that reads too slowly loses events and gets a snapshot
//! instead.
//!
//! ```no_run
//! use std::path::Path;
//!
//! use osier_serve::{Listen, Options, Server, read_token};
//! use osier_session::SessionSetup;
//!
//! async fn serve(setup: SessionSetup) -> Result<(), Box<dyn std::error::Error>> {
//!     let options = Options {
//!         listen: Listen::Address("127.0.0.1:0".parse()?),
//!         token: read_token(Path::new("serve.token"))?,
//!         allowed_hosts: Vec::new(),
//!         client_header: None,
//!         proxy: None,
//!         unload_after: None,
//!     };
//!     let server = Server::bind(setup, options).await?;
//!     println!("{}", server.url());
//!     server.run().await?;
//!     Ok(())
//! }
//! ```

mod access;
mod browser_chat;
mod browser_sign_in;
mod compression;
mod connections;
mod error;
mod frames;
#[cfg(feature = "transfer")]
mod highlighter;
#[cfg_attr(not(feature = "transfer"), path = "html_disabled.rs")]
mod html;
mod listen;
#[cfg(test)]
#[cfg(all(feature = "schema", feature = "transfer"))]
mod openapi;
#[cfg(feature = "proxy")]
mod proxy;
mod rate_limit;
mod request_body;
mod request_check;
mod routes;
mod send_queue;
mod server_routes;
mod session_connection;
mod session_routes;
mod websocket;

#[cfg(feature = "transfer")]
pub use highlighter::SyntaxHighlighter;

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio_util::task::TaskTracker;

use self::access::Access;
#[cfg(feature = "transfer")]
use self::html::Renderer;
use self::listen::Bound;
use self::request_body::LargeBodies;
use osier_base::signals::signalled;
use osier_hub::SessionRegistry;
#[cfg(feature = "proxy")]
use osier_proxy::LlmProxy;
use osier_session::SessionSetup;

pub use self::access::read_token;
pub use self::listen::{Listen, ListenError};

/// Interval of the check for idle sessions.
const IDLE_CHECK_INTERVAL: Duration = Duration::from_secs(20);
/// How long requests may take to finish when the server shuts down.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

/// How long the server waits at its end until each WebSocket has sent its last frames.
const SOCKET_TIMEOUT: Duration = Duration::from_millis(300);

/// How a server listens and which clients it accepts.
#[derive(Debug)]
pub struct Options {
    pub listen: Listen,
    /// The token that clients send.
    pub token: String,
    /// Additional host names of the server.
    pub allowed_hosts: Vec<String>,
    /// The header in which a trusted reverse proxy names the client.
    pub client_header: Option<String>,
    /// The LLM proxy, which calls models for other users.
    #[cfg(feature = "proxy")]
    pub proxy: Option<LlmProxy>,
    /// Unload sessions that have been idle and without clients for this time; never when not set.
    pub unload_after: Option<Duration>,
}

/// The state that all requests share.
#[derive(Debug)]
struct ServerState {
    registry: SessionRegistry,
    access: Access,
    client_header: Option<String>,
    large_bodies: LargeBodies,
    #[cfg(feature = "transfer")]
    renderer: Renderer,
    /// A client requested the shutdown of the server.
    stop: Arc<Notify>,
    /// All sessions are closed and the server ends.
    stopped: watch::Sender<bool>,
    /// The open WebSockets.
    sockets: TaskTracker,
}

/// A server that listens but does not accept requests yet.
#[derive(Debug)]
pub struct Server {
    state: Arc<ServerState>,
    listener: Bound,
    unload_after: Option<Duration>,
}

impl Server {
    /// Starts to listen. Every session starts from `template`.
    ///
    /// # Errors
    /// The address or the socket is in use or invalid.
    pub async fn bind(template: SessionSetup, options: Options) -> Result<Self, ListenError> {
        let listener = Bound::new(&options.listen).await?;
        let access = Access::new(&options.token, listener.ip(), &options.allowed_hosts);
        #[cfg(feature = "proxy")]
        let access = access.with_proxy(options.proxy);
        let registry = SessionRegistry::new(template);
        Ok(Self {
            state: Arc::new(ServerState {
                registry,
                access,
                client_header: options.client_header,
                large_bodies: LargeBodies::default(),
                #[cfg(feature = "transfer")]
                renderer: Renderer::default(),
                stop: Arc::default(),
                stopped: watch::Sender::new(false),
                sockets: TaskTracker::new(),
            }),
            listener,
            unload_after: options.unload_after,
        })
    }

    /// The URL of the server, or `unix:PATH`.
    pub fn url(&self) -> String {
        self.listener.url()
    }

    /// Serves until a signal arrives or a client stops the server. Then stops and stores all sessions.
    ///
    /// # Errors
    /// The server cannot accept connections any more.
    pub async fn run(self) -> io::Result<()> {
        let stop = async {
            signalled().await;
        };
        self.run_until(stop).await
    }

    /// Serves until `stop` completes or a client stops the server. Then stops and stores all sessions.
    ///
    /// # Errors
    /// The server cannot accept connections any more.
    pub async fn run_until(self, stop: impl Future<Output = ()>) -> io::Result<()> {
        let Self {
            state,
            listener,
            unload_after,
        } = self;
        let router = routes::router(Arc::clone(&state));
        let (end, ended) = watch::channel(false);
        let mut serving = osier_base::task::spawn(listener.serve(router, ended));
        let idle_check =
            osier_base::task::spawn(check_idle_sessions(state.registry.clone(), unload_after));
        let outcome = tokio::select! {
            () = stop => None,
            () = state.stop.notified() => None,
            outcome = &mut serving => Some(outcome),
        };
        idle_check.abort();
        // At once: the process may end before the connections do.
        #[cfg(feature = "proxy")]
        if let Some(proxy) = state.access.proxy() {
            proxy.stop();
        }
        // Close the sessions first, so that clients receive their last events.
        state.registry.close_all().await;
        end.send_replace(true);
        state.stopped.send_replace(true);
        state.sockets.close();
        if let Some(outcome) = outcome {
            return outcome.map_err(io::Error::other);
        }
        // Every WebSocket client learns that the server stops, unless its connection hangs.
        let _ = tokio::time::timeout(SOCKET_TIMEOUT, state.sockets.wait()).await;
        let ended = tokio::time::timeout(SHUTDOWN_TIMEOUT, &mut serving).await;
        if ended.is_err() {
            serving.abort();
        }
        Ok(())
    }
}

async fn check_idle_sessions(registry: SessionRegistry, unload_after: Option<Duration>) {
    let pause = unload_after.map_or(IDLE_CHECK_INTERVAL, |after| IDLE_CHECK_INTERVAL.min(after));
    loop {
        tokio::time::sleep(pause).await;
        registry.clear_unused_replay_buffers();
        if let Some(after) = unload_after {
            registry.unload_unused(after).await;
        }
    }
}
