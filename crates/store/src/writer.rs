//! Where a conversation is written to: at the leaf of its session, or on a branch beside it that names
//! what its entries hang on itself.

use std::sync::{Arc, Mutex, PoisonError};

use crate::{Entry, EntryKind, SessionError, SessionStore};

/// The place a conversation grows at.
#[derive(Debug, Clone)]
pub struct Writer {
    store: SessionStore,
    /// The end of a branch beside the leaf.
    tip: Option<Arc<Mutex<Option<String>>>>,
}

impl Writer {
    /// Goes on at the leaf.
    pub fn at_leaf(store: SessionStore) -> Self {
        Self { store, tip: None }
    }

    /// Begins a branch under `parent`; the leaf of the session stays where it is.
    pub fn beside(store: SessionStore, parent: Option<String>) -> Self {
        let tip = Some(Arc::new(Mutex::new(parent)));
        Self { store, tip }
    }

    pub fn store(&self) -> &SessionStore {
        &self.store
    }

    pub fn is_at_leaf(&self) -> bool {
        self.tip.is_none()
    }

    /// The entry the next one hangs on.
    pub fn leaf(&self) -> Option<String> {
        match &self.tip {
            None => self.store.index().leaf(),
            Some(tip) => tip.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }

    pub async fn append(&self, kind: EntryKind) -> Result<Entry, SessionError> {
        let Some(tip) = &self.tip else {
            return self.store.append(kind).await;
        };
        let parent = self.leaf();
        let entry = self.store.append_beside(parent.as_deref(), kind).await?;
        *tip.lock().unwrap_or_else(PoisonError::into_inner) = Some(entry.id.clone());
        Ok(entry)
    }
}
