//! The provider of models that are called over HTTP.

use std::sync::Arc;

use super::call::Call;
use super::client::{Clients, HttpOptions};
use super::fault::Peer;
use super::reader;
use crate::provider::{EventStream, Provider, Request};
use crate::wire::Wire;

/// The provider of all models that are called over HTTP. Cheap to clone; clones share connections.
#[derive(Debug, Clone, Default)]
pub struct HttpProvider {
    clients: Arc<Clients>,
}

impl HttpProvider {
    pub fn new(options: HttpOptions) -> Self {
        Self {
            clients: Arc::new(Clients::new(options)),
        }
    }
}

impl Provider for HttpProvider {
    fn stream(&self, request: Request) -> EventStream {
        reader::start(Call::new(request, Arc::clone(&self.clients)))
    }
}

impl HttpProvider {
    /// Streams in the format `wire`, independent of the model's own, from `peer`.
    pub(super) fn stream_as(
        &self,
        request: Request,
        wire: &'static Wire,
        peer: Peer,
    ) -> EventStream {
        reader::start(Call::new(request, Arc::clone(&self.clients)).with_wire(wire, peer))
    }
}
