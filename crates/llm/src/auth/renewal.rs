//! Renewing tokens without losing any.
//!
//! A server that rotates refresh tokens accepts each one once. So a renewal holds the lock of the store
//! from reading the old token to writing the new one, runs in a task of its own that goes on when
//! whoever asked for it is interrupted, and is waited for before a host ends.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::RwLock;

use super::credential::{Credential, Tokens};
use super::error::SignInError;
use super::file::CredentialFile;
use super::sign_in::SignIn;
use super::store::Store;
use osier_base::clock;

/// The renewals of one session: which run, and what they could not store.
#[derive(Debug, Clone, Default)]
pub struct Renewals {
    /// Read-held while a renewal runs.
    running: Arc<RwLock<()>>,
    /// Tokens that are newer than those in the store because the disk was full or read-only.
    held: Arc<Mutex<HashMap<String, Tokens>>>,
}

impl Renewals {
    /// Waits until no renewal runs.
    pub async fn settle(&self) {
        drop(self.running.write().await);
    }

    /// What is stored for `provider`, or what could not be.
    pub(super) fn newest(&self, provider: &str, stored: Option<Credential>) -> Option<Credential> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        match (held.get(provider), &stored) {
            (Some(held), Some(Credential::Tokens(tokens))) if held.obtained > tokens.obtained => {
                Some(Credential::Tokens(held.clone()))
            }
            _ => stored,
        }
    }

    /// Tokens for `provider` that are not `used`: somebody else's newer ones, or renewed ones.
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
        let task = tokio::spawn(async move {
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
            // Signed out meanwhile.
            return Err(SignInError::Expired);
        };
        if tokens.access != used.access && !tokens.is_stale(clock::now_ms()) {
            return Ok(tokens);
        }
        let renewed = sign_in.refreshed(provider, &tokens).await?;
        store.put(provider, &Credential::Tokens(renewed.clone()));
        let written = locked.write(&store);
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        match written {
            Ok(()) => held.remove(provider),
            Err(_) => held.insert(provider.to_owned(), renewed.clone()),
        };
        Ok(renewed)
    }
}

/// The store as it is now; as it was last when it cannot be read.
pub(super) fn current(file: Option<&CredentialFile>, last: &Mutex<Store>) -> Store {
    let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(Ok(store)) = file.map(CredentialFile::read) {
        *last = store;
    }
    last.clone()
}
