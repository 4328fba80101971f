//! Token requests (RFC 6749 5.1), and the second exchange that some providers need.

use serde_json::{Map, Value};

use super::credential::Tokens;
use super::endpoint::{Answer, Endpoint};
use super::error::SignInError;
use super::sign_in::{Exchange, SignIn};
use crate::secret::Secret;
use osier_base::clock;

impl SignIn {
    pub(super) fn endpoint(&self) -> Endpoint<'_> {
        Endpoint {
            format: self.token_format,
            headers: &self.token_headers,
            http: &self.http,
        }
    }

    /// Sends `fields` and the provider's own parameters to the token endpoint.
    pub(super) async fn token(&self, fields: &[(&str, &str)]) -> Result<Answer, SignInError> {
        let mut all = fields.to_vec();
        if !self.client_secret.is_empty() {
            all.push(("client_secret", &self.client_secret));
        }
        let more = self.token_parameters.iter();
        all.extend(more.map(|(name, value)| (name.as_str(), value.as_str())));
        self.endpoint().post(&self.token_url, &all).await
    }

    /// The tokens of a response. Fields that it omits are taken from `before`, the tokens that it renews.
    pub(super) async fn granted(
        &self,
        answer: &Answer,
        client_id: Option<String>,
        before: Option<&Tokens>,
    ) -> Result<Tokens, SignInError> {
        let now = clock::now_ms();
        let fields = answer.fields()?;
        if !self.key_field.is_empty() {
            let key =
                text(&fields, &self.key_field).ok_or_else(|| answer.lacks(&self.key_field))?;
            return Ok(Tokens {
                access: key,
                refresh: None,
                obtained: now,
                expires: None,
                client_id,
                base_url: None,
            });
        }
        let access = text(&fields, "access_token").ok_or_else(|| answer.lacks("access_token"))?;
        if let Some(exchange) = &self.exchange {
            return self.exchanged(exchange, access, client_id).await;
        }
        Ok(Tokens {
            access,
            refresh: text(&fields, "refresh_token").or_else(|| before?.refresh.clone()),
            obtained: now,
            expires: seconds(&fields, "expires_in").map(|seconds| now + seconds * 1000),
            client_id,
            base_url: before.and_then(|before| before.base_url.clone()),
        })
    }

    /// Exchanges the permanent token for a temporary one. The permanent token is stored as the refresh token.
    async fn exchanged(
        &self,
        exchange: &Exchange,
        lasting: Secret,
        client_id: Option<String>,
    ) -> Result<Tokens, SignInError> {
        let answer = self.endpoint().get(&exchange.url, &lasting).await?;
        let now = clock::now_ms();
        let fields = answer.fields()?;
        let access = text(&fields, "token").ok_or_else(|| answer.lacks("token"))?;
        let host = exchange
            .host_in_token
            .then(|| api_host(access.expose()))
            .flatten();
        // The time is by the server's clock: the remaining lifetime is added to the local time.
        let until = seconds(&fields, "expires_at").map(|at| at * 1000);
        let left = until.map(|until| until - answer.date.unwrap_or(now));
        Ok(Tokens {
            access,
            refresh: Some(lasting),
            obtained: now,
            expires: left.map(|left| now + left.max(0)),
            client_id,
            base_url: host.map(|host| format!("https://{host}")),
        })
    }

    /// Renews `tokens`. The old ones may be invalid afterwards, even after an error.
    pub(super) async fn refreshed(
        &self,
        provider: &str,
        tokens: &Tokens,
    ) -> Result<Tokens, SignInError> {
        let lasting = tokens.refresh.clone().ok_or(SignInError::Expired)?;
        if let Some(exchange) = &self.exchange {
            return self
                .exchanged(exchange, lasting, tokens.client_id.clone())
                .await;
        }
        let client_id = tokens
            .client_id
            .clone()
            .unwrap_or_else(|| self.client_id.clone());
        if client_id.is_empty() && !self.no_client_id {
            let provider = provider.to_owned();
            return Err(SignInError::NoClientId { provider });
        }
        let mut fields = vec![
            ("grant_type", "refresh_token"),
            ("refresh_token", lasting.expose()),
        ];
        if !client_id.is_empty() {
            fields.push(("client_id", &client_id));
        }
        let answer = self.token(&fields).await?;
        self.granted(&answer, tokens.client_id.clone(), Some(tokens))
            .await
    }
}

fn text(fields: &Map<String, Value>, name: &str) -> Option<Secret> {
    let value = fields.get(name)?.as_str()?.trim();
    (!value.is_empty()).then(|| Secret::new(value))
}

/// Seconds as an integer; some servers send text or a fraction.
fn seconds(fields: &Map<String, Value>, name: &str) -> Option<i64> {
    let seconds = match fields.get(name)? {
        Value::String(text) => text.trim().parse::<f64>().ok()?,
        value => value.as_f64()?,
    };
    (seconds.is_finite() && seconds >= 0.0).then_some(seconds as i64)
}

/// The API host in a Copilot token: `…;proxy-ep=proxy.HOST;…`.
fn api_host(token: &str) -> Option<String> {
    let named = token
        .split(';')
        .find_map(|part| part.strip_prefix("proxy-ep="))?;
    let host = named.strip_prefix("proxy.").unwrap_or(named);
    let known = host.ends_with(".githubcopilot.com")
        && host
            .chars()
            .all(|sign| sign.is_ascii_alphanumeric() || "-.".contains(sign));
    known.then(|| format!("api.{host}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_vendor_hosts_are_accepted_from_tokens() {
        for (token, host) in [
            (
                "tid=1;proxy-ep=proxy.business.githubcopilot.com;x=2",
                Some("api.business.githubcopilot.com"),
            ),
            ("tid=1", None),
            ("proxy-ep=proxy.evil.example", None),
            ("proxy-ep=proxy.evil.example/.githubcopilot.com", None),
        ] {
            assert_eq!(api_host(token).as_deref(), host, "{token}");
        }
    }

    #[test]
    fn seconds_are_read_from_numbers_and_text() {
        for (value, expected) in [
            (json!(3600), Some(3600)),
            (json!("3600"), Some(3600)),
            (json!(1.9), Some(1)),
            (json!(-1), None),
            (json!("soon"), None),
            (json!(null), None),
        ] {
            let fields = json!({"s": value}).as_object().cloned().unwrap_or_default();
            assert_eq!(seconds(&fields, "s"), expected);
        }
    }
}
