//! The HTTP protocol of 2024: a stream of events brings the messages of the server, the first of them the address for
//! the messages of the client.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use reqwest::Url;
use reqwest::header::{ACCEPT, HeaderMap, HeaderName, HeaderValue};
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::auth::{AuthClient, AuthError};
use rmcp::transport::streamable_http_client::{StreamableHttpClient as _, StreamableHttpError};

use super::body::{Events, events};
use super::http::{
    EVENT_STREAM, HttpClient, HttpError, NO_ANSWER, challenge, checked, content_type,
};
use super::log::ServerLog;
use super::messages;

/// Time for a message of the client to be accepted.
const POST_TIME: Duration = Duration::from_mins(1);
/// Maximum events in a row without a message; with more, the server is stopped.
const MAX_OTHER_EVENTS: usize = 10_000;
/// Maximum bytes of the address for messages, and of an event in the log.
const ADDRESS_LIMIT: usize = 4096;

/// A connection to a server.
pub(super) struct SseTransport {
    /// The stream of events; not set after its end.
    events: Option<Events>,
    sender: Arc<Sender>,
    log: Arc<ServerLog>,
    trace: bool,
    /// Events since the last message.
    other_events: usize,
}

/// Sends the messages of the client.
struct Sender {
    client: AuthClient<HttpClient>,
    headers: HashMap<HeaderName, HeaderValue>,
    endpoint: Arc<str>,
}

impl SseTransport {
    /// Opens the stream of events at `url` and waits for the address.
    pub(super) async fn start(
        url: &str,
        client: AuthClient<HttpClient>,
        headers: HashMap<HeaderName, HeaderValue>,
        log: &Arc<ServerLog>,
        trace: bool,
    ) -> Result<Self, HttpError> {
        let mut request = client.http_client.http.get(url);
        let own: HeaderMap = headers.clone().into_iter().collect();
        request = request.headers(own).header(ACCEPT, EVENT_STREAM);
        if let Some(token) = token(&client).await? {
            request = request.bearer_auth(token);
        }
        let response = request.send().await?;
        if let Some(error) = challenge(&response)? {
            return Err(error);
        }
        let status = response.status();
        if !status.is_success() {
            return Err(unexpected(format!("HTTP {status}")));
        }
        let kind = content_type(response.headers());
        if !kind.starts_with(EVENT_STREAM) {
            let kind = (!kind.is_empty()).then_some(kind);
            return Err(StreamableHttpError::UnexpectedContentType(kind));
        }
        let base = response.url().clone();
        let mut events = checked(events(response));
        let endpoint = loop {
            let event = events.next().await;
            let event = event.ok_or_else(|| unexpected("the event stream ended".to_owned()))??;
            if event.event.as_deref() == Some("endpoint") {
                break endpoint(&base, event.data.as_deref().unwrap_or_default())?;
            }
        };
        let sender = Sender {
            client,
            headers,
            endpoint: endpoint.as_str().into(),
        };
        Ok(Self {
            events: Some(events),
            sender: Arc::new(sender),
            log: Arc::clone(log),
            trace,
            other_events: 0,
        })
    }
}

/// The token of the sign-in. Without one, the server decides whether it is needed.
async fn token(client: &AuthClient<HttpClient>) -> Result<Option<String>, HttpError> {
    match client.get_access_token().await {
        Ok(token) => Ok(Some(token)),
        Err(AuthError::AuthorizationRequired) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The address for messages. It must have the same origin: otherwise, other servers would receive
/// messages for this server.
fn endpoint(base: &Url, address: &str) -> Result<Url, HttpError> {
    let address = address.trim();
    if address.len() > ADDRESS_LIMIT {
        return Err(unexpected(format!(
            "the address for messages has {} bytes, and the limit is {ADDRESS_LIMIT}",
            address.len()
        )));
    }
    let endpoint = base.join(address);
    let endpoint =
        endpoint.map_err(|_| unexpected("the address for messages is invalid".to_owned()))?;
    if endpoint.origin() != base.origin() {
        return Err(unexpected(format!(
            "the address for messages, `{}`, is not at the server `{}`",
            endpoint.origin().ascii_serialization(),
            base.origin().ascii_serialization()
        )));
    }
    Ok(endpoint)
}

fn unexpected(message: String) -> HttpError {
    StreamableHttpError::UnexpectedServerResponse(message.into())
}

impl Sender {
    async fn post(&self, message: TxJsonRpcMessage<RoleClient>) -> Result<(), HttpError> {
        let (endpoint, headers) = (Arc::clone(&self.endpoint), self.headers.clone());
        let posting = self
            .client
            .post_message(endpoint, message, None, None, headers);
        match tokio::time::timeout(POST_TIME, posting).await {
            // The answer comes as an event, so that the body does not matter.
            Ok(Ok(_) | Err(StreamableHttpError::UnexpectedContentType(_))) => Ok(()),
            Ok(Err(StreamableHttpError::UnexpectedServerResponse(text)))
                if text.ends_with(NO_ANSWER) =>
            {
                Ok(())
            }
            Ok(Err(error)) => Err(error),
            Err(_) => Err(unexpected(format!(
                "a message was not accepted within {} s",
                POST_TIME.as_secs()
            ))),
        }
    }
}

impl Transport<RoleClient> for SseTransport {
    type Error = HttpError;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), HttpError>> + Send + 'static {
        let (sender, log, trace) = (Arc::clone(&self.sender), Arc::clone(&self.log), self.trace);
        async move {
            if trace {
                log.line("sent", &serde_json::to_string(&item).unwrap_or_default());
            }
            sender.post(item).await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        while self.other_events < MAX_OTHER_EVENTS {
            let data = match self.events.as_mut()?.next().await? {
                Ok(event) => event.data.unwrap_or_default(),
                Err(error) => {
                    self.log.line("osier", &error.to_string());
                    return None;
                }
            };
            if self.trace {
                self.log.line("received", &data);
            }
            if let Ok(message) = messages::parse(&data) {
                self.other_events = 0;
                return Some(message);
            }
            self.other_events += 1;
            if !data.is_empty() {
                self.log.line("event, not a message", &data);
            }
        }
        let end = format!("stopped: {MAX_OTHER_EVENTS} events in a row were not messages");
        self.log.line("osier", &end);
        None
    }

    async fn close(&mut self) -> Result<(), HttpError> {
        self.events.take();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_for_messages_is_at_the_server() {
        let base = Url::parse("https://host:8443/mcp/sse").unwrap();
        for (address, expected) in [
            (
                "/messages?sessionId=1",
                Some("https://host:8443/messages?sessionId=1"),
            ),
            ("messages", Some("https://host:8443/mcp/messages")),
            ("https://host:8443/m", Some("https://host:8443/m")),
            ("https://host/m", None),
            ("http://host:8443/m", None),
            ("https://other:8443/m", None),
            ("//other:8443/m", None),
            ("https://host:8443@other/m", None),
            ("javascript:alert(1)", None),
            ("http://[", None),
        ] {
            let found = endpoint(&base, address).ok().map(String::from);
            assert_eq!(found.as_deref(), expected, "{address}");
        }
        assert!(endpoint(&base, &"x".repeat(5000)).is_err());
    }
}
