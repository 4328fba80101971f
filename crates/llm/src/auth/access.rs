//! What a call is made with: a key, and whatever else a sign-in changes of the request.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::ambient::Signing;
use super::credential::Tokens;
use super::sign_in::SignIn;
use crate::catalogue::filled;
use crate::model::{KeyHeader, Model, Names};
use crate::provider::{Request, Secret};
use crate::usage::Price;

/// A way into a provider.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Access {
    /// `None` for a server that asks for none.
    pub key: Option<Secret>,
    pub signed_in: Option<Box<SignedIn>>,
    /// What the request is signed with, where the vendor takes no key.
    pub signing: Option<Arc<Signing>>,
    /// Values of variables that the base URL still names.
    pub places: Vec<(String, String)>,
    /// Whether there may be a newer one when the provider refuses this.
    pub renewable: bool,
}

/// What differs from a call with a key.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SignedIn {
    pub headers: BTreeMap<String, String>,
    /// Where calls go, when the sign-in named a place.
    pub base_url: Option<String>,
    /// The person pays by the month: a call costs nothing of itself.
    pub subscription: bool,
}

/// Headers are the user's own and may be keys.
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
    /// A key that lasts.
    pub fn key(key: Secret) -> Self {
        Self {
            key: Some(key),
            ..Self::default()
        }
    }

    pub(super) fn tokens(tokens: &Tokens, sign_in: Option<&SignIn>) -> Self {
        let lasting_key = sign_in.is_some_and(|sign_in| !sign_in.key_field.is_empty());
        if lasting_key {
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

    /// Whether the calls are paid by a subscription.
    pub fn is_subscription(&self) -> bool {
        self.signed_in
            .as_ref()
            .is_some_and(|signed| signed.subscription)
    }

    /// Makes `request` one that is made with this access.
    pub fn apply(&self, request: &mut Request) {
        request.api_key.clone_from(&self.key);
        request.signing.clone_from(&self.signing);
        if !self.places.is_empty() {
            let model: &mut Model = Arc::make_mut(&mut request.model);
            model.base_url = filled(&model.base_url, &|name| {
                let place = self.places.iter().find(|(have, _)| have == name);
                place.map(|(_, value)| value.clone())
            });
        }
        let Some(signed) = &self.signed_in else {
            return;
        };
        let model: &mut Model = Arc::make_mut(&mut request.model);
        model.headers.extend(signed.headers.clone());
        // Tokens are bearers whatever a key would be.
        model.compat.key_header = Some(KeyHeader::Bearer);
        if let Some(url) = &signed.base_url {
            model.base_url.clone_from(url);
        }
        if signed.subscription {
            model.price = Price::default();
        }
    }
}
