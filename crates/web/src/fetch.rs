//! Fetches pages, limited in size, time and redirects.

use std::sync::Arc;

use reqwest::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION};
use reqwest::{StatusCode, Url};
use tokio::time::{Instant, timeout_at};

use crate::address;
use crate::cache::Cache;
use crate::client::{WebOptions, client_for};
use crate::document::{self, Page};
use crate::error::{FetchError, LIMIT, REDIRECTS, TIME};

const ACCEPTED: &str = "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, text/plain;q=0.8, \
     application/json;q=0.8, */*;q=0.1";

/// Fetches pages and remembers them for some minutes. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Web {
    options: Arc<WebOptions>,
    cache: Arc<Cache>,
}

/// The answer to a request for a page.
#[derive(Debug, Clone, PartialEq)]
pub enum Fetched {
    Page(Arc<Page>),
    /// A PDF, which the caller reads.
    Pdf {
        url: String,
        bytes: Vec<u8>,
    },
    /// The page is at another site, for which there may be other rules.
    Elsewhere {
        url: String,
    },
}

impl Web {
    pub fn new(options: WebOptions) -> Self {
        Self {
            options: Arc::new(options),
            cache: Arc::default(),
        }
    }

    /// Fetches the page at `url`.
    ///
    /// # Errors
    /// The address is invalid or private, the server does not answer, or the page is no text.
    pub async fn fetch(&self, url: &str) -> Result<Fetched, FetchError> {
        let mut url = address::parse(url)?;
        let start = url.clone();
        if let Some(page) = self.cache.get(&start) {
            return Ok(Fetched::Page(page));
        }
        let until = Instant::now() + TIME;
        for _ in 0..=REDIRECTS {
            let late = |_| FetchError::Late { host: host(&url) };
            let step = timeout_at(until, self.request(&url));
            match step.await.map_err(late)?? {
                Step::Redirect(next) if is_same_site(&url, &next) => url = next,
                Step::Redirect(next) => {
                    return Ok(Fetched::Elsewhere {
                        url: next.to_string(),
                    });
                }
                Step::Document { body, .. } if body.starts_with(b"%PDF-") => {
                    let url = url.to_string();
                    return Ok(Fetched::Pdf { url, bytes: body });
                }
                Step::Document { body, content_type } => {
                    let page =
                        document::page(&url, body, content_type, self.options.program.as_deref())
                            .await?;
                    let page = Arc::new(page);
                    self.cache.put(&start, &page);
                    return Ok(Fetched::Page(page));
                }
            }
        }
        Err(FetchError::Redirects)
    }

    async fn request(&self, url: &Url) -> Result<Step, FetchError> {
        let client = client_for(url, &self.options).await?;
        let failed = |error: reqwest::Error| FetchError::Network {
            host: host(url),
            reason: reason(&error),
        };
        let accept = HeaderValue::from_static(ACCEPTED);
        let request = client.get(url.clone()).header(ACCEPT, accept);
        let mut response = request.send().await.map_err(failed)?;
        let status = response.status();
        if status.is_redirection()
            && let Some(next) = text(response.headers(), &LOCATION)
        {
            let next = url.join(next).map_err(|_| FetchError::Url {
                url: next.to_owned(),
                reason: "the page redirects to an invalid address",
            })?;
            return Ok(Step::Redirect(address::checked(next)?));
        }
        if !status.is_success() {
            return Err(FetchError::Status {
                url: url.to_string(),
                status: shown(status),
            });
        }
        if let Some(encoding) = text(response.headers(), &CONTENT_ENCODING)
            && !encoding.eq_ignore_ascii_case("identity")
        {
            let encoding = encoding.to_owned();
            return Err(FetchError::Compressed { encoding });
        }
        let content_type = text(response.headers(), &CONTENT_TYPE).map(str::to_owned);
        if response
            .content_length()
            .is_some_and(|length| length > LIMIT as u64)
        {
            return Err(FetchError::TooLarge);
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(failed)? {
            if body.len() + chunk.len() > LIMIT {
                return Err(FetchError::TooLarge);
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Step::Document { body, content_type })
    }
}

/// The answer to one request.
enum Step {
    Redirect(Url),
    Document {
        body: Vec<u8>,
        content_type: Option<String>,
    },
}

/// Whether a redirect from `from` to `to` stays at the site: a rule for one host is one for the other.
fn is_same_site(from: &Url, to: &Url) -> bool {
    let name = |url: &Url| {
        let host = url.host_str().unwrap_or_default();
        let host = host.trim_end_matches('.');
        host.strip_prefix("www.").unwrap_or(host).to_owned()
    };
    let is_downgrade = from.scheme() == "https" && to.scheme() == "http";
    let ports = (from.port(), to.port());
    name(from) == name(to) && !is_downgrade && ports.0 == ports.1
}

fn host(url: &Url) -> String {
    url.host_str().unwrap_or_default().to_owned()
}

fn text<'a>(headers: &'a HeaderMap, name: &reqwest::header::HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

fn shown(status: StatusCode) -> String {
    match status.canonical_reason() {
        Some(reason) => format!("{} {reason}", status.as_u16()),
        None => status.as_u16().to_string(),
    }
}

/// The innermost cause, without the address, which the message has already.
fn reason(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    osier_base::text::single_line(&cause.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_stay_at_a_site() {
        let same = |from: &str, to: &str| {
            is_same_site(&Url::parse(from).unwrap(), &Url::parse(to).unwrap())
        };
        assert!(same("http://example.org/", "https://www.example.org/x"));
        assert!(same("https://www.example.org/", "https://example.org/"));
        assert!(!same("https://example.org/", "http://example.org/"));
        assert!(!same("https://example.org/", "https://example.org:8443/"));
        assert!(!same("https://example.org/", "https://docs.example.org/"));
        assert!(!same("https://example.org/", "https://127.0.0.1/"));
    }
}
