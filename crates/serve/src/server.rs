//! The server: listens, serves requests and ends in order.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::task::TaskTracker;

use super::access::Access;
use super::html::Renderer;
use super::listen::{Bound, Listen, ListenError, SocketPlace};
use super::request_body::LargeBodies;
use super::routes;
use super::state::ServerState;
use osier_base::signals::signalled;
use osier_hub::SessionRegistry;
#[cfg(feature = "proxy")]
use osier_proxy::LlmProxy;
use osier_session::SessionSetup;

/// Interval of the check for idle sessions.
const IDLE_CHECK_INTERVAL: Duration = Duration::from_secs(20);
/// How long sessions may take to stop and to store when a client stops the server. After a signal, the process has less time.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);
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
        let place = listener.place();
        let (end, ended) = watch::channel(false);
        let mut serving = osier_base::task::spawn(listener.serve(router, ended));
        let idle_check =
            osier_base::task::spawn(check_idle_sessions(Arc::clone(&state), unload_after, place));
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
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, state.registry.close_all()).await;
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

/// Unloads idle sessions. A server that clients no longer find ends as soon as nobody uses it.
async fn check_idle_sessions(
    state: Arc<ServerState>,
    unload_after: Option<Duration>,
    place: Option<SocketPlace>,
) {
    let pause = unload_after.map_or(IDLE_CHECK_INTERVAL, |after| IDLE_CHECK_INTERVAL.min(after));
    let registry = &state.registry;
    loop {
        tokio::time::sleep(pause).await;
        registry.clear_unused_replay_buffers();
        let is_lost = place.as_ref().is_some_and(SocketPlace::is_lost);
        let after = if is_lost {
            Some(Duration::ZERO)
        } else {
            unload_after
        };
        if let Some(after) = after {
            registry.unload_unused(after).await;
        }
        if is_lost && registry.list().is_empty() {
            state.stop.notify_one();
        }
    }
}
