//! The stored credential of a provider: a key, or the tokens of a sign-in.

use serde_json::{Map, Value, json};

use super::source::KeySource;
use crate::secret::Secret;

/// How long before their expiry tokens are renewed, in milliseconds.
const EARLY_MS: i64 = 5 * 60 * 1000;

/// One entry of the credential store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credential {
    /// `{"type": "api_key", "key": "…"}`.
    Key(KeySource),
    /// `{"type": "oauth", "access": "…", "refresh": "…", "obtained": …, "expires": …}`.
    Tokens(Tokens),
    /// `{"type": "keyring"}`: the credential is in the system keyring.
    Keyring,
}

/// The tokens of a sign-in. Times are milliseconds since the Unix epoch by the clock of this machine; the
/// clock of the server is never compared with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tokens {
    pub access: Secret,
    /// Used to get new access tokens. Servers that rotate it accept each one once.
    pub refresh: Option<Secret>,
    pub obtained: i64,
    /// `None` when the access token does not expire.
    pub expires: Option<i64>,
    /// The client id of the tokens, if the provider issued it.
    pub client_id: Option<String>,
    /// The base URL of calls, if the provider returned one with the token.
    pub base_url: Option<String>,
}

impl Tokens {
    /// Whether the access token should be renewed before it is used: it expires soon, or the clock was set
    /// back so that its age is unknown.
    pub fn is_stale(&self, now: i64) -> bool {
        let Some(expires) = self.expires else {
            return false;
        };
        // A token with a lifetime of minutes must not be renewed with every call.
        let early = EARLY_MS.min((expires - self.obtained).max(0) / 2);
        now >= expires - early || now < self.obtained - EARLY_MS
    }

    /// Whether the access token has expired.
    pub(crate) fn is_expired(&self, now: i64) -> bool {
        self.expires.is_some_and(|expires| now >= expires)
    }
}

impl Credential {
    /// Reads an entry; `None` for an entry of an unknown type, which belongs to another program.
    pub fn read(entry: &Value) -> Option<Self> {
        let text = |name: &str| {
            entry
                .get(name)?
                .as_str()
                .filter(|text| !text.trim().is_empty())
        };
        let number = |name: &str| entry.get(name)?.as_i64();
        match text("type")? {
            "api_key" => Some(Self::Key(KeySource::parse(text("key")?))),
            "keyring" => Some(Self::Keyring),
            "oauth" => Some(Self::Tokens(Tokens {
                access: Secret::new(text("access")?),
                refresh: text("refresh").map(Secret::new),
                obtained: number("obtained").unwrap_or_default(),
                expires: number("expires"),
                client_id: text("clientId").map(str::to_owned),
                base_url: text("baseUrl").map(str::to_owned),
            })),
            _ => None,
        }
    }

    /// The entry as stored, without fields that are `None`.
    pub fn write(&self) -> Value {
        match self {
            Self::Key(source) => json!({"type": "api_key", "key": source.written()}),
            Self::Keyring => json!({"type": "keyring"}),
            Self::Tokens(tokens) => {
                let mut entry = Map::new();
                let mut put = |name: &str, value: Value| entry.insert(name.to_owned(), value);
                put("type", "oauth".into());
                put("access", tokens.access.expose().into());
                if let Some(refresh) = &tokens.refresh {
                    put("refresh", refresh.expose().into());
                }
                put("obtained", tokens.obtained.into());
                if let Some(expires) = tokens.expires {
                    put("expires", expires.into());
                }
                if let Some(id) = &tokens.client_id {
                    put("clientId", id.as_str().into());
                }
                if let Some(url) = &tokens.base_url {
                    put("baseUrl", url.as_str().into());
                }
                Value::Object(entry)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(obtained: i64, expires: Option<i64>) -> Tokens {
        Tokens {
            access: Secret::new("a"),
            refresh: Some(Secret::new("r")),
            obtained,
            expires,
            client_id: None,
            base_url: Some("https://api.example".to_owned()),
        }
    }

    #[test]
    fn entries_round_trip() {
        for credential in [
            Credential::Key(KeySource::parse("!pass show x")),
            Credential::Key(KeySource::parse("$$literal")),
            Credential::Key(KeySource::parse("${NAME}")),
            Credential::Tokens(tokens(5, Some(9))),
            Credential::Tokens(tokens(5, None)),
            Credential::Keyring,
        ] {
            assert_eq!(Credential::read(&credential.write()), Some(credential));
        }
        assert_eq!(
            Credential::read(&json!({"type": "other", "key": "k"})),
            None
        );
        assert_eq!(
            Credential::read(&json!({"type": "oauth", "refresh": "r"})),
            None
        );
    }

    #[test]
    fn tokens_are_stale_shortly_before_expiry() {
        let hour = 60 * 60 * 1000;
        let long = tokens(0, Some(hour));
        assert!(!long.is_stale(hour - EARLY_MS - 1));
        assert!(long.is_stale(hour - EARLY_MS) && !long.is_expired(hour - 1));
        let short = tokens(0, Some(60_000));
        assert!(!short.is_stale(29_999) && short.is_stale(30_000));
        assert!(!tokens(0, None).is_stale(i64::MAX));
        // The clock was set back by an hour after the token was obtained.
        assert!(tokens(2 * hour, Some(3 * hour)).is_stale(hour));
        assert!(!tokens(2 * hour, Some(3 * hour)).is_stale(2 * hour - 1000));
    }
}
