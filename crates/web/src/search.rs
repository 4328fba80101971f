//! Searches the web with a service: Brave, Tavily, Exa or a SearXNG server.

use std::time::Duration;

use osier_base::text::{head_bytes, sanitize};
use osier_llm::Secret;
use osier_llm::http::{HttpOptions, client_for};
use reqwest::{Method, RequestBuilder, StatusCode, Url};
use serde_json::{Value, json};
use thiserror::Error;
use tokio::time::timeout;

/// Results of a search at most.
pub const RESULTS: usize = 10;
/// Bytes of an answer at most.
const LIMIT: usize = 2 * 1024 * 1024;
const TIME: Duration = Duration::from_secs(30);
/// Bytes of a title and of a snippet at most.
const TITLE: usize = 200;
const SNIPPET: usize = 600;

// recipe: a search service, 1: its row
/// A kind of search service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServiceKind {
    Brave,
    Tavily,
    Exa,
    Searxng,
}

/// A search service and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchService {
    pub kind: ServiceKind,
    pub base_url: String,
}

/// A result of a search. All of it is untrusted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchResult {
    pub title: String,
    pub url: String,
    pub snippet: String,
}

/// Why there are no results.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SearchError {
    #[error("cannot reach `{service}`: {reason}")]
    Network {
        service: &'static str,
        reason: String,
    },
    #[error("`{service}` did not answer within {} seconds", TIME.as_secs())]
    Late { service: &'static str },
    #[error("`{service}` rejected the key; store another one with `osier auth login {service}`")]
    Key { service: &'static str },
    #[error(
        "the SearXNG server refuses JSON; add `json` to `search.formats` in its `settings.yml`"
    )]
    Format,
    #[error("`{service}` allows no more searches now; try again later")]
    RateLimit { service: &'static str },
    #[error("`{service}` answered {status}")]
    Status { service: &'static str, status: u16 },
    #[error("`{service}` sent an invalid answer")]
    Invalid { service: &'static str },
}

impl ServiceKind {
    /// All services, in the order in which one with a key is selected.
    pub const ALL: [Self; 4] = [Self::Brave, Self::Tavily, Self::Exa, Self::Searxng];

    pub fn name(self) -> &'static str {
        match self {
            Self::Brave => "brave",
            Self::Tavily => "tavily",
            Self::Exa => "exa",
            Self::Searxng => "searxng",
        }
    }

    /// The name for people.
    pub fn label(self) -> &'static str {
        match self {
            Self::Brave => "Brave",
            Self::Tavily => "Tavily",
            Self::Exa => "Exa",
            Self::Searxng => "SearXNG",
        }
    }

    fn base_url(self) -> Option<&'static str> {
        match self {
            Self::Brave => Some("https://api.search.brave.com"),
            Self::Tavily => Some("https://api.tavily.com"),
            Self::Exa => Some("https://api.exa.ai"),
            Self::Searxng => None,
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

impl SearchService {
    /// The service at its public address; `None` for a kind without a public service.
    pub fn public(kind: ServiceKind) -> Option<Self> {
        let base_url = kind.base_url()?.to_owned();
        Some(Self { kind, base_url })
    }

    /// A SearXNG server.
    pub fn searxng(base_url: &str) -> Self {
        Self {
            kind: ServiceKind::Searxng,
            base_url: base_url.trim_end_matches('/').to_owned(),
        }
    }

    /// Searches for `query`.
    ///
    /// # Errors
    /// The service cannot be reached, or does not answer with results.
    pub async fn search(
        &self,
        query: &str,
        key: Option<&Secret>,
        http: &HttpOptions,
    ) -> Result<Vec<SearchResult>, SearchError> {
        let service = self.kind.name();
        let search = self.answer(query, key, http);
        let late = |_| SearchError::Late { service };
        let body = timeout(TIME, search).await.map_err(late)??;
        self.results(&body).ok_or(SearchError::Invalid { service })
    }

    async fn answer(
        &self,
        query: &str,
        key: Option<&Secret>,
        http: &HttpOptions,
    ) -> Result<Value, SearchError> {
        let service = self.kind.name();
        let failed = |reason: String| SearchError::Network { service, reason };
        let request = self
            .request(query, key, http)
            .await
            .map_err(failed)?
            .header("accept", "application/json");
        let unreachable = |error: reqwest::Error| failed(error.without_url().to_string());
        let mut response = request.send().await.map_err(unreachable)?;
        match response.status() {
            status if status.is_success() => {}
            StatusCode::FORBIDDEN if self.kind == ServiceKind::Searxng => {
                return Err(SearchError::Format);
            }
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                return Err(SearchError::Key { service });
            }
            StatusCode::TOO_MANY_REQUESTS => return Err(SearchError::RateLimit { service }),
            status => {
                let status = status.as_u16();
                return Err(SearchError::Status { service, status });
            }
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(unreachable)? {
            if body.len() + chunk.len() > LIMIT {
                return Err(SearchError::Invalid { service });
            }
            body.extend_from_slice(&chunk);
        }
        serde_json::from_slice(&body).map_err(|_| SearchError::Invalid { service })
    }

    async fn request(
        &self,
        query: &str,
        key: Option<&Secret>,
        http: &HttpOptions,
    ) -> Result<RequestBuilder, String> {
        let (method, path) = match self.kind {
            ServiceKind::Brave => (Method::GET, "/res/v1/web/search"),
            ServiceKind::Searxng => (Method::GET, "/search"),
            ServiceKind::Tavily | ServiceKind::Exa => (Method::POST, "/search"),
        };
        let address = format!("{}{path}", self.base_url.trim_end_matches('/'));
        let mut url = Url::parse(&address).map_err(|error| error.to_string())?;
        let count = RESULTS.to_string();
        match self.kind {
            ServiceKind::Brave => {
                url.query_pairs_mut()
                    .append_pair("q", query)
                    .append_pair("count", &count);
            }
            ServiceKind::Searxng => {
                url.query_pairs_mut()
                    .append_pair("q", query)
                    .append_pair("format", "json");
            }
            ServiceKind::Tavily | ServiceKind::Exa => {}
        }
        let client = client_for(http.clone(), &address).await?;
        let request = client.request(method, url);
        let key = key.map(Secret::expose).unwrap_or_default();
        Ok(match self.kind {
            ServiceKind::Brave => request.header("x-subscription-token", key),
            ServiceKind::Tavily => request
                .bearer_auth(key)
                .json(&json!({"query": query, "max_results": RESULTS})),
            ServiceKind::Exa => request.header("x-api-key", key).json(&json!({
                "query": query,
                "type": "auto",
                "numResults": RESULTS,
                "contents": {"highlights": true},
            })),
            ServiceKind::Searxng => request,
        })
    }

    /// The results of an answer; `None` if it has no list of results.
    fn results(&self, body: &Value) -> Option<Vec<SearchResult>> {
        let list = match self.kind {
            // Without a match, there is no `web`.
            ServiceKind::Brave => body
                .pointer("/web/results")
                .or_else(|| body.get("type").map(|_| &Value::Null)),
            _ => body.get("results"),
        };
        let empty = Vec::new();
        let list = match list? {
            Value::Null => &empty,
            list => list.as_array()?,
        };
        let text = |value: &Value, name: &str| -> String {
            let text = value.get(name).and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        };
        let results = list.iter().map(|value| {
            let snippet = match self.kind {
                ServiceKind::Brave => text(value, "description"),
                ServiceKind::Tavily | ServiceKind::Searxng => text(value, "content"),
                ServiceKind::Exa => {
                    let parts = value.get("highlights").and_then(Value::as_array);
                    let parts = parts.into_iter().flatten().filter_map(Value::as_str);
                    parts.collect::<Vec<_>>().join(" … ")
                }
            };
            SearchResult::new(&text(value, "title"), &text(value, "url"), &snippet)
        });
        Some(results.flatten().take(RESULTS).collect())
    }
}

impl SearchResult {
    /// The result in single lines of limited length; `None` without the address of a page.
    pub fn new(title: &str, url: &str, snippet: &str) -> Option<Self> {
        let url = crate::WebAddress::parse(url)?.url;
        let title = line(title, TITLE);
        Some(Self {
            title: if title.is_empty() { url.clone() } else { title },
            url,
            snippet: line(snippet, SNIPPET),
        })
    }
}

/// One line of text without markup.
fn line(text: &str, limit: usize) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    // Services mark the words that were found: `<strong>`, `</b>`.
    while let Some((before, after)) = rest.split_once('<') {
        plain.push_str(before);
        match after.split_once('>') {
            Some((tag, behind)) if is_tag(tag) => rest = behind,
            _ => {
                plain.push('<');
                rest = after;
            }
        }
    }
    plain.push_str(rest);
    for (entity, char) in [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#x27;", "'"),
        ("&#39;", "'"),
        ("&amp;", "&"),
    ] {
        plain = plain.replace(entity, char);
    }
    let plain = sanitize(&plain);
    let words: Vec<&str> = plain.split_whitespace().collect();
    head_bytes(&words.join(" "), limit).to_owned()
}

fn is_tag(tag: &str) -> bool {
    let name = tag.trim_start_matches('/');
    (1..=8).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(kind: ServiceKind, body: &Value) -> Option<Vec<SearchResult>> {
        let base_url = String::new();
        SearchService { kind, base_url }.results(body)
    }

    fn result(title: &str, snippet: &str) -> SearchResult {
        SearchResult {
            title: title.to_owned(),
            url: "https://example.org/a".to_owned(),
            snippet: snippet.to_owned(),
        }
    }

    #[test]
    fn answers_of_all_services_become_results() {
        let url = "https://example.org/a";
        let brave = json!({"type": "search", "web": {"type": "search", "results": [
            {"title": "A &amp; B", "url": url, "description": "The <strong>found</strong> word; 1 < 2"},
            {"title": "no address", "url": "javascript:alert(1)", "description": ""},
        ]}});
        let found = vec![result("A & B", "The found word; 1 < 2")];
        assert_eq!(of(ServiceKind::Brave, &brave), Some(found));
        let nothing = json!({"type": "search", "query": {"original": "x"}});
        assert_eq!(of(ServiceKind::Brave, &nothing), Some(Vec::new()));
        let tavily = json!({"query": "q", "results": [
            {"title": "T", "url": url, "content": "one\n two\u{1b}[31m", "score": 0.9},
        ]});
        let found = vec![result("T", "one two")];
        assert_eq!(of(ServiceKind::Tavily, &tavily), Some(found));
        let exa = json!({"requestId": "r", "results": [
            {"title": null, "url": url, "highlights": ["one", "two"]},
        ]});
        let found = vec![result(url, "one … two")];
        assert_eq!(of(ServiceKind::Exa, &exa), Some(found));
        let searxng =
            json!({"query": "q", "results": [{"title": "S", "url": url, "content": "c"}]});
        let found = vec![result("S", "c")];
        assert_eq!(of(ServiceKind::Searxng, &searxng), Some(found));
        for kind in ServiceKind::ALL {
            assert_eq!(of(kind, &json!({"error": "x"})), None, "{kind:?}");
        }
    }

    #[test]
    fn texts_are_short() {
        let result = SearchResult::new(
            &"t".repeat(1000),
            "https://example.org/",
            &"s ".repeat(1000),
        );
        let result = result.unwrap();
        assert_eq!((result.title.len(), result.snippet.len()), (TITLE, SNIPPET));
    }
}
