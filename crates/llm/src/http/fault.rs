//! What is said of a call that did not give a stream: the connection failed, the server answered with an
//! error, or something other than a stream came.

use std::error::Error as _;
use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822;
use reqwest::header::{CONTENT_TYPE, DATE, HeaderMap, LOCATION};
use reqwest::{Response, Url};
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use crate::errors::{Fault, clean, excerpt};
use crate::model::Model;
use crate::provider::Secret;
use crate::status::TurnStatus;
use osier_base::clock;

/// Bytes read of an error's body.
const BODY_LIMIT: usize = 64 * 1024;
/// Longest wait for the rest of an error's body.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// Words by which a failed handshake is told from a failed connection; the TLS library's own error type
/// is not reachable through the client.
const TLS_WORDS: &[&str] = &[
    "certificate",
    "tls",
    "handshake",
    "corrupt message",
    "invalid contenttype",
];

/// Who is called, as faults name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Peer {
    pub name: String,
    /// What mends a key that it refuses.
    pub mend: String,
    /// Tokens that fit, as far as that is known.
    pub window: u64,
}

impl Peer {
    /// The provider of `model`.
    pub(super) fn provider(model: &Model) -> Self {
        Self {
            name: model.provider.clone(),
            mend: format!("check the key of `{}`", model.provider),
            window: model.context_window,
        }
    }
}

/// Host and port of an address: what a person needs to know, without path and credentials.
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

/// The request could not be sent, or nothing came back.
pub(crate) fn transport(error: &reqwest::Error, host: &str, local: bool) -> TurnStatus {
    let reason = reason(error);
    let lower = reason.to_lowercase();
    if error.is_timeout() {
        return TurnStatus::Timeout {
            message: format!("the connection to `{host}` timed out"),
        };
    }
    if error.is_connect() && TLS_WORDS.iter().any(|word| lower.contains(word)) {
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

/// The connection broke while the answer came.
pub(crate) fn cut(error: &reqwest::Error, host: &str) -> TurnStatus {
    TurnStatus::NetworkError {
        message: format!("the connection to `{host}` broke: {}", reason(error)),
        retryable: true,
    }
}

pub(crate) fn silence(host: &str, idle: Duration) -> TurnStatus {
    let waited = clock::human_duration(u64::try_from(idle.as_millis()).unwrap_or(u64::MAX));
    TurnStatus::Timeout {
        message: format!("no data from `{host}` for {waited}"),
    }
}

/// The innermost cause, which is the one that says something.
fn reason(error: &reqwest::Error) -> String {
    let mut told = "the request failed".to_owned();
    let mut source = error.source();
    while let Some(cause) = source {
        told = cause.to_string();
        source = cause.source();
    }
    clean(&told, None)
}

/// The server answered with a status that is no success.
pub(super) async fn answered(
    response: Response,
    peer: &Peer,
    request_bytes: usize,
    key: Option<&Secret>,
    idle: Duration,
) -> TurnStatus {
    let code = response.status().as_u16();
    if response.status().is_redirection() {
        let target = response
            .headers()
            .get(LOCATION)
            .and_then(|to| to.to_str().ok());
        let target = target.and_then(|to| Url::parse(to).ok());
        let to = target.map_or_else(String::new, |to| format!(" to `{}`", host(&to)));
        return TurnStatus::InvalidResponse {
            message: format!(
                "`{}` answered {code}, a redirect{to}: check its base URL",
                peer.name
            ),
        };
    }
    let retry_after_ms = retry_after(response.headers(), server_time(response.headers()));
    let should_retry = should_retry(response.headers());
    let page = is_html(&response);
    let body = body(response, idle).await;
    let mut fault = match serde_json::from_slice::<Value>(&body) {
        Ok(value) => Fault::from_body(&value).unwrap_or_default(),
        Err(_) => Fault::default(),
    };
    // A prompt that is too long is sometimes refused without a word.
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
    fault.status = Some(code);
    fault.retry_after_ms = retry_after_ms.or(fault.retry_after_ms);
    fault.should_retry = should_retry;
    fault.status_of(&peer.name, &peer.mend, key)
}

/// Whether a successful response says of itself that it is no stream.
pub(super) fn is_page(response: &Response) -> bool {
    is_html(response) || content_type(response).starts_with("application/json")
}

fn is_html(response: &Response) -> bool {
    content_type(response).contains("html")
}

fn content_type(response: &Response) -> String {
    let value = response.headers().get(CONTENT_TYPE);
    let text = value
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    text.to_ascii_lowercase()
}

/// A success that is no stream: an error in disguise, a login page, a whole answer.
pub(super) async fn not_a_stream(
    response: Response,
    peer: &Peer,
    key: Option<&Secret>,
    idle: Duration,
) -> TurnStatus {
    let what = if is_html(&response) {
        "a web page"
    } else {
        "JSON"
    };
    let body = body(response, idle).await;
    let told = serde_json::from_slice::<Value>(&body).ok();
    if let Some(fault) = told.as_ref().and_then(Fault::from_body) {
        return fault.status_of(&peer.name, &peer.mend, key);
    }
    TurnStatus::InvalidResponse {
        message: format!(
            "`{}` answered with {what} instead of an event stream: {}",
            peer.name,
            excerpt(&body, key)
        ),
    }
}

/// The start of a body, as far as it comes in time.
async fn body(mut response: Response, idle: Duration) -> Vec<u8> {
    let deadline = Instant::now() + BODY_TIMEOUT.min(idle);
    let mut body = Vec::new();
    while body.len() < BODY_LIMIT {
        match timeout_at(deadline, response.chunk()).await {
            Ok(Ok(Some(bytes))) => {
                let room = BODY_LIMIT - body.len();
                body.extend_from_slice(&bytes[..bytes.len().min(room)]);
            }
            _ => break,
        }
    }
    body
}

/// How long the server asks to wait, in milliseconds: `retry-after-ms`, else `retry-after` in seconds or
/// as a date.
fn retry_after(headers: &HeaderMap, now_ms: i64) -> Option<u64> {
    let text = |name| headers.get(name)?.to_str().ok().map(str::trim);
    let amount = |text: &str, unit: f64| {
        let amount: f64 = text.parse().ok()?;
        (amount.is_finite() && amount >= 0.0).then_some((amount * unit) as u64)
    };
    if let Some(exact) = text("retry-after-ms").and_then(|text| amount(text, 1.0)) {
        return Some(exact);
    }
    let told = text("retry-after")?;
    amount(told, 1000.0).or_else(|| {
        let until: Timestamp = rfc2822::parse(told).ok()?.timestamp();
        let wait = until.as_millisecond() - now_ms;
        Some(u64::try_from(wait).unwrap_or(0))
    })
}

/// The server's clock, by which its dates are meant; ours when it does not tell.
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
    fn the_wait_is_read_in_every_form() {
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
