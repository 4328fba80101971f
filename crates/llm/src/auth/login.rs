//! Signing in: which flow, and how it talks with whoever signs in.

use std::time::Duration;

use tokio::sync::mpsc;

use super::credential::Tokens;
use super::error::SignInError;
use super::sign_in::{Method, SignIn};
use super::{browser, device};

/// Longest time a sign-in waits for its person.
const LOGIN_TIME: Duration = Duration::from_mins(15);

/// What a running sign-in says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// The person is to open this address.
    Started {
        url: String,
        /// To be typed there.
        user_code: Option<String>,
        /// Whether the address the browser ends at, or its code, may be pasted.
        accepts_paste: bool,
    },
    /// What was pasted is of no use; the sign-in goes on.
    Refused { message: String },
}

/// The two ends of the talk with a person.
pub struct Talk<'a> {
    pub tell: &'a mut (dyn FnMut(Progress) + Send),
    /// Lines that were pasted or typed.
    pub typed: &'a mut mpsc::UnboundedReceiver<String>,
    /// The id of this installation, a UUID.
    pub installation: String,
    /// What a second of the provider is here; shorter in tests.
    pub second: Duration,
}

impl std::fmt::Debug for Talk<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Talk").finish_non_exhaustive()
    }
}

impl SignIn {
    /// Signs in by `method`, or by the usual one. Dropping the future gives up.
    pub async fn run(
        &self,
        provider: &str,
        method: Option<Method>,
        talk: &mut Talk<'_>,
    ) -> Result<Tokens, SignInError> {
        let provider = || provider.to_owned();
        let methods = self.methods();
        let Some(method) = method.or(methods.first().copied()) else {
            return Err(SignInError::NoSignIn {
                provider: provider(),
            });
        };
        if !methods.contains(&method) {
            return Err(SignInError::NoMethod {
                provider: provider(),
                method: match method {
                    Method::Browser => "browser",
                    Method::Device => "device",
                },
            });
        }
        if !self.is_ready() {
            return Err(SignInError::NoClientId {
                provider: provider(),
            });
        }
        let flow = async {
            match method {
                Method::Browser => browser::run(self, talk).await,
                Method::Device => device::run(self, talk).await,
            }
        };
        match tokio::time::timeout(LOGIN_TIME, flow).await {
            Ok(outcome) => outcome,
            Err(_) => Err(SignInError::Unfinished),
        }
    }

    pub(super) fn scope(&self) -> String {
        self.scopes.join(" ")
    }
}
