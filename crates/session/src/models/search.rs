//! The keys of search services, from the same places as those of providers.

use std::sync::Arc;

use osier_llm::Secret;
use osier_llm::auth::{KeyStatus, Keys};
use osier_llm::catalogue::ProviderEntry;

/// The keys of the services.
#[derive(Debug)]
pub(crate) struct SearchKeys {
    keys: Arc<Keys>,
    services: Vec<ProviderEntry>,
}

impl SearchKeys {
    pub(super) fn new(keys: &Arc<Keys>) -> Self {
        Self {
            keys: Arc::clone(keys),
            services: ProviderEntry::search_services(),
        }
    }

    fn service(&self, name: &str) -> Option<&ProviderEntry> {
        self.services.iter().find(|entry| entry.name == name)
    }

    /// Whether there is a key for `service`.
    pub(super) fn has_key(&self, service: &str) -> bool {
        let entry = self.service(service);
        entry.is_some_and(|entry| self.keys.status(entry) == KeyStatus::Present)
    }

    /// The key for `service`.
    pub(super) async fn key(&self, service: &str) -> Result<Secret, String> {
        let missing =
            || format!("no key for `{service}`; store one with `osier auth login {service}`");
        let entry = self.service(service).ok_or_else(missing)?;
        let access = self.keys.access(entry).await.map_err(|_| missing())?;
        access.key.ok_or_else(missing)
    }
}
