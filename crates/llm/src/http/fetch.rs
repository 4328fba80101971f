//! Fetches a complete document, such as a list of models, limited in size and time. Errors have the same
//! texts as those of failed calls.

use std::time::Duration;

use reqwest::Url;
use reqwest::header::{ACCEPT, ETAG, HeaderValue, IF_NONE_MATCH};
use tokio::time::{Instant, timeout_at};

use super::client::{HttpOptions, Way, client};
use super::encoding::{Encoding, PIECE};
use super::fault::{self, Peer};

use crate::secret::Secret;
use crate::status::TurnStatus;

/// A request for a document.
#[derive(Debug, Clone)]
pub struct Fetch<'a> {
    pub url: &'a str,
    /// The token, sent as bearer.
    pub token: Option<&'a Secret>,
    /// More headers, with keys.
    pub headers: &'a [(String, Secret)],
    /// The entity tag of the previous response.
    pub etag: Option<&'a str>,
    /// Maximum size in bytes.
    pub limit: usize,
    /// Timeout of the complete request.
    pub time: Duration,
}

/// The result of a request for a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fetched {
    /// The document still has the entity tag `etag`.
    Unchanged,
    Whole {
        body: Vec<u8>,
        etag: Option<String>,
    },
}

impl Fetch<'_> {
    /// Sends the request; `peer` is used in error texts.
    pub(super) async fn from(
        &self,
        peer: &Peer,
        http: &HttpOptions,
    ) -> Result<Fetched, TurnStatus> {
        let until = Instant::now() + self.time;
        let url = Url::parse(self.url).map_err(|error| TurnStatus::ModelError {
            message: format!("invalid URL `{}`: {error}", self.url),
            retryable: false,
        })?;
        let (host, local) = (fault::host(&url), fault::is_loopback(&url));
        let unusable = |reason| TurnStatus::NetworkError {
            message: reason,
            retryable: false,
        };
        let client = client(http.clone(), Way::to(&url))
            .await
            .map_err(unusable)?;
        let accept = HeaderValue::from_static("application/json");
        let mut request = client.get(url).header(ACCEPT, accept);
        if let Some(token) = self.token {
            request = request.bearer_auth(token.expose());
        }
        for (name, value) in self.headers {
            request = request.header(name, value.expose());
        }
        if let Some(etag) = self.etag {
            request = request.header(IF_NONE_MATCH, etag);
        }
        let late = |_| fault::silence(&host, self.time);
        let response = timeout_at(until, request.send()).await.map_err(late)?;
        let mut response = response.map_err(|error| fault::transport(&error, &host, local))?;
        if response.status() == reqwest::StatusCode::NOT_MODIFIED {
            return Ok(Fetched::Unchanged);
        }
        if !response.status().is_success() {
            let fault = fault::answered(response, peer, 0, self.token, self.time).await?;
            return Err(fault.status_of(&peer.name, &peer.suggestion, self.token));
        }
        let encoding = Encoding::of(response.headers());
        let mut encoding = encoding.map_err(|name| fault::compressed(&host, &name))?;
        let etag = response.headers().get(ETAG);
        let etag = etag.and_then(|etag| etag.to_str().ok()).map(str::to_owned);
        let mut body = Vec::new();
        loop {
            let chunk = timeout_at(until, response.chunk()).await.map_err(late)?;
            match chunk.map_err(|error| fault::cut(&error, &host))? {
                Some(bytes) => {
                    for piece in bytes.chunks(PIECE) {
                        let text = encoding.decode(piece);
                        body.extend_from_slice(
                            &text.map_err(|error| fault::not_compressed(&host, &error))?,
                        );
                        if body.len() > self.limit {
                            let message = format!("`{host}` sent more than {} bytes", self.limit);
                            return Err(TurnStatus::InvalidResponse { message });
                        }
                    }
                }
                None => return Ok(Fetched::Whole { body, etag }),
            }
        }
    }

    /// Sends the request.
    pub async fn run(&self, http: &HttpOptions) -> Result<Fetched, TurnStatus> {
        let peer = Peer {
            name: Url::parse(self.url)
                .map_or_else(|_| self.url.to_owned(), |url| fault::host(&url)),
            suggestion: "it requires authentication".to_owned(),
            window: u64::MAX,
        };
        self.from(&peer, http).await
    }
}
