//! The `osier` program: command line, mode selection and exit codes.

pub mod cli;
pub mod modes;
