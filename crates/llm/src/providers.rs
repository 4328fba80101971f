//! The provider a session uses: one value that sends each request to whoever speaks its wire format.

use super::http::{HttpOptions, HttpProvider};
use super::model::Api;
use super::provider::{EventStream, Provider, Request};
use super::scripted::ScriptedProvider;

/// Every way to call a model. A session owns one; dropping it closes its connections.
#[derive(Debug, Clone, Default)]
pub struct Providers {
    http: HttpProvider,
    scripted: ScriptedProvider,
}

impl Providers {
    /// `scripted` answers the models of `Api::Scripted`.
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
