//! Naming a session that nobody has open.

use std::path::Path;

use super::entry::EntryKind;
use super::error::SessionError;
use super::store::SessionStore;

/// Names the session at `path`; without a name, or an empty one, takes its name away. One that is open
/// elsewhere is left alone.
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
