//! The osier server that receives all calls, if one is configured: its token, its models, and the calls that stay local.

use async_trait::async_trait;
use std::sync::Arc;

use crate::setup::SessionSetup;
use osier_agent::{AppTransport, KeySource, ProviderTransport, Transport};
use osier_llm::auth::{Access, KeyStatus, Keys};
use osier_llm::http::{HttpOptions, ProxyProvider};
use osier_llm::{Api, EventStream, Model, ProviderEntry, Request, TurnStatus};

/// The server and the credentials for it.
#[derive(Debug, Clone)]
pub(super) struct Server {
    provider: ProxyProvider,
    tokens: Arc<Tokens>,
    http: HttpOptions,
}

/// The user's token, for every provider.
#[derive(Debug)]
struct Tokens {
    keys: Arc<Keys>,
    entry: ProviderEntry,
}

impl Server {
    /// The server that `setup` names.
    pub(super) fn of(setup: &SessionSetup, keys: &Arc<Keys>) -> Option<Self> {
        let url = setup.proxy.as_ref().or(setup.settings.proxy.as_ref())?;
        let http = setup.settings.model_http(setup.answers_questions);
        Some(Self {
            provider: ProxyProvider::new(url.trim_end_matches('/'), http.clone()),
            tokens: Arc::new(Tokens {
                keys: Arc::clone(keys),
                entry: ProviderEntry::server(),
            }),
            http,
        })
    }

    /// Whether there is a token for it.
    pub(super) fn key_status(&self) -> KeyStatus {
        self.tokens.keys.status(&self.tokens.entry)
    }

    /// The models of the server.
    pub(super) async fn models(&self) -> Result<Vec<Model>, TurnStatus> {
        let access = self.tokens.access("").await?;
        let first = self.provider.models(access.key.as_ref(), &self.http).await;
        let Err(TurnStatus::AuthError { .. }) = &first else {
            return first;
        };
        match self.tokens.renewed("", access).await? {
            Some(access) => self.provider.models(access.key.as_ref(), &self.http).await,
            None => first,
        }
    }

    /// Sends all calls to the server, except calls that only `local` can answer: scripts, and the model `own`.
    pub(super) fn transport(
        &self,
        local: ProviderTransport,
        own: Option<String>,
    ) -> Arc<dyn Transport> {
        let tokens = Arc::clone(&self.tokens) as Arc<dyn KeySource>;
        Arc::new(Routed {
            server: AppTransport::with_tokens(self.provider.clone(), tokens),
            local,
            own,
        })
    }
}

#[async_trait]
impl KeySource for Tokens {
    async fn access(&self, _: &str) -> Result<Access, TurnStatus> {
        let access = self.keys.access(&self.entry).await;
        access.map_err(|error| error.status())
    }

    async fn renewed(&self, _: &str, refused: Access) -> Result<Option<Access>, TurnStatus> {
        let renewed = self.keys.renewed(&self.entry, &refused).await;
        renewed.map_err(|error| error.status())
    }
}

#[derive(Debug)]
struct Routed {
    server: AppTransport,
    local: ProviderTransport,
    own: Option<String>,
}

#[async_trait]
impl Transport for Routed {
    async fn stream(&self, request: Request) -> Result<EventStream, TurnStatus> {
        let model = &request.model;
        if model.api == Api::Scripted || self.own.as_ref() == Some(&model.reference()) {
            self.local.stream(request).await
        } else {
            self.server.stream(request).await
        }
    }
}
