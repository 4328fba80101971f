//! Many sessions over HTTP: REST and server-sent events for scripts, a WebSocket for interfaces, and a chat in
//! the browser. On loopback or a unix socket; who comes over the network has to know the token.
//!
//! Nothing here knows a session from the inside: `coding::hosts` owns them, and a `Seat` joins
//! one client to one of them with the same dispatcher that `osier rpc` has. What a client is to hear waits in
//! its own bounded queue; whoever is too slow loses events, is told so, and gets the whole state instead.

mod access;
mod fault;
mod frames;
mod gate;
#[cfg_attr(not(feature = "transfer"), path = "html_disabled.rs")]
mod html;
mod limits;
mod listen;
#[cfg(test)]
#[cfg(all(feature = "schema", feature = "transfer"))]
mod openapi;
mod outbox;
#[cfg(feature = "transfer")]
mod painter;
#[cfg(feature = "proxy")]
mod relay;
mod routes;
mod seat;
mod sessions;
mod socket;
mod talk;
mod web;

#[cfg(feature = "transfer")]
pub use painter::Painter;

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use self::access::Access;
#[cfg(feature = "transfer")]
use self::html::Renderer;
use self::listen::Bound;
use osier_base::signals::signalled;
use osier_hub::Hosts;
#[cfg(feature = "proxy")]
use osier_proxy::LlmProxy;
use osier_session::SessionSetup;

pub use self::access::{make_token, read_token};
pub use self::listen::{Listen, ListenError};

/// How often sessions are looked at that nobody needs.
const LOOK_ROUND: Duration = Duration::from_secs(20);
/// How long what is being answered may take once the server ends.
const LAST_ANSWERS: Duration = Duration::from_secs(2);

/// How it is served.
#[derive(Debug)]
pub struct Options {
    pub listen: Listen,
    /// What a client has to know; nothing is asked of those on a unix socket.
    pub token: String,
    /// Names beside those of the address that a browser may call the server by.
    pub hosts: Vec<String>,
    /// Calls models for others, too.
    #[cfg(feature = "proxy")]
    pub relay: Option<LlmProxy>,
    /// Sessions are unloaded when nobody has needed them for so long; never when not set.
    pub unload_after: Option<Duration>,
}

/// What every request is answered from.
#[derive(Debug)]
struct Server {
    hosts: Hosts,
    access: Access,
    #[cfg(feature = "transfer")]
    renderer: Renderer,
    /// A client has asked for the end.
    stop: Arc<Notify>,
}

/// A server that listens, before anybody is answered.
#[derive(Debug)]
pub struct Serving {
    server: Arc<Server>,
    bound: Bound,
    unload_after: Option<Duration>,
}

impl Serving {
    /// Begins to listen. `template` is what every session starts with.
    pub async fn bind(template: SessionSetup, options: Options) -> Result<Self, ListenError> {
        let bound = Bound::new(&options.listen).await?;
        let access = Access::new(&options.token, bound.names(), &options.hosts);
        #[cfg(feature = "proxy")]
        let access = access.with_proxy(options.relay);
        let hosts = Hosts::new(template);
        Ok(Self {
            server: Arc::new(Server {
                hosts,
                access,
                #[cfg(feature = "transfer")]
                renderer: Renderer::default(),
                stop: Arc::default(),
            }),
            bound,
            unload_after: options.unload_after,
        })
    }

    /// Where it is reached: an address for a browser, or `unix:PATH`.
    pub fn url(&self) -> String {
        self.bound.url()
    }

    /// Serves until a signal comes, or a client asks for the end; then everything is stopped and stored.
    pub async fn run(self) -> io::Result<()> {
        self.run_until(signalled()).await
    }

    /// The same until `stop` is done.
    pub async fn run_until(self, stop: impl Future<Output = ()>) -> io::Result<()> {
        let Self {
            server,
            bound,
            unload_after,
        } = self;
        let router = routes::router(Arc::clone(&server), bound.is_trusted());
        let (end, ended) = tokio::sync::watch::channel(false);
        let mut serving = tokio::spawn(bound.serve(router, ended));
        let looking = tokio::spawn(look_round(server.hosts.clone(), unload_after));
        let outcome = tokio::select! {
            () = stop => None,
            () = server.stop.notified() => None,
            outcome = &mut serving => Some(outcome),
        };
        looking.abort();
        // Clients hear how their sessions end before their connections do.
        server.hosts.close_all().await;
        end.send_replace(true);
        let outcome = if let Some(outcome) = outcome {
            outcome
        } else {
            let ended = tokio::time::timeout(LAST_ANSWERS, &mut serving).await;
            let Ok(outcome) = ended else {
                serving.abort();
                return Ok(());
            };
            outcome
        };
        outcome.unwrap_or_else(|error| Err(io::Error::other(error)))
    }
}

async fn look_round(hosts: Hosts, unload_after: Option<Duration>) {
    let pause = unload_after.map_or(LOOK_ROUND, |after| LOOK_ROUND.min(after));
    loop {
        tokio::time::sleep(pause).await;
        hosts.rest_idle();
        if let Some(after) = unload_after {
            hosts.unload_idle(after).await;
        }
    }
}
