//! How the calls of a session reach the providers: with its keys, and in the dialect of each model.

use async_trait::async_trait;
use std::sync::Arc;

use osier_agent::{KeySource, Transport};
use osier_llm::auth::{Access, Keys};
use osier_llm::{EventStream, Model, Provider, ProviderEntry, Providers, Request, TurnStatus};
use osier_tools::trained_forms;

use crate::context::prompt;

/// Sends requests in the dialect of their model: with the tools that the model is trained with, and
/// the additions to the system prompt. Code before this transport uses osier's names.
#[derive(Debug)]
pub(super) struct DialectTransport(Arc<dyn Transport>);

impl DialectTransport {
    pub(super) fn new(inner: Arc<dyn Transport>) -> Self {
        Self(inner)
    }
}

#[async_trait]
impl Transport for DialectTransport {
    async fn stream(&self, mut request: Request) -> Result<EventStream, TurnStatus> {
        let tuning = &request.model.tuning;
        trained_forms::translate(&mut request.context, tuning.tools);
        prompt::add_preamble(&mut request.context.system_prompt, tuning.preamble);
        self.0.stream(request).await
    }
}

/// Sends each request to the provider of its format.
#[derive(Debug)]
pub(super) struct Dispatch {
    pub(super) providers: Providers,
    pub(super) embedded: Option<(Arc<Model>, Arc<dyn Provider>)>,
}

impl Provider for Dispatch {
    fn stream(&self, request: Request) -> EventStream {
        match &self.embedded {
            Some((model, provider)) if model.reference() == request.model.reference() => {
                provider.stream(request)
            }
            _ => self.providers.stream(request),
        }
    }
}

/// The keys of one session, by provider name.
#[derive(Debug)]
pub(super) struct SessionKeys {
    pub(super) keys: Arc<Keys>,
    pub(super) entries: Arc<[ProviderEntry]>,
}

impl SessionKeys {
    fn entry(&self, provider: &str) -> Option<&ProviderEntry> {
        self.entries.iter().find(|entry| entry.name == provider)
    }
}

#[async_trait]
impl KeySource for SessionKeys {
    async fn access(&self, provider: &str) -> Result<Access, TurnStatus> {
        let entry = self.entry(provider);
        async move {
            let Some(entry) = entry else {
                return Ok(Access::default());
            };
            let access = self.keys.access(entry).await;
            access.map_err(|error| error.status())
        }
        .await
    }

    async fn renewed(&self, provider: &str, refused: Access) -> Result<Option<Access>, TurnStatus> {
        let entry = self.entry(provider);
        async move {
            let Some(entry) = entry else { return Ok(None) };
            let renewed = self.keys.renewed(entry, &refused).await;
            renewed.map_err(|error| error.status())
        }
        .await
    }
}
