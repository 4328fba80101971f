//! The position where a conversation is written: the leaf of its session, or another branch. Entries of another branch
//! name their parents.

use parking_lot::Mutex;
use std::sync::Arc;

use crate::{SessionError, SessionStore};
use osier_protocol::{Entry, EntryKind};

/// The position where a conversation grows.
#[derive(Debug, Clone)]
pub struct Writer {
    store: SessionStore,
    /// The end of a branch that is not the leaf's.
    tip: Option<Arc<Mutex<Option<String>>>>,
}

impl Writer {
    /// Writes at the leaf.
    pub fn at_leaf(store: SessionStore) -> Self {
        Self { store, tip: None }
    }

    /// Starts a branch under `parent`; the leaf of the session stays where it is.
    pub fn on_branch(store: SessionStore, parent: Option<String>) -> Self {
        let tip = Some(Arc::new(Mutex::new(parent)));
        Self { store, tip }
    }

    pub fn store(&self) -> &SessionStore {
        &self.store
    }

    pub(crate) fn is_at_leaf(&self) -> bool {
        self.tip.is_none()
    }

    /// The parent of the next entry.
    pub fn leaf(&self) -> Option<String> {
        match &self.tip {
            None => self.store.index().leaf(),
            Some(tip) => tip.lock().clone(),
        }
    }

    pub async fn append(&self, kind: EntryKind) -> Result<Entry, SessionError> {
        let Some(tip) = &self.tip else {
            return self.store.append(kind).await;
        };
        let parent = self.leaf();
        let entry = self.store.append_on_branch(parent.as_deref(), kind).await?;
        *tip.lock() = Some(entry.id.clone());
        Ok(entry)
    }
}
