//! The state that all requests share.

use std::sync::Arc;

use osier_hub::SessionRegistry;
use tokio::sync::{Notify, watch};
use tokio_util::task::TaskTracker;

use super::access::Access;
use super::html::Renderer;
use super::request_body::LargeBodies;

/// The state that all requests share.
#[derive(Debug)]
pub(super) struct ServerState {
    pub registry: SessionRegistry,
    pub access: Access,
    pub client_header: Option<String>,
    pub large_bodies: LargeBodies,
    pub renderer: Renderer,
    /// A client requested the shutdown of the server.
    pub stop: Arc<Notify>,
    /// All sessions are closed and the server ends.
    pub stopped: watch::Sender<bool>,
    /// The open WebSockets.
    pub sockets: TaskTracker,
}
