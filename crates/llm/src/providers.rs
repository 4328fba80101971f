//! The provider of a session, which selects the implementation by the wire format of the model.

use super::http::{HttpOptions, HttpProvider};
use super::model::Api;
use super::provider::{EventStream, Provider, Request};
use super::scripted::ScriptedProvider;

/// Calls models over HTTP or with scripts. Dropping it closes its connections.
#[derive(Debug, Clone, Default)]
pub struct Providers {
    http: HttpProvider,
    scripted: ScriptedProvider,
}

impl Providers {
    /// `scripted` answers for models with `Api::Scripted`.
    pub fn new(options: HttpOptions, scripted: ScriptedProvider) -> Self {
        Self {
            http: HttpProvider::new(options),
            scripted,
        }
    }
}

impl Provider for Providers {
    fn stream(&self, request: Request) -> EventStream {
        match request.model.api {
            Api::Scripted => self.scripted.stream(request),
            _ => self.http.stream(request),
        }
    }
}
