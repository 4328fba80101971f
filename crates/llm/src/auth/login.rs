//! Signs in with the flow of the selected method.

use std::time::Duration;

use super::credential::Tokens;
use super::error::SignInError;
use super::interaction::Interaction;
use super::sign_in::{Method, SignIn};
use super::{browser, device};

/// Maximum time of a sign-in.
const LOGIN_TIMEOUT: Duration = Duration::from_mins(15);

impl SignIn {
    /// Signs in by `method`, or by the default one. Dropping the future cancels the sign-in.
    pub async fn run(
        &self,
        provider: &str,
        method: Option<Method>,
        interaction: &mut Interaction<'_>,
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
                Method::Browser => browser::run(self, interaction).await,
                Method::Device => device::run(self, interaction).await,
            }
        };
        match tokio::time::timeout(LOGIN_TIMEOUT, flow).await {
            Ok(outcome) => outcome,
            Err(_) => Err(SignInError::Unfinished),
        }
    }
}
