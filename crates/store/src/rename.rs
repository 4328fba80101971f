//! Renames a session that is not open.

use std::path::Path;

use super::error::SessionError;
use super::store::SessionStore;
use osier_protocol::EntryKind;

/// Renames the session at `path`; `None` or an empty name removes the name. Fails if the session is open elsewhere.
pub async fn rename(path: &Path, name: Option<&str>) -> Result<(), SessionError> {
    let (store, _) = SessionStore::open(path)?;
    let name = name.map(str::trim).filter(|name| !name.is_empty());
    let named = store
        .append(EntryKind::SessionInfo {
            name: name.map(str::to_owned),
        })
        .await;
    let closed = store.close().await;
    named?;
    closed
}
