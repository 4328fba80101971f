//! The device flow (RFC 8628): the user enters a short code in any browser, and the token endpoint is polled
//! until then.

use std::time::Duration;

use serde_json::{Map, Value};
use tokio::time::{Instant, sleep};

use super::credential::Tokens;
use super::error::SignInError;
use super::interaction::{Interaction, Progress};
use super::sign_in::SignIn;

/// Seconds between two requests when the server specifies none, and seconds that `slow_down` adds.
const DEFAULT_INTERVAL: f64 = 5.0;
/// Minimum interval, in seconds.
const MIN_INTERVAL: f64 = 0.1;
/// Maximum interval after network errors, in seconds.
const MAX_INTERVAL: f64 = 60.0;
/// Lifetime of a code in seconds when the server specifies none.
const DEFAULT_LIFETIME: f64 = 900.0;
const GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// Signs in with a code that the user enters on another device.
pub(super) async fn run(
    sign_in: &SignIn,
    interaction: &mut Interaction<'_>,
) -> Result<Tokens, SignInError> {
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
    (interaction.report)(Progress::Started {
        url: text(&[
            "verification_uri",
            "verification_url",
            "verification_uri_complete",
        ])?,
        user_code: Some(text(&["user_code"])?),
        accepts_paste: false,
    });
    let lifetime = number(&granted, "expires_in").unwrap_or(DEFAULT_LIFETIME);
    let deadline = Instant::now() + interaction.second.mul_f64(lifetime.clamp(0.0, 1e6));
    let mut interval = number(&granted, "interval")
        .unwrap_or(DEFAULT_INTERVAL)
        .max(MIN_INTERVAL);
    let poll = [
        ("grant_type", GRANT),
        ("device_code", device_code.as_str()),
        client,
    ];
    loop {
        let next = Instant::now() + pause(interaction.second, interval);
        if next >= deadline {
            return Err(SignInError::Expired);
        }
        sleep(next - Instant::now()).await;
        match redeemed(sign_in, &poll).await {
            Err(SignInError::Refused {
                code,
                status,
                reason,
                host,
            }) => match code.as_str() {
                "authorization_pending" => {}
                "slow_down" => interval += DEFAULT_INTERVAL,
                "access_denied" => {
                    let reason = if reason == code {
                        String::new()
                    } else {
                        reason
                    };
                    return Err(SignInError::Denied { reason });
                }
                "expired_token" => return Err(SignInError::Expired),
                // The server has an internal error: the code is still valid.
                _ if status >= 500 => interval = (interval * 2.0).min(MAX_INTERVAL),
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
            Err(SignInError::Unreachable { .. }) => interval = (interval * 2.0).min(MAX_INTERVAL),
            outcome => return outcome,
        }
    }
}

async fn redeemed(sign_in: &SignIn, poll: &[(&str, &str)]) -> Result<Tokens, SignInError> {
    let answer = sign_in.token(poll).await?;
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
