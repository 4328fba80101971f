//! Support for the tests of every crate.

pub mod skip;
