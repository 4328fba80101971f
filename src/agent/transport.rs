//! How a request reaches a model: directly through a provider here, or through a server that holds the
//! keys. The loop does not know which.

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::llm::{EventStream, Provider, Request, Secret, TurnStatus};

/// Carries a request to a model.
pub trait Transport: Send + Sync + fmt::Debug {
    /// Starts the call. Fails only for what stands before it: a key that cannot be had.
    fn stream(&self, request: Request) -> BoxFuture<'_, Result<EventStream, TurnStatus>>;
}

/// Finds the key for a request's provider; `Ok(None)` when it needs none.
pub trait KeySource: Send + Sync + fmt::Debug {
    fn key(&self, provider: &str) -> BoxFuture<'_, Result<Option<Secret>, TurnStatus>>;
}

/// Calls providers directly.
#[derive(Debug, Clone)]
pub struct ProviderTransport {
    provider: Arc<dyn Provider>,
    keys: Option<Arc<dyn KeySource>>,
}

impl ProviderTransport {
    /// Without a key source requests are sent with the key they carry.
    pub fn new(provider: Arc<dyn Provider>, keys: Option<Arc<dyn KeySource>>) -> Self {
        Self { provider, keys }
    }
}

impl Transport for ProviderTransport {
    fn stream(&self, mut request: Request) -> BoxFuture<'_, Result<EventStream, TurnStatus>> {
        Box::pin(async move {
            if let (Some(keys), None) = (&self.keys, &request.api_key) {
                request.api_key = keys.key(&request.model.provider).await?;
            }
            Ok(self.provider.stream(request))
        })
    }
}
