//! Helpers for the tests of every crate: [`skip`] reports tests that cannot run on this machine.
//!
//! ```
//! fn shell_prints_hello() {
//!     if !osier_testing::skip::has(&["sh"], "apt install dash") {
//!         return;
//!     }
//!     // …
//! }
//! # shell_prints_hello();
//! ```

pub mod skip;
