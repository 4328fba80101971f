//! From what a provider said to what the agent does about it.
//!
//! Vendors agree on neither status codes nor words, so one table of message shapes decides, in order,
//! before the status does. No code asks which provider it was. Texts are made safe to show here: one
//! line, bounded, and without the key.

mod shapes;

use std::borrow::Cow;

use serde_json::Value;

use self::shapes::Kind;
use super::provider::Secret;
use super::status::TurnStatus;
use osier_base::text;

/// Bytes of a provider's message that reach people.
const MESSAGE_LIMIT: usize = 600;

/// A failure as the provider told it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Fault {
    /// The HTTP status, or the one that an error inside a stream stands for.
    pub status: Option<u16>,
    /// Type, code and status words of the error body, joined by spaces.
    pub code: String,
    pub message: String,
    pub retry_after_ms: Option<u64>,
    /// The `x-should-retry` header.
    pub should_retry: Option<bool>,
    /// A quota by the minute, told in the words of a quota by the month.
    pub throttled: bool,
}

/// HTTP statuses that an error type inside a stream stands for.
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
    /// Reads an error body in any of the shapes vendors use. `None` when `body` tells no error.
    pub(crate) fn from_body(body: &Value) -> Option<Self> {
        let body = match body {
            Value::Array(list) => list.first()?,
            body => body,
        };
        let error = match body.get("error") {
            Some(Value::Null) => return None,
            Some(Value::String(message)) => {
                let mut fault = Self::new(message.clone());
                fault.add_code(body);
                return Some(fault);
            }
            Some(error) => error,
            // FastAPI (`detail`), vLLM and Mistral (`object: error`), plain `message`.
            None if ["message", "detail", "errors"]
                .iter()
                .any(|key| body.get(key).is_some()) =>
            {
                body
            }
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
        // Routers wrap what the vendor behind them said.
        if let Some(raw) = error.pointer("/metadata/raw").and_then(Value::as_str) {
            message = format!("{message}: {raw}");
        }
        let mut fault = Self::new(message);
        fault.add_code(error);
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

    /// Google names the quotas that were exceeded: those by the day are used up, the others come back.
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

    /// What the agent is told. `provider` names who failed; `key` is cut out of every text.
    pub(crate) fn status(&self, provider: &str, key: Option<&Secret>) -> TurnStatus {
        self.status_of(provider, &format!("check the key of `{provider}`"), key)
    }

    /// The same where `mend` helps against a key that is refused.
    pub(crate) fn status_of(&self, provider: &str, mend: &str, key: Option<&Secret>) -> TurnStatus {
        let told = clean(&self.message, key);
        let told = if told.is_empty() {
            "no reason given".to_owned()
        } else {
            told
        };
        let answered = match self.status {
            Some(status) => format!("`{provider}` answered {status}: {told}"),
            None => format!("`{provider}` failed: {told}"),
        };
        match self.kind() {
            Kind::Quota => TurnStatus::QuotaExceeded { message: answered },
            Kind::Overflow => TurnStatus::ContextOverflow { message: answered },
            Kind::Auth => TurnStatus::AuthError {
                message: format!("{answered} ({mend})"),
            },
            Kind::Rate if self.should_retry != Some(false) => TurnStatus::RateLimit {
                message: answered,
                retry_after_ms: self.retry_after_ms,
            },
            // Only a rate limit can say how long to wait; a busy server that says so is treated alike.
            Kind::Transient
                if self.retry_after_ms.is_some() && self.should_retry != Some(false) =>
            {
                TurnStatus::RateLimit {
                    message: answered,
                    retry_after_ms: self.retry_after_ms,
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

    fn status_retryable(&self) -> bool {
        match self.status {
            // 498 is how Groq says that it is full.
            Some(status) => matches!(status, 408 | 409 | 425 | 429 | 498 | 500..),
            None => self.shape() == Some(Kind::Transient),
        }
    }

    /// The shape of the message decides before the status, but for the statuses that say it all.
    fn kind(&self) -> Kind {
        if self.throttled {
            return Kind::Rate;
        }
        match (self.status, self.shape()) {
            (Some(402), _) => Kind::Quota,
            (Some(413), _) => Kind::Overflow,
            (Some(401), _) | (Some(403), None) => Kind::Auth,
            // Servers that are busy or broke may quote anything; what they cannot mean is not believed.
            (Some(429 | 500..), Some(kind @ (Kind::Quota | Kind::Overflow))) => kind,
            (Some(429), _) | (Some(500..), Some(Kind::Rate)) => Kind::Rate,
            (Some(500..), _) | (_, None) => Kind::Transient,
            (_, Some(kind)) => kind,
        }
    }

    fn shape(&self) -> Option<Kind> {
        let told = format!("{} {}", self.code, self.message).to_lowercase();
        shapes::find(&told).map(|shape| shape.kind)
    }
}

/// Google says how long to wait inside the body.
fn body_retry_delay(error: &Value) -> Option<u64> {
    let details = error.get("details")?.as_array()?;
    let delay = details
        .iter()
        .find_map(|detail| detail.get("retryDelay")?.as_str())?;
    let seconds: f64 = delay.strip_suffix('s')?.parse().ok()?;
    Some((seconds.max(0.0) * 1000.0) as u64)
}

/// `told` made safe for people: one line, bounded, without control sequences and without `key`.
pub(crate) fn clean(told: &str, key: Option<&Secret>) -> String {
    // Sanitized first: a control sequence inside a key does not keep it.
    let told = text::sanitize(told);
    let line = match key {
        Some(key) => key.hide_in(&told),
        None => Cow::Borrowed(&*told),
    };
    let words: Vec<&str> = line.split_whitespace().collect();
    let line = words.join(" ");
    match text::head_bytes(&line, MESSAGE_LIMIT) {
        whole if whole.len() == line.len() => line,
        head => format!("{head}…"),
    }
}

/// The first 200 characters of something that should not have come, for an error text.
pub(crate) fn excerpt(bytes: &[u8], key: Option<&Secret>) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4096)]);
    clean(&text, key).chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::shapes::SHAPES;
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

    /// What vendors answer, with the outcome it must have.
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
    fn vendor_errors_get_their_status() {
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
    fn every_shape_of_a_vendor_is_in_a_fixture_of_that_vendor() {
        let fixtures = fixtures();
        let missing: Vec<&str> = SHAPES
            .iter()
            .filter(|shape| shape.vendor != "any")
            .filter(|shape| {
                !fixtures.iter().any(|fixture| {
                    let fault = Fault::from_body(&fixture.body).unwrap();
                    let told = format!("{} {}", fault.code, fault.message).to_lowercase();
                    fixture.vendor == shape.vendor && shape.is_in(&told)
                })
            })
            .map(|shape| shape.text)
            .collect();
        assert_eq!(missing, Vec::<&str>::new());
    }

    #[test]
    fn an_error_inside_a_stream_stands_for_its_status() {
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
    fn waits_are_taken_from_the_body_and_given_to_busy_servers_too() {
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
    fn the_provider_may_forbid_a_retry() {
        let fault = Fault {
            status: Some(429),
            message: "no".to_owned(),
            should_retry: Some(false),
            ..Fault::default()
        };
        assert_eq!(name(&fault.status("p", None)), "refused");
    }

    #[test]
    fn the_key_and_control_sequences_never_reach_the_text() {
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
