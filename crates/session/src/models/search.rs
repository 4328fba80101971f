//! The keys of search services, from the same places as those of providers.

use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt as _};
use osier_llm::Secret;
use osier_llm::auth::{KeyStatus, Keys};
use osier_llm::catalogue::ProviderEntry;

use crate::web_search::SearchKeys;

/// The keys of the services.
#[derive(Debug)]
pub(super) struct Keyring {
    keys: Arc<Keys>,
    services: Vec<ProviderEntry>,
}

impl Keyring {
    pub(super) fn new(keys: &Arc<Keys>) -> Self {
        Self {
            keys: Arc::clone(keys),
            services: ProviderEntry::search_services(),
        }
    }

    fn service(&self, name: &str) -> Option<&ProviderEntry> {
        self.services.iter().find(|entry| entry.name == name)
    }
}

impl SearchKeys for Keyring {
    fn has_key(&self, service: &str) -> bool {
        let entry = self.service(service);
        entry.is_some_and(|entry| self.keys.status(entry) == KeyStatus::Present)
    }

    fn key(&self, service: &str) -> BoxFuture<'_, Result<Secret, String>> {
        let entry = self.service(service).cloned();
        let service = service.to_owned();
        async move {
            let missing =
                || format!("no key for `{service}`; store one with `osier auth login {service}`");
            let entry = entry.ok_or_else(missing)?;
            let access = self.keys.access(&entry).await;
            let access = access.map_err(|_| missing())?;
            access.key.ok_or_else(missing)
        }
        .boxed()
    }
}
