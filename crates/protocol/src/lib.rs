//! The types that clients and a session exchange: questions to the user and forms.
//!
//! Start at [`questions::Question`], [`questions::Questions`], which sends questions and waits for answers, and
//! [`form`], which derives a form from a JSON schema.
//!
//! The crate does not know who asks, or how a question is shown.
//!
//! ```
//! use osier_protocol::questions::Grant;
//!
//! let grant = Grant::Session { pattern: "bash(git *)".to_owned() };
//! assert_ne!(grant, Grant::Once);
//! ```

pub mod form;
pub mod questions;
