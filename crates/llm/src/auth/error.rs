//! Errors of sign-ins and token renewals. No text contains a key, a code or a token.

use thiserror::Error;

use super::file::FileError;

/// Why a sign-in or a renewal failed.
#[derive(Debug, Error)]
pub enum SignInError {
    #[error("`{provider}` has no sign-in")]
    NoSignIn { provider: String },
    #[error("the sign-in of `{provider}` has no {method} flow")]
    NoMethod {
        provider: String,
        method: &'static str,
    },
    #[error("the sign-in of `{provider}` requires your own client id")]
    NoClientId { provider: String },
    #[error("port {port} is in use, and the provider redirects only to this port")]
    PortTaken { port: u16 },
    #[error("no port can be opened on this machine: {reason}")]
    NoPort { reason: String },
    #[error("the sign-in was denied{}", reason_suffix(reason))]
    Denied { reason: String },
    #[error("the code expired before it was used")]
    Expired,
    #[error("the answer belongs to another sign-in: its state does not match")]
    WrongState,
    #[error("the answer came from `{issuer}`, not from the expected provider")]
    WrongIssuer { issuer: String },
    #[error("the text contains no code")]
    NoCode,
    #[error("the sign-in was not completed")]
    Unfinished,
    /// The server rejected the request.
    #[error("`{host}` answered {status}{}", reason_suffix(reason))]
    Refused {
        host: String,
        status: u16,
        /// The server's error code, such as `invalid_grant`.
        code: String,
        reason: String,
    },
    #[error("`{host}` is not a sign-in server: {came}")]
    Garbage { host: String, came: String },
    #[error("{reason}")]
    Unreachable { reason: String },
    /// Credentials of a vendor's own tools are not usable.
    #[error("{reason}")]
    Unusable { reason: String },
    #[error(transparent)]
    File(#[from] FileError),
}

fn reason_suffix(reason: &str) -> String {
    match reason {
        "" => String::new(),
        reason => format!(": {reason}"),
    }
}

impl SignInError {
    /// A suggestion for the user.
    pub fn hint(&self) -> String {
        match self {
            Self::NoSignIn { provider } => {
                format!(
                    "set an API key, or configure the sign-in in `providers.{provider}.oauth` of models.json"
                )
            }
            Self::NoMethod { .. } => "leave the method out".to_owned(),
            Self::NoClientId { provider } => {
                format!("set `providers.{provider}.oauth.clientId` in models.json, or use a key")
            }
            Self::PortTaken { .. } => "cancel the other sign-in that uses the port".to_owned(),
            Self::Denied { .. } | Self::Expired | Self::Unfinished => "try again".to_owned(),
            Self::WrongState | Self::WrongIssuer { .. } => {
                "open the newest URL and paste its result".to_owned()
            }
            Self::NoCode => {
                "paste the complete URL that the browser was redirected to, or the code".to_owned()
            }
            Self::Refused { .. } | Self::Garbage { .. } => {
                "try again later, or check the URLs of the sign-in".to_owned()
            }
            Self::NoPort { .. } | Self::Unreachable { .. } | Self::Unusable { .. } => String::new(),
            Self::File(error) => error.hint().to_owned(),
        }
    }

    /// Whether the tokens are no longer valid, so that only a new sign-in helps.
    pub(crate) fn ends_sign_in(&self) -> bool {
        match self {
            Self::Refused { status, code, .. } => {
                matches!(
                    code.as_str(),
                    "invalid_grant" | "invalid_client" | "unauthorized_client"
                ) || matches!(status, 401 | 403)
            }
            Self::NoSignIn { .. } | Self::NoClientId { .. } | Self::Unusable { .. } => true,
            _ => false,
        }
    }

    /// The error with its suggestion, for the user.
    pub fn message_with_hint(&self) -> String {
        match self.hint() {
            hint if hint.is_empty() => self.to_string(),
            hint => format!("{self}; {hint}"),
        }
    }
}
