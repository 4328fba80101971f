//! The system's keyring in place of the file: the entry stays in `auth.json` as a mark, its content is
//! in the keyring under the service `osier`.
//!
//! Where no keyring answers (a remote machine, a container), the content stays in the file, which is
//! private: a sign-in that works is worth more.

use std::fmt;
use std::sync::Arc;

/// Keeps texts by provider name, somewhere that is no file of ours.
pub trait Vault: Send + Sync + fmt::Debug {
    fn get(&self, provider: &str) -> Option<String>;
    /// Whether the text is kept now.
    fn put(&self, provider: &str, text: &str) -> bool;
    fn remove(&self, provider: &str);
}

/// The vault of this system.
#[cfg(feature = "keyring")]
pub(super) fn system() -> Option<Arc<dyn Vault>> {
    Some(Arc::new(native::Native))
}

/// This build has none.
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
                // What is not there is removed already.
                let _ = entry.delete_credential();
            }
        }
    }
}
