//! Maps the errors of providers to `TurnStatus`.
//!
//! Vendors use different status codes and texts, so a table of message patterns is checked first, and then
//! the HTTP status. The provider does not matter. Error texts are sanitized here: one line of limited length,
//! without the key.

mod patterns;
mod retry_delay;

use std::borrow::Cow;

use serde_json::Value;

use self::patterns::Kind;
use super::secret::Secret;
use super::status::TurnStatus;
use osier_base::secrets::hide_known;
use osier_base::text;

/// Maximum bytes of a provider's message that are shown.
const MESSAGE_LIMIT: usize = 600;

/// An error reported by a provider.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Fault {
    /// The HTTP status, or the equivalent of an error inside a stream.
    pub status: Option<u16>,
    /// Type, code and status in the error body, joined by spaces.
    pub code: String,
    pub message: String,
    /// The parameter of the request that the error names, such as `messages.3.content.1`.
    pub param: String,
    pub retry_after_ms: Option<u64>,
    /// The `x-should-retry` header.
    pub should_retry: Option<bool>,
    /// Whether the body is a web page: a gateway answered that does not reach the server.
    pub is_page: bool,
    /// Whether a per-minute quota was exceeded, although the message is that of a monthly one.
    pub throttled: bool,
}

/// HTTP statuses equivalent to the error types inside a stream.
const TYPE_STATUS: &[(&str, u16)] = &[
    ("invalid_request_error", 400),
    ("authentication_error", 401),
    ("billing_error", 402),
    ("permission_error", 403),
    ("not_found_error", 404),
    ("request_too_large", 413),
    ("rate_limit_error", 429),
    ("api_error", 500),
    ("timeout_error", 504),
    ("overloaded_error", 529),
];

impl Fault {
    /// The error in the text of an event. If the text is not JSON of a known form, it is the
    /// message.
    pub(crate) fn from_text(text: &str) -> Self {
        let body = serde_json::from_str::<Value>(text).unwrap_or_default();
        Self::from_body(&body).unwrap_or_else(|| Self::new(text.to_owned()))
    }

    /// Parses an error body in any form that vendors use. `None` when `body` is not an error.
    pub(crate) fn from_body(body: &Value) -> Option<Self> {
        let body = match body {
            Value::Array(list) => list.first()?,
            body => body,
        };
        let has = |key: &&str| body.get(key).is_some_and(is_error);
        let error = match body.get("error").filter(|error| is_error(error)) {
            Some(Value::String(message)) => {
                let mut fault = Self::new(message.clone());
                fault.add_code(body);
                return Some(fault);
            }
            Some(error) => error,
            // FastAPI (`detail`), vLLM and Mistral (`object: error`), plain `message`.
            None if ["message", "detail", "errors"].iter().any(has) => body,
            None => return None,
        };
        let text = ["message", "detail", "errors"]
            .iter()
            .find_map(|key| error.get(key));
        let mut message = match text {
            Some(Value::String(message)) => message.clone(),
            Some(other) => other.to_string(),
            None => error.to_string(),
        };
        // Routers wrap the error of the vendor.
        if let Some(raw) = error.pointer("/metadata/raw").and_then(Value::as_str) {
            message = format!("{message}: {raw}");
        }
        let mut fault = Self::new(message);
        fault.add_code(error);
        fault.param = param(error).unwrap_or_default();
        fault.retry_after_ms = body_retry_delay(error);
        fault.add_quotas(error);
        Some(fault)
    }

    fn new(message: String) -> Self {
        Self {
            message,
            ..Self::default()
        }
    }

    fn add_code(&mut self, error: &Value) {
        let mut words = Vec::new();
        for key in ["type", "code", "status"] {
            match error.get(key) {
                Some(Value::String(word)) => words.push(word.clone()),
                Some(Value::Number(number)) => {
                    let number = number.as_u64().and_then(|code| u16::try_from(code).ok());
                    self.status = number.filter(|code| (400..600).contains(code));
                }
                _ => {}
            }
        }
        self.status = self.status.or_else(|| {
            let known = |word: &String| TYPE_STATUS.iter().find(|(name, _)| name == word);
            words
                .iter()
                .find_map(known)
                .map(|(_, status)| *status)
                .or_else(|| words.iter().find_map(|word| word.parse().ok()))
        });
        self.code = words.join(" ");
    }

    /// Whether the error can be about a part of the request: the vendor is not busy and does not
    /// refuse the caller.
    pub(crate) fn names_a_part(&self) -> bool {
        let can_name = matches!(
            self.status,
            None | Some(400 | 404..=406 | 409 | 413 | 415 | 422 | 500 | 501)
        );
        can_name && !self.message.is_empty() && self.kind() == Kind::Transient
    }

    /// Google lists the exceeded quotas: a daily quota is used up, other quotas reset soon.
    fn add_quotas(&mut self, error: &Value) {
        let details = error.get("details").and_then(Value::as_array);
        let violations = details
            .into_iter()
            .flatten()
            .filter_map(|detail| detail.get("violations")?.as_array());
        let ids: Vec<&str> = violations
            .flatten()
            .filter_map(|violation| violation.get("quotaId")?.as_str())
            .collect();
        self.throttled = !ids.is_empty() && !ids.iter().any(|id| id.contains("PerDay"));
        for id in ids {
            self.code = format!("{} {id}", self.code);
        }
    }

    /// The status for the agent. `provider` is used in the text; `key` is removed from it.
    pub(crate) fn status(&self, provider: &str, key: Option<&Secret>) -> TurnStatus {
        self.status_of(provider, &format!("check the key of `{provider}`"), key)
    }

    /// Like `status`, with `suggestion` for a rejected key.
    pub(crate) fn status_of(
        &self,
        provider: &str,
        suggestion: &str,
        key: Option<&Secret>,
    ) -> TurnStatus {
        let message = clean(&self.message, key);
        let message = if message.is_empty() {
            "no reason given".to_owned()
        } else {
            message
        };
        let answered = match self.status {
            Some(status) => format!("`{provider}` answered {status}: {message}"),
            None => format!("`{provider}` failed: {message}"),
        };
        match self.kind() {
            Kind::Quota => TurnStatus::QuotaExceeded { message: answered },
            Kind::Overflow => TurnStatus::ContextOverflow { message: answered },
            Kind::Auth => TurnStatus::AuthError {
                message: format!("{answered} ({suggestion})"),
            },
            Kind::Rate if self.should_retry != Some(false) => TurnStatus::RateLimit {
                retry_after_ms: self
                    .retry_after_ms
                    .or_else(|| retry_delay::in_text(&self.message)),
                message: answered,
            },
            // Only a rate limit has a delay, so a busy server that specifies a delay is handled as
            // a rate limit.
            Kind::Transient if self.delay().is_some() && self.should_retry != Some(false) => {
                TurnStatus::RateLimit {
                    message: answered,
                    retry_after_ms: self.delay(),
                }
            }
            Kind::Transient if matches!(self.status, Some(408 | 504)) => {
                TurnStatus::Timeout { message: answered }
            }
            Kind::Rate | Kind::Transient => TurnStatus::ModelError {
                message: answered,
                retryable: self.should_retry.unwrap_or(self.status_retryable()),
            },
        }
    }

    /// The delay that the server requests; for a failing server (500 and above) also one in its
    /// message.
    fn delay(&self) -> Option<u64> {
        let in_text = || retry_delay::in_text(&self.message);
        let is_failing = matches!(self.status, Some(500..));
        let in_text = || is_failing.then(in_text).flatten();
        self.retry_after_ms.or_else(in_text)
    }

    fn status_retryable(&self) -> bool {
        match self.status {
            // 498 is Groq's status for no capacity.
            Some(status) => matches!(status, 408 | 409 | 425 | 429 | 498 | 500..),
            None => self.shape() == Some(Kind::Transient),
        }
    }

    /// The pattern of the message has precedence over the status, except for unambiguous statuses.
    fn kind(&self) -> Kind {
        if self.throttled {
            return Kind::Rate;
        }
        match (self.status, self.shape()) {
            (Some(402), _) => Kind::Quota,
            // The image or file is too large, not the conversation.
            (Some(413), _) if self.is_about_content() => Kind::Transient,
            (Some(413), _) => Kind::Overflow,
            (Some(401), _) | (Some(403), None) => Kind::Auth,
            // The text of a busy or failing server can contain anything: interpretations that contradict the
            // status are ignored.
            (Some(429 | 500..), Some(kind @ (Kind::Quota | Kind::Overflow))) => kind,
            (Some(429), _) | (Some(500..), Some(Kind::Rate)) => Kind::Rate,
            (Some(500..), _) | (_, None) => Kind::Transient,
            (_, Some(kind)) => kind,
        }
    }

    /// Whether the message names images or files.
    fn is_about_content(&self) -> bool {
        let message = self.message.to_lowercase();
        let words = ["image", "picture", "pdf", "document", "audio", "attachment"];
        words.iter().any(|word| message.contains(word))
    }

    fn shape(&self) -> Option<Kind> {
        let message = format!("{} {}", self.code, self.message).to_lowercase();
        patterns::find(&message).map(|shape| shape.kind)
    }
}

/// Whether the value of a field for errors is an error. Some servers fill the field without an
/// error.
pub(crate) fn is_error(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::Bool(true) => true,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.trim().is_empty(),
        Value::Array(list) => !list.is_empty(),
        Value::Object(map) => map.values().any(is_error),
    }
}

/// The parameter in OpenAI's and FastAPI's error bodies.
fn param(error: &Value) -> Option<String> {
    if let Some(param) = error.get("param").and_then(Value::as_str) {
        return Some(param.to_owned());
    }
    let details = error.get("detail").or_else(|| error.get("message"))?;
    let path = details.get(0)?.get("loc")?.as_array()?;
    let parts = path.iter().skip_while(|part| *part == "body");
    let parts = parts.map(|part| {
        part.as_str()
            .map_or_else(|| part.to_string(), str::to_owned)
    });
    Some(parts.collect::<Vec<_>>().join("."))
}

/// The retry delay in Google's error bodies.
fn body_retry_delay(error: &Value) -> Option<u64> {
    let details = error.get("details")?.as_array()?;
    let delay = details
        .iter()
        .find_map(|detail| detail.get("retryDelay")?.as_str())?;
    let seconds: f64 = delay.strip_suffix('s')?.parse().ok()?;
    Some((seconds.max(0.0) * 1000.0) as u64)
}

/// Sanitizes `text`: one line of limited length, without control sequences, without `key` and every
/// other known key.
pub(crate) fn clean(message: &str, key: Option<&Secret>) -> String {
    // Control sequences are removed first: the key could contain one.
    let message = text::sanitize(message);
    let line = match key {
        Some(key) => key.hide_in(&message),
        None => Cow::Borrowed(&*message),
    };
    let line = hide_known(&line);
    let words: Vec<&str> = line.split_whitespace().collect();
    let line = words.join(" ");
    match text::head_bytes(&line, MESSAGE_LIMIT) {
        complete if complete.len() == line.len() => line,
        head => format!("{head}…"),
    }
}

/// The first 200 characters of an unexpected response, for error texts.
pub(crate) fn excerpt(bytes: &[u8], key: Option<&Secret>) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4096)]);
    clean(&text, key).chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::patterns::SHAPES;
    use super::*;
    use serde_json::json;

    fn outcome(status: u16, body: &Value) -> TurnStatus {
        let mut fault = Fault::from_body(body).unwrap();
        fault.status = Some(status);
        fault.status("p", None)
    }

    fn name(status: &TurnStatus) -> &'static str {
        match status {
            TurnStatus::RateLimit { .. } => "rate",
            TurnStatus::AuthError { .. } => "auth",
            TurnStatus::QuotaExceeded { .. } => "quota",
            TurnStatus::ModelError {
                retryable: true, ..
            } => "retry",
            TurnStatus::ModelError {
                retryable: false, ..
            } => "refused",
            TurnStatus::Timeout { .. } => "timeout",
            TurnStatus::ContextOverflow { .. } => "overflow",
            _ => "other",
        }
    }

    /// An error of a vendor and its expected status.
    #[derive(serde::Deserialize)]
    struct Fixture {
        vendor: String,
        status: u16,
        body: Value,
        outcome: String,
    }

    fn fixtures() -> Vec<Fixture> {
        let text = include_str!("../../../tests/fixtures/llm/errors.json");
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn vendor_errors_map_to_their_status() {
        let wrong: Vec<String> = fixtures()
            .iter()
            .filter_map(|fixture| {
                let given = name(&outcome(fixture.status, &fixture.body));
                let Fixture {
                    vendor,
                    status,
                    body,
                    outcome,
                } = fixture;
                (given != outcome).then(|| format!("{vendor} {status} {body}: {given}"))
            })
            .collect();
        assert_eq!(wrong, Vec::<String>::new());
    }

    #[test]
    fn every_pattern_has_a_fixture() {
        let fixtures = fixtures();
        let missing: Vec<&str> = SHAPES
            .iter()
            .filter(|shape| shape.vendor != "any")
            .filter(|shape| {
                !fixtures.iter().any(|fixture| {
                    let fault = Fault::from_body(&fixture.body).unwrap();
                    let message = format!("{} {}", fault.code, fault.message).to_lowercase();
                    fixture.vendor == shape.vendor && shape.is_in(&message)
                })
            })
            .map(|shape| shape.text)
            .collect();
        assert_eq!(missing, Vec::<&str>::new());
    }

    #[test]
    fn stream_errors_map_to_http_statuses() {
        let body = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
        assert_eq!(
            Fault::from_body(&body).unwrap().status("anthropic", None),
            TurnStatus::ModelError {
                message: "`anthropic` answered 529: Overloaded".to_owned(),
                retryable: true
            }
        );
        let body = json!({"error": {"message": "slow down", "code": 429}});
        assert_eq!(
            name(&Fault::from_body(&body).unwrap().status("p", None)),
            "rate"
        );
        assert_eq!(Fault::from_body(&json!({"choices": []})), None);
        assert_eq!(Fault::from_body(&json!({"error": null})), None);
    }

    #[test]
    fn retry_delay_is_read_from_the_body() {
        let body =
            json!({"error": {"code": 429, "message": "m", "details": [{"retryDelay": "34s"}]}});
        assert_eq!(
            Fault::from_body(&body).unwrap().status("g", None),
            TurnStatus::RateLimit {
                message: "`g` answered 429: m".to_owned(),
                retry_after_ms: Some(34_000)
            }
        );
        let busy = Fault {
            status: Some(529),
            message: "busy".to_owned(),
            retry_after_ms: Some(7),
            ..Fault::default()
        };
        assert_eq!(name(&busy.status("p", None)), "rate");
    }

    #[test]
    fn delays_in_texts_of_failing_servers_are_used() {
        for (status, message, expected) in [
            (503, "overloaded, try again in 1s", Some(1000)),
            (500, "internal error", None),
            (400, "try again in 1s", None),
        ] {
            let fault = Fault {
                status: Some(status),
                message: message.to_owned(),
                ..Fault::default()
            };
            let delay = match fault.status("p", None) {
                TurnStatus::RateLimit { retry_after_ms, .. } => retry_after_ms,
                _ => None,
            };
            assert_eq!(delay, expected, "{message}");
        }
    }

    #[test]
    fn images_that_are_too_large_are_no_long_conversation() {
        let fault = |message: &str| Fault {
            status: Some(413),
            message: message.to_owned(),
            ..Fault::default()
        };
        let image = fault("image exceeds 5 MB maximum");
        assert!(image.names_a_part());
        assert_eq!(name(&image.status("p", None)), "refused");
        assert_eq!(name(&fault("too large").status("p", None)), "overflow");
    }

    #[test]
    fn provider_can_forbid_a_retry() {
        let fault = Fault {
            status: Some(429),
            message: "no".to_owned(),
            should_retry: Some(false),
            ..Fault::default()
        };
        assert_eq!(name(&fault.status("p", None)), "refused");
    }

    #[test]
    fn keys_and_control_sequences_are_removed() {
        let key = Secret::new("sk-secret");
        let fault = Fault {
            status: Some(401),
            message: "bad key \x1b[31msk-\x1b[1msecret\x1b[0m\nfor you".to_owned(),
            ..Fault::default()
        };
        let message = fault.status("p", Some(&key)).message().to_owned();
        assert_eq!(
            message,
            "`p` answered 401: bad key … for you (check the key of `p`)"
        );
    }
}
