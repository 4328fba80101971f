//! The device flow (RFC 8628): a short code is typed in a browser anywhere, and the token endpoint is
//! asked until that has happened.

use std::time::Duration;

use serde_json::{Map, Value};
use tokio::time::{Instant, sleep};

use super::credential::Tokens;
use super::error::SignInError;
use super::login::{Progress, Talk};
use super::sign_in::SignIn;

/// Seconds between two questions when the server names none, and what `slow_down` adds.
const INTERVAL: f64 = 5.0;
/// The least the server can ask for, in seconds.
const LEAST: f64 = 0.1;
/// The most that faults of the network stretch the interval to, in seconds.
const MOST: f64 = 60.0;
/// Seconds a code lives when the server does not say.
const LIFETIME: f64 = 900.0;
const GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// Signs in with a code that is typed elsewhere.
pub(super) async fn run(sign_in: &SignIn, talk: &mut Talk<'_>) -> Result<Tokens, SignInError> {
    let scope = sign_in.scope();
    let client = ("client_id", sign_in.client_id.as_str());
    let mut fields = vec![client];
    if !scope.is_empty() {
        fields.push(("scope", &scope));
    }
    let answer = sign_in
        .endpoint()
        .post(&sign_in.device_url, &fields)
        .await?;
    let granted = answer.fields()?;
    let text = |names: &[&str]| {
        let found = names.iter().find_map(|name| granted.get(*name)?.as_str());
        found
            .map(str::to_owned)
            .ok_or_else(|| answer.lacks(names[0]))
    };
    let device_code = text(&["device_code"])?;
    (talk.tell)(Progress::Started {
        url: text(&[
            "verification_uri",
            "verification_url",
            "verification_uri_complete",
        ])?,
        user_code: Some(text(&["user_code"])?),
        accepts_paste: false,
    });
    let lifetime = number(&granted, "expires_in").unwrap_or(LIFETIME);
    let deadline = Instant::now() + talk.second.mul_f64(lifetime.clamp(0.0, 1e6));
    let mut interval = number(&granted, "interval").unwrap_or(INTERVAL).max(LEAST);
    let question = [
        ("grant_type", GRANT),
        ("device_code", device_code.as_str()),
        client,
    ];
    loop {
        let next = Instant::now() + pause(talk.second, interval);
        if next >= deadline {
            return Err(SignInError::Expired);
        }
        sleep(next - Instant::now()).await;
        match redeemed(sign_in, &question).await {
            Err(SignInError::Refused {
                code,
                status,
                reason,
                host,
            }) => match code.as_str() {
                "authorization_pending" => {}
                "slow_down" => interval += INTERVAL,
                "access_denied" => {
                    let reason = if reason == code {
                        String::new()
                    } else {
                        reason
                    };
                    return Err(SignInError::Denied { reason });
                }
                "expired_token" => return Err(SignInError::Expired),
                // The server has trouble of its own: the code is still good.
                _ if status >= 500 => interval = (interval * 2.0).min(MOST),
                _ => {
                    return Err(SignInError::Refused {
                        host,
                        status,
                        code,
                        reason,
                    });
                }
            },
            // RFC 8628 3.5: a connection that fails doubles the interval.
            Err(SignInError::Unreachable { .. }) => interval = (interval * 2.0).min(MOST),
            outcome => return outcome,
        }
    }
}

async fn redeemed(sign_in: &SignIn, question: &[(&str, &str)]) -> Result<Tokens, SignInError> {
    let answer = sign_in.token(question).await?;
    sign_in.granted(&answer, None, None).await
}

fn pause(second: Duration, seconds: f64) -> Duration {
    second.mul_f64(seconds.min(3600.0))
}

fn number(fields: &Map<String, Value>, name: &str) -> Option<f64> {
    match fields.get(name)? {
        Value::String(text) => text.trim().parse().ok(),
        value => value.as_f64(),
    }
    .filter(|number: &f64| number.is_finite() && *number >= 0.0)
}
