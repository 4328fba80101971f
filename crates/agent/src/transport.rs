//! How a request reaches a model: directly through a provider here, or through a server that holds the
//! keys. The loop does not know which.

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use futures_util::{StreamExt as _, stream};

use osier_llm::auth::Access;
use osier_llm::http::ProxyProvider;
use osier_llm::{
    EventStream, HttpOptions, Provider, Request, Secret, StreamEvent, TurnStatus, Usage,
};

/// Carries a request to a model.
pub trait Transport: Send + Sync + fmt::Debug {
    /// Starts the call. Fails only for what stands before it: a key that cannot be had.
    fn stream(&self, request: Request) -> BoxFuture<'_, Result<EventStream, TurnStatus>>;
}

/// Finds what a provider is called with.
pub trait KeySource: Send + Sync + fmt::Debug {
    fn access(&self, provider: &str) -> BoxFuture<'_, Result<Access, TurnStatus>>;

    /// The provider refused `refused`: another way in, when there is one.
    fn renewed(
        &self,
        provider: &str,
        refused: Access,
    ) -> BoxFuture<'_, Result<Option<Access>, TurnStatus>>;
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
            let Some(keys) = self.keys.as_ref().filter(|_| request.api_key.is_none()) else {
                return Ok(self.provider.stream(request));
            };
            let access = keys.access(&request.model.provider).await?;
            // A copy of the conversation is made only where it may be needed again.
            let again = access.renewable.then(|| request.clone());
            access.apply(&mut request);
            let subscription = access.is_subscription();
            let call = Call {
                stream: self.provider.stream(request),
                again: again.map(|request| Again {
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
        })
    }
}

/// Sends every call to an osier server that holds the keys (`osier serve --proxy`). The run stays here:
/// its tools, its session and its retries; over there is who may call what, and what it costs them.
#[derive(Debug, Clone)]
pub struct AppTransport {
    calls: ProviderTransport,
}

impl AppTransport {
    /// `base_url` is where the server is reached, `token` the person's own at it.
    pub fn new(base_url: impl Into<String>, token: Secret) -> Self {
        let provider = ProxyProvider::new(base_url, HttpOptions::default());
        Self::with_tokens(provider, Arc::new(Fixed(token)))
    }

    /// `tokens` finds the person's token, whichever provider is asked for.
    pub fn with_tokens(provider: ProxyProvider, tokens: Arc<dyn KeySource>) -> Self {
        Self {
            calls: ProviderTransport::new(Arc::new(provider), Some(tokens)),
        }
    }
}

impl Transport for AppTransport {
    fn stream(&self, request: Request) -> BoxFuture<'_, Result<EventStream, TurnStatus>> {
        self.calls.stream(request)
    }
}

/// One token for every call.
#[derive(Debug)]
struct Fixed(Secret);

impl KeySource for Fixed {
    fn access(&self, _: &str) -> BoxFuture<'_, Result<Access, TurnStatus>> {
        let access = Access::key(self.0.clone());
        Box::pin(async move { Ok(access) })
    }

    fn renewed(&self, _: &str, _: Access) -> BoxFuture<'_, Result<Option<Access>, TurnStatus>> {
        Box::pin(async { Ok(None) })
    }
}

/// A running call that is made once more when the provider refuses a token that can be renewed.
struct Call {
    stream: EventStream,
    again: Option<Again>,
    subscription: bool,
}

/// What the second try needs.
struct Again {
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
            && let Some(again) = self.again.take()
        {
            match again.stream().await {
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
            StreamEvent::Start { .. } => self.again = None,
            StreamEvent::Usage(usage)
            | StreamEvent::Done { usage, .. }
            | StreamEvent::Failed { usage, .. } => usage.subscription |= self.subscription,
            _ => {}
        }
        Some(event)
    }
}

impl Again {
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
