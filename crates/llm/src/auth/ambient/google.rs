//! Google's application default credentials: the key of a service account, which is exchanged for a token
//! with a signed assertion (RFC 7523), or the sign-in of `gcloud auth application-default login`.
//! <https://cloud.google.com/docs/authentication/application-default-credentials>

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use serde::Deserialize;
use serde_json::json;

use super::variables::Variables;
use crate::auth::access::{Access, ExpiringAccess, SignedIn};
use crate::auth::endpoint::Endpoint;
use crate::auth::error::SignInError;
use crate::auth::sign_in::{TokenFormat, is_safe};
use crate::http::HttpOptions;
use crate::secret::Secret;
use osier_base::{clock, regular_file};

const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";
const TOKEN_URI: &str = "https://oauth2.googleapis.com/token";
const JWT_GRANT: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
/// The location when none is set.
const DEFAULT_LOCATION: &str = "global";
/// Lifetime of a token in seconds when the response has none.
const DEFAULT_LIFETIME: i64 = 3600;

/// The credentials file. Its `type` determines which fields are present.
#[derive(Deserialize)]
struct File {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    project_id: Option<String>,
    #[serde(default)]
    quota_project_id: Option<String>,
    #[serde(default)]
    token_uri: Option<String>,
    #[serde(default)]
    client_email: String,
    #[serde(default)]
    private_key: String,
    #[serde(default)]
    private_key_id: Option<String>,
    #[serde(default)]
    client_id: String,
    #[serde(default)]
    client_secret: String,
    #[serde(default)]
    refresh_token: String,
}

pub(super) fn is_available(variables: &Variables) -> bool {
    fs::exists(path(variables)).unwrap_or(false)
}

pub(super) fn source(variables: &Variables) -> String {
    match variables.get("GOOGLE_APPLICATION_CREDENTIALS") {
        Some(_) => "key file of $GOOGLE_APPLICATION_CREDENTIALS".to_owned(),
        None => "application default credentials".to_owned(),
    }
}

fn path(variables: &Variables) -> PathBuf {
    if let Some(path) = variables.get("GOOGLE_APPLICATION_CREDENTIALS") {
        return path.into();
    }
    let folder = variables.get("CLOUDSDK_CONFIG").map(PathBuf::from);
    let folder = folder.unwrap_or_else(|| variables.home().join(".config/gcloud"));
    folder.join("application_default_credentials.json")
}

/// Requests a token.
pub(super) async fn obtain(
    variables: Variables,
    http: &HttpOptions,
) -> Result<ExpiringAccess, SignInError> {
    let path = path(&variables);
    let unusable = |reason: String| SignInError::Unusable {
        reason: format!("`{}` {reason}", path.display()),
    };
    let text = regular_file::read_text(&path, regular_file::SMALL);
    let text = text.map_err(|error| unusable(error.to_string()))?;
    let file: File = serde_json::from_str(&text).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        unusable(format!(
            "is not a credential file (line {line}, column {column})"
        ))
    })?;
    let url = file
        .token_uri
        .clone()
        .unwrap_or_else(|| TOKEN_URI.to_owned());
    if !is_safe(&url) {
        return Err(unusable(format!(
            "names `{url}`, which is neither https nor this machine"
        )));
    }
    let assertion = match file.kind.as_str() {
        "service_account" => Some(file.assertion(&url).map_err(unusable)?),
        "authorized_user" => None,
        kind => {
            return Err(unusable(format!(
                "contains credentials of the unsupported type `{kind}`: use a service account's key, \
                 or `gcloud auth application-default login`"
            )));
        }
    };
    let fields = match &assertion {
        Some(assertion) => vec![("grant_type", JWT_GRANT), ("assertion", assertion.as_str())],
        None => vec![
            ("grant_type", "refresh_token"),
            ("client_id", file.client_id.as_str()),
            ("client_secret", &file.client_secret),
            ("refresh_token", &file.refresh_token),
        ],
    };
    let endpoint = Endpoint {
        format: TokenFormat::Form,
        headers: &BTreeMap::new(),
        http,
    };
    let requested_at = clock::now_ms();
    let answer = endpoint.post(&url, &fields).await?;
    let granted = answer.fields()?;
    let token = granted.get("access_token").and_then(|token| token.as_str());
    let token = Secret::new(token.ok_or_else(|| answer.lacks("access_token"))?);
    let lifetime = granted
        .get("expires_in")
        .and_then(serde_json::Value::as_i64);
    Ok(file.expiring_access(
        token,
        requested_at + lifetime.unwrap_or(DEFAULT_LIFETIME) * 1000,
        &variables,
    ))
}

impl File {
    fn expiring_access(
        &self,
        token: Secret,
        expires: i64,
        variables: &Variables,
    ) -> ExpiringAccess {
        let mut signed_in = SignedIn::default();
        if let Some(project) = self
            .quota_project_id
            .as_ref()
            .filter(|_| self.kind != "service_account")
        {
            let header = ("x-goog-user-project".to_owned(), project.clone());
            signed_in.headers.extend([header]);
        }
        let mut access = Access::bearer(token, signed_in);
        let location = variables.get("GOOGLE_CLOUD_LOCATION");
        let location = location.unwrap_or_else(|| DEFAULT_LOCATION.to_owned());
        access
            .variables
            .push(("GOOGLE_CLOUD_LOCATION".to_owned(), location));
        let set = variables.get("GOOGLE_CLOUD_PROJECT");
        let set = set.or_else(|| variables.get("GCLOUD_PROJECT"));
        let own = || {
            self.project_id
                .clone()
                .or_else(|| self.quota_project_id.clone())
        };
        if let Some(project) = set.or_else(own) {
            let variable = ("GOOGLE_CLOUD_PROJECT".to_owned(), project);
            access.variables.push(variable);
        }
        ExpiringAccess {
            access,
            expires: Some(expires),
        }
    }

    /// An assertion, signed with the account's key, that authorizes the request for a token.
    fn assertion(&self, audience: &str) -> Result<String, String> {
        let now = clock::now_ms() / 1000;
        let mut head = json!({"alg": "RS256", "typ": "JWT"});
        if let Some(id) = &self.private_key_id {
            head["kid"] = id.as_str().into();
        }
        let claims = json!({
            "iss": self.client_email,
            "scope": SCOPE,
            "aud": audience,
            "iat": now,
            "exp": now + DEFAULT_LIFETIME,
        });
        let part = |value: &serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let text = format!("{}.{}", part(&head), part(&claims));
        let bad = |_| "contains an unreadable private key".to_owned();
        let lines = self.private_key.lines().map(str::trim);
        let body: String = lines.filter(|line| !line.starts_with("-----")).collect();
        let der = STANDARD
            .decode(body)
            .map_err(|error| bad(error.to_string()))?;
        let key = RsaKeyPair::from_pkcs8(&der).map_err(|error| bad(error.to_string()))?;
        let mut signature = vec![0; key.public().modulus_len()];
        let signed = key.sign(
            &RSA_PKCS1_SHA256,
            &SystemRandom::new(),
            text.as_bytes(),
            &mut signature,
        );
        signed.map_err(|error| bad(error.to_string()))?;
        Ok(format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }
}
