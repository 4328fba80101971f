//! The status of a call that did not return a stream: the connection failed, the server returned an error, or
//! the response is not a stream.

use std::error::Error as _;
use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822;
use reqwest::header::{CONTENT_TYPE, DATE, HeaderMap, LOCATION};
use reqwest::{Response, Url};
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::encoding::{Encoding, PIECE};
use crate::errors::{Fault, clean, excerpt};
use crate::model::Model;
use crate::secret::Secret;
use crate::status::TurnStatus;
use osier_base::clock;

/// Maximum bytes read of an error body.
const BODY_LIMIT: usize = 64 * 1024;
/// Timeout for reading an error body.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// Texts that identify a failed TLS handshake; the HTTP client hides the error type of the TLS library.
const TLS_ERROR_TEXTS: &[&str] = &[
    "certificate",
    "tls",
    "handshake",
    "corrupt message",
    "invalid contenttype",
];

/// The server of a call, for error texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Peer {
    pub name: String,
    /// The suggestion when the server rejects the key.
    pub suggestion: String,
    /// The context window in tokens; 0 when unknown.
    pub window: u64,
}

impl Peer {
    /// The provider of `model`.
    pub(super) fn provider(model: &Model) -> Self {
        Self {
            name: model.provider.clone(),
            suggestion: format!("check the key of `{}`", model.provider),
            window: model.context_window,
        }
    }
}

/// Host and port of a URL for error texts, without path and credentials.
pub(crate) fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or("?");
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

pub(crate) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    match bare.parse::<std::net::IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => bare == "localhost" || bare.ends_with(".localhost"),
    }
}

/// The status if the request could not be sent, or there was no response.
pub(crate) fn transport(error: &reqwest::Error, host: &str, local: bool) -> TurnStatus {
    let reason = reason(error);
    let lower = reason.to_lowercase();
    if error.is_timeout() {
        return TurnStatus::Timeout {
            message: format!("the connection to `{host}` timed out"),
        };
    }
    if error.is_connect() && TLS_ERROR_TEXTS.iter().any(|word| lower.contains(word)) {
        return TurnStatus::NetworkError {
            message: format!(
                "no secure connection to `{host}`: {reason} (check the address and the clock; set your own certificate authority with `ca_file` or SSL_CERT_FILE)"
            ),
            retryable: false,
        };
    }
    let hint = match (error.is_connect(), local) {
        (true, true) => " (is the server running?)",
        (true, false) => " (check the network, the proxy and the base URL)",
        (false, _) => "",
    };
    TurnStatus::NetworkError {
        message: format!("cannot reach `{host}`: {reason}{hint}"),
        retryable: true,
    }
}

/// The status if the connection was closed while the answer was received.
pub(crate) fn cut(error: &reqwest::Error, host: &str) -> TurnStatus {
    TurnStatus::NetworkError {
        message: format!("the connection to `{host}` broke: {}", reason(error)),
        retryable: true,
    }
}

/// The status if the body ended within its first event.
pub(crate) fn lost(host: &str) -> TurnStatus {
    TurnStatus::NetworkError {
        message: format!("the connection to `{host}` closed before the answer ended"),
        retryable: true,
    }
}

pub(crate) fn silence(host: &str, idle: Duration) -> TurnStatus {
    let waited = clock::human_duration(u64::try_from(idle.as_millis()).unwrap_or(u64::MAX));
    TurnStatus::Timeout {
        message: format!(
            "no content from `{host}` for {waited}; allow more with the setting `idle_timeout`"
        ),
    }
}

/// The status of an answer that does not end.
pub(crate) fn too_long(host: &str, limit: Duration) -> TurnStatus {
    let limit = clock::human_duration(u64::try_from(limit.as_millis()).unwrap_or(u64::MAX));
    TurnStatus::Timeout {
        message: format!(
            "the answer of `{host}` took longer than {limit}; allow more with the setting `answer_timeout`"
        ),
    }
}

/// The innermost cause, which is the most specific.
fn reason(error: &reqwest::Error) -> String {
    let mut message = "the request failed".to_owned();
    let mut source = error.source();
    while let Some(cause) = source {
        message = cause.to_string();
        source = cause.source();
    }
    clean(&message, None)
}

/// The status for a response with an error status, or with a redirect.
pub(super) async fn answered(
    response: Response,
    peer: &Peer,
    request_bytes: usize,
    key: Option<&Secret>,
    idle: Duration,
) -> Result<Fault, TurnStatus> {
    let code = response.status().as_u16();
    if response.status().is_redirection() {
        let target = response
            .headers()
            .get(LOCATION)
            .and_then(|to| to.to_str().ok());
        let target = target.and_then(|to| Url::parse(to).ok());
        let to = target.map_or_else(String::new, |to| format!(" to `{}`", host(&to)));
        return Err(TurnStatus::InvalidResponse {
            message: format!(
                "`{}` answered {code}, a redirect{to}: check its base URL",
                peer.name
            ),
        });
    }
    let retry_after_ms = retry_after(response.headers(), server_time(response.headers()));
    let should_retry = should_retry(response.headers());
    let page = is_html(&response);
    let body = body(response, idle).await;
    let mut fault = match serde_json::from_slice::<Value>(&body) {
        Ok(value) => Fault::from_body(&value).unwrap_or_default(),
        Err(_) => Fault::default(),
    };
    // Some servers reject a long prompt with an empty response.
    let empty = body.iter().all(u8::is_ascii_whitespace);
    if empty && code == 400 && request_bytes as u64 / 4 > peer.window / 2 {
        "request_too_large".clone_into(&mut fault.code);
    }
    if fault.message.is_empty() {
        let came = excerpt(&body, key);
        fault.message = match (page, came.as_str()) {
            (true, came) => format!("a web page: {came}"),
            (false, came) => came.to_owned(),
        };
    }
    fault.is_page = page && code >= 500;
    fault.status = Some(code);
    fault.retry_after_ms = retry_after_ms.or(fault.retry_after_ms);
    fault.should_retry = should_retry;
    Ok(fault)
}

fn is_html(response: &Response) -> bool {
    let value = response.headers().get(CONTENT_TYPE);
    let text = value
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    text.to_ascii_lowercase().contains("html")
}

/// The status of a response that is `what` instead of an answer. The same request would have the same response, and may
/// be billed.
pub(super) fn no_stream(name: &str, what: &str, body: &[u8], key: Option<&Secret>) -> TurnStatus {
    TurnStatus::ModelError {
        message: format!(
            "`{name}` answered with {what} instead of an event stream: {}; check its base URL",
            excerpt(body, key)
        ),
        retryable: false,
    }
}

/// The first bytes of a body that arrive before the timeout. A body in an unknown encoding stays as it is.
async fn body(mut response: Response, idle: Duration) -> Vec<u8> {
    let deadline = Instant::now() + BODY_TIMEOUT.min(idle);
    let mut encoding = Encoding::of(response.headers()).unwrap_or(Encoding::Plain);
    let mut body = Vec::new();
    while body.len() < BODY_LIMIT {
        match timeout_at(deadline, response.chunk()).await {
            Ok(Ok(Some(bytes))) => {
                for piece in bytes.chunks(PIECE) {
                    let Ok(text) = encoding.decode(piece) else {
                        return body;
                    };
                    let room = BODY_LIMIT - body.len();
                    body.extend_from_slice(&text[..text.len().min(room)]);
                }
            }
            _ => break,
        }
    }
    body
}

/// The status if the server compressed its answer in a way that osier cannot decode.
pub(super) fn compressed(host: &str, encoding: &str) -> TurnStatus {
    TurnStatus::InvalidResponse {
        message: format!(
            "`{host}` compressed its answer with `{encoding}`, which osier did not ask for: change that at the server or the \
             proxy before it"
        ),
    }
}

/// The status if a compressed answer is damaged.
pub(super) fn not_compressed(host: &str, error: &std::io::Error) -> TurnStatus {
    TurnStatus::InvalidResponse {
        message: format!("the compressed answer of `{host}` cannot be decoded: {error}"),
    }
}

/// The delay requested by the server in milliseconds: `retry-after-ms`, or `retry-after` in seconds or as a
/// date.
fn retry_after(headers: &HeaderMap, now_ms: i64) -> Option<u64> {
    let text = |name| headers.get(name)?.to_str().ok().map(str::trim);
    let amount = |text: &str, unit: f64| {
        let amount: f64 = text.parse().ok()?;
        (amount.is_finite() && amount >= 0.0).then_some((amount * unit) as u64)
    };
    if let Some(exact) = text("retry-after-ms").and_then(|text| amount(text, 1.0)) {
        return Some(exact);
    }
    let value = text("retry-after")?;
    amount(value, 1000.0).or_else(|| {
        let until: Timestamp = rfc2822::parse(value).ok()?.timestamp();
        let wait = until.as_millisecond() - now_ms;
        Some(u64::try_from(wait).unwrap_or(0))
    })
}

/// The time on the server's clock, to which its dates refer; the local time when it sends none.
fn server_time(headers: &HeaderMap) -> i64 {
    let date = headers.get(DATE).and_then(|date| {
        let parsed = rfc2822::parse(date.to_str().ok()?).ok()?;
        Some(parsed.timestamp().as_millisecond())
    });
    date.unwrap_or_else(clock::now_ms)
}

fn should_retry(headers: &HeaderMap) -> Option<bool> {
    match headers.get("x-should-retry")?.to_str().ok()? {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::HeaderValue;

    #[test]
    fn retry_after_is_read_in_every_form() {
        let now = 1_445_412_470_000; // Wed, 21 Oct 2015 07:27:50 GMT
        for (name, value, expected) in [
            ("retry-after-ms", "1500", Some(1500)),
            ("retry-after", "2", Some(2000)),
            ("retry-after", "0.5", Some(500)),
            ("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT", Some(10_000)),
            ("retry-after", "Wed, 21 Oct 2015 07:27:00 GMT", Some(0)),
            ("retry-after", "soon", None),
            ("retry-after", "-1", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(name, HeaderValue::from_static(value));
            assert_eq!(retry_after(&headers, now), expected, "{name}: {value}");
        }
    }

    #[test]
    fn hosts_are_shown_without_credentials() {
        let url = Url::parse("http://user:pass@[::1]:8080/v1?key=x").unwrap();
        assert_eq!(host(&url), "[::1]:8080");
        assert!(is_loopback(&url));
        assert!(!is_loopback(
            &Url::parse("https://localhost.example.com").unwrap()
        ));
    }
}
