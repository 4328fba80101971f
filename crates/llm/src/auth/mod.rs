//! Credentials of providers: keys, and the tokens of sign-ins.
//!
//! [`Keys`] selects the credentials of a call from the command line, the credential store, `models.json` and
//! the environment. [`SignIn`] signs in with OAuth, [`CredentialFile`] is the credential store.
//!
//! The module does not read the environment of the process and starts no commands: the caller provides both,
//! so that sessions can be tested and isolated from one another. A key is a [`Secret`](crate::Secret) as soon
//! as it is read, and no error text contains one.
//!
//! Several processes share the credential store. Changes read it again under its lock. Tokens are renewed
//! under the same lock, in a task that continues after an interrupt, so that a refresh token that is valid
//! once is never lost.

mod access;
mod ambient;
mod browser;
mod credential;
mod device;
mod endpoint;
mod environment;
mod error;
mod file;
mod interaction;
mod keys;
mod login;
mod loopback;
mod pkce;
mod renewal;
mod sign_in;
mod source;
mod store;
mod system_keyring;
mod token;

pub use crate::sigv4::Signing;
pub use access::{Access, SignedIn};
pub use ambient::Ambient;
pub use credential::{Credential, Tokens};
pub use environment::{CommandRunner, Environment};
pub use error::SignInError;
pub use file::{CredentialFile, FileError, LockedFile};
pub use interaction::{Interaction, Progress};
pub use keys::{KeyError, KeyStatus, Keys};
pub use loopback::{Loopback, Page};
pub use renewal::Renewals;
pub use sign_in::{
    Exchange, Method, Redirect, SIGN_INS, SignIn, SignInRow, SignIns, TokenFormat,
    is_on_this_machine, is_safe,
};
pub use source::KeySource;
pub use store::{Store, StoreError};
pub use system_keyring::Vault;
