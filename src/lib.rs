//! The program: arguments, the choice of a mode, exit codes.

pub mod cli;
pub mod modes;
