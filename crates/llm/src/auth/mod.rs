//! How a provider is called on somebody's behalf: with a key, or with the tokens of a sign-in.
//!
//! Order: the command line, the credential store, `models.json`, the environment. Nothing here reads the
//! process's environment or starts a process: both are given by the caller, so that a session can be
//! tested and hundreds can run apart. A key is a `Secret` from the moment it is read, and no text that
//! leaves this module holds one.
//!
//! The credential store is one file that several processes share. Whoever changes it holds its lock and
//! reads it again first; tokens are renewed under the same lock, by a task that no interrupt ends, so
//! that a refresh token that works once is never lost half-way.

mod access;
mod ambient;
mod browser;
mod credential;
mod device;
mod endpoint;
mod error;
mod file;
mod keys;
mod login;
mod loopback;
mod pkce;
mod renewal;
mod sign_in;
mod source;
mod store;
mod token;
mod vault;

pub use access::{Access, SignedIn};
pub(crate) use ambient::ToSign;
pub use ambient::{Ambient, Signing};
pub use credential::{Credential, Tokens};
pub use error::SignInError;
pub use file::{CredentialFile, FileError, LockedFile};
pub use keys::{CommandRunner, Environment, KeyError, KeyStatus, Keys};
pub use login::{Progress, Talk};
pub use loopback::{Loopback, Page};
pub use renewal::Renewals;
pub use sign_in::{
    Exchange, Method, Redirect, SIGN_INS, SignIn, SignInRow, SignIns, TokenFormat, is_safe,
};
pub use source::KeySource;
pub use store::{Store, StoreError};
pub use vault::Vault;
