//! Diagnostics that osier requests from a server, and requests again when the server reports that they are outdated.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::{OTHERS, Server, Shared};
use crate::client::{Connection, Problem};
use crate::diagnostics::Origin;
use crate::uri;

/// The answer to a request for diagnostics.
#[derive(Debug, Deserialize)]
struct Report<'m> {
    /// The diagnostics; not set if nothing changed.
    #[serde(default, borrow)]
    items: Option<&'m RawValue>,
    #[serde(default, borrow, rename = "relatedDocuments")]
    related: Option<&'m RawValue>,
}

impl<'m> Report<'m> {
    /// The reports on other files, by URI.
    fn related(&self) -> Vec<(String, Option<&'m RawValue>)> {
        type Reports<'m> = std::collections::BTreeMap<String, Report<'m>>;
        let related = self.related.map(RawValue::get);
        let related = related.and_then(|json| serde_json::from_str::<Reports<'_>>(json).ok());
        let related = related.unwrap_or_default().into_iter();
        related.map(|(uri, report)| (uri, report.items)).collect()
    }
}

impl Server {
    /// Requests the diagnostics of the open files again when the server asks for it: a server that
    /// still reads the project answers at first that there are none.
    pub(super) fn follow_refreshes(&self) {
        let mut refreshes = self.shared.refreshes.subscribe();
        let (connection, shared) = (
            Arc::downgrade(&self.connection),
            Arc::downgrade(&self.shared),
        );
        let limit = self.limits.answer;
        osier_base::task::spawn(async move {
            while refreshes.changed().await.is_ok() {
                let (Some(connection), Some(shared)) = (connection.upgrade(), shared.upgrade())
                else {
                    return;
                };
                let files = shared.state.lock().documents.recent().into_iter();
                let pulls = files.take(OTHERS + 1).map(|path| {
                    let (connection, shared) = (&connection, &shared);
                    async move { shared.pull(connection, &path, limit).await }
                });
                futures_util::future::join_all(pulls).await;
            }
        });
    }
}

impl Shared {
    /// Requests the diagnostics of a file.
    pub(super) async fn pull(
        &self,
        connection: &Connection,
        path: &Path,
        limit: Duration,
    ) -> Result<(), Problem> {
        let params = json!({"textDocument": {"uri": uri::of_path(path)}});
        let method = "textDocument/diagnostic";
        let answer = connection.request(method, params, limit).await?;
        let Ok(report) = serde_json::from_str::<Report<'_>>(answer.get()) else {
            return Ok(());
        };
        self.store_pulled(path, report.items);
        for (uri, related) in report.related() {
            if let Some(path) = uri::to_path(&uri) {
                self.store_pulled(&path, related);
            }
        }
        Ok(())
    }

    fn store_pulled(&self, path: &Path, items: Option<&RawValue>) {
        let Some(items) = items else { return };
        let mut state = self.state.lock();
        let text = state.documents.get(path).map(|open| Arc::clone(&open.text));
        let encoding = state.capabilities.encoding;
        let found = crate::diagnostics::read(items.get(), text.as_deref(), encoding);
        state.diagnostics.set(path, Origin::Pulled, found);
        self.count(&mut state, path, None);
    }
}
