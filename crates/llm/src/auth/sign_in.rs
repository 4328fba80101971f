//! The sign-ins of providers: one row of data each, with the changes of the user's `models.json`.
//!
//! Only sign-ins that vendors offer to other programs work without configuration. A row without a client id
//! describes only the flow: it needs a client id of the user, and osier never impersonates another vendor's
//! program.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::http::HttpOptions;

/// The sign-in of a provider: URLs, client and scopes of OAuth 2.0 (RFC 6749, 7636, 8628).
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct SignIn {
    /// The display name, such as `ChatGPT`.
    pub label: String,
    /// The authorization URL; empty when there is no authorization-code flow.
    pub authorize_url: String,
    /// The device authorization URL; empty when there is no device flow.
    pub device_url: String,
    /// The token URL.
    pub token_url: String,
    /// The client id; empty when the user must configure one.
    pub client_id: String,
    /// Whether the flow has no client id at all.
    pub no_client_id: bool,
    pub client_secret: String,
    pub scopes: Vec<String>,
    pub redirect: Redirect,
    /// Parameters that are added to the authorization URL. `{random}` is replaced by a random text,
    /// `{installation}` by the id of this installation.
    pub authorize_parameters: BTreeMap<String, String>,
    /// Parameters that are added to every token request.
    pub token_parameters: BTreeMap<String, String>,
    pub token_format: TokenFormat,
    /// Headers of the requests of the sign-in itself.
    pub token_headers: BTreeMap<String, String>,
    /// Headers of every model call made with the sign-in.
    pub headers: BTreeMap<String, String>,
    /// Whether the `state` is added to the path of the redirect URL, because the server does not
    /// return it.
    pub state_in_path: bool,
    /// Whether the token request repeats the `state`.
    pub state_in_token_request: bool,
    /// Whether the callback contains the client id for the token request.
    pub client_id_in_callback: bool,
    /// The expected `iss` of the callback (RFC 9207), if there is one.
    pub issuer: String,
    /// The name of the field in the token response that contains a permanent key.
    pub key_field: String,
    /// A second request that exchanges the permanent token for a temporary one.
    pub exchange: Option<Exchange>,
    /// Whether a subscription pays for the calls.
    pub subscription: bool,
    /// Options of the sign-in's requests.
    #[serde(skip)]
    pub http: HttpOptions,
}

/// Hides values that can be secret: the client secret and headers.
impl fmt::Debug for SignIn {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("SignIn")
            .field("label", &self.label)
            .field("authorize_url", &self.authorize_url)
            .field("device_url", &self.device_url)
            .field("token_url", &self.token_url)
            .finish_non_exhaustive()
    }
}

/// The redirect URL.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Redirect {
    /// The host that the provider expects; osier always listens on 127.0.0.1.
    pub host: String,
    /// 0 selects a free port.
    pub port: u16,
    pub path: String,
    /// The name of the parameter that contains the redirect URL.
    pub parameter: String,
}

impl Default for Redirect {
    fn default() -> Self {
        Self {
            host: "127.0.0.1".to_owned(),
            port: 0,
            path: "/callback".to_owned(),
            parameter: "redirect_uri".to_owned(),
        }
    }
}

/// The body format of a token request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum TokenFormat {
    #[default]
    Form,
    Json,
}

/// A `GET` request with the permanent token as bearer. Its response is `{token, expires_at}`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Exchange {
    pub url: String,
    /// The token contains `proxy-ep=proxy.HOST`; calls go to `https://api.HOST`.
    pub host_in_token: bool,
}

/// A sign-in flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// A browser on this machine, or on another one if the user pastes the code.
    Browser,
    /// A short code that the user enters on another device.
    Device,
}

impl SignIn {
    /// The methods of this provider, the default one first.
    pub fn methods(&self) -> Vec<Method> {
        let offered = [
            (Method::Browser, &self.authorize_url),
            (Method::Device, &self.device_url),
        ];
        let offered = offered.into_iter().filter(|(_, url)| !url.is_empty());
        offered.map(|(method, _)| method).collect()
    }

    pub(super) fn scope(&self) -> String {
        self.scopes.join(" ")
    }

    /// Whether the sign-in works without further configuration.
    pub fn is_ready(&self) -> bool {
        !self.methods().is_empty() && (self.no_client_id || !self.client_id.is_empty())
    }
}

/// A bundled sign-in.
#[derive(Debug)]
pub struct SignInRow {
    /// Name of the provider entry.
    pub provider: &'static str,
    build: fn() -> SignIn,
}

/// Every bundled sign-in.
pub const SIGN_INS: &[SignInRow] = &[
    SignInRow {
        provider: "openrouter",
        build: openrouter,
    },
    SignInRow {
        provider: "openai",
        build: chatgpt,
    },
    SignInRow {
        provider: "anthropic",
        build: anthropic,
    },
    SignInRow {
        provider: "github-copilot",
        build: copilot,
    },
];

/// https://openrouter.ai/docs/use-cases/oauth-pkce: the code is exchanged for a permanent key.
fn openrouter() -> SignIn {
    SignIn {
        label: "OpenRouter".to_owned(),
        authorize_url: "https://openrouter.ai/auth".to_owned(),
        token_url: "https://openrouter.ai/api/v1/auth/keys".to_owned(),
        no_client_id: true,
        redirect: Redirect {
            host: "localhost".to_owned(),
            parameter: "callback_url".to_owned(),
            ..Redirect::default()
        },
        token_parameters: pairs(&[("code_challenge_method", "S256")]),
        token_format: TokenFormat::Json,
        state_in_path: true,
        key_field: "key".to_owned(),
        ..SignIn::default()
    }
}

/// Sign in with ChatGPT, available to every program: each sign-in registers its own client.
fn chatgpt() -> SignIn {
    let resource = ("resource", "https://api.openai.com/v1");
    SignIn {
        label: "ChatGPT".to_owned(),
        authorize_url: "https://auth.openai.com/api/accounts/authorize".to_owned(),
        token_url: "https://auth.openai.com/api/accounts/oauth/token".to_owned(),
        client_id: "dynamic_agent_client".to_owned(),
        client_id_in_callback: true,
        scopes: texts(&[
            "openid",
            "profile",
            "email",
            "offline_access",
            "resource.invoke",
            "chatgpt.tokens.use.direct",
        ]),
        redirect: Redirect {
            port: 1455,
            path: "/auth/callback".to_owned(),
            ..Redirect::default()
        },
        authorize_parameters: pairs(&[
            resource,
            ("agent_name_hint", "osier"),
            ("ext_agent_host_id", "urn:uuid:{installation}"),
            ("nonce", "{random}"),
        ]),
        token_parameters: pairs(&[resource]),
        subscription: true,
        ..SignIn::default()
    }
}

/// The documented flow; the user configures the client id.
fn anthropic() -> SignIn {
    SignIn {
        label: "Anthropic".to_owned(),
        authorize_url: "https://claude.ai/oauth/authorize".to_owned(),
        token_url: "https://platform.claude.com/v1/oauth/token".to_owned(),
        scopes: texts(&["user:profile", "user:inference"]),
        redirect: Redirect {
            host: "localhost".to_owned(),
            ..Redirect::default()
        },
        token_format: TokenFormat::Json,
        state_in_token_request: true,
        headers: pairs(&[("anthropic-beta", "oauth-2025-04-20")]),
        subscription: true,
        ..SignIn::default()
    }
}

/// GitHub's device flow; the user configures the client id.
fn copilot() -> SignIn {
    SignIn {
        label: "GitHub Copilot".to_owned(),
        device_url: "https://github.com/login/device/code".to_owned(),
        token_url: "https://github.com/login/oauth/access_token".to_owned(),
        scopes: texts(&["read:user"]),
        headers: pairs(&[("openai-intent", "conversation-edits")]),
        exchange: Some(Exchange {
            url: "https://api.github.com/copilot_internal/v2/token".to_owned(),
            host_in_token: true,
        }),
        subscription: true,
        ..SignIn::default()
    }
}

fn texts(list: &[&str]) -> Vec<String> {
    list.iter().map(|text| (*text).to_owned()).collect()
}

fn pairs(list: &[(&str, &str)]) -> BTreeMap<String, String> {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    list.iter().map(owned).collect()
}

/// The sign-ins of a session, by provider.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SignIns {
    known: BTreeMap<String, SignIn>,
}

impl SignIns {
    /// The bundled rows with the changes of `providers.NAME.oauth` in `models_json`, and one warning for each
    /// that is invalid. Text that is not JSON is ignored; `ModelsFile` reports it.
    pub fn read(models_json: &str) -> (Self, Vec<String>) {
        let mut known: BTreeMap<String, SignIn> = SIGN_INS
            .iter()
            .map(|row| (row.provider.to_owned(), (row.build)()))
            .collect();
        let mut warnings = Vec::new();
        let file: Value = serde_json::from_str(models_json).unwrap_or_default();
        let providers = file.get("providers").and_then(Value::as_object);
        for (name, provider) in providers.into_iter().flatten() {
            let Some(changes) = provider.get("oauth").filter(|value| !value.is_null()) else {
                continue;
            };
            let base = known.get(name).cloned().unwrap_or_else(|| SignIn {
                label: name.clone(),
                ..SignIn::default()
            });
            match merged(&base, changes) {
                Ok(sign_in) => {
                    known.insert(name.clone(), sign_in);
                }
                Err(reason) => {
                    warnings.push(format!("providers.{name}.oauth {reason}: ignored"));
                }
            }
        }
        (Self { known }, warnings)
    }

    /// Sets the options of the requests of all sign-ins.
    #[must_use]
    pub fn with_http(mut self, http: &HttpOptions) -> Self {
        for sign_in in self.known.values_mut() {
            sign_in.http.clone_from(http);
        }
        self
    }

    pub fn get(&self, provider: &str) -> Option<&SignIn> {
        self.known.get(provider)
    }

    /// Every provider with a sign-in, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &SignIn)> {
        let known = self.known.iter();
        known.map(|(name, sign_in)| (name.as_str(), sign_in))
    }
}

/// `base` with the fields of `changes`; nested objects are merged.
fn merged(base: &SignIn, changes: &Value) -> Result<SignIn, String> {
    let Value::Object(changes) = changes else {
        return Err("is not an object".to_owned());
    };
    let mut value = serde_json::to_value(base).unwrap_or_default();
    if let Value::Object(fields) = &mut value {
        merge(fields, changes);
    }
    let sign_in: SignIn =
        serde_json::from_value(value).map_err(|error| format!("is invalid ({error})"))?;
    let exchange = sign_in.exchange.as_ref().map(|exchange| &exchange.url);
    let urls = [
        &sign_in.authorize_url,
        &sign_in.device_url,
        &sign_in.token_url,
    ];
    for url in urls.into_iter().chain(exchange) {
        if !url.is_empty() && !is_safe(url) {
            return Err(format!(
                "names `{url}`, which is neither https nor this machine"
            ));
        }
    }
    Ok(sign_in)
}

fn merge(into: &mut Map<String, Value>, changes: &Map<String, Value>) {
    for (key, value) in changes {
        match (into.get_mut(key), value) {
            (Some(Value::Object(have)), Value::Object(more)) => merge(have, more),
            _ => {
                into.insert(key.clone(), value.clone());
            }
        }
    }
}

/// Whether codes and tokens can be sent to `url`: it is encrypted or on this machine.
pub fn is_safe(url: &str) -> bool {
    url.starts_with("https://") || (url.starts_with("http://") && is_on_this_machine(url))
}

/// Whether a URL names this machine. A name such as `localhost.example`, or `localhost` as a user name, does not.
pub fn is_on_this_machine(url: &str) -> bool {
    let Some((_, rest)) = url.split_once("://") else {
        return false;
    };
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let (host, port) = match authority.rfind(']') {
        Some(end) => authority.split_at(end + 1),
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    let has_port = port.is_empty() || port.strip_prefix(':').is_some_and(is_port);
    has_port && ["127.0.0.1", "localhost", "[::1]"].contains(&host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_exact_names_are_this_machine() {
        for url in [
            "http://127.0.0.1",
            "http://localhost:7433/a",
            "https://localhost",
            "http://[::1]:80?x",
        ] {
            assert!(is_on_this_machine(url) && is_safe(url), "{url}");
        }
        for url in [
            "http://localhost.evil.example",
            "http://127.0.0.1.evil.example/",
            "http://127.0.0.1:80@evil.example/",
            "http://localhost@evil.example",
            "http://[::1]@evil.example",
            "http://[::1].evil.example",
            "localhost",
        ] {
            assert!(!is_on_this_machine(url) && !is_safe(url), "{url}");
        }
        assert!(!is_on_this_machine("https://localhost.evil.example"));
    }

    #[test]
    fn bundled_rows_lack_at_most_a_client_id() {
        let (known, _) = SignIns::read("");
        let ready: Vec<(&str, bool, Vec<Method>)> = known
            .iter()
            .map(|(name, sign_in)| (name, sign_in.is_ready(), sign_in.methods()))
            .collect();
        assert_eq!(
            ready,
            [
                ("anthropic", false, vec![Method::Browser]),
                ("github-copilot", false, vec![Method::Device]),
                ("openai", true, vec![Method::Browser]),
                ("openrouter", true, vec![Method::Browser]),
            ]
        );
    }

    #[test]
    fn models_file_completes_and_adds_sign_ins() {
        let (known, warnings) = SignIns::read(
            r#"{"providers": {
                "github-copilot": {"oauth": {"clientId": "mine"}},
                "lab": {"oauth": {"deviceUrl": "https://lab.example/device", "tokenUrl": "https://lab.example/token",
                                  "clientId": "c", "redirect": {"port": 7}, "headers": {"x-a": "1"}}},
                "odd": {"oauth": {"tokenUlr": "x"}},
                "plain": {"oauth": {"tokenUrl": "http://lab.example/token"}},
                "local": {"oauth": {"tokenUrl": "http://127.0.0.1:9/token"}},
                "fake": {"oauth": {"tokenUrl": "http://127.0.0.1.evil.example/token"}},
                "none": {"oauth": 3}}}"#,
        );
        assert!(known.get("github-copilot").unwrap().is_ready());
        let lab = known.get("lab").unwrap();
        assert_eq!((lab.label.as_str(), lab.redirect.port), ("lab", 7));
        assert_eq!(lab.redirect.path, "/callback");
        assert_eq!(lab.methods(), [Method::Device]);
        assert!(known.get("local").is_some());
        assert_eq!(warnings.len(), 4, "{warnings:?}");
        assert!(
            warnings[0].contains("unknown field `tokenUlr`"),
            "{warnings:?}"
        );
        assert!(
            warnings[2].starts_with("providers.fake.oauth names"),
            "{warnings:?}"
        );
    }
}
