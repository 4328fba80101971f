//! Helpers for the tests of every crate: [`skip`] reports tests that cannot run on this machine; [`fuzz`] runs the cases
//! of fuzz targets; [`json_schema`] checks values against a schema; [`pages`] compares generated parts of the documentation.
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

pub mod fuzz;
pub mod json_schema;
pub mod pages;
pub mod poll;
pub mod skip;
