//! The system keyring as storage: the file has only a reference, the credential is in the keyring under the
//! service `osier`.
//!
//! Where no keyring responds (a remote machine, a container), the credential stays in the file, which is
//! private.

use std::fmt;
use std::sync::Arc;

/// A store of texts by provider name.
pub trait Vault: Send + Sync + fmt::Debug {
    fn get(&self, provider: &str) -> Option<String>;
    /// Stores a text; returns whether it succeeded.
    fn put(&self, provider: &str, text: &str) -> bool;
    fn remove(&self, provider: &str);
}

/// The keyring of this system.
#[cfg(feature = "keyring")]
pub(super) fn system() -> Option<Arc<dyn Vault>> {
    Some(Arc::new(native::Native))
}

/// `None`: this build does not support keyrings.
#[cfg(not(feature = "keyring"))]
pub(super) fn system() -> Option<Arc<dyn Vault>> {
    None
}

#[cfg(feature = "keyring")]
mod native {
    use keyring::v1::Entry;

    use super::Vault;

    const SERVICE: &str = "osier";

    /// Secret Service on Linux, Keychain on macOS.
    #[derive(Debug)]
    pub(super) struct Native;

    impl Vault for Native {
        fn get(&self, provider: &str) -> Option<String> {
            Entry::new(SERVICE, provider).ok()?.get_password().ok()
        }

        fn put(&self, provider: &str, text: &str) -> bool {
            let entry = Entry::new(SERVICE, provider);
            entry.is_ok_and(|entry| entry.set_password(text).is_ok())
        }

        fn remove(&self, provider: &str) {
            if let Ok(entry) = Entry::new(SERVICE, provider) {
                // A missing entry is not an error.
                let _ = entry.delete_credential();
            }
        }
    }
}
