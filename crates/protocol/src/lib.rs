//! What clients and a session say to each other.

pub mod form;
pub mod questions;
