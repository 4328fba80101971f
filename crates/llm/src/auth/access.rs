//! The credentials of a call: a key, or the tokens of a sign-in and what else it changes in the request.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::credential::Tokens;
use super::sign_in::SignIn;
use crate::model::{KeyHeader, Model, Names};
use crate::provider::Request;
use crate::secret::Secret;
use crate::sigv4::Signing;
use crate::url_template;
use crate::usage::Price;
use osier_base::secrets;

/// The credentials for one provider.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Access {
    /// `None` for a server that needs none.
    pub key: Option<Secret>,
    pub signed_in: Option<Box<SignedIn>>,
    /// Signs requests to vendors that use signatures instead of keys.
    pub signing: Option<Arc<Signing>>,
    /// Values of the variables in the base URL, by name.
    pub variables: Vec<(String, String)>,
    /// Whether newer credentials may exist when the provider rejects these.
    pub renewable: bool,
}

/// Credentials and when they expire.
#[derive(Debug, Clone)]
pub(super) struct ExpiringAccess {
    pub access: Access,
    /// Milliseconds since the Unix epoch. Not set: they are read again for every call.
    pub expires: Option<i64>,
}

/// Changes of a request after a sign-in.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SignedIn {
    pub headers: BTreeMap<String, String>,
    /// The base URL of calls, if the sign-in returned one.
    pub base_url: Option<String>,
    /// Whether a subscription pays for the calls, so that a call costs nothing.
    pub subscription: bool,
}

/// Hides the values of headers, which can be keys.
impl fmt::Debug for SignedIn {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("SignedIn")
            .field("headers", &Names(&self.headers))
            .field("base_url", &self.base_url)
            .field("subscription", &self.subscription)
            .finish()
    }
}

impl Access {
    /// A key that does not expire.
    pub fn key(key: Secret) -> Self {
        Self {
            key: Some(key),
            ..Self::default()
        }
    }

    /// A token that expires, with the headers that belong to it.
    pub(super) fn bearer(token: Secret, signed_in: SignedIn) -> Self {
        Self {
            key: Some(token),
            signed_in: Some(Box::new(signed_in)),
            renewable: true,
            ..Self::default()
        }
    }

    pub(super) fn tokens(tokens: &Tokens, sign_in: Option<&SignIn>) -> Self {
        let is_permanent_key = sign_in.is_some_and(|sign_in| !sign_in.key_field.is_empty());
        if is_permanent_key {
            return Self::key(tokens.access.clone());
        }
        Self {
            key: Some(tokens.access.clone()),
            signed_in: Some(Box::new(SignedIn {
                headers: sign_in
                    .map(|sign_in| sign_in.headers.clone())
                    .unwrap_or_default(),
                base_url: tokens.base_url.clone(),
                subscription: sign_in.is_some_and(|sign_in| sign_in.subscription),
            })),
            renewable: tokens.refresh.is_some(),
            ..Self::default()
        }
    }

    /// Whether a subscription pays for the calls.
    pub fn is_subscription(&self) -> bool {
        self.signed_in
            .as_ref()
            .is_some_and(|signed| signed.subscription)
    }

    /// Adds these credentials to `request`. From now on, no text that leaves the program contains
    /// them.
    pub fn apply(&self, request: &mut Request) {
        let key = self.key.iter();
        secrets::add_known(key.map(|key| key.expose().to_owned()));
        request.api_key.clone_from(&self.key);
        request.signing.clone_from(&self.signing);
        if !self.variables.is_empty() {
            let model: &mut Model = Arc::make_mut(&mut request.model);
            model.base_url = url_template::expand(&model.base_url, &|name| {
                let variable = self.variables.iter().find(|(have, _)| have == name);
                variable.map(|(_, value)| value.clone())
            });
        }
        let Some(signed) = &self.signed_in else {
            return;
        };
        let model: &mut Model = Arc::make_mut(&mut request.model);
        model.headers.extend(signed.headers.clone());
        // Tokens are sent as bearer, whatever header the provider uses for keys.
        model.compat.key_header = Some(KeyHeader::Bearer);
        if let Some(url) = &signed.base_url {
            model.base_url.clone_from(url);
        }
        if signed.subscription {
            model.price = Price::default();
        }
    }
}
