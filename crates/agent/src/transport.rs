//! How requests reach a model: directly through a provider, or through a server that has the keys.

use async_trait::async_trait;
use futures_util::{StreamExt as _, stream};
use std::fmt;
use std::sync::Arc;

use osier_llm::auth::Access;
use osier_llm::http::ProxyProvider;
use osier_llm::{
    EventStream, HttpOptions, Provider, Request, Secret, StreamEvent, TurnStatus, Usage,
};

/// Sends requests to a model.
#[async_trait]
pub trait Transport: Send + Sync + fmt::Debug {
    /// Starts a call. Fails only when its credentials cannot be obtained; later failures are in the stream.
    async fn stream(&self, request: Request) -> Result<EventStream, TurnStatus>;
}

/// A source of credentials for model calls.
#[async_trait]
pub trait KeySource: Send + Sync + fmt::Debug {
    /// The credentials for `provider`.
    async fn access(&self, provider: &str) -> Result<Access, TurnStatus>;

    /// New credentials after the provider rejected `refused`; `None` when there are none.
    async fn renewed(&self, provider: &str, refused: Access) -> Result<Option<Access>, TurnStatus>;
}

/// Calls providers directly.
#[derive(Debug, Clone)]
pub struct ProviderTransport {
    provider: Arc<dyn Provider>,
    keys: Option<Arc<dyn KeySource>>,
}

impl ProviderTransport {
    /// Without a key source, requests are sent with the key that they contain.
    pub fn new(provider: Arc<dyn Provider>, keys: Option<Arc<dyn KeySource>>) -> Self {
        Self { provider, keys }
    }
}

#[async_trait]
impl Transport for ProviderTransport {
    async fn stream(&self, mut request: Request) -> Result<EventStream, TurnStatus> {
        let Some(keys) = self.keys.as_ref().filter(|_| request.api_key.is_none()) else {
            return Ok(self.provider.stream(request));
        };
        let access = keys.access(&request.model.provider).await?;
        // The copy of the conversation is needed only for a second attempt.
        let copy = access.renewable.then(|| request.clone());
        access.apply(&mut request);
        let subscription = access.is_subscription();
        let call = Call {
            stream: self.provider.stream(request),
            fallback: copy.map(|request| SecondAttempt {
                request,
                access,
                provider: Arc::clone(&self.provider),
                keys: Arc::clone(keys),
            }),
            subscription,
        };
        let events = stream::unfold(call, |mut call| async move {
            let event = call.next().await?;
            Some((event, call))
        });
        Ok(events.boxed())
    }
}

/// Sends calls to an LLM proxy (`osier serve --proxy`), which has the provider keys and accounts for the
/// usage of each user. Tools, sessions and retries stay in this process.
#[derive(Debug, Clone)]
pub struct AppTransport {
    calls: ProviderTransport,
}

impl AppTransport {
    /// `token` is the user's token for the server at `base_url`.
    pub fn new(base_url: impl Into<String>, token: Secret) -> Self {
        let provider = ProxyProvider::new(base_url, HttpOptions::default());
        Self::with_tokens(provider, Arc::new(FixedToken(token)))
    }

    /// Like `new`, with a source of tokens. It is called with the name of the provider, which it can ignore.
    pub fn with_tokens(provider: ProxyProvider, tokens: Arc<dyn KeySource>) -> Self {
        Self {
            calls: ProviderTransport::new(Arc::new(provider), Some(tokens)),
        }
    }
}

#[async_trait]
impl Transport for AppTransport {
    async fn stream(&self, request: Request) -> Result<EventStream, TurnStatus> {
        self.calls.stream(request).await
    }
}

/// The same token for every call.
#[derive(Debug)]
struct FixedToken(Secret);

#[async_trait]
impl KeySource for FixedToken {
    async fn access(&self, _: &str) -> Result<Access, TurnStatus> {
        Ok(Access::key(self.0.clone()))
    }

    async fn renewed(&self, _: &str, _: Access) -> Result<Option<Access>, TurnStatus> {
        Ok(None)
    }
}

/// A running call. It is repeated once when the provider rejects credentials that can be renewed.
struct Call {
    stream: EventStream,
    fallback: Option<SecondAttempt>,
    subscription: bool,
}

/// The input of a second attempt.
struct SecondAttempt {
    request: Request,
    access: Access,
    provider: Arc<dyn Provider>,
    keys: Arc<dyn KeySource>,
}

impl Call {
    async fn next(&mut self) -> Option<StreamEvent> {
        let mut event = self.stream.next().await?;
        if let StreamEvent::Failed {
            status: TurnStatus::AuthError { .. },
            ..
        } = &event
            && let Some(attempt) = self.fallback.take()
        {
            match attempt.stream().await {
                Ok(Some(stream)) => {
                    self.stream = stream;
                    event = self.stream.next().await?;
                }
                Ok(None) => {}
                Err(status) => {
                    let usage = Usage::default();
                    event = StreamEvent::Failed { status, usage };
                }
            }
        }
        match &mut event {
            StreamEvent::Start { .. } => self.fallback = None,
            StreamEvent::Usage(usage)
            | StreamEvent::Done { usage, .. }
            | StreamEvent::Failed { usage, .. } => usage.subscription |= self.subscription,
            _ => {}
        }
        Some(event)
    }
}

impl SecondAttempt {
    async fn stream(self) -> Result<Option<EventStream>, TurnStatus> {
        let mut request = self.request;
        let provider = request.model.provider.clone();
        let renewed = self.keys.renewed(&provider, self.access).await?;
        Ok(renewed.map(|access| {
            access.apply(&mut request);
            self.provider.stream(request)
        }))
    }
}
