//! Renews tokens without losing any.
//!
//! A server that rotates refresh tokens accepts each one once. So a renewal locks the store from reading the
//! old token to writing the new one. It runs in a task of its own, which continues when the caller is
//! interrupted, and the session waits for it before it ends.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::RwLock;

use super::credential::{Credential, Tokens};
use super::error::SignInError;
use super::file::CredentialFile;
use super::sign_in::SignIn;
use super::store::Store;
use osier_base::clock;

/// The renewals of a session: the running ones, and tokens that could not be stored.
#[derive(Debug, Clone, Default)]
pub struct Renewals {
    /// Locked for reading while a renewal runs.
    running: Arc<RwLock<()>>,
    /// Tokens that are newer than the stored ones because the disk was full or read-only.
    unsaved: Arc<Mutex<HashMap<String, Tokens>>>,
}

impl Renewals {
    /// Waits until no renewal runs.
    pub async fn settle(&self) {
        drop(self.running.write().await);
    }

    /// The newest credential of `provider`: a token that could not be stored, or `stored`.
    pub(super) fn newest(&self, provider: &str, stored: Option<Credential>) -> Option<Credential> {
        let unsaved = self.unsaved.lock().unwrap_or_else(PoisonError::into_inner);
        match (unsaved.get(provider), &stored) {
            (Some(unsaved), Some(Credential::Tokens(tokens)))
                if unsaved.obtained > tokens.obtained =>
            {
                Some(Credential::Tokens(unsaved.clone()))
            }
            _ => stored,
        }
    }

    /// New tokens for `provider` after `used` were rejected or expired: newer ones of another process, or
    /// renewed ones.
    pub(super) async fn renew(
        &self,
        file: &CredentialFile,
        sign_in: &SignIn,
        provider: &str,
        used: Tokens,
    ) -> Result<Tokens, SignInError> {
        let (file, sign_in, provider) = (file.clone(), sign_in.clone(), provider.to_owned());
        let renewals = self.clone();
        let running = Arc::clone(&self.running).read_owned().await;
        let task = osier_base::task::spawn(async move {
            let _running = running;
            renewals
                .renew_locked(&file, &sign_in, &provider, &used)
                .await
        });
        match task.await {
            Ok(outcome) => outcome,
            Err(error) => Err(SignInError::Unreachable {
                reason: format!("the renewal ended: {error}"),
            }),
        }
    }

    async fn renew_locked(
        &self,
        file: &CredentialFile,
        sign_in: &SignIn,
        provider: &str,
        used: &Tokens,
    ) -> Result<Tokens, SignInError> {
        let locked = file.lock().await?;
        let mut store = locked.read()?;
        let stored = store.get(provider);
        let Some(Credential::Tokens(tokens)) = self.newest(provider, stored) else {
            // The user signed out in the meantime.
            return Err(SignInError::Expired);
        };
        if tokens.access != used.access && !tokens.is_stale(clock::now_ms()) {
            return Ok(tokens);
        }
        let renewed = sign_in.refreshed(provider, &tokens).await?;
        store.put(provider, &Credential::Tokens(renewed.clone()));
        let written = locked.write(&store);
        let mut unsaved = self.unsaved.lock().unwrap_or_else(PoisonError::into_inner);
        match written {
            Ok(()) => unsaved.remove(provider),
            Err(_) => unsaved.insert(provider.to_owned(), renewed.clone()),
        };
        Ok(renewed)
    }
}

/// The current store, or the last version when it cannot be read.
pub(super) fn current(file: Option<&CredentialFile>, last: &Mutex<Store>) -> Store {
    let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(Ok(store)) = file.map(CredentialFile::read) {
        *last = store;
    }
    last.clone()
}
